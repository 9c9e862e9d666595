"""One release, scored against data that the user brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import pandas as pd

from copublish.errors import EvaluationError, FragmentError
from copublish.evaluation import distances, values
from copublish.evaluation.classification import CLASSIFIERS, ClassifierName, accuracy, majority_accuracy
from copublish.evaluation.marginals import WAYS, marginal_errors
from copublish.generalization import Source, read_values
from copublish.publication import COUNT, NOISY_COUNT, GeneralizedRelease, Release, as_generalized

TrainOn = Literal["release", "generalized"]

DISCLOSURE = (
    "These scores were computed from real records without noise. They are a disclosure of their own that no ledger "
    "was charged for. Keep them inside, or publish them only if the data are public."
)


def evaluate(
    published: Release,
    test: Source,
    *,
    raw: Source | None = None,
    target: str | None = None,
    train_on: TrainOn = "release",
    classifiers: Sequence[ClassifierName] = CLASSIFIERS,
) -> dict[str, Any]:
    """Score a release and return the scores as plain JSON values; the same call gives the same numbers.

    Args:
        published: The release, of generalized records.
        test: Records that the classifiers are tested on, with the release's attributes and class.
        raw: The training records as they are, for the baseline BA and as the reference of marginals.
        target: What is predicted: the release's class, the only choice.
        train_on: What the classifiers of CA are trained on: the release, or `raw` generalized as the release is but
            without noise.
        classifiers: Which ones.

    Raises:
        EvaluationError: If the data do not fit the release, or something is asked for that it does not offer.

    Privacy:
        The scores depend on the records of `test` and `raw` exactly: they are a disclosure that nothing accounts for.
    """
    release = as_generalized(published, "'copublish evaluate' cannot score it")
    class_name = _check_target(release, target)
    if train_on == "generalized" and raw is None:
        raise EvaluationError("Training on generalized records needs the raw ones. Give them with --raw.")
    tested = _read(release, test, "test")
    trained = None if raw is None else _read(release, raw, "raw training")
    reference, compared_with = (tested, "test") if trained is None else (trained, "raw")
    drawn = values.plain_records(release)
    return {
        "evaluation_format": 1,
        "disclosure": DISCLOSURE,
        "release": release.certificate["release"],
        "release_digest": release.digest(),
        "target": class_name,
        "trained_on": train_on,
        "test_records": len(tested),
        "classification": [
            _classification(release, drawn, tested, trained, train_on, classifier) for classifier in classifiers
        ],
        "marginals": _marginals(release, drawn, reference, compared_with),
        "numbers": _numbers(release, drawn, reference, compared_with),
    }


def _check_target(release: GeneralizedRelease, target: str | None) -> str:
    class_name: str = release.cut["class"]["name"]
    if target in (None, class_name):
        return class_name
    if target in release.cut["attributes"]:
        raise EvaluationError(
            f"'{target}' is an attribute of this release, not its class: the release was made to predict "
            f"'{class_name}', and its splits were chosen for that. Use --target {class_name}."
        )
    raise EvaluationError(f"The release has no column '{target}'. Its class is '{class_name}': use that as --target.")


def _read(release: GeneralizedRelease, source: Source, what: str) -> pd.DataFrame:
    try:
        table = read_values(release.cut, source)
    except FragmentError as exc:
        lines = [f"The {what} data do not fit the release. Nothing was scored.", *exc.problems]
        raise EvaluationError("\n  - ".join(lines)) from None
    if (class_name := release.cut["class"]["name"]) not in table.column_names:
        raise EvaluationError(
            f"The {what} data have no column '{class_name}', the class of the release. Nothing was scored."
        )
    if not table.num_rows:
        raise EvaluationError(f"The {what} data have no rows. Nothing was scored.")
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _classification(
    release: GeneralizedRelease,
    drawn: pd.DataFrame,
    tested: pd.DataFrame,
    trained: pd.DataFrame | None,
    train_on: TrainOn,
    classifier: ClassifierName,
) -> dict[str, Any]:
    """Return BA (raw data), CA (what is published), LA (the largest class) and what lies between them."""
    target = release.cut["class"]["name"]
    generalized_test = _generalized(release, tested)
    if train_on == "generalized" and trained is not None:
        cells, weights, plain = _generalized(release, trained), None, None
    else:
        cells, weights, plain = release.to_pandas("counts").drop(columns=NOISY_COUNT), COUNT, drawn
    ca = accuracy(cells, generalized_test, target, classifier, weights)
    ba = None if trained is None else accuracy(trained, tested, target, classifier)
    la = majority_accuracy(cells, generalized_test, target, weights)
    return {
        "classifier": classifier,
        "BA": ba,
        "CA": ca,
        "CA_on_raw_values": None if plain is None else accuracy(plain, tested, target, classifier),
        "LA": la,
        "BA_minus_CA": None if ba is None else ba - ca,
        "CA_minus_LA": ca - la,
        "standard_error_of_CA": (ca * (1 - ca) / len(tested)) ** 0.5,
    }


def _generalized(release: GeneralizedRelease, frame: pd.DataFrame) -> pd.DataFrame:
    cut = release.cut
    return values.published_labels(cut, values.published_codes(cut, values.codes_of(cut, frame)))


def _marginals(
    release: GeneralizedRelease, drawn: pd.DataFrame, reference: pd.DataFrame, compared_with: str
) -> dict[str, Any]:
    """Return total variations, of the published values and of the agreed domains' values."""
    cut = release.cut
    one, other = values.codes_of(cut, drawn), values.codes_of(cut, reference)
    published = {name: size for name, size in values.published_sizes(cut).items() if size > 1}
    found: dict[str, Any] = {"compared_with": compared_with}
    for label, sizes, frames in (
        ("published_values", published, [values.published_codes(cut, codes) for codes in (one, other)]),
        ("agreed_values", values.domain_sizes(cut), [one, other]),
    ):
        errors = {ways: marginal_errors(frames[0], frames[1], sizes, ways) for ways in WAYS}
        found[label] = {f"{ways}-way": asdict(error) for ways, error in errors.items() if error is not None}
    return found


def _numbers(
    release: GeneralizedRelease, drawn: pd.DataFrame, reference: pd.DataFrame, compared_with: str
) -> dict[str, Any]:
    columns = values.numerical_attributes(release.cut)
    by_column = distances.wasserstein_errors(drawn, reference, columns)
    return {
        "compared_with": compared_with,
        "wasserstein_in_standard_deviations": by_column,
        "mean_wasserstein": sum(by_column.values()) / len(by_column) if by_column else None,
        "rank_correlation_error": distances.rank_correlation_error(drawn, reference, columns),
        "mean_sse_of_generalization": distances.mean_sse(reference, release.cut, columns),
    }
