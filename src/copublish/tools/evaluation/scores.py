"""The scores of what was published: how well it trains classifiers, and how far its marginals and numbers are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import pandas as pd

from copublish.agreement.domain import NumericalDomain
from copublish.errors import EvaluationError
from copublish.mechanisms.base import Publication
from copublish.progress import Progress, no_progress
from copublish.tools.evaluation import distances, values
from copublish.tools.evaluation.baseline import WHAT_IT_IS, ClassTables
from copublish.tools.evaluation.classification import CLASSIFIERS, ClassifierName, accuracy, majority_accuracy
from copublish.tools.evaluation.distances import WAYS, marginal_errors, number_statistics
from copublish.tools.evaluation.prediction import METRICS, Prediction, mean_prediction, prediction_scores
from copublish.tools.evaluation.published import Published, coverage
from copublish.tools.evaluation.utility import distances_from

TrainOn = Literal["release", "generalized"]

BASELINE_RUNS = 3
"""Draws of the trivial baseline whose mean stands beside a release: one could be lucky."""


def score(
    published: Published,
    test: pd.DataFrame,
    raw: pd.DataFrame | None = None,
    *,
    release: Publication | None = None,
    baseline: ClassTables | None = None,
    train_on: TrainOn = "release",
    classifiers: Sequence[ClassifierName] = CLASSIFIERS,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """All scores as plain JSON values; the same call gives the same numbers.

    For the records of any mechanism: `score(Published.of_records(frame, agreement.columns, target), test, train)`.
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
    reference, compared_with = (test, "test") if raw is None else (raw, "raw")
    drawn = (
        []
        if raw is None or baseline is None
        else [
            Published.of_records(baseline.draw(raw, np.random.default_rng(run)), published.domains, published.target)
            for run in range(BASELINE_RUNS)
        ]
    )
    classification: list[dict[str, Any]] = []
    classifiers = classifiers if published.target is not None else ()
    for number, classifier in enumerate(classifiers):
        progress("classifiers", number, len(classifiers))
        classification.append(classification_scores(published, test, raw, train_on, classifier, drawn))
    progress("classifiers", len(classifiers), len(classifiers))
    return {
        "classification": classification,
        "ranked_by": METRICS[0],
        "baseline_is": WHAT_IT_IS if drawn else None,
        "distances": {
            "compared_with": compared_with,
            **distance_scores(published, reference, drawn, test, raw, release),
        },
        "marginals": {"compared_with": compared_with, **marginal_scores(published, reference)},
        "numbers": {"compared_with": compared_with, **number_scores(published, reference)},
    }


def classification_scores(
    published: Published,
    test: pd.DataFrame,
    raw: pd.DataFrame | None,
    train_on: TrainOn,
    classifier: ClassifierName,
    drawn: Sequence[Published] = (),
) -> dict[str, Any]:
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
    of_baseline = [prediction_scores(one.cells, plain_test, target, classifier) for one in drawn]
    return {
        "classifier": classifier,
        "release": own.described(),
        "raw": None if of_raw is None else of_raw.described(),
        "baseline": mean_prediction(of_baseline).described() if of_baseline else None,
        "raw_minus_release": _difference(of_raw, own),
        "release_minus_baseline": _difference(own, mean_prediction(of_baseline) if of_baseline else None),
        "BA": ba,
        "CA": ca,
        "CA_on_raw_values": on_raw_values,
        "LA": la,
        "BA_minus_CA": None if ba is None else ba - ca,
        "CA_minus_LA": ca - la,
        "standard_error_of_CA": (ca * (1 - ca) / len(test)) ** 0.5,
    }


def _difference(one: Prediction | None, other: Prediction | None) -> dict[str, Any] | None:
    """The difference of two areas on the same test records, and whether it is within its standard error."""
    if one is None or other is None:
        return None
    found = one.area.minus(other.area)
    is_within = abs(found.value) <= found.standard_error
    return {"area": found.value, "standard_error": found.standard_error, "is_within_error": is_within}


def distance_scores(
    published: Published,
    reference: pd.DataFrame,
    drawn: Sequence[Published],
    test: pd.DataFrame,
    raw: pd.DataFrame | None,
    release: Publication | None,
) -> dict[str, Any]:
    """How far what was published is off beside predictions, and how far the baseline and other real records are.

    Tables are compared on quantiles of the data: on the agreed cells a coarse grid would look good.
    """
    covered = None if release is None or raw is None else coverage(release, published, raw)
    baselines = [distances_from(one.records, reference, published) for one in drawn]
    means: dict[str, float | None] = {}
    for key in baselines[0] if baselines else ():
        values_of_key = [value for one in baselines if (value := one[key]) is not None]
        means[key] = float(np.mean(values_of_key)) if values_of_key else None
    columns = [name for name, domain in published.domains.items() if isinstance(domain, NumericalDomain)]
    return {
        "release": distances_from(published.records, reference, published),
        "raw": None if raw is None else distances_from(test, raw, published),
        "baseline": means or None,
        "coverage": None if covered is None else asdict(covered),
        "by_column": number_statistics(published.records, reference, columns),
    }


def marginal_scores(published: Published, reference: pd.DataFrame) -> dict[str, Any]:
    """Total variations, of the agreed domains' values and, where they are coarser, of the published values."""
    domains, cut = published.domains, published.cut
    codes = [values.codes_of(domains, frame) for frame in (published.records, reference)]
    compared = {"agreed_values": ({name: domain.size for name, domain in domains.items()}, codes)}
    if cut is not None:
        sizes = {name: size for name, size in values.published_sizes(cut).items() if size > 1}
        compared = {"published_values": (sizes, [values.published_codes(cut, own) for own in codes]), **compared}
    found: dict[str, Any] = {}
    for label, (sizes, (one, other)) in compared.items():
        errors = {ways: marginal_errors(one, other, sizes, ways) for ways in WAYS}
        found[label] = {f"{ways}-way": asdict(error) for ways, error in errors.items() if error is not None}
    return found


def number_scores(published: Published, reference: pd.DataFrame) -> dict[str, Any]:
    """How far numerical columns are off, each on its own and in how they rise and fall together."""
    records, cut = published.records, published.cut
    columns = [name for name, domain in published.domains.items() if isinstance(domain, NumericalDomain)]
    by_column = distances.wasserstein_errors(records, reference, columns)
    return {
        "wasserstein_in_standard_deviations": by_column,
        "mean_wasserstein": sum(by_column.values()) / len(by_column) if by_column else None,
        "rank_correlation_error": distances.rank_correlation_error(records, reference, columns),
        "mean_sse_of_generalization": None if cut is None else distances.mean_sse(reference, cut, columns),
        "mean_sse_of_sorted_columns": distances.mean_sse_of_sorted_columns(records, reference, columns),
    }
