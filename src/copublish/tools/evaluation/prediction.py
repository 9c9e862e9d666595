"""How well a column is predicted: area under the ROC curve, balanced accuracy, log loss, accuracy, with their errors.

Accuracy alone misleads where classes are unequal: whoever always says the larger of 88 and 12 percent is right in 88
percent of all cases and has told nothing. So the area is what releases are ranked by, and the others stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as typed
from scipy.stats import rankdata

from copublish.errors import EvaluationError
from copublish.tools.evaluation.classification import ClassifierName, fit
from copublish.types import BoolArray, FloatArray, TypedJson

MetricName = Literal["area", "balanced_accuracy", "log_loss", "accuracy"]
METRICS: tuple[MetricName, ...] = get_args(MetricName)
"""The first one is what is ranked by."""

RANKED_CLASSIFIERS: tuple[ClassifierName, ...] = ("decision-tree", "logistic-regression", "histogram-boosting")
"""They give chances, and differ in what they make of a table."""

LEAST_TEST_RECORDS = 10
"""Of a class whose area and recall count, unless no class has as many: of fewer they would be chance."""

LEAST_CHANCE = 0.001
"""What log loss takes a smaller chance for: a tree says 0 of what it has not seen, and one record would decide."""


@dataclass(frozen=True, eq=False)
class ScoreEstimate:
    """A score on test records, and how much each of them moves it.

    Attributes:
        value: The score.
        influences: Every test record's part of the score's error, shape (n_test,). They sum to about 0; the sum of
            their squares is the variance that other test records of the same kind would bring.
    """

    value: float
    influences: FloatArray

    @property
    def standard_error(self) -> float:
        """How far the score would move with other test records; noise and training records are no part of it."""
        return float(np.sqrt(np.sum(self.influences**2)))

    def minus(self, other: ScoreEstimate) -> ScoreEstimate:
        """The difference from another score on the same test records. What both owe to the records cancels."""
        return ScoreEstimate(self.value - other.value, self.influences - other.influences)


def mean_estimate(estimates: Sequence[ScoreEstimate]) -> ScoreEstimate:
    """The mean of scores on the same test records."""
    return ScoreEstimate(
        float(np.mean([one.value for one in estimates])), np.mean([one.influences for one in estimates], axis=0)
    )


@typed(frozen=True, kw_only=True)
class MetricScores(TypedJson):
    """Scores of one classifier, each with its standard error; None where it has no such score or error."""

    area: float | None
    area_standard_error: float | None
    balanced_accuracy: float | None
    balanced_accuracy_standard_error: float | None
    log_loss: float | None
    log_loss_standard_error: float | None
    accuracy: float | None
    accuracy_standard_error: float | None

    @classmethod
    def of(cls, scores: Mapping[MetricName, tuple[float, float | None] | None]) -> Self:
        """Scores by metric, each with its standard error."""
        numbers: dict[str, float | None] = {}
        for metric, score in scores.items():
            numbers[metric], numbers[f"{metric}_standard_error"] = score or (None, None)
        return cls(**numbers)


@dataclass(frozen=True, eq=False, kw_only=True)
class Prediction:
    """All scores of one classifier on test records.

    Attributes:
        area: Under the ROC curve; of more than two classes the mean of each against the rest. 1/2 is a guess.
        balanced_accuracy: The mean over classes of the share of a class's records that is predicted rightly.
        log_loss: Mean of minus the logarithm of the chance that the true class was given; nothing for a classifier
            without chances. Less is better.
        accuracy: The share of records that is predicted rightly.
    """

    area: ScoreEstimate
    balanced_accuracy: ScoreEstimate
    log_loss: ScoreEstimate | None
    accuracy: ScoreEstimate

    def of(self, metric: MetricName) -> ScoreEstimate | None:
        """One of the scores."""
        found: ScoreEstimate | None = getattr(self, metric)
        return found

    def scores(self) -> MetricScores:
        """The scores with their standard errors."""
        estimates = {metric: self.of(metric) for metric in METRICS}
        return MetricScores.of(
            {
                metric: None if estimate is None else (estimate.value, estimate.standard_error)
                for metric, estimate in estimates.items()
            }
        )


def mean_prediction(predictions: Sequence[Prediction]) -> Prediction:
    """The mean of scores on the same test records."""
    losses = [one.log_loss for one in predictions if one.log_loss is not None]
    return Prediction(
        area=mean_estimate([one.area for one in predictions]),
        balanced_accuracy=mean_estimate([one.balanced_accuracy for one in predictions]),
        log_loss=mean_estimate(losses) if losses else None,
        accuracy=mean_estimate([one.accuracy for one in predictions]),
    )


def prediction_scores(
    train: pd.DataFrame,
    test: pd.DataFrame,
    target: str,
    classifier: ClassifierName = "decision-tree",
    weights: str | None = None,
    seed: int = 0,
) -> Prediction:
    """Train a classifier on one frame and score it on another; `classification.accuracy` explains the arguments.

    Args:
        train: Records, or cells with their number in the column `weights`. Without any, every class is as likely.
        test: Records with at least the same columns.
        target: The column to predict.
        classifier: Which one.
        weights: The column that says how many records a row stands for.
        seed: Makes the classifiers that draw at random repeatable.

    Raises:
        EvaluationError: If there is nothing to test on, or a column is missing.
    """
    missing = [name for name in train.columns if name not in test.columns and name != weights]
    if missing:
        raise EvaluationError(f"The test data have no column {', '.join(map(repr, missing))}.")
    if test.empty:
        raise EvaluationError("The test data have no rows, so nothing can be tested.")
    truth = test[target].astype(str).to_numpy()
    if len(train) == 0 or (weights is not None and not (train[weights] > 0).any()):
        return _scores(truth, *_guess(train, truth, target), are_chances=True)
    trained = fit(train, target, classifier, weights, seed)
    classes, scores, are_chances = trained.scores(test)
    return _scores(truth, classes, scores, are_chances=are_chances)


def _guess(train: pd.DataFrame, truth: NDArray[Any], target: str) -> tuple[list[str], FloatArray]:
    """What is left to say if noise left no record: every class is as likely, the first one listed is said."""
    column = train[target] if target in train else pd.Series(dtype=str)
    listed = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else sorted(set(truth))
    classes = [str(value) for value in listed]
    return classes, np.full((len(truth), len(classes)), 1 / len(classes))


def _scores(
    truth: NDArray[Any],
    classes: Sequence[str],
    scores: FloatArray,
    *,
    are_chances: bool,
) -> Prediction:
    """Score what was said of every record, shape (n_test, n_classes)."""
    said = np.asarray(classes, dtype=object)[scores.argmax(axis=1)]
    is_right = said == truth
    values, counts = np.unique(truth, return_counts=True)
    common = [str(value) for value, count in zip(values, counts, strict=True) if count >= LEAST_TEST_RECORDS]
    counted = common or [str(value) for value in values]
    place = {value: number for number, value in enumerate(classes)}
    of_class = {value: np.asarray(truth == value) for value in counted}
    areas = [
        area_estimate(of_class[value], scores[:, place[value]] if value in place else np.zeros(len(truth)))
        for value in counted
        if len(values) > 1
    ]
    log_loss = None
    if are_chances:
        given = np.zeros(len(truth))
        for value, number in place.items():
            given = np.where(truth == value, scores[:, number], given)
        log_loss = _mean(-np.log(np.maximum(given, LEAST_CHANCE)))
    recalls = [_mean(is_right.astype(float), of_class[value]) for value in counted]
    return Prediction(
        area=mean_estimate(areas) if areas else ScoreEstimate(0.5, np.zeros(len(truth))),
        balanced_accuracy=mean_estimate(recalls),
        log_loss=log_loss,
        accuracy=_mean(is_right.astype(float)),
    )


def area_estimate(is_class: BoolArray, scores: FloatArray) -> ScoreEstimate:
    """The area under the ROC curve of one class, with DeLong's structural components as influences.

    The area is how often a record of the class has a higher score than another one, ties counting half (DeLong, DeLong,
    Clarke-Pearson, Biometrics 44, 1988, equations 3 to 6). Both kinds of records have to occur.

    Args:
        is_class: Which test records are of the class.
        scores: What a classifier says of each, higher for more likely.
    """
    n_class, n_rest = int(is_class.sum()), int((~is_class).sum())
    ranks = rankdata(scores)
    above = np.empty(len(scores))
    # Of a record of the class the share of others below it, of another one the share of the class above it.
    above[is_class] = (ranks[is_class] - rankdata(scores[is_class])) / n_rest
    above[~is_class] = 1 - (ranks[~is_class] - rankdata(scores[~is_class])) / n_class
    area = float(above[is_class].mean())
    sizes = np.where(is_class, n_class, n_rest)
    return ScoreEstimate(area, (above - area) / np.sqrt(sizes * np.maximum(sizes - 1, 1)))


def _mean(values: FloatArray, kept: BoolArray | None = None) -> ScoreEstimate:
    """The mean of what is kept; its influences give the usual standard error of a mean."""
    kept = np.ones(len(values), dtype=np.bool_) if kept is None else kept
    n = int(kept.sum())
    mean = float(values[kept].mean())
    return ScoreEstimate(mean, np.where(kept, values - mean, 0.0) / np.sqrt(n * max(n - 1, 1)))
