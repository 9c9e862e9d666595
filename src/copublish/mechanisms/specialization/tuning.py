"""Settings of specialization that a plan tries: which ones differ, what runs of them give, which one to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from copublish.agreement.model import Agreement
from copublish.kernel.noise.geometric import laplace_quantile
from copublish.mechanisms.shared.tuning import PaddedRecords, Setting, TrialColumn, Tuning, Work, spell
from copublish.mechanisms.specialization.costs import work_of
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.settings import SpecializationSettings

if TYPE_CHECKING:
    from copublish.mechanisms.base import Publication

SELECTION_SHARES = ("0.25", "0.4", "0.5")

MOST = 100
"""Specializations that an agreement may ask for."""


class SpecializationTuning(Tuning):
    """Scores, numbers of specializations, and shares of the budget for selections."""

    tried: ClassVar[Mapping[str, tuple[int, ...]]] = {"specializations": (2, 4, 7, 10, 13)}
    columns: ClassVar[tuple[TrialColumn, ...]] = (
        TrialColumn("score", "score"),
        TrialColumn("splits", "rounds"),
        TrialColumn("counts", "cells", "{:,.0f}"),
        TrialColumn("within", "count_within", "± {:,}"),
        TrialColumn("noise", "selection_scale", "{:,.3g}"),
    )
    legend: ClassVar[str] = (
        "Splits: specializations made. Within: a count, in 95 of 100 cases, in people. Noise: its scale in a selection."
    )

    def settings(
        self, agreement: Agreement, budgets: Sequence[str], tried: Mapping[str, Sequence[int]]
    ) -> Iterator[Setting]:
        """Yield settings that differ, of each budget the agreed one first.

        The size rule makes one of all that ask for more than it allows, and `auto` is one of the other scores.
        """
        agreed = agreement.settings(SpecializationSettings)
        scores = get_args(SpecializationSettings.model_fields["score"].annotation)
        pairs = [(score, h) for score in scores for h in sorted({*tried["specializations"], agreed.specializations})]
        for epsilon in budgets:
            seen: set[tuple[str, int]] = set()
            for score, h in [(agreed.score, agreed.specializations), *pairs]:
                setting = _setting(epsilon, h, score, agreed.selection_share)
                plan = SpecializationPlan.of(setting.apply(agreement))
                if (release := (plan.score, plan.rounds)) not in seen:
                    seen.add(release)
                    yield setting

    def refinements(self, setting: Setting) -> list[Setting]:
        """Other splits of the budget between selections and counts."""
        values = setting.values
        return [
            _setting(setting.epsilon, values["specializations"], values["score"], Decimal(share))
            for share in SELECTION_SHARES
            if Decimal(share) != values["selection_share"]
        ]

    def measured(self, agreement: Agreement, releases: Sequence[Publication]) -> dict[str, Any]:
        """Rounds that the size rule allows, cells, and what noise does to counts and selections."""
        plan = SpecializationPlan.of(agreement)
        leaves = plan.leaf_counts(plan.rounds, 1)
        return {
            "rounds": plan.rounds,
            "cells": float(np.mean([release.contents.tables["counts"].num_rows for release in releases])),
            "count_within": laplace_quantile(leaves.noise.rate, 0.95),
            "selection_scale": plan.selection(0, 1).noise.scale if plan.rounds else 0.0,
        }

    def limits(self, agreement: Agreement) -> dict[str, Any]:
        """How many specializations and counts the size rule allows."""
        agreed = agreement.settings(SpecializationSettings)
        setting = _setting(spell(agreement.privacy.epsilon), MOST, agreed.score, agreed.selection_share)
        most = SpecializationPlan.of(setting.apply(agreement))
        cells = most.max_leaves * len(agreement.required_class.values)
        return {
            "most_cells": cells,
            "most_specializations": most.rounds,
            "words": f"the size rule allows at most {most.rounds} specializations and {cells:,} counts, so that a mean "
            "cell holds clearly more people than its noise",
        }

    def advice(self, trial: Mapping[str, Any]) -> str:
        """The keys of the section [mechanism]."""
        return (
            f'specializations = {trial["specializations"]}, score = "{trial["score"]}", '
            f"selection_share = {trial['selection_share']}"
        )

    def work(
        self, agreement: Agreement, release: Publication, n_records: int, records_of_products: PaddedRecords
    ) -> Work:
        """The work of a secure run that ends with this cut."""
        if release.generalization is None:
            raise ValueError("a release of specialization has a cut")
        return work_of(agreement, release.generalization, n_records, records_of_products)


def _setting(epsilon: str, specializations: int, score: str, share: Decimal) -> Setting:
    values = {"specializations": specializations, "score": score, "selection_share": share}
    return Setting(epsilon, values, curve=f"score {score}")
