"""What a published table is good for, in all numbers at once, and the same over several releases with its errors.

Used by plans and comparisons, where training records are at hand and may be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.domain import NumericalDomain
from copublish.release.publication import Publication
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.distances import correlation_error, mean_errors, number_statistics
from copublish.tools.evaluation.prediction import (
    METRICS,
    RANKED_CLASSIFIERS,
    MetricName,
    MetricScores,
    Prediction,
    ScoreEstimate,
    mean_estimate,
    prediction_scores,
)
from copublish.tools.evaluation.published import ScoredData, coverage
from copublish.tools.evaluation.values import neutral_errors
from copublish.types import TypedJson

MOST_TABLES = 120
"""Of two columns and of three that are compared in each release; all pairs of up to 16 columns."""

DISTANCES = {
    "tables_1": "single columns, total variation",
    "tables_2": "tables of two columns, total variation",
    "tables_3": "tables of three columns, total variation",
    "mean": "means of numbers, in standard deviations",
    "median": "medians",
    "quantiles": "quantiles at 5, 25, 75 and 95 percent",
    "standard_deviation": "standard deviations",
    "correlation": "correlations of numbers",
    "coverage": "error bars that hold the truth, of 95 percent",
}
"""What is compared beside predictions, and in which unit; all but the last are errors."""


@dataclass(frozen=True, eq=False)
class Utility:
    """All numbers of one published table.

    Attributes:
        predictions: By classifier.
        distances: By the keys of `DISTANCES`; nothing where there is nothing to compare.
    """

    predictions: Mapping[ClassifierName, Prediction]
    distances: Mapping[str, float | None]


def utility_of(
    published: ScoredData,
    train: pd.DataFrame,
    test: pd.DataFrame,
    *,
    release: Publication | None = None,
    classifiers: Sequence[ClassifierName] = RANKED_CLASSIFIERS,
) -> Utility:
    """Score what was published: predictions on test records, everything else against the training records.

    Args:
        published: What was published.
        train: The records that were released, values of the domains.
        test: Other records.
        release: Where it comes from, to check its error bars.
        classifiers: Which ones.
    """
    in_its_terms = published.in_its_terms(test)
    predictions = {
        name: prediction_scores(published.cells, in_its_terms, published.predicted, name, published.weights)
        for name in classifiers
    }
    covered = None if release is None else coverage(release, published, train)
    distances = distances_from(published.records, train, published)
    return Utility(predictions, {**distances, "coverage": None if covered is None else covered.covered})


def raw_utility(
    published: ScoredData, test: pd.DataFrame, *, classifiers: Sequence[ClassifierName] = RANKED_CLASSIFIERS
) -> Utility:
    """Score records as if they were published as they are; the distances are those of the test records from them.

    A release that is not farther from its records than other records of the same kind are could hardly be better.
    """
    plain = published.as_features(test)
    predictions = {name: prediction_scores(published.cells, plain, published.predicted, name) for name in classifiers}
    return Utility(predictions, {**distances_from(test, published.records, published), "coverage": None})


def distances_from(records: pd.DataFrame, data: pd.DataFrame, published: ScoredData) -> dict[str, float | None]:
    """How far records are from data, in tables, in numbers on their own and in how they depend on each other.

    Tables are compared on quantiles of the data, not on the agreed cells. Of no records the tables have nothing in
    common with those of the data.
    """
    if records.empty:
        return {**dict.fromkeys(DISTANCES), "tables_1": 1.0, "tables_2": 1.0, "tables_3": 1.0}
    tables = neutral_errors(records, data, published.domains, MOST_TABLES)
    numbers = [name for name, domain in published.domains.items() if isinstance(domain, NumericalDomain)]
    return {
        **{f"tables_{ways}": None if errors is None else errors.mean for ways, errors in tables.items()},
        **mean_errors(number_statistics(records, data, numbers)),
        "correlation": correlation_error(records, data, numbers),
    }


@dataclass(frozen=True)
class Difference:
    """How much better one summary predicts than another.

    Attributes:
        area: Of the first minus that of the second.
        standard_error: Of that; nothing if a single run cannot tell what noise does.
    """

    area: float
    standard_error: float | None

    @property
    def can_be_told(self) -> bool:
        """Whether it is more than one standard error: less is given by chance in one of three cases."""
        return self.standard_error is not None and abs(self.area) > self.standard_error

    @property
    def is_clear(self) -> bool:
        """Whether it is more than two standard errors, which chance gives in one of twenty cases."""
        return self.standard_error is not None and abs(self.area) > 2 * self.standard_error


@typed(frozen=True, kw_only=True)
class MeanDistance(TypedJson):
    """The mean of a distance over releases and its standard error; None where there is nothing to compare."""

    value: float | None
    standard_error: float | None


@typed(frozen=True, kw_only=True)
class SummaryScores(TypedJson):
    """Mean scores of several releases.

    Attributes:
        best_classifier: The classifier with the largest mean area.
        classifiers: Scores by classifier.
        distances: Distances by the keys of `DISTANCES`.
    """

    best_classifier: ClassifierName
    classifiers: Mapping[ClassifierName, MetricScores]
    distances: Mapping[str, MeanDistance]

    @property
    def best(self) -> MetricScores:
        """The scores of the best classifier."""
        return self.classifiers[self.best_classifier]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; those of the best classifier stand in front, too."""
        own = super().to_json()
        return {"best_classifier": own.pop("best_classifier"), **self.best.to_json(), **own}


@dataclass(frozen=True, eq=False)
class Summary:
    """Several releases of the same records with fresh noise, scored on the same test records.

    Attributes:
        runs: The numbers of each release; one for what has no noise.
        is_noisy: Whether another run would give other numbers.
    """

    runs: Sequence[Utility]
    is_noisy: bool = True

    @cached_property
    def classifier(self) -> ClassifierName:
        """The classifier with the largest mean area: what people would take."""
        names = list(self.runs[0].predictions)
        return max(names, key=lambda name: float(np.mean([run.predictions[name].area.value for run in self.runs])))

    @property
    def area(self) -> float:
        """What is ranked by: the mean area under the ROC curve of the best classifier."""
        return self._mean("area", self.classifier).value

    def _estimates(self, metric: MetricName, classifier: ClassifierName) -> list[ScoreEstimate]:
        found = [run.predictions[classifier].of(metric) for run in self.runs]
        return [estimate for estimate in found if estimate is not None]

    def _mean(self, metric: MetricName, classifier: ClassifierName) -> ScoreEstimate:
        return mean_estimate(self._estimates(metric, classifier))

    def noise_variance(self, metric: MetricName, classifier: ClassifierName) -> float | None:
        """The variance of the mean that noise brings; nothing if a single run cannot tell."""
        values = [estimate.value for estimate in self._estimates(metric, classifier)]
        if not self.is_noisy:
            return 0.0
        return float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else None

    def standard_error(self, metric: MetricName, classifier: ClassifierName) -> float | None:
        """Of a mean score: what noise and the choice of test records bring together."""
        noise = self.noise_variance(metric, classifier)
        return None if noise is None else float(np.sqrt(noise + self._mean(metric, classifier).standard_error ** 2))

    def minus(self, other: Summary) -> Difference:
        """The difference of areas, each of its best classifier. What test records bring to both cancels."""
        own, others = (one.noise_variance("area", one.classifier) for one in (self, other))
        means = [one._mean("area", one.classifier) for one in (self, other)]
        difference = means[0].minus(means[1])
        if own is None or others is None:
            return Difference(difference.value, None)
        return Difference(difference.value, float(np.sqrt(own + others + difference.standard_error**2)))

    def scores(self) -> SummaryScores:
        """The mean of every number with its standard error."""
        return SummaryScores(
            best_classifier=self.classifier,
            classifiers={name: self._scores_of(name) for name in self.runs[0].predictions},
            distances={key: self._distance(key) for key in DISTANCES},
        )

    def _scores_of(self, classifier: ClassifierName) -> MetricScores:
        known = {metric: bool(self._estimates(metric, classifier)) for metric in METRICS}
        return MetricScores.of(
            {
                metric: (self._mean(metric, classifier).value, self.standard_error(metric, classifier)) if has else None
                for metric, has in known.items()
            }
        )

    def _distance(self, key: str) -> MeanDistance:
        values = [value for run in self.runs if (value := run.distances[key]) is not None]
        error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        return MeanDistance(value=float(np.mean(values)) if values else None, standard_error=error)
