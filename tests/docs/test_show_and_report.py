"""The terminal and the page say the same of a release, value by value; and so does the code that the page offers."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shutil
import subprocess
from contextlib import chdir, redirect_stdout
from functools import cache

import pytest
from rich.console import Console
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.cli.show_command import print_release
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.report.page import _partners_headline, report_page
from interval_coverage import MECHANISMS, made_up
from support import seeded
from support.packages import install

TABLE = made_up(600)

ESTIMATE = re.compile(
    r"[+-]?[\d,.]+(?: %)? ± [\d,.]+|too few to say|somewhere in [\d,.-]+ to [\d,.-]+"
    r"|[\d,.-]+ \([\d,.-]+ to [\d,.-]+[^)]*\)"
)
"""A value with its error, a value with its interval, or that there is none."""


@cache
def release_of(mechanism: str, coins: int = 1) -> cp.Release:
    agreement = TABLE.agreement(mechanism, "10" if mechanism == "vhdp" else "0.3")
    halves = {"p0": TABLE.records.iloc[::2], "p1": TABLE.records.iloc[1::2]}
    return simulate_fragments(agreement, read_fragments(agreement, halves), seeded(agreement.party_names, coins))


@cache
def page_of(mechanism: str) -> str:
    return report_page(release_of(mechanism))


def shown(release: cp.Release) -> list[str]:
    """Every estimate that a terminal shows."""
    printed = io.StringIO()
    print_release(release, Console(file=printed, width=1000), rows=5)
    return ESTIMATE.findall(printed.getvalue())


def read_by_people(page: str) -> str:
    """The words of a page, one space between them."""
    without_tags = re.sub(r"<(style|title|desc).*?</\1>|<[^>]*>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", html.unescape(without_tags))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_value_that_the_terminal_shows_is_on_the_page(mechanism):
    found, page = shown(release_of(mechanism)), read_by_people(page_of(mechanism))
    assert len(found) >= 7
    assert [said for said in found if said not in page] == []
    # A release with other noise says something else.
    assert [said for said in shown(release_of(mechanism, coins=2)) if said not in page] != []


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_programs_read_which_number_to_print_where_people_do(mechanism, tmp_path):
    folder = release_of(mechanism).write(tmp_path / "release")
    for_programs = json.loads(CliRunner().invoke(app, ["show", str(folder), "--format", "json"]).stdout)
    said = for_programs.get("to_print", "").replace("`", "")
    for_people = io.StringIO()
    print_release(release_of(mechanism), Console(file=for_people, width=1000), rows=5)
    assert bool(said) == (mechanism not in ("specialization", "idp-ir"))  # one number, or none with an interval
    assert not said or f"\n{said}\n" in for_people.getvalue()


def test_what_noise_leaves_nothing_of_is_told_as_such_in_both():
    told = [mechanism for mechanism in MECHANISMS if "too few to say" in shown(release_of(mechanism))]
    assert "specialization" in told and "hpdp" in told
    for mechanism in told:
        assert "too few to say" in read_by_people(page_of(mechanism))


def test_the_tiles_say_what_partners_face_and_how_many_counts_are_not_like_0():
    release = release_of("specialization")
    tiles = dict(re.findall(r"<div><dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page_of("specialization")))
    noisy = release.to_pandas(release.tables[-1])["noisy_count"]
    (leaves,) = release.certificate.at("leaf counts")
    apart = int((noisy.abs() > leaves.noise.within_95_percent).sum())
    assert 0 < apart < len(noisy)
    assert tiles["counts that are not like 0"] == f"{apart:,}"
    assert tiles["epsilon, for the partners"] == release.certificate.epsilon.insiders["add-remove"]


def test_partners_who_know_who_is_in_the_table_face_the_epsilon_of_replaced_values():
    parted = {"add-remove": "not protected", "replace": "3/2"}
    assert _partners_headline(parted, "add-remove").value == "1.5"
    assert _partners_headline(parted, "add-remove").relation.endswith("they know who is in the table")
    assert _partners_headline(dict.fromkeys(parted, "not protected"), "add-remove").value == "not protected"


def test_budgets_are_decimals_and_rows_that_are_alike_are_one():
    page = page_of("copula")
    rows = re.findall(r"<tr><th scope=\"row\">(number of records[^<]*)<small>([^<]*)</small></th>.*?>(\d+)</td>", page)
    assert rows == [("number of records in every cell of a column", "age, balance, region, married, default", "5")]
    table = page[page.index('class="disclosed') : page.index("</table>", page.index('class="disclosed'))]
    assert not re.search(r">\d+/\d+<", table)


def printed_numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?", text)]


@pytest.mark.parametrize("language", ["copublish", "python", "r"])
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "specialization"])
def test_the_code_on_the_page_runs_and_prints_the_release_s_own_numbers(mechanism, language, tmp_path):
    """The first share or mean that it prints, and its error, are those that the release answers itself."""
    release = release_of(mechanism)
    folder = release.write(tmp_path / "release")
    code = html.unescape(re.search(rf'<pre id="{language}"[^>]*><code>(.*?)</code>', page_of(mechanism), re.S)[1])
    assert len([line for line in code.splitlines() if line]) <= 12
    if language == "r":
        if not shutil.which("Rscript") and not install("r-base-core"):
            pytest.skip("needs R, and may not install it")
        (folder / "example.r").write_text(code, encoding="utf-8")
        done = subprocess.run(
            ["Rscript", "example.r"],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        output = done.stdout
    else:
        caught = io.StringIO()
        with chdir(folder), redirect_stdout(caught):
            exec(compile(code, "example", "exec"), {})  # it is ours
        output = caught.getvalue()
    if language == "copublish":
        assert str(release.mean("age")) in output and str(release.median("age")) in output
        return
    found = printed_numbers(output)
    expected = {
        "copula": lambda: release.share("age", "[18, 24)"),
        "hpdp": lambda: release.share("age", "[18, 24)"),
        "vhdp": lambda: release.share("default", "no"),
    }
    if mechanism in expected:
        said = expected[mechanism]()
        assert min(abs(number - said.value) for number in found) < 1e-3 * max(1, abs(said.value))
        # The code has the normal law and the first order; the release, the law itself.
        assert min(abs(number - said.within) for number in found) < 0.12 * said.within
    else:  # one of several tables, so less exact
        said = release.share("age", "[18, 24)")
        assert min(abs(number - said.value) for number in found) < 2 * said.within
