"""How a budget is spent: so much for the tables that are measured for sure, and the rest in rounds.

All numbers are exact fractions of one currency: rho where the noise is Gaussian, epsilon where it is Laplace. Every
round is refused unless what is left covers it; `kernel/accounting/concentrated.py` has the proof that this is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

Currency = Literal["rho", "epsilon"]

SELECTION_SHARE: dict[Currency, Fraction] = {"rho": Fraction(1, 4), "epsilon": Fraction(3, 20)}
"""Of a round, what choosing the table takes; the rest is for measuring it. It grows with the first step alone at which
noise is halved: choices have little noise by then, and rounds in which none is worth it should cost little."""

PRICE_OF_HALF_THE_NOISE: dict[Currency, int] = {"rho": 4, "epsilon": 2}
"""How many times a round costs whose noise is half as large: rho goes with the square."""

LARGEST_SELECTIONS_SHARE = Fraction(1, 2)
"""Of the budget for rounds, what choosing tables takes at most: rounds in which none is chosen measure nothing."""

FIRST_ROUNDS = 24
"""Into how many rounds the budget for rounds is divided as long as nothing is known."""

USUAL_SHARE: dict[Currency, Fraction] = {"rho": Fraction(7, 20), "epsilon": Fraction(1, 2)}
"""Of the budget, what the tables take that are measured for sure, where noise is small beside the counts."""

LARGEST_SHARE: dict[Currency, Fraction] = {"rho": Fraction(9, 10), "epsilon": Fraction(1)}
"""The same where noise is large. What rounds leave goes to the first tables again, and of rho little is lost by that;
two measurements with half of an epsilon each are half as exact as one with all of it, so there are no rounds then."""

USUAL_WORTH, LARGEST_WORTH = Fraction(1), Fraction(2)
"""How many times what its noise would add a table has to be off to be worth measuring: at the same two ends."""

ENDS: dict[Currency, tuple[Fraction, Fraction]] = {
    "rho": (Fraction(1, 40), Fraction(1, 20)),
    "epsilon": (Fraction(7, 1000), Fraction(7, 200)),
}
"""The two ends: what part of a first table noise alone would move at the usual share."""

ERROR_WITHOUT_ROUNDS = Fraction(1, 10)
"""From here on there are no rounds in either currency: choosing costs something, and no table is worth its noise."""


@dataclass(frozen=True)
class SpendingRule:
    """How a budget is spent by how large noise is beside the counts: a public rule.

    Where it is large, many tables say less than few exact ones: tables of a column and the class alone then predict the
    class better than a model that was also fitted to noisy pairs.

    Attributes:
        share: The share of the budget for the first tables.
        worth: How many times what its noise would add a table has to be off to be worth measuring.
    """

    share: Fraction
    worth: Fraction

    @staticmethod
    def at(error: Fraction, currency: Currency) -> SpendingRule:
        """The rule: a straight line between two ends, and no rounds where noise is very large.

        Args:
            currency: What the budget is counted in.
            error: What part of its records noise moves in a first table, on average, at the usual share.
        """
        (low, high), usual = ENDS[currency], USUAL_SHARE[currency]
        part = min(max((error - low) / (high - low), Fraction(0)), Fraction(1))
        share = usual + (LARGEST_SHARE[currency] - usual) * part if error < ERROR_WITHOUT_ROUNDS else Fraction(1)
        return SpendingRule(share, USUAL_WORTH + (LARGEST_WORTH - USUAL_WORTH) * part)


@dataclass(frozen=True)
class RoundBudget:
    """What one round may spend: on choosing a table, and on measuring it."""

    selection: Fraction
    table: Fraction


@dataclass(frozen=True)
class RemainingBudget:
    """The budget that is left for rounds.

    Attributes:
        currency: What the numbers are.
        left: What may still be spent.
        step: What a round takes at the present noise.
        rounds_left: How many rounds may follow.
        selections_left: What choosing tables may still take.
        largest_selection: What choosing one table takes at most.
    """

    currency: Currency
    left: Fraction
    step: Fraction
    rounds_left: int
    selections_left: Fraction
    largest_selection: Fraction

    @staticmethod
    def of(currency: Currency, budget: Fraction, rounds: int) -> RemainingBudget:
        """The whole budget, before the first round."""
        step = budget / max(1, min(rounds, FIRST_ROUNDS))
        largest = step * SELECTION_SHARE[currency] * PRICE_OF_HALF_THE_NOISE[currency]
        return RemainingBudget(currency, budget, step, rounds, budget * LARGEST_SELECTIONS_SHARE, largest)

    def next_round(self) -> RoundBudget | None:
        """The budget of the next round; nothing if there is none.

        The last one takes what is left, and so does one after which another would not be covered.
        """
        if self.rounds_left == 0 or self.left <= 0:
            return None
        whole = self.left if self.is_last else self.step
        selection = min(whole * SELECTION_SHARE[self.currency], self.largest_selection)
        return RoundBudget(selection, whole - selection) if selection <= self.selections_left else None

    @property
    def is_last(self) -> bool:
        """Whether the next round takes all that is left."""
        return self.rounds_left == 1 or self.left < 2 * self.step

    @property
    def rounds_like_the_next(self) -> int:
        """How many rounds there are at most, the next one included, if their noise stays as it is."""
        return max(1, min(self.rounds_left, int(self.left / self.step))) if self.rounds_left and self.left > 0 else 0

    def after(self, spent: RoundBudget, *, halve_noise: bool) -> RemainingBudget:
        """What is left after a round.

        Raises:
            ValueError: If more was spent than there was.
        """
        left, selections_left = self.left - spent.selection - spent.table, self.selections_left - spent.selection
        if left < 0 or selections_left < 0 or spent.selection < 0 or spent.table < 0:
            raise ValueError("a round spent more than was left")
        step = self.step * (PRICE_OF_HALF_THE_NOISE[self.currency] if halve_noise else 1)
        return replace(self, left=left, step=step, rounds_left=self.rounds_left - 1, selections_left=selections_left)
