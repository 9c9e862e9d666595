"""One mechanism tried by itself, so that several can be tried beside each other, each as a job of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.mechanisms.shared.tuning import Setting, spell
from copublish.progress import Progress, no_progress
from copublish.rows.sources import Source
from copublish.tools.evaluation.baseline import BASELINE
from copublish.tools.evaluation.classification import ClassifierName
from copublish.tools.evaluation.prediction import RANKED_CLASSIFIERS
from copublish.tools.planning.advice import ground_of
from copublish.tools.planning.links import run_cost
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

PUBLIC, MADE_UP = "public", "made up"


@dataclass(frozen=True, repr=False)
class MechanismTrial:
    """What some releases of one mechanism gave; or the trivial baseline, with raw data beside it.

    Attributes:
        content: Everything as plain JSON values.
    """

    content: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return self.content

    def __repr__(self) -> str:
        return f"MechanismTrial({self.content['mechanism']!r}, epsilon {self.content['epsilon']})"


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
    content: dict[str, Any] = {
        "trial_format": 1,
        "mechanism": mechanism,
        "agreement_hash": agreement.hash,
        "epsilon": budget,
        "data": MADE_UP if like is None else PUBLIC,
        "runs": runs,
    }
    if mechanism == BASELINE:
        content |= {
            "row": _row(try_baseline(ground, agreement, budget, runs).described()),
            "raw": _row(ground.raw().described()),
            "largest_class": ground.largest_class(),
        }
    else:
        trial = try_setting(ground, variant, Setting(budget), runs)
        cost = run_cost(Setting(budget).apply(variant), trial.release, len(ground.train))
        content |= {"row": _row(trial.described()), "cost": cost}
    progress("trials", 1, 1)
    return MechanismTrial(content)


def _row(described: Mapping[str, Any]) -> dict[str, Any]:
    distances = described["distances"]
    return {
        "area": described["area"],
        "area_standard_error": described["area_standard_error"],
        "classifier": described["best_classifier"],
        "means": distances["mean"],
        "pairs": distances["tables_2"],
    }


def is_tie(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the areas of two rows differ by no more than one standard error, or a single run cannot tell.

    Their errors are taken as independent. They share test records, so that is on the careful side.
    """
    errors = one["area_standard_error"], other["area_standard_error"]
    if errors[0] is None or errors[1] is None:
        return True
    return bool(abs(one["area"] - other["area"]) <= hypot(*errors))
