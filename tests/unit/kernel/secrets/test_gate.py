"""What the gate does when a ledger refuses: nothing that follows is free for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from copublish.errors import BudgetExceededError, EngineError, LedgerError
from copublish.kernel.accounting.concentrated import Concentrated, ConcentratedMeasure
from copublish.kernel.accounting.cost import NOTHING, Cost, cost_of
from copublish.kernel.accounting.perturbations import PerturbCategory
from copublish.kernel.secrets.engine import Opener
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.own_columns import OwnColumns

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


def test_columns_without_a_disclosure_of_their_own_are_not_charged_and_not_sent() -> None:
    charges = Charges()
    charges.refuses = False
    sent: list[object] = []

    def exchange(message: object, public: object) -> tuple[()]:
        sent.append(public)
        return ()

    opener = Opener(open=lambda secret: np.zeros(0, np.int64), take_checks=lambda: None, exchange=exchange)
    gate = RevealGate(None, opener, charges, number_of_records_is_public=True)  # type: ignore[arg-type]
    own = OwnColumns({"a": np.zeros(3, np.int64)}, {"a": 2, "b": 2}, {"p0": ("a",), "p1": ("b",)}, True)
    made = PerturbCategory(label="a", budget=Fraction(1), n_values=2)
    with pytest.raises(EngineError, match="do not fit their disclosures"):
        gate.reveal_columns(own, [made])
    assert charges.costs == [] and sent == [] and gate.opened == []
