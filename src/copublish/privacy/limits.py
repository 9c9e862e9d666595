"""The most that may ever be spent on a data set, and why a release does not fit into what is left of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from copublish.privacy.accounting import UNLIMITED, Cost
from copublish.privacy.disclosures import Neighbors

UNBOUNDED = "unbounded"
"""How files and people write that there is no finite epsilon."""

DEFAULT_DELTA = Fraction(1, 10**9)
"""The limit for delta where none was set: room for the samplers of pure epsilon, not for usual Gaussian noise."""


@dataclass(frozen=True)
class Limit:
    """The most that may ever be spent on a data set, stated under one relation.

    Attributes:
        epsilon: The most; none for no limit at all, which has to be said: without it nothing may be spent.
        neighbors: The relation.
        delta: The most of delta. Without a limit for epsilon it limits nothing: no delta makes that a promise.

    Privacy:
        Guarantee: releases that were all let in under this limit are together (epsilon, delta)-DP under the relation.
        Epsilons add up and deltas add up, whatever each release was chosen by after earlier ones were seen;
        docs/decisions/0028-limit-on-delta.md has the proof.
    """

    epsilon: Fraction | None
    neighbors: Neighbors
    delta: Fraction = DEFAULT_DELTA

    def __post_init__(self) -> None:
        if self.delta < 0 or (self.epsilon is not None and self.epsilon < 0):
            raise ValueError(f"a limit is never below 0, got epsilon={self.epsilon}, delta={self.delta}")

    def refusal(self, spent: Cost, cost: Cost, *, dataset: str, ledger: str) -> str | None:
        """Why a release may not be made, and what can be done about it; nothing if it may.

        Args:
            spent: On the data set so far.
            cost: Of the release.
            dataset: The data set.
            ledger: Where the ledger is, for the command that sets another limit.
        """
        if self.epsilon is None:
            return None
        wanted, before = cost.under(self.neighbors), spent.under(self.neighbors)
        if before is None:
            return (
                f"No finite epsilon holds for what was released from data set '{dataset}' so far, under the relation "
                f"'{self.neighbors}' of its limit. So no finite limit can hold any more. Nothing was measured."
            )
        if wanted is None:
            return self._why_not_finite(cost, dataset, ledger)
        left, delta_left = self.epsilon - before, self.delta - spent.delta
        lacking = {"epsilon": wanted - left, "delta": cost.delta - delta_left}
        short = [f"{name} {_show(amount)}" for name, amount in lacking.items() if amount > 0]
        if not short:
            return None
        return (
            f"Release needs epsilon {_show(wanted)} and delta {_show(cost.delta)}, but epsilon {_show(left)} and delta "
            f"{_show(delta_left)} are left for data set '{dataset}' (short by {' and '.join(short)}). "
            f"Nothing was measured.{self._how_to_allow_delta(dataset, ledger) if lacking['delta'] > 0 else ''}"
        )

    def _why_not_finite(self, cost: Cost, dataset: str, ledger: str) -> str:
        if cost == UNLIMITED:
            return (
                f"This release has no finite epsilon: it is not differentially private. The limit of data set "
                f"'{dataset}' is finite. Nothing was measured. If its people are to be without that protection, for "
                f"this release and all later ones, say so: copublish ledger {ledger} --limit {dataset}={UNBOUNDED}"
            )
        return (
            f"No finite epsilon holds for this release under the relation '{self.neighbors}' of the limit of data "
            f"set '{dataset}'. Nothing was measured. Set the limit under the other one: copublish ledger {ledger} "
            f"--limit {dataset}=EPSILON --neighbors replace"
        )

    def _how_to_allow_delta(self, dataset: str, ledger: str) -> str:
        usual = f" Unless a limit says otherwise, it is {_show(DEFAULT_DELTA)}." if self.delta == DEFAULT_DELTA else ""
        return (
            f"{usual} To allow more delta, over all releases together, state it after epsilon: copublish ledger "
            f"{ledger} --limit {dataset}=EPSILON,DELTA"
        )


def _show(number: Fraction) -> str:
    return f"{float(number):.6g}"
