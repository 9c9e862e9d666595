"""Settings of specialization that a plan tries, and the work of its secure run from public shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import log2, prod
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np

from copublish.agreement.axis import evenly_divided
from copublish.agreement.domain import Domain, NumericalDomain
from copublish.agreement.model import Agreement
from copublish.kernel.noise.geometric import laplace_quantile
from copublish.kernel.programs.noise import WORD_BITS
from copublish.kernel.programs.packing import Packing
from copublish.mechanisms.base import counted_table
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.settings import SpecializationSettings
from copublish.tools.planning.hidden_membership import join_work, rows_of
from copublish.tools.planning.tuning import PaddedRecords, Setting, TrialColumn, Tuning, Work, spell

if TYPE_CHECKING:
    from copublish.release.publication import Publication


def work_of(agreement: Agreement, sizes: Mapping[str, int], n_records: int, records_of_products: PaddedRecords) -> Work:
    """The work of a secure run that ends with so many values.

    Args:
        agreement: What is run.
        sizes: How many published values each attribute has.
        n_records: Number of records.
        records_of_products: How the engine pads products.
    """
    plan, n_classes = SpecializationPlan.of(agreement), len(agreement.required_class.values)
    n_cells = prod(sizes.values()) * n_classes
    leaf_noise = plan.leaf_counts(plan.rounds, n_cells).noise
    bits = _samples(2 * n_cells) * leaf_noise.bits
    if plan.rounds:
        bits += plan.rounds * _samples(plan.most_candidates) * plan.selection(0, 1).noise.bits
    is_spread = agreement.partition == "arbitrary" or len(agreement.parties) > 2
    halves = _spread_halves(agreement, sizes, n_classes) if is_spread else _own_halves(agreement, sizes, n_classes)
    own = Work(
        starts=1.0,
        guests=float(len(_guests(agreement))),
        rounds=float(plan.rounds),
        biased_bits=bits / 1e3,
        published=n_records * len(agreement.columns) / 1e6,
    )
    (rows, _), (row, _) = halves
    if agreement.partition == "horizontal":
        return replace(own, counted=n_records * sum(map(_comparisons, agreement.columns.values())) / 1e6)
    if min(rows, row) <= 1 or not n_records:
        return own
    packing = Packing.densest(row, n_records, leaf_noise.bits)
    shards = agreement.engine.agreed_shards
    per_shard = -(-rows_of(agreement, n_records) // shards)
    records = shards * records_of_products(per_shard, rows * packing.elements) / 1e6
    join = join_work(agreement, n_records)
    return replace(
        own,
        multiplied=join.multiplied,
        points=join.points,
        products=1.0,
        product_columns=records * min(rows, packing.elements) * (2 if is_spread else 1),
        marks=records * sum(cells * max(0, len(holders) - 1) for cells, holders in halves) if is_spread else 0.0,
        guest_marks=records * sum(cells * len(holders & _guests(agreement)) for cells, holders in halves),
    )


def _comparisons(domain: Domain) -> float:
    """About how many comparisons take a value to its code: a look-up, or halving the edges of a grid."""
    return log2(domain.number_codes + 3) if isinstance(domain, NumericalDomain) else 1.0


Half = tuple[int, frozenset[str]]
"""The cells of one side of the joined table, and who may hold something of them."""


def _guests(agreement: Agreement) -> frozenset[str]:
    """Parties that hold data and do not compute."""
    return frozenset(agreement.owners) - frozenset(agreement.compute_nodes)


def _spread_halves(agreement: Agreement, sizes: Mapping[str, int], n_classes: int) -> tuple[Half, Half]:
    """Cells that several parties may hold: divided so that both sides have fewest together."""
    # The class is everybody's where all know it; where it has an owner alone, that one marks it.
    label = agreement.required_class.name
    axes = [*((name, size) for name, size in sizes.items() if size > 1), (label, n_classes)]
    holders = {name: frozenset(agreement.holders(name)) for name, _ in axes}
    if agreement.class_is_shared:
        holders[label] = frozenset()
    chosen = evenly_divided([size for _, size in axes]) if len(axes) > 1 else ()
    parts = [[axis for number, axis in enumerate(axes) if (number in chosen) is first] for first in (True, False)]
    first, second = ((_cells(part), frozenset().union(*(holders[name] for name, _ in part))) for part in parts)
    return first, second


def _cells(axes: Sequence[tuple[str, int]]) -> int:
    return prod(size for _, size in axes)


def _own_halves(agreement: Agreement, sizes: Mapping[str, int], n_classes: int) -> tuple[Half, Half]:
    """Columns of two parties: rows of the joined table, and the counts in a row."""
    last = agreement.party_names[-1:]
    across = prod(size for name, size in sizes.items() if agreement.holders(name) == last)
    class_across = agreement.class_is_shared or agreement.holders(agreement.required_class.name) == last
    return (
        (prod(sizes.values()) // across * (1 if class_across else n_classes), frozenset(agreement.party_names[:1])),
        (across * (n_classes if class_across else 1), frozenset(last)),
    )


def _samples(wanted: int) -> int:
    return -(-wanted // WORD_BITS) * WORD_BITS


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
            "cells": float(np.mean([counted_table(release.published).values.size for release in releases])),
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
        """The work of a secure run that ends with as many values."""
        sizes = {name: len(runs) for name, runs in release.published.generalized.items()}
        return work_of(agreement, sizes, n_records, records_of_products)


def _setting(epsilon: str, specializations: int, score: str, share: Decimal) -> Setting:
    values = {"specializations": specializations, "score": score, "selection_share": share}
    return Setting(epsilon, values, curve=f"score {score}")
