"""One release, scored against data that the user brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import NumericalDomain
from copublish.errors import EvaluationError, FragmentError
from copublish.progress import Progress, no_progress
from copublish.release.folder import Release, making_sense_of
from copublish.release.readme import definition_list, html_table
from copublish.rows.changes import Change
from copublish.rows.sources import Source
from copublish.tools.evaluation.baseline import BASELINE, ClassTables, label_last
from copublish.tools.evaluation.classification import CLASSIFIERS, ClassifierName
from copublish.tools.evaluation.generalize import read_values
from copublish.tools.evaluation.matched import MatchedLoss, matched_loss
from copublish.tools.evaluation.prediction import METRICS
from copublish.tools.evaluation.published import ScoredData, check_target
from copublish.tools.evaluation.scores import ClassifierScores, ScoreTable, TrainOn, score
from copublish.types import TypedJson

if TYPE_CHECKING:
    from copublish.tools.evaluation.plots import Plot

DISCLOSURE = (
    "These scores were computed from real records without noise. They are a disclosure of their own that no ledger "
    "was charged for. Keep them inside, or publish them only if the data are public."
)


TRAINED_ON = {"raw data": "raw", "release": "release", BASELINE: "baseline"}
"""What classifiers are trained on, in words, and under which key their scores are."""


@typed(frozen=True, kw_only=True)
class ScoredRelease(TypedJson):
    """The release that was scored, and how; None where records were only compared with their own rows.

    Attributes:
        warning: That the release is not differentially private, if it is not.
        evaluation_format: Number of the format of these scores.
        disclosure: A reminder that the scores disclose something.
        release: Its name.
        release_digest: Its digest.
        published: What it has.
        target: The predicted column; None if nothing is predicted.
        target_is_interval: Whether an interval of a number is predicted.
        trained_on: The data that classifiers of CA were trained on.
        test_records: How many records they were tested on.
    """

    warning: str | None = None
    evaluation_format: int | None = None
    disclosure: str
    release: str
    release_digest: str
    published: Literal["generalized values", "records"] | None = None
    target: str | None
    target_is_interval: bool | None = None
    trained_on: TrainOn | None = None
    test_records: int | None = None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Scores of a release. They come from real records without noise: a disclosure of their own.

    Attributes:
        scored: The release, and how it was scored.
        scores: The scores; None without test records.
        rules: What was not as agreed in the test and in the raw training data, and what was done about it. It is no
            part of the scores.
        matched: The loss of records that were matched with their own rows, where a map of them was given.
    """

    scored: ScoredRelease
    scores: ScoreTable | None
    rules: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    matched: MatchedLoss | None = None

    def to_dict(self) -> dict[str, Any]:
        """The scores as plain JSON values."""
        matched = {} if self.matched is None else {"matched": self.matched.to_dict()}
        scores = {"classification": []} if self.scores is None else self.scores.to_json()
        return {**self.scored.to_json(), **scores, **matched}

    @property
    def _classification(self) -> tuple[ClassifierScores, ...]:
        return () if self.scores is None else self.scores.classification

    def plot(self, path: str | Path | None = None) -> Plot:
        """The areas under the ROC curve, of the release and beside it; with a path also written, as .png or .svg."""
        from copublish.tools.evaluation.plots import Plot, evaluation_figure

        plot = Plot(evaluation_figure(self.to_dict(), TRAINED_ON))
        if path is not None:
            plot.write(path)
        return plot

    def __repr__(self) -> str:
        areas = {row.classifier: row.release.area or 0.0 for row in self._classification}
        if not areas:
            return f"Evaluation({self.scored.release!r}, nothing predicted)"
        best = max(areas, key=lambda name: areas[name])
        return f"Evaluation({self.scored.release!r}, largest area {areas[best]:.3f} by {best})"

    def _repr_html_(self) -> str:
        rows = [
            (row.classifier, what, *("" if (value := getattr(one, key)) is None else f"{value:.3f}" for key in METRICS))
            for row in self._classification
            for what, key_of_row in TRAINED_ON.items()
            if (one := getattr(row, key_of_row)) is not None
        ]
        facts = {
            "Release": self.scored.release,
            "Predicts": self.scored.target or "nothing: the release has no class",
            "Note": self.scored.disclosure,
        }
        headings = ("classifier", "trained on", *(metric.replace("_", " ") for metric in METRICS))
        return definition_list(facts) + html_table(headings, rows)


def evaluate(
    release: Release,
    test: Source | None = None,
    *,
    raw: Source | None = None,
    target: str | None = None,
    train_on: TrainOn = "release",
    classifiers: Sequence[ClassifierName] = CLASSIFIERS,
    record_map: str | Path | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> Evaluation:
    """Score a release on data that the user brings; the same call gives the same numbers.

    Values that are not as agreed are changed by the rules by which the release was made, as a run changes them; `rules`
    of the result has them. Records without a listed class are not scored.

    Args:
        release: The release.
        test: Records that the classifiers are tested on, with the release's attributes and class. Without them records
            are only compared with their own rows, by `record_map`.
        raw: The training records as they are, for what raw data give, for the trivial baseline, as the reference of
            tables and numbers, and to check published error bars.
        target: What is predicted: the release's class, or another column where records were published for any use.
            Of a number, the interval of the agreed grid is predicted. Without a class and a target nothing is
            predicted, and how far tables and numbers are off is all that is scored.
        train_on: What the classifiers of CA are trained on: the release, or `raw` generalized as the release is but
            without noise.
        classifiers: Which ones.
        record_map: The file that a run left beside your ledger: then each record is also compared with the row of `raw`
            that it stands for, as `matched_loss` does.
        strict: Whether values that would have to be changed are an error.
        progress: Told about every classifier.

    Raises:
        EvaluationError: If the data do not fit the release, or something is asked for that it does not offer.

    Privacy:
        The scores depend on the records of `test` and `raw` exactly: they are a disclosure that nothing accounts for.
        The baseline's noise comes from a seed: it protects nobody.
    """
    if record_map is not None and raw is None:
        raise EvaluationError("A record map says which row of the raw records a record stands for. Give them as well.")
    if test is None:
        return _matched_alone(release, raw, record_map)
    columns, predicted = release.published.columns, check_target(release, target)
    is_generalized = release.generalization is not None
    if train_on == "generalized" and not is_generalized:
        raise EvaluationError("This release has records and no generalized values. Use --train-on release.")
    if train_on == "generalized" and raw is None:
        raise EvaluationError("Training on generalized records needs the raw ones. Give them with --raw.")
    tested, changed = _read(columns, test, "test", strict=strict)
    rules = {"test": changed}
    trained = None
    if raw is not None:
        trained, rules["raw training"] = _read(columns, raw, "raw training", strict=strict)
    with making_sense_of(release):
        published = ScoredData.of_release(release, predicted)
    # The trivial baseline has a table of every column by what is predicted: by the class, if there is one.
    by_label = label_last(columns.domains, columns.class_name or predicted)
    scored = ScoredRelease(
        warning=release.warning.get("warning"),
        evaluation_format=1,
        disclosure=DISCLOSURE,
        release=release.certificate.release,
        release_digest=release.digest(),
        published="generalized values" if is_generalized else "records",
        target=predicted,
        target_is_interval=predicted is not None and isinstance(columns.domains[predicted], NumericalDomain),
        trained_on=train_on,
        test_records=len(tested),
    )
    scores = score(
        published,
        tested,
        trained,
        release=release,
        baseline=None if predicted is None else ClassTables.beside_release(release.certificate, by_label),
        train_on=train_on,
        classifiers=classifiers,
        progress=progress,
    )
    matched = None if record_map is None or raw is None else matched_loss(release, raw, record_map)
    return Evaluation(scored, scores, rules, matched)


def _matched_alone(release: Release, raw: Source | None, record_map: str | Path | None) -> Evaluation:
    if raw is None or record_map is None:
        raise EvaluationError("There are no records to test on. Give some, or the raw records with a record map.")
    scored = ScoredRelease(
        warning=release.warning.get("warning"),
        disclosure=DISCLOSURE,
        release=release.certificate.release,
        release_digest=release.digest(),
        target=None,
    )
    return Evaluation(scored, None, matched=matched_loss(release, raw, record_map))


def _read(
    columns: PublicColumns, source: Source, what: str, *, strict: bool
) -> tuple[pd.DataFrame, tuple[Change, ...]]:
    try:
        told = read_values(columns, source, strict=strict)
    except FragmentError as exc:
        lines = [f"The {what} data do not fit the release. Nothing was scored.", *exc.problems]
        raise EvaluationError("\n  - ".join(lines)) from None
    if columns.class_name is not None and columns.class_name not in told.table.column_names:
        raise EvaluationError(
            f"The {what} data have no column '{columns.class_name}', the class of the release. Nothing was scored."
        )
    if not told.table.num_rows:
        raise EvaluationError(f"The {what} data have no rows. Nothing was scored.")
    frame = told.counted_records(columns.class_name)
    if not len(frame):
        raise EvaluationError(f"The {what} data have no row with a class of the release. Nothing was scored.")
    return frame, told.changes
