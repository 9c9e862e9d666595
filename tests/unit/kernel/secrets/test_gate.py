"""What the gate does when a ledger refuses: nothing that follows is free for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.accounting.concentrated import Concentrated, ConcentratedMeasure
from copublish.kernel.accounting.cost import NOTHING, Cost, cost_of
from copublish.kernel.secrets.gate import RevealGate

WHOLE = Concentrated(
    budget=Fraction(1),
    agreed_delta=Fraction(1, 10**8),
    calibrated_to="add-remove",
    selections_share=Fraction(0),
    samplers_distance=Fraction(1, 2**50),
)


def table(share: Fraction) -> ConcentratedMeasure:
    return ConcentratedMeasure(
        label="table",
        budget=Fraction(1),
        agreed_delta=Fraction(1, 10**8),
        calibrated_to="add-remove",
        squared_l2_sensitivity={"add-remove": 1, "replace": 2},
        entries=8,
        rho_budget=WHOLE.agreed_rho * share,
        whole=WHOLE,
    )


class Charges:
    """A ledger that refuses the first time."""

    def __init__(self) -> None:
        self.costs: list[Cost] = []
        self.refuses = True

    def disclose(self, label: str, price: Callable[[], Cost]) -> None:
        if self.refuses:
            self.refuses = False
            raise LedgerError("The disk is full.")
        self.costs.append(price())


def test_a_shared_budget_that_was_refused_is_charged_with_the_next_part_and_then_no_more() -> None:
    charges = Charges()
    gate = RevealGate(None, None, charges, number_of_records_is_public=False)  # type: ignore[arg-type]
    with pytest.raises(LedgerError):
        gate._charge(table(Fraction(1, 4)))
    with pytest.raises(BudgetExceededError):
        gate._charge(table(Fraction(3, 2)))
    for _ in range(4):
        gate._charge(table(Fraction(1, 4)))
    with pytest.raises(BudgetExceededError):
        gate._charge(table(Fraction(1, 4)))
    whole = cost_of([table(Fraction(1, 4))], number_of_records_is_public=False)
    assert whole.add_remove == 1
    assert charges.costs == [whole, NOTHING, NOTHING, NOTHING]
