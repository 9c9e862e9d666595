"""Settings of the mechanism specialization: which ones differ, what runs of them give, which one to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from copublish.agreement.mechanism import Mechanism
from copublish.agreement.model import Agreement
from copublish.mechanisms.specialization.plan import Plan
from copublish.planning.trials import Scores, TrialGround, spell
from copublish.privacy.disclosures import Measure
from copublish.privacy.geometric import laplace_quantile
from copublish.release.folder import as_generalized

SELECTION_SHARES = ("0.25", "0.4", "0.5")


@dataclass(frozen=True)
class Setting:
    """What may be chosen about a release.

    Attributes:
        epsilon: Budget, as text of an exact decimal.
        specializations: Number h of specializations asked for.
        score: How candidates are scored.
        selection_share: Share of the budget for selections.
    """

    epsilon: str
    specializations: int
    score: str
    selection_share: str

    def apply(self, agreement: Agreement) -> Agreement:
        """Return the agreement with this setting in place of its own."""
        content = agreement.model_dump(by_alias=True)
        content["privacy"]["epsilon"] = Decimal(self.epsilon)
        content["mechanism"] |= {
            "specializations": self.specializations,
            "score": self.score,
            "selection_share": Decimal(self.selection_share),
        }
        return Agreement.model_validate(content)


@dataclass(frozen=True)
class Trial:
    """A setting, and what some runs of it gave.

    Attributes:
        rounds: Specializations that the size rule allows of those asked for.
        scores: Means over the runs.
        cells: Mean number of published counts.
        count_within: How far 95 of 100 counts are off at most, in people.
        selection_scale: Scale of the noise of a selection, in people; 0 without selections.
        cut: Of the last run, for the cost of a secure run.
    """

    setting: Setting
    rounds: int
    scores: Scores
    cells: float
    count_within: int
    selection_scale: float
    cut: Mapping[str, Any]

    @property
    def epsilon(self) -> str:
        """The budget that was tried."""
        return self.setting.epsilon

    @property
    def mechanism(self) -> str:
        """What was tried."""
        return "specialization"

    def described(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "mechanism": self.mechanism,
            **asdict(self.setting),
            "rounds": self.rounds,
            **self.scores.described(),
            "cells": self.cells,
            "count_within": self.count_within,
            "selection_scale": self.selection_scale,
        }


def try_setting(ground: TrialGround, agreement: Agreement, setting: Setting, runs: int) -> Trial:
    """Release generalized records `runs` times with fresh noise and score each release."""
    agreement = setting.apply(agreement)
    plan = Plan.of(agreement)
    releases = [as_generalized(release, "it has no counts") for release in ground.releases(agreement, runs)]
    counts = plan.disclosures()[-1]
    rate = counts.noise.rate if isinstance(counts, Measure) else Fraction(1)
    return Trial(
        setting,
        plan.rounds,
        ground.scores(releases),
        float(np.mean([release.counts.num_rows for release in releases])),
        laplace_quantile(rate, 0.95),
        plan.selection(0, 1).noise.scale if plan.rounds else 0.0,
        releases[-1].cut,
    )


def grid_of(agreement: Agreement, budgets: Sequence[str], specializations: Sequence[int]) -> Iterator[Setting]:
    """Yield settings that differ.

    The size rule makes one of all that ask for more than it allows, and `auto` is one of the other scores.
    """
    asked = agreement.mechanism.specializations
    share = spell(agreement.mechanism.selection_share)
    seen: set[tuple[str, str, int]] = set()
    for score in get_args(Mechanism.model_fields["score"].annotation):
        for epsilon in budgets:
            for h in sorted({*specializations, asked}):
                setting = Setting(epsilon, h, score, share)
                plan = Plan.of(setting.apply(agreement))
                if (release := (epsilon, plan.score, plan.rounds)) not in seen:
                    seen.add(release)
                    yield setting


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the fewest rounds among those that are not clearly worse than the best.

    Fewer rounds mean fewer cells, each with more people in it: at the same accuracy they serve other uses better.
    """
    top = max(trials, key=lambda trial: trial.scores.accuracy)
    margin = max(0.002, 0.0 if np.isnan(top.scores.standard_error) else top.scores.standard_error)
    close = [trial for trial in trials if trial.scores.accuracy >= top.scores.accuracy - margin]
    return min(close, key=lambda trial: (trial.rounds, -trial.scores.accuracy))


def best_share(trials: Sequence[Trial]) -> Trial:
    """Return the first trial, unless another split of the budget is better by more than chance."""
    first, top = trials[0], max(trials, key=lambda trial: trial.scores.accuracy)
    error = float(np.hypot(np.nan_to_num(first.scores.standard_error), np.nan_to_num(top.scores.standard_error)))
    return top if top.scores.accuracy - first.scores.accuracy > max(2 * error, 0.002) else first


def size_rule(agreement: Agreement) -> dict[str, Any]:
    """Return how many specializations and counts the size rule allows, as JSON values."""
    most = Plan.of(replace_specializations(agreement, 100))
    n_classes = len(agreement.class_.values)
    return {
        "most_cells": most.max_leaves * n_classes,
        "most_specializations": most.rounds,
        "why": "so that a mean cell holds clearly more people than its noise",
    }


def replace_specializations(agreement: Agreement, number: int) -> Agreement:
    """Return the agreement with another number of specializations."""
    mechanism = agreement.mechanism
    setting = Setting(spell(agreement.privacy.epsilon), number, mechanism.score, spell(mechanism.selection_share))
    return setting.apply(agreement)
