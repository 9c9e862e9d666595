"""The scores of what was published: how well it trains classifiers, and how far its marginals and numbers are off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.domain import NumericalDomain
from copublish.errors import EvaluationError
from copublish.progress import Progress, no_progress
from copublish.release.publication import Publication
from copublish.tools.evaluation import distances, values
from copublish.tools.evaluation.baseline import WHAT_IT_IS, ClassTables
from copublish.tools.evaluation.classification import CLASSIFIERS, ClassifierName, accuracy, majority_accuracy
from copublish.tools.evaluation.distances import WAYS, MarginalErrors, marginal_errors, number_statistics
from copublish.tools.evaluation.prediction import (
    METRICS,
    MetricName,
    MetricScores,
    Prediction,
    mean_prediction,
    prediction_scores,
)
from copublish.tools.evaluation.published import Coverage, ScoredData, coverage
from copublish.tools.evaluation.utility import distances_from
from copublish.types import TypedJson

TrainOn = Literal["release", "generalized"]

Reference = Literal["raw", "test"]
"""What records are compared with: the raw training records, or the test records where no raw ones are given."""

BASELINE_RUNS = 3
"""Draws of the trivial baseline whose mean stands beside a release: one could be lucky."""


@typed(frozen=True, kw_only=True)
class AreaDifference(TypedJson):
    """The difference of two areas on the same test records, and whether it is within its standard error."""

    area: float
    standard_error: float
    is_within_error: bool


@typed(frozen=True, kw_only=True)
class ClassifierScores(TypedJson):
    """All scores of one classifier.

    Attributes:
        classifier: Its name.
        release: Trained on what was published.
        raw: Trained on the raw records, where they are known.
        baseline: Trained on the trivial baseline, the mean of its draws.
        raw_minus_release: What privacy costs.
        release_minus_baseline: What the release is worth beside the trivial baseline.
        BA: Accuracy of raw data.
        CA: Accuracy of what is published.
        CA_on_raw_values: The same with generalized values spread over the values they stand for.
        LA: Accuracy of always saying the largest class.
        BA_minus_CA: What privacy costs in accuracy.
        CA_minus_LA: What training is worth in accuracy.
        standard_error_of_CA: Of the choice of test records.
    """

    classifier: ClassifierName
    release: MetricScores
    raw: MetricScores | None
    baseline: MetricScores | None
    raw_minus_release: AreaDifference | None
    release_minus_baseline: AreaDifference | None
    BA: float | None
    CA: float
    CA_on_raw_values: float | None
    LA: float
    BA_minus_CA: float | None
    CA_minus_LA: float
    standard_error_of_CA: float  # noqa: N815 - the key of the JSON


@typed(frozen=True, kw_only=True)
class DistanceScores(TypedJson):
    """Distances of records from the reference beside predictions; those of `release`, `raw` and `baseline` by kind.

    Attributes:
        compared_with: The reference.
        release: Of what was published.
        raw: Of the test records from the raw ones.
        baseline: Of the trivial baseline, the mean of its draws.
        coverage: How many published error bars hold the truth, where both are known.
        by_column: Statistics of numbers as they are published, by column and statistic.
    """

    compared_with: Reference
    release: Mapping[str, float | None]
    raw: Mapping[str, float | None] | None
    baseline: Mapping[str, float | None] | None
    coverage: Coverage | None
    by_column: Mapping[str, Mapping[str, Mapping[str, float]]]


@typed(frozen=True, kw_only=True)
class MarginalScores(TypedJson):
    """Total variations of marginals, by the number of their columns.

    Attributes:
        compared_with: The reference.
        published_values: Of the published values, where they are coarser than the agreed ones.
        agreed_values: Of the values of the agreed domains.
    """

    compared_with: Reference
    published_values: Mapping[str, MarginalErrors] | None = None
    agreed_values: Mapping[str, MarginalErrors]


@typed(frozen=True, kw_only=True)
class NumberScores(TypedJson):
    """Errors of numerical columns, each on its own and in how they rise and fall together; None without such columns.

    Attributes:
        compared_with: The reference.
        wasserstein_in_standard_deviations: Wasserstein distance by column.
        mean_wasserstein: Their mean.
        rank_correlation_error: Of rank correlations.
        mean_sse_of_generalization: Squared errors of generalized values, where values are generalized.
        mean_sse_of_sorted_columns: Squared errors between sorted columns.
    """

    compared_with: Reference
    wasserstein_in_standard_deviations: Mapping[str, float]
    mean_wasserstein: float | None
    rank_correlation_error: float | None
    mean_sse_of_generalization: float | None
    mean_sse_of_sorted_columns: float | None


@typed(frozen=True, kw_only=True)
class ScoreTable(TypedJson):
    """All scores of what was published.

    Attributes:
        classification: By classifier; empty where nothing is predicted.
        ranked_by: The metric that releases are ranked by.
        baseline_is: The trivial baseline in words, where it was drawn.
        distances: Distances beside predictions.
        marginals: Total variations of marginals.
        numbers: Errors of numerical columns.
    """

    classification: tuple[ClassifierScores, ...]
    ranked_by: MetricName
    baseline_is: str | None
    distances: DistanceScores
    marginals: MarginalScores
    numbers: NumberScores


def score(
    published: ScoredData,
    test: pd.DataFrame,
    raw: pd.DataFrame | None = None,
    *,
    release: Publication | None = None,
    baseline: ClassTables | None = None,
    train_on: TrainOn = "release",
    classifiers: Sequence[ClassifierName] = CLASSIFIERS,
    progress: Progress = no_progress,
) -> ScoreTable:
    """All scores; the same call gives the same numbers.

    For the records of any mechanism: `score(ScoredData.of_records(frame, agreement.columns, target), test, train)`.
    Where nothing is predicted no classifier is trained.

    Args:
        published: What was published, and which of its columns is predicted.
        test: Records to test classifiers on, as `read_values` gives them.
        raw: The training records as they are, for what raw data give, for the trivial baseline, and as the reference of
            marginals and numbers.
        release: Where it comes from, to check its error bars against `raw`.
        baseline: The trivial baseline with the release's budget. It is drawn from `raw`, with noise from a seed.
        train_on: What the classifiers of CA are trained on: what was published, or `raw` generalized without noise.
        classifiers: Which ones.
        progress: Told about every classifier.

    Raises:
        EvaluationError: If nothing was published to train on.

    Privacy:
        The scores depend on `test` and `raw` exactly: they are a disclosure that nothing accounts for.
    """
    drawn = (
        []
        if raw is None or baseline is None
        else [
            ScoredData.of_records(baseline.draw(raw, np.random.default_rng(run)), published.domains, published.target)
            for run in range(BASELINE_RUNS)
        ]
    )
    classification: list[ClassifierScores] = []
    classifiers = classifiers if published.target is not None else ()
    for number, classifier in enumerate(classifiers):
        progress("classifiers", number, len(classifiers))
        classification.append(classification_scores(published, test, raw, train_on, classifier, drawn))
    progress("classifiers", len(classifiers), len(classifiers))
    return ScoreTable(
        classification=tuple(classification),
        ranked_by=METRICS[0],
        baseline_is=WHAT_IT_IS if drawn else None,
        distances=distance_scores(published, drawn, test, raw, release),
        marginals=marginal_scores(published, test, raw),
        numbers=number_scores(published, test, raw),
    )


def _reference(test: pd.DataFrame, raw: pd.DataFrame | None) -> tuple[pd.DataFrame, Reference]:
    return (test, "test") if raw is None else (raw, "raw")


def classification_scores(
    published: ScoredData,
    test: pd.DataFrame,
    raw: pd.DataFrame | None,
    train_on: TrainOn,
    classifier: ClassifierName,
    drawn: Sequence[ScoredData] = (),
) -> ClassifierScores:
    """All scores of one classifier, trained on what was published, on raw records and on the trivial baseline.

    CA is the accuracy of what is published, BA that of raw data, LA that of the largest class.
    """
    target, test_in_its_terms = published.predicted, published.in_its_terms(test)
    cells, weights, noisy = published.cells, published.weights, True
    if train_on == "generalized" and raw is not None:
        cells, weights, noisy = published.in_its_terms(raw), None, False
    if not len(cells) or (weights is not None and not (cells[weights] > 0).any()):
        raise EvaluationError("The training data have no records, so nothing can be trained.")
    own = prediction_scores(cells, test_in_its_terms, target, classifier, weights)
    ca, la = own.accuracy.value, majority_accuracy(cells, test_in_its_terms, target, weights)
    plain_test, on_raw_values, of_raw = published.as_features(test), None, None
    if noisy:  # records hold raw values already; what was generalized is spread over the values it stands for
        plain = published.as_features(published.records)
        on_raw_values = ca if published.cut is None else accuracy(plain, plain_test, target, classifier)
    if raw is not None:
        of_raw = prediction_scores(published.as_features(raw), plain_test, target, classifier)
    ba = None if of_raw is None else of_raw.accuracy.value
    draws = [prediction_scores(one.cells, plain_test, target, classifier) for one in drawn]
    of_baseline = mean_prediction(draws) if draws else None
    return ClassifierScores(
        classifier=classifier,
        release=own.scores(),
        raw=None if of_raw is None else of_raw.scores(),
        baseline=None if of_baseline is None else of_baseline.scores(),
        raw_minus_release=_difference(of_raw, own),
        release_minus_baseline=_difference(own, of_baseline),
        BA=ba,
        CA=ca,
        CA_on_raw_values=on_raw_values,
        LA=la,
        BA_minus_CA=None if ba is None else ba - ca,
        CA_minus_LA=ca - la,
        standard_error_of_CA=(ca * (1 - ca) / len(test)) ** 0.5,
    )


def _difference(one: Prediction | None, other: Prediction | None) -> AreaDifference | None:
    if one is None or other is None:
        return None
    found = one.area.minus(other.area)
    is_within = abs(found.value) <= found.standard_error
    return AreaDifference(area=found.value, standard_error=found.standard_error, is_within_error=is_within)


def distance_scores(
    published: ScoredData,
    drawn: Sequence[ScoredData],
    test: pd.DataFrame,
    raw: pd.DataFrame | None,
    release: Publication | None,
) -> DistanceScores:
    """How far what was published is off beside predictions, and how far the baseline and other real records are.

    Tables are compared on quantiles of the data: on the agreed cells a coarse grid would look good.
    """
    reference, compared_with = _reference(test, raw)
    covered = None if release is None or raw is None else coverage(release, published, raw)
    baselines = [distances_from(one.records, reference, published) for one in drawn]
    means: dict[str, float | None] = {}
    for key in baselines[0] if baselines else ():
        values_of_key = [value for one in baselines if (value := one[key]) is not None]
        means[key] = float(np.mean(values_of_key)) if values_of_key else None
    columns = [name for name, domain in published.domains.items() if isinstance(domain, NumericalDomain)]
    return DistanceScores(
        compared_with=compared_with,
        release=distances_from(published.records, reference, published),
        raw=None if raw is None else distances_from(test, raw, published),
        baseline=means or None,
        coverage=covered,
        by_column=number_statistics(published.records, reference, columns),
    )


def marginal_scores(published: ScoredData, test: pd.DataFrame, raw: pd.DataFrame | None) -> MarginalScores:
    """Total variations, of the agreed domains' values and, where they are coarser, of the published values."""
    domains, cut = published.domains, published.cut
    reference, compared_with = _reference(test, raw)
    codes = [values.codes_of(domains, frame) for frame in (published.records, reference)]
    of_published = None
    if cut is not None:
        sizes = {name: size for name, size in values.published_sizes(cut).items() if size > 1}
        of_published = _errors_by_ways([values.published_codes(cut, own) for own in codes], sizes)
    return MarginalScores(
        compared_with=compared_with,
        published_values=of_published,
        agreed_values=_errors_by_ways(codes, {name: domain.size for name, domain in domains.items()}),
    )


def _errors_by_ways(codes: Sequence[pd.DataFrame], sizes: Mapping[str, int]) -> dict[str, MarginalErrors]:
    one, other = codes
    errors = {f"{ways}-way": marginal_errors(one, other, sizes, ways) for ways in WAYS}
    return {ways: error for ways, error in errors.items() if error is not None}


def number_scores(published: ScoredData, test: pd.DataFrame, raw: pd.DataFrame | None) -> NumberScores:
    """How far numerical columns are off, each on its own and in how they rise and fall together."""
    reference, compared_with = _reference(test, raw)
    records, cut = published.records, published.cut
    columns = [name for name, domain in published.domains.items() if isinstance(domain, NumericalDomain)]
    by_column = distances.wasserstein_errors(records, reference, columns)
    return NumberScores(
        compared_with=compared_with,
        wasserstein_in_standard_deviations=by_column,
        mean_wasserstein=sum(by_column.values()) / len(by_column) if by_column else None,
        rank_correlation_error=distances.rank_correlation_error(records, reference, columns),
        mean_sse_of_generalization=None if cut is None else distances.mean_sse(reference, cut, columns),
        mean_sse_of_sorted_columns=distances.mean_sse_of_sorted_columns(records, reference, columns),
    )
