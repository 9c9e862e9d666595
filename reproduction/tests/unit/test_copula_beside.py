"""Copula beside iDP-IR: the measures against plain formulas, the same columns, every algorithm in every table."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmark_files import write_benchmark_files, write_wine_files
from copublish_reproduction import exhibits
from copublish_reproduction.copula_beside import MEASURES, Yardstick, beside_markdown, copula_mapping, run_beside
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.microdata_sets import ADULT_ATTRIBUTES, load_microdata
from reproduce import command

KS = {"adult": (1, 5, 20), "wine": (1, 5, 20)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wine_files(write_benchmark_files(tmp_path_factory.mktemp("benchmark")))


@pytest.fixture(scope="module")
def rows(folder):
    return run_beside(folder, 2, lambda *step: None, epsilons=(1.0,), ks=KS)


def test_measures_equal_their_formulas_and_do_not_know_persons():
    generator = np.random.default_rng(0)
    real = Microdata(tuple(Attribute(n, 0, 100) for n in "xyz"), generator.uniform(0, 100, (300, 3)))
    published = generator.uniform(0, 100, (300, 3))
    published[:, 1] += published[:, 0]
    deviations = real.values.std(axis=0)
    gaps = np.sort(published, axis=0) - np.sort(real.values, axis=0)
    distance = np.mean(np.abs(gaps).mean(axis=0) / deviations)  # in one dimension and with equal numbers
    errors = [
        abs(spearmanr(real.values[:, i], real.values[:, j])[0] - spearmanr(published[:, i], published[:, j])[0])
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    squares = np.mean((gaps**2).mean(axis=0) / real.values.var(axis=0, ddof=1))
    found = Yardstick(real).measure(published)
    assert found == pytest.approx((distance, np.mean(errors), squares))
    assert Yardstick(real).measure(published[generator.permutation(300)]) == pytest.approx(found)
    assert Yardstick(real).measure(real.values) == pytest.approx((0, 0, 0))


def test_copula_releases_the_columns_of_the_figures(folder):
    adult = copula_mapping("adult", load_microdata("adult", folder))
    assert (*adult["attributes"], adult["class"]["name"]) == ADULT_ATTRIBUTES
    wine = copula_mapping("wine", load_microdata("wine", folder))
    assert len(wine["attributes"]) == 11 and wine["class"]["name"] == "kind"


def test_every_algorithm_is_in_every_table_and_copula_alone_is_private(rows):
    for dataset in ("adult", "wine"):
        here = [row for row in rows if row.dataset == dataset]
        assert len(here) == 7 and [row.private for row in here] == [True] + [False] * 6
        assert all(np.isfinite(row.means).all() and len(row.means) == len(MEASURES) for row in here)
    text = beside_markdown(rows)
    assert text.count("| copula, any owners | yes |") == 6 and text.count("| no |") == 36


def test_the_command_writes_the_page_and_a_csv(folder, tmp_path, rows, monkeypatch):
    monkeypatch.setattr(exhibits, "run_beside", lambda folder, runs, progress: rows)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin idp-ir-copula -->\n<!-- end idp-ir-copula -->\nafter\n")
    command("idp-ir-copula", "--data", folder, "--out", tmp_path, "--pages", tmp_path)
    assert "copula, any owners" in page.read_text() and page.read_text().endswith("after\n")
    records = list(csv.DictReader((tmp_path / "idp-ir-copula.csv").open()))
    assert len(records) == len(rows) * len(MEASURES) and {r["private"] for r in records} == {"yes", "no"}
