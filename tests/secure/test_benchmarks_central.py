"""Tables of cells for AIM and MST, records from their cells, and scores that do not depend on who made the records."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import central_comparators
from central_comparators import records_of, row_of, scores_of, synthesized, write_cells
from divisions import EXPECTED, Division, agreement_for
from measuring import text_of

SYNTHESIZE_LIKE_NOBODY = """
import argparse, pathlib, pandas
parser = argparse.ArgumentParser()
for name in ("folder", "method", "epsilon", "records", "out"):
    parser.add_argument("--" + name)
given = parser.parse_args()
cells = pandas.read_csv(pathlib.Path(given.folder) / "cells.csv")
cells.sample(int(given.records), replace=True, random_state=1).to_csv(given.out, index=False)
"""
"""Stands for AIM: draws from the table itself."""


@pytest.fixture(scope="module")
def division() -> Division:
    generator = np.random.default_rng(5)
    label = generator.random(3_000) < 0.4
    frame = pd.DataFrame(
        {
            "age": np.where(label, generator.integers(40, 90, 3_000), generator.integers(20, 60, 3_000)),
            "color": np.where(generator.random(3_000) < 0.7, np.where(label, "red", "blue"), "green"),
            "income": np.where(label, ">50K", "<=50K"),
        }
    )
    attributes = {
        "age": {"kind": "numerical", "bounds": [20, 90], "grid": {"edges": [30, 60]}},
        "color": {"kind": "categorical", "values": ["blue", "green", "red"]},
    }
    return Division(frame[:2_000], frame[2_000:], attributes, ("income", ("<=50K", ">50K")))


@pytest.fixture(scope="module")
def agreement(division):
    return agreement_for(division, "adult", "1", "1e-6", records=EXPECTED["adult"])


def test_cells_are_numbered_in_agreed_order(division, agreement, tmp_path):
    write_cells(tmp_path, division, agreement)
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert json.loads((tmp_path / "sizes.json").read_text()) == {"age": 3, "color": 3, "income": 2}
    ages = division.train["age"].to_numpy()
    assert (cells["age"].to_numpy() == (ages >= 30).astype(int) + (ages >= 60)).all()
    assert (cells["color"].to_numpy() == division.train["color"].map({"blue": 0, "green": 1, "red": 2})).all()


def test_cells_become_records_inside_them(division, agreement, tmp_path):
    write_cells(tmp_path, division, agreement)
    cells = pd.read_csv(tmp_path / "cells.csv")
    records = records_of(cells, agreement)
    low, high = np.array([20, 30, 60]), np.array([30, 60, 91])
    age = records["age"].to_numpy()
    assert ((low[cells["age"]] <= age) & (age < high[cells["age"]])).all()
    assert len(np.unique(age)) > 60  # spread over the cells and not at one place in each
    assert (records["color"].astype(str).to_numpy() == division.train["color"].to_numpy()).all()


def test_the_same_cells_have_no_distance_and_others_have_the_one_that_pandas_finds(division, agreement, tmp_path):
    write_cells(tmp_path, division, agreement)
    cells = pd.read_csv(tmp_path / "cells.csv")
    area, distance = scores_of(records_of(cells, agreement), division, agreement)
    assert distance == 0
    assert area > 0.8
    generator = np.random.default_rng(6)
    mixed = pd.DataFrame({name: generator.permutation(cells[name]) for name in cells})
    worse_area, worse = scores_of(records_of(mixed, agreement), division, agreement)
    expected = []
    for pair in (["age", "color"], ["age", "income"], ["color", "income"]):
        one, other = (frame.value_counts(pair) / len(frame) for frame in (cells, mixed))
        expected.append(one.sub(other, fill_value=0).abs().sum() / 2)
    assert worse == pytest.approx(np.mean(expected))
    assert worse > 0.1
    assert worse_area < area


@pytest.mark.slow
def test_a_central_method_gets_cells_and_its_cells_are_scored(division, agreement, tmp_path, monkeypatch):
    script = tmp_path / "synthesize.py"
    script.write_text(SYNTHESIZE_LIKE_NOBODY)
    monkeypatch.setattr(central_comparators, "SCRIPT", script)
    records = synthesized("aim", division, agreement, "1", sys.executable)
    assert len(records) == EXPECTED["adult"]
    assert scores_of(records, division, agreement)[1] < 0.02  # sampling error of 30,000 records


def test_the_script_for_the_other_environment_needs_nothing_of_copublish():
    code = "import sys, central_synthesis; print([name for name in sys.modules if 'copublish' in name])"
    folder = central_comparators.SCRIPT.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_row_has_standard_errors_where_there_are_several_runs():
    once = row_of("adult", "1", "aim", [(0.9, 0.02, 61.0)])
    words = ["adult", "1", "AIM, central", "1", "0.900", "-", "0.0200", "-", "61.0"]
    assert [text_of(cell) for cell in once.values()] == words
    twice = row_of("adult", "1", "aim", [(0.9, 0.02, 61.0), (0.88, 0.04, 63.0)])
    assert [text_of(cell) for cell in twice.values()][4:] == ["0.890", "0.0100", "0.0300", "0.0100", "62.0"]
