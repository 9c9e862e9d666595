"""The tutorial about columns that need more protection: its blocks run in order, and its tables are what they print."""

from __future__ import annotations

import contextlib
import io
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "tutorials" / "protect-columns.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


def table(first: str) -> dict[str, list[str]]:
    """The rows of the page's table whose header begins so."""
    text = PAGE[PAGE.index(f"\n| {first} |") + 1 :].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {name: cells for name, *cells in rows}


@pytest.fixture(scope="module")
def names(tmp_path_factory) -> dict[str, Any]:
    """What the page's Python made, in a folder with what its commands wrote."""
    folder = tmp_path_factory.mktemp("patients")
    found: dict[str, Any] = {"cp": cp, "__name__": "page", "folder": folder}
    (agreement,) = blocks("toml")
    (folder / "agreement.toml").write_text(agreement)
    use = agreement.replace("protect-informative", "use-informative")
    (folder / "use.toml").write_text(use)
    commands = [line.removeprefix("$ copublish ").split() for line in "".join(blocks("console")).splitlines()]
    assert [command[0] for command in commands] == ["describe", "simulate"]
    commands.append([part.replace("agreement", "use").replace("protected/", "used/") for part in commands[1]])
    python = blocks("python")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for block in python[:-1]:
            exec(block, found)
        for command in commands:
            done = CliRunner().invoke(app, command, env={"COLUMNS": "150"})
            assert done.exit_code == 0, done.output
            found[command[0]] = found.get(command[0], "") + " ".join(done.output.split())
        exec(python[-1], found)
        found["used"] = cp.load_release("used/").published
    return found


def test_figure_3_of_the_paper_comes_out(names):
    shown = table("| Hepatitis")
    shares = pd.concat(names["shares"].values())[["Hepatitis", "HIV", "Flu"]]
    assert {str(value): [f"{share:.0%}" for share in row] for value, row in shares.T.items()} == shown
    assert len(shown) == 9


def test_the_maximum_identifiable_probabilities_are_those_of_the_page(names):
    most = {column: f"{share:.0%}" for column, share in names["most"].items()}
    assert f"is {most['job']} for job, {most['sex']} for sex and {most['age']} for age. The paper" in PAGE
    one_of = {column: f"{1 / names['listed'][column].value_counts().min():.0%}" for column in most}
    assert f"prints {one_of['job']}, {one_of['sex']} and {one_of['age']}. For sex" in PAGE


def test_generalized_rows_are_3_and_4_anonymous(names):
    job = {"Engineer": "Professional", "Lawyer": "Professional", "Writer": "Artist", "Dancer": "Artist"}
    for rows, least in ((names["patients"], 3), (names["listed"], 4)):
        alike = rows.assign(job=rows["job"].map(job), age=rows["age"] // 5).groupby(["job", "sex", "age"]).size()
        assert alike.min() >= least


def test_epsilons_are_those_of_the_page_and_add_up(names):
    told = table("column | tells about the disease")
    protected, used = names["protected"].model.division, names["used"].model.division
    for division in (protected, used):
        parts = [Fraction(column.epsilon) for column in division.columns.values()]
        assert sum(parts) + Fraction(division.tables) == 4
    assert {name: float(row[2]) for name, row in told.items()} == {
        name: float(column.epsilon) for name, column in protected.columns.items()
    }
    in_one_run = {name: float(row[3]) for name, row in told.items()}
    for name, column in used.columns.items():  # noise of another run moves them a little
        assert float(Fraction(column.epsilon)) == pytest.approx(in_one_run[name], abs=0.15), name
    assert "job, sex and age get 0.4 to 1.83" in PAGE and "0.4 to 1.83" in names["describe"]
    assert "scale 7.5 people" in names["describe"]


def test_what_is_said_of_a_job_is_the_law_of_its_noise(names):
    kept, by_use = (math.exp(epsilon) / (math.exp(epsilon) + 5) for epsilon in (0.4, 1.27))
    assert names["protected"].rows.noise["job"].kept == pytest.approx(kept, abs=1e-6)
    assert f"with probability {kept:.0%}" in PAGE
    assert f"With `use-informative` it is {by_use:.0%}." in PAGE
