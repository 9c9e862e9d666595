"""The tutorial about many owners: its agreement is complete with a class and attributes, and every command takes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from copublish.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "many-owners.md"
REST = """
[class]
name = "readmitted"
values = ["no", "yes"]

[attributes.age]
kind = "numerical"
bounds = [0, 100]
grid = { step = 10 }

[attributes.ward]
kind = "categorical"
values = ["a", "b", "c"]
"""


def cli(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("hospitals")
    toml = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.S).group(1)
    (found / "agreement.toml").write_text(re.sub(r"certificate = .*\n", "", toml) + REST)
    generator = np.random.default_rng(0)
    for party in ("north", "south"):
        columns = {"age": generator.integers(0, 101, 500), "ward": generator.choice(list("abc"), 500)}
        frame = pd.DataFrame({**columns, "readmitted": generator.choice(["no", "yes"], 500)})
        frame.to_parquet(found / f"{party}.parquet", index=False)
    return found


def test_the_release_of_the_tutorial_is_described_made_shown_and_reported(folder):
    described = cli("describe", folder / "agreement.toml")
    assert "hpdp, horizontal" in described
    assert "one share of each input of 'south'" in described
    data = [f"--data={party}={folder / party}.parquet" for party in ("north", "south")]
    assert "synthetic records in 3 columns" in cli(
        "simulate", folder / "agreement.toml", *data, "--out", folder / "release"
    )
    assert "principal components stood out of the noise" in cli("show", folder / "release")
    shown = json.loads(CliRunner().invoke(app, ["show", str(folder / "release"), "--format", "json"]).stdout)
    assert set(shown) == {"certificate", "estimates", "measurements", "model", "to_print"}
    cli("report", folder / "release", "--out", folder / "report.html")
    assert "synthetic" in (folder / "report.html").read_text()
