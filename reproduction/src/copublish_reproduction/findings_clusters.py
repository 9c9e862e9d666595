"""What a release of iDP-IR shows without noise, and what its noise does not hide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copublish.mechanisms.idp_ir.run_microaggregation import (
    centroids,
    cluster_sizes,
    ranks,
    sensitivities,
    steps_down,
    steps_up,
)
from copublish_reproduction.idp_ir import IdpIr, rank_column
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.plain_table import Floats, Ints

TARGET = 0
"""The record under attack stands first, where ties favor neither answer."""


@dataclass(frozen=True)
class Attack:
    """Tell from a published column which of two values a person has, knowing all others (E29).

    Attributes:
        attribute: The column's schema.
        others: The values of all other records, which the attacker knows.
        candidates: The two values that the person may have.
        k: Cluster size, which is public.
    """

    attribute: Attribute
    others: Floats
    candidates: tuple[float, float]
    k: int

    def table(self, candidate: int) -> Floats:
        """The column if the person has one of the values."""
        return np.concatenate([[self.candidates[candidate]], self.others])

    def consistent(self, published: Floats) -> list[int]:
        """The candidates under which every cluster has one published value, as it must."""
        sizes = cluster_sizes(len(published), k=self.k)
        starts = np.cumsum(sizes) - sizes
        found = []
        for candidate in (0, 1):
            sorted_by_guess = published[ranks(self.table(candidate))]
            highest, lowest = (f.reduceat(sorted_by_guess, starts) for f in (np.maximum, np.minimum))
            if bool((highest == lowest).all()):
                found.append(candidate)
        return found

    def neighbors(self, published: Floats) -> list[int]:
        """The candidates whose nearest known records have the person's published value.

        For an attacker who does not know in which order equal values were sorted.
        """
        found = []
        for candidate, value in enumerate(self.candidates):
            nearest = np.argmin(np.abs(self.others - value))
            if published[1 + nearest] == published[TARGET]:
                found.append(candidate)
        return found

    def success(
        self, mechanism: IdpIr, epsilon: float, trials: int, generator: np.random.Generator, *, whole_numbers: bool
    ) -> tuple[float, float]:
        """How often each attacker is right; with two candidates left, or none, it tosses a coin.

        Args:
            mechanism: How the column is published.
            epsilon: Budget of the column.
            trials: Each with a fair choice of the person's value.
            generator: Of choices and noise.
            whole_numbers: Whether published values are rounded.
        """
        right = np.zeros(2)
        for truth in generator.integers(0, 2, trials):
            data = Microdata((self.attribute,), self.table(int(truth))[:, np.newaxis])
            published = mechanism.protect(data, epsilon, generator).values[:, 0]
            published = np.rint(published) if whole_numbers else published
            for number, found in enumerate((self.consistent(published), self.neighbors(published))):
                guess = found[0] if len(found) == 1 else generator.integers(0, 2)
                right[number] += guess == truth
        return float(right[0]) / trials, float(right[1]) / trials


@dataclass(frozen=True)
class ClusterFacts:
    """Numbers of one column at one k.

    Attributes:
        loss_gap: What one person can cost in units of epsilon, if noise is scaled by `gap`.
        loss_fixed: The same for `fixed`.
        share_without_noise: Clusters whose `gap` is 0: they are published exactly.
        local_to_global: Exact local sensitivity of all centroids by the global one.
        reach: How far the published value of one person can move, before noise.
        claimed_reach: How far the factor 1/k has it move.
        share_shown: Records in clusters of one value: who sees a cluster there sees the value.
    """

    loss_gap: float
    loss_fixed: float
    share_without_noise: float
    local_to_global: float
    reach: float
    claimed_reach: float
    share_shown: float


def cluster_facts(data: Microdata, name: str, k: int) -> ClusterFacts:
    """The numbers of a column."""
    column = data.columns((name,))
    attribute = column.attributes[0]
    ranked = rank_column(attribute, column.values[:, 0], "schema").values
    sizes = cluster_sizes(len(ranked), k=k)
    low, high = attribute.low, attribute.high
    gap, fixed, vector, whole = (
        sensitivities(kind, ranked, sizes, low=low, high=high) for kind in ("gap", "fixed", "vector", "global")
    )
    means = centroids(ranked, sizes)
    ends = np.cumsum(sizes) - 1
    widths = ranked[ends] - ranked[ends - sizes + 1]
    return ClusterFacts(
        worst_loss(ranked, sizes, attribute, gap),
        worst_loss(ranked, sizes, attribute, fixed),
        float(np.mean(gap == 0)),
        float(vector[0] / whole[0]),
        float(means[-1] - means[0]),
        (high - low) / k,
        float(sizes[widths == 0].sum() / len(ranked)),
    )


def worst_loss(ranked: Floats, sizes: Ints, attribute: Attribute, scales: Floats) -> float:
    """The largest privacy loss of one replaced value, in units of epsilon, where there is noise at all.

    The noise of a neighbor is taken to be the same; that it is not makes things worse.
    """
    has_noise = scales > 0
    up, down = steps_up(ranked, sizes, attribute.high) / sizes, steps_down(ranked, sizes, attribute.low) / sizes
    return float(max((shift[has_noise] / scales[has_noise]).sum() for shift in (up, down)))
