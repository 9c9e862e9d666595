"""Scores of predictions: against scikit-learn, and their errors against loops over pairs of records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.tree import DecisionTreeClassifier

from copublish.errors import EvaluationError
from copublish.tools.evaluation.classification import CLASSIFIERS, SMALLEST_LEAF
from copublish.tools.evaluation.prediction import LEAST_CHANCE, area_estimate, prediction_scores


def table(n: int, seed: int, classes: tuple[str, ...] = ("no", "yes")) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    x, y = generator.normal(size=(2, n))
    edges = np.quantile(x, np.linspace(0, 1, len(classes) + 1)[1:-1])
    label = np.searchsorted(edges, x + y)
    return pd.DataFrame({"x": x.round(1), "class": np.array(classes, dtype=object)[label]})


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_scores_are_those_of_scikit_learn(classes):
    train, test = table(400, 1, classes), table(300, 2, classes)
    found = prediction_scores(train, test, "class")
    model = DecisionTreeClassifier(min_weight_fraction_leaf=SMALLEST_LEAF, random_state=0)
    model.fit(train[["x"]].to_numpy(), train["class"].to_numpy(dtype=str))
    chances, truth = model.predict_proba(test[["x"]].to_numpy()), test["class"].to_numpy(dtype=str)
    each = [metrics.roc_auc_score(truth == value, chances[:, place]) for place, value in enumerate(model.classes_)]
    assert found.area.value == pytest.approx(np.mean(each))
    said = model.predict(test[["x"]].to_numpy())
    assert found.balanced_accuracy.value == pytest.approx(metrics.balanced_accuracy_score(truth, said))
    assert found.accuracy.value == pytest.approx(np.mean(said == truth))
    given = np.array([chances[row, list(model.classes_).index(value)] for row, value in enumerate(truth)])
    assert (given == 0).any(), "a tree is sure where it should not be"
    assert found.log_loss.value == pytest.approx(np.mean([-np.log(max(chance, LEAST_CHANCE)) for chance in given]))
    share = np.mean(said == truth)
    assert found.accuracy.standard_error == pytest.approx(np.sqrt(share * (1 - share) / 299))


def test_the_error_of_an_area_is_delongs():
    generator = np.random.default_rng(0)
    scores, is_class = generator.integers(0, 6, 40).astype(float), generator.random(40) < 0.3
    ones, others = scores[is_class], scores[~is_class]
    wins = np.array([[(a > b) + (a == b) / 2 for b in others] for a in ones])
    variance = np.var(wins.mean(axis=1), ddof=1) / len(ones) + np.var(wins.mean(axis=0), ddof=1) / len(others)
    found = area_estimate(is_class, scores)
    assert found.value == pytest.approx(wins.mean())
    assert found.standard_error == pytest.approx(np.sqrt(variance))


def test_differences_on_the_same_records_have_their_own_error():
    test = table(300, 2)
    one, other = (prediction_scores(table(400, seed), test, "class").accuracy for seed in (1, 3))
    # The usual error of a mean of differences, record by record.
    right = one.influences - other.influences
    assert one.minus(other).standard_error == pytest.approx(np.sqrt(np.sum(right**2)))
    assert one.minus(one).standard_error == 0
    assert one.minus(other).standard_error < np.hypot(one.standard_error, other.standard_error)


def test_the_largest_class_is_worth_its_share_in_accuracy_and_nothing_in_area():
    train = pd.DataFrame({"x": [0.0] * 100, "class": ["no"] * 88 + ["yes"] * 12})
    found = prediction_scores(train, train, "class")
    assert found.accuracy.value == 0.88
    assert found.area.value == found.balanced_accuracy.value == 0.5
    assert found.area.standard_error == 0


def test_a_class_that_was_not_published_is_guessed_and_a_rare_one_does_not_count():
    train, test = table(400, 1, ("a", "b")), table(300, 2, ("a", "b", "c"))
    each = prediction_scores(train, test, "class").area.value
    assert 0.5 < each < 1
    rare = pd.concat([test[test["class"] != "c"], test[test["class"] == "c"][:9]])
    assert prediction_scores(train, rare, "class").area.value > each, "c had 1/2"
    nothing = prediction_scores(train[:0], test, "class")
    assert (nothing.area.value, nothing.log_loss.value) == (0.5, pytest.approx(np.log(3)))


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_every_classifier_is_scored_and_log_loss_needs_chances(classifier):
    found = prediction_scores(table(400, 1), table(300, 2), "class", classifier).scores().to_json()
    assert 0.7 < found["area"] < 0.95
    assert (found["log_loss"] is None) == (classifier == "linear-svm")
    assert (found["log_loss_standard_error"] is None) == (classifier == "linear-svm")


def test_what_cannot_be_tested_is_refused():
    train = table(50, 1)
    with pytest.raises(EvaluationError, match="no column 'x'"):
        prediction_scores(train, train[["class"]], "class")
    with pytest.raises(EvaluationError, match="no rows"):
        prediction_scores(train, train[:0], "class")
