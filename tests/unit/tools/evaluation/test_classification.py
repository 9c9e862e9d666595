"""Classifiers on weighted cells equal those on the records that the cells stand for; what cannot be done is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copublish.errors import EvaluationError
from copublish.tools.evaluation.classification import CLASSIFIERS, accuracy, majority_accuracy

CELLS = pd.DataFrame(
    {
        "job": pd.Categorical(["cook", "cook", "clerk", "clerk", "vet"], categories=["vet", "cook", "clerk"]),
        "age": [20, 40, 20, 40, 60],
        "default": ["no", "no", "yes", "yes", "no"],
        "count": [30, 10, 20, 25, 0],
    }
)
RECORDS = CELLS.loc[np.repeat(CELLS.index, CELLS["count"])].drop(columns="count").reset_index(drop=True)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_perfect_feature_is_found_and_a_flipped_test_set_is_all_wrong(classifier):
    assert accuracy(CELLS, RECORDS, "default", classifier, weights="count") == 1
    flipped = RECORDS.assign(default=RECORDS["default"].map({"no": "yes", "yes": "no"}))
    assert accuracy(CELLS, flipped, "default", classifier, weights="count") == 0


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_weighted_cells_count_as_often_as_they_say(classifier):
    """One feature, both classes: the heavier class of each value is the best guess, whatever the classifier."""
    cells = pd.DataFrame({"job": list("aabbcc"), "default": ["no", "yes"] * 3, "count": [900, 100, 100, 900, 600, 400]})
    one_each = cells.drop(columns="count")
    assert accuracy(cells, one_each, "default", classifier, weights="count") == 0.5
    by_weight = cells.loc[np.repeat(cells.index, cells["count"])].drop(columns="count")
    expected = (900 + 900 + 600) / 3000
    assert accuracy(cells, by_weight, "default", classifier, weights="count") == pytest.approx(expected)
    assert accuracy(by_weight, by_weight, "default", classifier) == pytest.approx(expected)


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_the_same_call_gives_the_same_number(classifier):
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({"a": generator.normal(size=300), "b": generator.choice(list("xyz"), 300)})
    frame["c"] = np.where(frame["a"] + generator.normal(size=300) > 0, "yes", "no")
    assert len({accuracy(frame[:200], frame[200:], "c", classifier) for _ in range(3)}) == 1


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_values_that_training_never_saw_are_allowed(classifier):
    strange = RECORDS.assign(job="pilot")
    assert 0 <= accuracy(CELLS, strange, "default", classifier, weights="count") <= 1


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_one_class_alone_or_no_feature_gives_the_majority(classifier):
    assert accuracy(CELLS[:2], RECORDS, "default", classifier, weights="count") == pytest.approx(40 / 85)
    assert accuracy(RECORDS[["default"]], RECORDS, "default", classifier) == pytest.approx(45 / 85)


def test_the_majority_is_that_of_the_training_data():
    assert majority_accuracy(CELLS, RECORDS, "default", weights="count") == pytest.approx(45 / 85)
    assert majority_accuracy(CELLS[:2], RECORDS, "default", weights="count") == pytest.approx(40 / 85)


@pytest.mark.parametrize(
    ("train", "test", "target", "words"),
    [
        (CELLS.assign(count=0), RECORDS, "default", "no records"),
        (CELLS, RECORDS[:0], "default", "no rows"),
        (CELLS, RECORDS, "income", "no column 'income'"),
        (CELLS, RECORDS.drop(columns="job"), "default", "no column 'job'"),
    ],
)
def test_what_cannot_be_done_is_said(train, test, target, words):
    with pytest.raises(EvaluationError, match=words):
        accuracy(train, test, target, weights="count")


def test_an_unknown_classifier_is_refused():
    with pytest.raises(EvaluationError, match="There are: decision-tree"):
        accuracy(CELLS, RECORDS, "default", "oracle", weights="count")
