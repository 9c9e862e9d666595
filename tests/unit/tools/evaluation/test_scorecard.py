"""Scores of a whole release: a release without noise equals its data, and what does not fit is said clearly."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from copublish import generalize
from copublish.errors import CopublishError, EvaluationError
from copublish.tools.evaluation import values
from copublish.tools.evaluation.generalize import read_values
from copublish.tools.evaluation.scorecard import evaluate
from support.releases import small_release

MISSING = {"attributes.region.missing": "category", "attributes.income.missing": "category"}


@pytest.fixture(scope="module")
def exact():
    return small_release(noise=False)


def test_a_release_without_noise_has_the_marginals_of_its_data(exact):
    release, table = exact
    scores = evaluate(release, table, classifiers=["decision-tree"]).to_dict()
    for errors in scores["marginals"]["published_values"].values():
        assert errors["mean"] == pytest.approx(0, abs=1e-12)
    assert scores["marginals"]["agreed_values"]["1-way"]["mean"] > 0.01, "a check that can fail"


@pytest.mark.slow
def test_training_on_it_is_training_on_the_generalized_data(exact):
    release, table = exact
    first, second = (
        evaluate(release, table, raw=table, classifiers=["decision-tree", "linear-svm"], train_on=train_on).to_dict()
        for train_on in ("release", "generalized")
    )
    for one, other in zip(first["classification"], second["classification"], strict=True):
        assert one["CA"] == pytest.approx(other["CA"], abs=0.005)
        assert one["BA"] == other["BA"] > one["CA"] > one["LA"]
        assert one["BA_minus_CA"] == pytest.approx(one["BA"] - one["CA"])
        assert one["CA_minus_LA"] == pytest.approx(one["CA"] - one["LA"])
        assert other["CA_on_raw_values"] is None


@pytest.mark.slow
def test_the_same_release_scored_twice_gives_the_same_numbers():
    release, table = small_release(**MISSING)
    fast = ["decision-tree", "linear-svm"]
    runs = [json.dumps(evaluate(release, table, raw=table, classifiers=fast).to_dict()) for _ in range(2)]
    assert runs[0] == runs[1]


def test_without_raw_data_the_baseline_is_unknown(exact):
    release, table = exact
    scores = evaluate(release, table, target="default", classifiers=["decision-tree"]).to_dict()
    assert scores["classification"][0]["BA"] is None
    assert scores["classification"][0]["BA_minus_CA"] is None
    assert scores["marginals"]["compared_with"] == "test"
    assert "disclosure" in scores["disclosure"]


def test_codes_and_labels_are_those_of_generalize():
    release, table = small_release(**MISSING)
    table.loc[::7, "income"] = np.nan
    table.loc[::5, "region"] = None
    cut = release.generalization
    labels = generalize(cut, table).to_pandas()
    assert labels.equals(generalize(release, table).to_pandas())
    frame = read_values(cut.columns, table).table.to_pandas()
    codes = values.codes_of(cut.columns.domains, frame)
    found = values.published_labels(cut, values.published_codes(cut, codes))
    for name in found:
        assert found[name].astype(str).tolist() == labels[name].tolist(), name


def test_read_values_gives_back_what_was_in_the_data(exact):
    release, table = exact
    columns = release.published.columns
    frame = read_values(columns, table).table.to_pandas()
    for name in frame:
        assert frame[name].tolist() == table[name].tolist(), name
    assert read_values(columns, table[:0]).table.schema == read_values(columns, table).table.schema


def test_plain_records_fall_back_into_the_cells_they_were_drawn_from():
    release, _ = small_release(**MISSING)
    cut = release.generalization
    drawn = values.plain_records(release, cut)
    assert drawn.equals(values.plain_records(release, cut))
    codes = values.codes_of(cut.columns.domains, drawn)
    found = values.published_labels(cut, values.published_codes(cut, codes))
    records = release.records.to_pandas()
    for name in records:
        if name in cut.runs and "missing" in str(cut.values[name]):
            continue  # a range of numbers 'or missing' is spread over the numbers alone
        assert found[name].astype(str).tolist() == records[name].astype(str).tolist(), name


def refusal(*arguments, **options) -> str:
    with pytest.raises(CopublishError) as caught:
        evaluate(*arguments, **options)
    assert "SECRET" not in str(caught.value)
    return str(caught.value)


def test_what_does_not_fit_is_said_clearly(exact):
    release, table = exact
    assert "Use --target default" in refusal(release, table, target="job")
    assert "no column 'salary'" in refusal(release, table, target="salary")
    assert "'age' is in the release but not in the data" in refusal(release, table.drop(columns="age"))
    assert "no column 'default', the class" in refusal(release, table.drop(columns="default"))
    assert "raw training data have no rows" in refusal(release, table, raw=table[:0])
    assert "no row with a class" in refusal(release, table.assign(default="SECRET"))
    assert "not in the agreed list" in refusal(release, table.assign(job="SECRET"), strict=True)
    assert "not in the agreed list" in refusal(release, table.assign(default="SECRET"), strict=True)
    assert "outside the agreed bounds" in refusal(release, table, raw=table.assign(age=120), strict=True)
    assert "--raw" in refusal(release, table, train_on="generalized")
    with pytest.raises(EvaluationError):
        evaluate(release, pd.DataFrame({"a": []}))


@pytest.mark.slow
def test_values_that_are_not_as_agreed_are_scored_as_a_run_would_have_counted_them(exact):
    """By the agreed rules, done by hand: the nearer bound, the first listed value, no record without a class."""
    release, table = exact
    odd, by_hand = table.copy(), table.copy()
    odd.loc[:9, "age"], by_hand.loc[:9, "age"] = 120, 99
    odd.loc[5:7, "job"], by_hand.loc[5:7, "job"] = "SECRET", "cook"
    odd.loc[20:22, "default"] = None
    by_hand = by_hand.drop(index=[20, 21, 22])
    found = evaluate(release, odd, raw=odd, classifiers=("decision-tree",))
    assert found.to_dict() == evaluate(release, by_hand, raw=by_hand, classifiers=("decision-tree",)).to_dict()
    for data in ("test", "raw training"):
        assert [(rule.column, rule.rule, rule.rows) for rule in found.rules[data]] == [
            ("age", "clamped", 10),
            ("default", "null class", 3),
            ("job", "unlisted", 3),
        ]
    assert "SECRET" not in str(found.rules)
    assert evaluate(release, table, classifiers=("decision-tree",)).rules == {"test": ()}
