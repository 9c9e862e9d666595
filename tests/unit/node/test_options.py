"""Options that are declared once: command line, JSON and party.toml have them all, and requests survive JSON."""

from __future__ import annotations

import json
import re
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
from copublish.node.options import Address, Option, build, given_in, options_of, to_json
from copublish.node.party_file import draft_party_file, read_party_file
from copublish.node.request import Compute, Keys, Network, RunOptions, RunRequest

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
VALUES = {str: texts, Path: paths, bool: st.just(True), Address: addresses}


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
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(name, value, said):
    with pytest.raises(OptionError) as told:
        RunRequest.of("a.toml", {name: value})
    assert str(told.value) == said and told.value.exit_code == 2
