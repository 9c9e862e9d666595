"""HPDP-DP's tables, figures and findings, from made-up files in the format of the real ones."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark_files import write_benchmark_files
from copublish.errors import SourceError
from copublish_reproduction import hpdp_figures as figures_module
from copublish_reproduction.datasets import COLUMNS, NUMERICAL
from copublish_reproduction.figures import run_figure
from copublish_reproduction.hpdp import Hpdp, principal_components, scatter_matrix
from copublish_reproduction.hpdp_bench import HpdpBench
from copublish_reproduction.hpdp_figures import hpdp_figures
from copublish_reproduction.hpdp_sets import (
    NLTCS_COUNTS,
    NLTCS_RECORDS,
    ONE_HOT,
    Records,
    adult_records,
    load_records,
    made_up_nltcs,
)
from copublish_reproduction.sound_records import SoundRecords
from copublish_reproduction.subn import Subn
from copublish_reproduction.tables import panel_table
from reproduce import command

# Categories of Adult's attributes, as its documentation lists them.
N_CATEGORIES = {
    "workclass": 8,
    "education": 16,
    "marital-status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 41,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_benchmark_files(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture(scope="module")
def adult():
    """A table with as many categories as the real one, every one of which occurs; their taxonomies."""
    generator = np.random.default_rng(1)
    n = 500
    table, trees = {}, {}
    for name in COLUMNS["adult"][:-1]:
        if name in NUMERICAL["adult"]:
            low, high = NUMERICAL["adult"][name]["bounds"]
            table[name] = generator.integers(low, high + 1, n)
        else:
            names = [f"{name} {place}" for place in range(N_CATEGORIES[name])]
            names[-1] = {"sex": "Male", "native-country": "United-States"}.get(name, names[-1])
            table[name] = np.concatenate([names, generator.choice(names, n - len(names))])
            trees[name] = {"ANY": {value: {} for value in names}}
    return pd.DataFrame({**table, "income": generator.choice(["<=50K", ">50K"], n)}), trees


def test_binary_digits_make_the_papers_52_columns(adult):
    """Sixteen ranges of six numbers make 24 of them, categories 27 and income 1."""
    records = adult_records(*adult, "salary", "bits")
    assert records.values.shape == (500, 52)
    assert set(np.unique(records.values)) == {0.0, 1.0}
    assert records.names[-1] == "income"
    assert len(set(records.names)) == 52


def test_binary_digits_say_which_range_and_which_category(adult):
    frame, trees = adult
    records = adult_records(frame, trees, "salary", "bits")
    codes = {}
    for name, column in zip(records.names[:-1], records.values.T, strict=False):
        attribute, weight = name.rsplit(" ", 1)
        codes[attribute] = codes.get(attribute, 0) + int(weight) * column
    for row in range(0, 500, 17):
        assert codes["occupation"][row] == list(trees["occupation"]["ANY"]).index(frame["occupation"][row])
        assert codes["age"][row] == min(int((frame["age"][row] - 17) / (90 - 17) * 16), 15)
    assert codes["age"].max() == 15  # the upper bound belongs to the last range


def test_one_hot_has_a_column_for_every_category_and_none_for_education(adult):
    records = adult_records(*adult, "salary", "one-hot")
    assert records.values.shape[1] == 6 + sum(N_CATEGORIES[name] for name in ONE_HOT) + 2 + 1
    assert records.values.min() >= 0 and records.values.max() <= 1
    for name in ONE_HOT:
        group = [place for place, column in enumerate(records.names) if column.startswith(f"{name} ")]
        assert (records.values[:, group].sum(axis=1) == 1).all()


def test_education_is_predicted_without_its_own_columns(adult):
    records = adult_records(*adult, "education", "bits")
    assert records.values.shape[1] == 52 - 4 - 4 + 1
    assert not any(name.startswith("education") for name in records.names)
    assert (records.values[:, -1] == (adult[0]["education-num"] > 9)).all()


def test_the_made_up_table_has_the_shape_and_the_counts_of_nltcs():
    """Item counts are binomial at best: five standard deviations, 1 in 10^5 for sixteen items."""
    records = made_up_nltcs()
    assert records.values.shape == (NLTCS_RECORDS, 16) == (21_574, 16)
    for name, count in zip(records.names, records.values.sum(axis=0), strict=True):
        expected = NLTCS_COUNTS[name]
        assert abs(count - expected) < 5 * math.sqrt(expected * (1 - expected / NLTCS_RECORDS))
    assert (made_up_nltcs().values == records.values).all()
    model = principal_components(scatter_matrix(records.values), 0.8)
    assert model.directions.shape[1] == 7
    assert model.eigenvalues[0] > 0.3 * model.eigenvalues.sum()


def test_a_users_own_copy_of_nltcs_is_read_instead(tmp_path):
    frame = pd.DataFrame(np.eye(16, dtype=int)[:5], columns=list(NLTCS_COUNTS))[sorted(NLTCS_COUNTS)]
    frame.to_csv(tmp_path / "nltcs.csv", index=False)
    records = load_records("NLTCS-like, bed", tmp_path)
    assert records.names[-1] == "bed"
    assert records.values[:, -1].tolist() == [0, 1, 0, 0, 0]
    frame.assign(money=2).to_csv(tmp_path / "nltcs.csv", index=False)
    with pytest.raises(SourceError, match=r"must have 0 \(able\) or 1"):
        load_records("NLTCS-like, money", tmp_path)
    frame.drop(columns="money").to_csv(tmp_path / "nltcs.csv", index=False)
    with pytest.raises(SourceError, match="lacks the columns money"):
        load_records("NLTCS-like, money", tmp_path)


def test_a_bench_divides_anew_in_every_run_and_repeats_itself():
    generator = np.random.default_rng(2)
    values = generator.random((500, 5))
    values[:, -1] = values[:, 0] + 0.1 * generator.normal(size=500) > 0.5
    records = Records(tuple("abcde"), values)
    first, again, other = (HpdpBench.of(records, 0.9, run) for run in (0, 0, 1))
    assert (len(first.train), len(first.test)) == (400, 100)
    assert sorted(map(tuple, np.vstack([first.train, first.test]))) == sorted(map(tuple, values))
    assert not (first.test == other.test).all()
    assert first.raw() > 0.8 > first.majority()
    mechanism = Hpdp(1.0, 0.9)
    assert first.published(mechanism, 3) == again.published(mechanism, 3)
    assert first.published(Hpdp(math.inf, 0.9), 3) > 0.8


@pytest.mark.parametrize("target", ["adult, salary", "adult, education", "NLTCS-like, outside"])
def test_rows_of_copublishs_own_releases_become_the_columns_that_classifiers_see(folder, target):
    """All but two attributes of Adult: a release tells one country from all others, and has no names of education."""
    records, sound = load_records(target, folder), SoundRecords.load(target, folder)
    encoded = sound.encode(sound.rows, np.random.default_rng(0))
    assert encoded.shape == records.values.shape
    left_out = ("native-country ", "education ")
    same = [place for place, name in enumerate(records.names) if not name.startswith(left_out)]
    assert (encoded[:, same] == records.values[:, same]).all()
    if target != "NLTCS-like, outside":
        country = [place for place, name in enumerate(records.names) if name.startswith("native-country ")]
        is_home = (sound.rows["native-country"] == "United-States").to_numpy()
        assert ((encoded[:, country] == 1).all(axis=1) == is_home).all()  # home is the last of four places


def test_an_own_release_depends_on_training_records_alone_and_is_worth_training_on():
    """At epsilon 10 next to nothing is lost in noise: raw data give 0.84, the majority class 0.55."""
    few, nowhere = np.arange(4_000), Path("no such folder")
    records = load_records("NLTCS-like, outside", nowhere)
    sound = SoundRecords.load("NLTCS-like, outside", nowhere).only(few)
    bench = HpdpBench.of(Records(records.names, records.values[few]), 0.8, 0, sound)
    assert bench.sound is not None
    train = bench.sound.encode(bench.sound.rows, np.random.default_rng(0))
    assert (train == bench.train).all()
    assert bench.own("10", None, 2) > 0.8 > bench.majority()
    assert bench.own("10", None, 2, "marginals") > 0.8


def test_what_hpdp_dp_is_compared_with_repeats_itself_and_learns_from_training_records():
    """On the made-up table raw data give 0.84 and the majority class 0.55."""
    bench = HpdpBench.of(load_records("NLTCS-like, outside", Path("no such folder")), 0.8, 0)
    accuracy = bench.compared(Subn(10.0), 3)
    assert accuracy > 0.8
    assert bench.compared(Subn(10.0), 3) == accuracy
    assert bench.compared(Subn(0.001), 3) < 0.8


def test_a_row_with_fewer_runs_than_the_title_says_so(fig3):
    figure, points = fig3
    more = [replace(point, runs=1 if point.series.startswith("DP-SUBN3") else 3) for point in points]
    labels = [row[0] for row in panel_table(figure, more, "adult, salary")[1]]
    assert "DP-SUBN3, noise once (1 run)" in labels
    assert "HPDP-DP without noise" in labels
    assert not any(" run)" in row[0] for row in panel_table(figure, points, "adult, salary")[1])


def test_records_of_one_class_or_none_at_all_can_be_trained_on():
    """Noise can leave nothing else."""
    test = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    bench = HpdpBench(test, test, 0.9, 0)
    assert bench.accuracy_of(np.array([[0.0, 1.0], [1.0, 1.0]])) == 0.25
    assert bench.accuracy_of(np.array([[0.0, 0.0]])) == 0.75
    assert bench.accuracy_of(np.zeros((0, 2))) == 0.75


@pytest.fixture(scope="module")
def fig3(folder):
    figure = hpdp_figures()["hpdp-fig3"]
    published = tuple(series for series in figure.series if not series.label.startswith("copublish"))
    panels = ("adult, salary", "NLTCS-like, money")
    figure = replace(figure, xs=("1", "15", "20"), panels=panels, series=published)
    return figure, run_figure(figure, folder, 1, lambda *_: None)


def test_a_table_has_no_columns_for_components_that_it_cannot_have(fig3):
    figure, points = fig3
    for panel, shown in (("adult, salary", ["1", "15", "20"]), ("NLTCS-like, money", ["1", "15"])):
        header, rows = panel_table(figure, points, panel)
        assert header[2:] == shown
        assert all(len(row) == len(header) for row in rows)
    shares = {
        p.x: p.mean for p in points if p.dataset == "NLTCS-like, money" and p.series == "contribution without noise"
    }
    assert 30 < shares["1"] < shares["15"] < 100


def test_one_command_writes_table_and_plot_and_fills_the_page(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(figures_module, "OWNERS", ("2",))
    page = tmp_path / "page.md"
    page.write_text("<!-- begin hpdp-fig5 -->\n<!-- end hpdp-fig5 -->\n")
    options = ("--data", folder, "--runs", 1, "--pages", tmp_path, "--out", tmp_path / "results", "--format", "json")
    rows = json.loads(command("hpdp-fig5", *options).stdout)
    assert {row["private"] for row in rows if row["series"].startswith("copublish")} == {"yes", "yes, with delta"}
    others = {row["series"]: row["private"] for row in rows if not row["series"].startswith("copublish")}
    assert {others.pop(f"DP-SUBN3, noise {of}") for of in ("of every owner", "once")} == {"yes, were the noise exact"}
    assert set(others.values()) == {"no"}
    assert {row["x"] for row in rows} == {"", "2"}
    assert sorted(path.suffix for path in (tmp_path / "results").iterdir()) == [".csv", ".png", ".svg"]
    drawn = (tmp_path / "results" / "hpdp-fig5.svg").read_text()
    assert "Adult, salary" in drawn and "Adult, education" in drawn
    assert "| HPDP-DP, noise scale of its proof | no |" in page.read_text()
    assert "| copublish, hpdp | yes |" in page.read_text()
    assert "| copublish, marginals, delta 1e-6 | yes, with delta |" in page.read_text()


def test_findings_are_computed_from_the_files(folder, tmp_path):
    found = json.loads(command("hpdp-findings", "--data", folder, "--out", tmp_path, "--format", "json").stdout)
    by_number = {finding["number"]: finding["found"] for finding in found}
    assert list(by_number) == ["E39", "E40", "E41", "E42", "E43", "E44", "E45", "E47"]
    assert "by 1,377." in by_number["E40"]  # 999/1000 of p(p + 1)/2 = 1,378
    assert "M = 3: 0.59 / 1.32 / 1.99" in by_number["E44"]
    assert "hpdp-findings" in command("list").stdout
