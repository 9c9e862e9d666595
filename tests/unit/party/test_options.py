"""Options that are declared once: command line, JSON and party.toml have them all, and requests survive JSON."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import copublish as cp
from copublish.cli.options import with_options
from copublish.errors import OptionError
from copublish.party.options import Address, Option, Places, build, given_in, options_of, to_json
from copublish.party.party_file import draft_party_file, read_party_file
from copublish.party.request import Compute, Keys, Network, RunOptions, RunRequest
from support.node import on_loopback

ROOT = Path(__file__).parents[3]

Retries = Annotated[int | None, Option(help="How often to try again.", default=3, at_least=0, example=3)]


def widened() -> type:
    """A copy of the declaration with one more option, as somebody would add it."""

    @dataclass(frozen=True, kw_only=True)
    class WiderNetwork(Network):
        retries: Retries = None

    # Real types and no text, as in the module that declares options.
    WiderNetwork.__dataclass_fields__["retries"].type = Retries

    @dataclass(frozen=True, kw_only=True)
    class WiderRequest(RunRequest):
        network: Any = field(default_factory=WiderNetwork)

    WiderRequest.__dataclass_fields__["network"].type = WiderNetwork
    return WiderRequest


def command_of(declaration: type, names: list[str], seen: list[dict[str, Any]]) -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_options(*names, declaration=declaration)
    def run(agreement: Path, *, given: dict[str, Any]) -> None:
        seen.append(given)

    return app


def test_a_new_option_is_on_the_command_line_in_json_and_in_the_partys_file(tmp_path):
    wider, seen = widened(), []
    app = command_of(wider, [*options_of(wider)], seen)
    shown = re.sub(r"\s+", " ", CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output)
    assert "--retries" in shown and "How often to try again. Default: 3." in shown
    assert CliRunner().invoke(app, ["a.toml", "--retries", "5", "--wait", "7"]).exit_code == 0
    assert seen == [{"retries": 5, "wait_seconds": 7}]
    assert CliRunner().invoke(app, ["a.toml", "--retries", "-1"]).exit_code == 2
    request = build(wider, seen[0], agreement=Path("a.toml"))
    assert request.network.retries == 5 and to_json(request) == seen[0]
    assert build(wider, json.loads(json.dumps(to_json(request))), agreement=Path("a.toml")) == request
    drafted = draft_party_file(wider, tmp_path, "bank")
    assert "# How often to try again. Default: 3.\n#retries = 3\n" in drafted.read_text()
    drafted.write_text(drafted.read_text().replace("#retries = 3", "retries = 4"))
    assert read_party_file(wider, tmp_path) == {"retries": 4}
    with pytest.raises(cp.CopublishError, match="no such key"):
        read_party_file(RunRequest, tmp_path)


ADDED = {
    "    wait_seconds: Annotated[": """\
    retries: Annotated[
        int | None,
        Option(help="How often to try again.", default=3, example=3),
    ] = None
""",
    "    wait_seconds: int | None\n": "    retries: int | None\n",
}
"""What somebody writes who adds an option, before lines that are there."""

ASK = f"""
import json
import copublish as cp
from typer.testing import CliRunner
from copublish.cli import app
from {build.__module__} import options_of
from {RunRequest.__module__} import RunRequest
from website.reference.run_options import page_of_run_options

def resolved(**given):
    request = RunRequest.of("agreement.toml", given).resolve().request
    again = RunRequest.from_json(json.loads(json.dumps(request.to_json()))).resolve().request
    assert again == request
    return request.network.retries

try:
    cp.runs.before_run("agreement.toml", retries="often")
except cp.CopublishError as error:
    refused = str(error)
cp.runs.before_run("agreement.toml", retries=5)
help_ = CliRunner().invoke(app, ["run", "--help"], env={{"COLUMNS": "200"}}).output
made = CliRunner().invoke(app, ["identity", "new", "--name", "new", "--identity", "new"])
print(json.dumps([resolved(), resolved(retries=5), refused, help_, page_of_run_options(), made.exit_code]))
"""


@pytest.mark.slow  # a process
def test_a_new_option_is_added_in_one_file_and_every_entrance_resolves_it(tmp_path):
    """The package is copied, and one file of the copy is edited, as somebody would who adds an option."""
    package = Path(cp.__file__).parent
    shutil.copytree(package, tmp_path / "copublish", ignore=shutil.ignore_patterns("__pycache__"))
    edited = tmp_path / Path(inspect.getsourcefile(RunRequest)).relative_to(package.parent)
    text = edited.read_text()
    for before, line in ADDED.items():
        assert text.count(before) == 1
        text = text.replace(before, line + before)
    edited.write_text(text)
    home = on_loopback(tmp_path / "parties", records=60).home("bank")
    party_file = home / "identities" / "bank" / "party.toml"
    party_file.write_text("retries = 4\n")
    party_file.chmod(0o600)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=home,
        env={**os.environ, "PYTHONPATH": path, "COPUBLISH_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    by_file, given, refused, shown, page, code = json.loads(done.stdout)
    assert (by_file, given, code) == (4, 5, 0)
    assert refused == "retries: write a whole number, not a text."
    assert "--retries" in shown and "How often to try again. Default: 3." in shown
    assert "| `--retries` | `retries` | yes | How often to try again. Default: 3. |" in page
    assert "#retries = 3\n" in (home / "new" / "party.toml").read_text()


def test_python_keywords_are_the_declared_options():
    assert set(RunOptions.__annotations__) == set(options_of(RunRequest))
    with pytest.raises(TypeError, match=r"no option 'tiemout_seconds'.*timeout_seconds"):
        cp.run("agreement.toml", tiemout_seconds=5)


def test_every_option_says_what_it_is_and_reads_its_own_default_and_example():
    for name, declared in options_of(RunRequest).items():
        option = declared.option
        assert option.help.endswith(".") and declared.flag.startswith("--"), name
        for value in (option.default, option.example):
            assert value is None or declared.read(value) is not None, name


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
paths = texts.filter(lambda text: not text.startswith("~")).map(lambda text: Path("/", text))
addresses = st.tuples(st.sampled_from(["0.0.0.0", "127.0.0.1", "::1", "bank.example"]), st.integers(1, 65_535))
places = st.dictionaries(texts, texts, min_size=1)
VALUES = {str: texts, Path: paths, bool: st.just(True), Address: addresses, Places: places}


@st.composite
def requests(draw):
    values = {}
    for name, declared in options_of(RunRequest).items():
        of_type = st.integers(declared.option.at_least or 0, 10**6) if declared.type is int else VALUES[declared.type]
        if draw(st.booleans()):
            values[name] = draw(of_type)
    return RunRequest.of(draw(paths), values, draw(st.none() | paths.map(lambda path: path / "data.csv")))


@given(requests())
def test_a_request_survives_json(request):
    assert RunRequest.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_the_check_of_json_can_fail():
    request = RunRequest.of("a.toml", {"wait_seconds": 5})
    content = request.to_json()
    content["options"]["wait_seconds"] = 6
    assert RunRequest.from_json(content) != request


def test_options_that_were_not_given_are_left_open():
    request = RunRequest.of("a.toml", {"party": None, "insecure": False})
    assert given_in(request) == {} and request == RunRequest(agreement=Path("a.toml"))
    assert (request.keys, request.network, request.compute) == (Keys(), Network(), Compute())


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("wait_seconds", 0, "wait_seconds: write a whole number from 1 on, got 0."),
        ("wait_seconds", "60", "wait_seconds: write a whole number, not a text."),
        ("wait_seconds", True, "wait_seconds: write a whole number, not true or false."),
        ("ledger", 5, "ledger: write a path, in quotes, not a number."),
        ("ledger", "", "ledger: write a path, in quotes, not an empty text."),
        ("listen", "7700", "listen: write ADDRESS:PORT, like 0.0.0.0:7700."),
        ("listen", ("0.0.0.0", "7700"), "listen: write ADDRESS:PORT, like 0.0.0.0:7700."),
        ("listen", "0.0.0.0:70000", "listen: write ADDRESS:PORT, like 0.0.0.0:7700."),
        ("insecure", "yes", "insecure: write true or false, not a text."),
        ("events", "visits.csv", "events: write NAME=PLACE, like visits=visits.parquet."),
        ("events", {"visits": ""}, "events: write NAME=PLACE, like visits=visits.parquet."),
        ("events", ["visits=a.csv", "visits=b.csv"], "events: a name stands twice."),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(name, value, said):
    with pytest.raises(OptionError) as told:
        RunRequest.of("a.toml", {name: value})
    assert str(told.value) == said and told.value.exit_code == 2
