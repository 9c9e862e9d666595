"""The scores of what was published: how well it trains classifiers, and how far its marginals and numbers are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import pandas as pd

from copublish.agreement.domain import NumericalDomain
from copublish.evaluation import distances, values
from copublish.evaluation.classification import CLASSIFIERS, ClassifierName, accuracy, majority_accuracy
from copublish.evaluation.marginals import WAYS, marginal_errors
from copublish.evaluation.published import Published

TrainOn = Literal["release", "generalized"]


def score(
    published: Published,
    test: pd.DataFrame,
    raw: pd.DataFrame | None = None,
    *,
    train_on: TrainOn = "release",
    classifiers: Sequence[ClassifierName] = CLASSIFIERS,
) -> dict[str, Any]:
    """All scores as plain JSON values; the same call gives the same numbers.

    For the records of any mechanism: `score(Published.of_records(frame, agreement.columns, target), test, train)`.

    Args:
        published: What was published, and which of its columns is predicted.
        test: Records to test classifiers on, as `read_values` gives them.
        raw: The training records as they are, for the baseline BA and as the reference of marginals and numbers.
        train_on: What the classifiers of CA are trained on: what was published, or `raw` generalized without noise.
        classifiers: Which ones.

    Raises:
        EvaluationError: If nothing was published to train on.

    Privacy:
        The scores depend on `test` and `raw` exactly: they are a disclosure that nothing accounts for.
    """
    reference, compared_with = (test, "test") if raw is None else (raw, "raw")
    return {
        "classification": [
            classification_scores(published, test, raw, train_on, classifier) for classifier in classifiers
        ],
        "marginals": {"compared_with": compared_with, **marginal_scores(published, reference)},
        "numbers": {"compared_with": compared_with, **number_scores(published, reference)},
    }


def classification_scores(
    published: Published,
    test: pd.DataFrame,
    raw: pd.DataFrame | None,
    train_on: TrainOn,
    classifier: ClassifierName,
) -> dict[str, Any]:
    """BA (raw data), CA (what is published), LA (the largest class) and what lies between them."""
    target, test_in_its_terms = published.target, published.in_its_terms(test)
    cells, weights, noisy = published.cells, published.weights, True
    if train_on == "generalized" and raw is not None:
        cells, weights, noisy = published.in_its_terms(raw), None, False
    ca = accuracy(cells, test_in_its_terms, target, classifier, weights)
    la = majority_accuracy(cells, test_in_its_terms, target, weights)
    plain_test, on_raw_values, ba = published.as_features(test), None, None
    if noisy:  # records hold raw values already; what was generalized is spread over the values it stands for
        plain = published.as_features(published.records)
        on_raw_values = ca if published.cut is None else accuracy(plain, plain_test, target, classifier)
    if raw is not None:
        ba = accuracy(published.as_features(raw), plain_test, target, classifier)
    return {
        "classifier": classifier,
        "BA": ba,
        "CA": ca,
        "CA_on_raw_values": on_raw_values,
        "LA": la,
        "BA_minus_CA": None if ba is None else ba - ca,
        "CA_minus_LA": ca - la,
        "standard_error_of_CA": (ca * (1 - ca) / len(test)) ** 0.5,
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
