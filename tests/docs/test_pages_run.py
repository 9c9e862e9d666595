"""What pages tell people to type: every command, every block of Python and of TOML, in a workshop with made-up data.

Commands that need other parties, a secure engine or minutes are parsed with all their options, as they are written; the
tests that `RUN_ELSEWHERE` names run them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import shutil
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import EngineError
from copublish.files.home import HOME_VARIABLE, default_ledger
from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.ledger.ledger import Ledger, Limit
from website.workshop import prepare

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RUN_AS_A_WHOLE = ("from-headers-to-check", "protect-columns", "hospital-and-registry", "three-banks")
"""Pages whose own tests run them, with files they show."""

PAGES = [
    page
    for page in [ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "tutorials").glob("*.md")]
    if page.stem not in RUN_AS_A_WHOLE
]
RUN_ELSEWHERE = {
    "demo": "docs/test_command_line.py",
    "run": "network",
    "runs": "unit/running",
    "studio": "docs/test_studio_walk.py",
    "relay": "network",
    "doctor": "network",
    "node": "docs/test_command_line.py",
    "plan": "docs/test_evaluation_commands.py",
    "audit": "unit/auditing",
    "verify": "network",
}
OTHER_PROGRAMS = ("make", "export", "docker", "mkdir", "python", "pip")
"""Of which `make` and `docker` have tests of their own."""

AT_A_PARTY = re.compile(r"^(?:\w+)?\$ +", re.M)
NEEDS_OTHERS = (
    *("cp.run(", "cp.runs.start(", "cp.runs.follow(", "cp.runs.list_runs(", "cp.runs.stop("),
    *("engine='spu'", "cp.plan(", "planned.", "sha256:", "found.", "record_map=", "'matched'"),
)
"""Python that waits for others or takes long; `test_python_interface.py` and the network's tests call the same."""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Path:
    """What the pages speak of: the demo, a release of it, files of both parties, records to train and to test on."""
    folder = tmp_path_factory.mktemp("workshop")
    prepare(folder, 600)
    bank, loans = pd.read_parquet(folder / "demo" / "bank.parquet"), pd.read_csv(folder / "demo" / "loans.csv")
    people = bank.merge(loans.drop(columns="default"), on="customer_id")
    bank.to_parquet(folder / "bank.parquet", index=False)
    bank.to_csv(folder / "bank.csv", index=False)
    loans.to_csv(folder / "loans.csv", index=False)
    people[:400].to_csv(folder / "train.csv", index=False)
    people[400:].to_csv(folder / "holdout.csv", index=False)
    return folder


def commands(page: Path) -> list[list[str]]:
    """The commands of a page, without comments and what they print."""
    blocks = re.findall(r"^ *```console\n(.*?)^ *```", page.read_text(), re.S | re.M)
    text = "".join(blocks).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [shlex.split(AT_A_PARTY.sub("", line), comments=True) for line in lines if AT_A_PARTY.match(line)]


def parse(words: list[str]) -> None:
    """Have the command line read what was typed, without doing it."""
    command: Any = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    command.make_context("copublish", list(words))


@pytest.fixture
def place(workshop, tmp_path, monkeypatch) -> Path:
    """A copy of the workshop for one page, with a home of its own."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    place = Path(shutil.copytree(workshop, tmp_path / "place"))
    monkeypatch.chdir(place)
    at_two_parties(place)
    return place


def end_runs_early(times: int) -> None:
    """Have the ledger at home know of runs that ended before anything was opened."""
    with contextlib.closing(Ledger(default_ledger())) as ledger:
        ledger.set_limit("people-2025", Limit(Fraction(1), "add-remove"))
        for _ in range(times):
            with contextlib.suppress(EngineError), ledger.reserve("people-2025", "flu", "hash", NOTHING):
                raise EngineError("a peer left")


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_every_command_of_a_page_does_what_it_should(page, place):
    for program, *typed in commands(page):
        if program in OTHER_PROGRAMS:
            continue
        assert program == "copublish"
        parse(typed)
        if typed[0] in RUN_ELSEWHERE or "spu" in typed:
            continue
        if typed[:2] == ["ledger", "give-back"]:
            end_runs_early(int(typed[2]))
        done = CliRunner().invoke(app, where_nothing_is_in_the_way(typed, place))
        assert done.exit_code == 0, (typed, done.output, done.exception)


def where_nothing_is_in_the_way(typed: list[str], place: Path) -> list[str]:
    """The same command, after what the workshop had already made is gone, and with an identity of its own."""
    if typed[0] == "simulate":
        shutil.rmtree(place / "release")
    is_identity = typed[:2] == ["identity", "new"]
    return [*typed, "--identity", str(place / f"identity-{len(list(place.iterdir()))}")] if is_identity else typed


def at_two_parties(place: Path) -> None:
    """Make an agreement between machines, with identities for it, and set a limit."""
    text = (place / "demo" / "agreement.toml").read_text()
    for party in ("bank", "loans"):
        made = CliRunner().invoke(app, ["identity", "new", "--name", party, "--host", f"{party}.example:7700"]).stdout
        head = f"[parties.{party}]\n"
        text = text.replace(head, head + made.partition(head)[2])
    (place / "agreement.toml").write_text(text)
    assert CliRunner().invoke(app, ["ledger", "limit", "customers-2026=3"]).exit_code == 0


def test_a_command_with_an_option_that_is_not_there_is_noticed():
    parse(["run", "agreement.toml", "--party", "bank", "--out", "release/"])
    with pytest.raises(Exception, match="--no-such-option"):
        parse(["run", "agreement.toml", "--party", "bank", "--out", "release/", "--no-such-option"])


PYTHON_PAGES = [*PAGES, DOCS / "reference" / "python.md"]


def blocks_of(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.mark.parametrize(
    "page", [page for page in PYTHON_PAGES if blocks_of(page, "python")], ids=lambda page: page.stem
)
def test_every_block_of_python_runs(page, place):
    bank, loans = pd.read_parquet("bank.parquet"), pd.read_csv("loans.csv")
    names: dict[str, Any] = {"cp": cp, "pd": pd, "bank": bank, "loans": loans, "__name__": "page"}
    for block in blocks_of(page, "python"):
        written = block.replace('write("release/")', 'write("written/")')
        statements = [each for each in ast.parse(written).body if not needs_others(ast.unparse(each))]
        # Which values the demo's release publishes is chance; where a block asks for some, another one has all of them.
        known = names | {"release": release_of_all_values()} if "among=" in block else names
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(ast.Module(statements, []), page.name, "exec"), known)


def release_of_all_values() -> cp.Release:
    mechanism = {"name": "marginals", "tables": [["age", "balance"]]}
    content = tomllib.loads(Path("demo/agreement.toml").read_text()) | {"mechanism": mechanism}
    return cp.simulate(cp.agreement_from_mapping(content), {"bank": "bank.parquet", "loans": "loans.csv"})


def needs_others(statement: str) -> bool:
    return any(word in statement for word in NEEDS_OTHERS)


def test_every_block_of_toml_can_be_read():
    found = [(page, block) for page in DOCS.rglob("*.md") for block in blocks_of(page, "toml")]
    assert len(found) >= 9
    for page, block in found:
        assert tomllib.loads(block), page


def test_the_first_release_tells_the_prices_that_describe_prints(workshop):
    page = " ".join((DOCS / "tutorials" / "first-release.md").read_text().split())
    first, rounds = cp.describe(workshop / "demo" / "agreement.toml").disclosures
    assert f"at epsilon {float(Fraction(first.epsilon['add-remove'])):.2f} together; then at most 5 rounds" in page
    assert (
        f"at {float(Fraction(rounds.epsilon['add-remove'])):.2f} together" in page and "at most 5 rounds" in rounds.what
    )
    assert f"{first.noise.within_95_percent:.0f} people or less in 95 of 100 cases" in page
