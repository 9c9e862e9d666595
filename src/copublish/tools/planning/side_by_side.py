"""One mechanism tried by itself, so that several can be tried beside each other, each as a job of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.progress import Progress, no_progress
from copublish.rows.sources import Source
from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS
from copublish.tools.evaluation.utility import MeanDistance, Summary
from copublish.tools.planning.advice import ground_of
from copublish.tools.planning.costs import PredictedCost
from copublish.tools.planning.tables import read_like
from copublish.tools.planning.trials import (
    ALL,
    TrialGround,
    refuse_unplannable,
    try_baseline,
    try_setting,
    variants_of,
    with_mechanism,
)
from copublish.tools.planning.tuning import Setting, spell
from copublish.types import TypedJson

PUBLIC, MADE_UP = "public", "made up"


@typed(frozen=True, kw_only=True)
class TrialRow(TypedJson):
    """The numbers of a trial that are shown beside those of others.

    Attributes:
        area: Its mean area.
        area_standard_error: Of that.
        classifier: The classifier that has it.
        means: The error of means of numbers.
        pairs: The error of tables of two columns.
    """

    area: float
    area_standard_error: float | None
    classifier: ClassifierName
    means: MeanDistance
    pairs: MeanDistance


@typed(frozen=True, kw_only=True, repr=False)
class MechanismTrial(TypedJson):
    """What some releases of one mechanism gave; or the trivial baseline, with raw data beside it.

    Attributes:
        trial_format: Number of the format of its JSON.
        mechanism: What was tried.
        agreement_hash: The agreement that it was tried for.
        epsilon: The budget, as text of an exact decimal.
        data: The data that it was tried on.
        runs: How many releases.
        row: The numbers that are shown.
        raw: Those of raw data, beside the trivial baseline.
        largest_class: The accuracy of always saying the largest class, beside the trivial baseline.
        cost: The predicted cost of a secure run; none of the trivial baseline.
    """

    trial_format: int
    mechanism: str
    agreement_hash: str
    epsilon: str
    data: str
    runs: int
    row: TrialRow
    raw: TrialRow | None = None
    largest_class: float | None = None
    cost: PredictedCost | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return self.to_json()

    def __repr__(self) -> str:
        return f"MechanismTrial({self.mechanism!r}, epsilon {self.epsilon})"


def side_by_side(agreement: Agreement) -> tuple[list[str], dict[str, list[str]]]:
    """What can be tried beside each other: the trivial baseline first; and why other mechanisms do not fit.

    Raises:
        EvaluationError: If the agreed mechanism is not differentially private.
    """
    refuse_unplannable(agreement)
    variants, refused = variants_of(agreement, [ALL])
    return [BASELINE, *variants], refused


def try_mechanism(
    agreement: Agreement | str | Path,
    mechanism: str,
    *,
    like: Source | None = None,
    epsilon: str | None = None,
    runs: int = 3,
    classifiers: Sequence[ClassifierName] = RANKED_CLASSIFIERS,
    progress: Progress = no_progress,
) -> MechanismTrial:
    """Try one mechanism in its usual settings on public or made-up data. Trials of others run on the same records.

    Args:
        agreement: What is planned, or the path of its file.
        mechanism: One of `side_by_side`: a mechanism, or the trivial baseline.
        like: A public table that resembles the data; without it values are made up, and scores show shapes alone.
        epsilon: The budget; the agreed one unless given.
        runs: Releases. One does not tell what noise does.
        classifiers: What predicts.
        progress: Told about every step.

    Raises:
        CopublishError: If the table does not fit the agreement, or the agreement does not permit the mechanism.

    Privacy:
        Assumes: `like` is not private. These releases are charged to nobody.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    refuse_unplannable(agreement)
    progress("data", 0, 1)
    budget = spell(Decimal(epsilon) if epsilon is not None else agreement.privacy.epsilon)
    variant = agreement if mechanism == BASELINE else with_mechanism(agreement, mechanism)
    generator = np.random.default_rng(0)  # the same records for every mechanism; noise is drawn as for any release
    table = None if like is None else read_like(agreement, like)[0]
    ground, _ = ground_of(
        agreement,
        table,
        generator,
        partial(TrialGround, agreement, generator=generator, with_numbers=True, classifiers=classifiers),
    )
    progress("trials", 0, 1)
    raw, largest_class, cost = None, None, None
    if mechanism == BASELINE:
        trial = try_baseline(ground, agreement, budget, runs)
        raw, largest_class = _row(ground.raw()), ground.largest_class()
    else:
        trial = try_setting(ground, variant, Setting(budget), runs)
        cost = trial.secure_run
    progress("trials", 1, 1)
    return MechanismTrial(
        trial_format=1,
        mechanism=mechanism,
        agreement_hash=agreement.hash,
        epsilon=budget,
        data=MADE_UP if like is None else PUBLIC,
        runs=runs,
        row=_row(trial.summary),
        raw=raw,
        largest_class=largest_class,
        cost=cost,
    )


def _row(summary: Summary) -> TrialRow:
    scores = summary.scores()
    return TrialRow(
        area=summary.area,
        area_standard_error=scores.best.area_standard_error,
        classifier=scores.best_classifier,
        means=scores.distances["mean"],
        pairs=scores.distances["tables_2"],
    )


def is_tie(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the areas of two rows differ by no more than one standard error, or a single run cannot tell.

    Their errors are taken as independent. They share test records, so that is on the careful side.
    """
    errors = one["area_standard_error"], other["area_standard_error"]
    if errors[0] is None or errors[1] is None:
        return True
    return bool(abs(one["area"] - other["area"]) <= hypot(*errors))
