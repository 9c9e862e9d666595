"""What the gate does when a ledger refuses: nothing that follows is free for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from copublish.errors import BudgetExceededError, EngineError, InvalidInputsError, LedgerError
from copublish.kernel.accounting.concentrated import Concentrated, ConcentratedMeasure
from copublish.kernel.accounting.cost import NOTHING, Cost, cost_of
from copublish.kernel.accounting.disclosures import Measure
from copublish.kernel.accounting.perturbations import PerturbCategory
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.engine import Opener
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.kernel.secrets.secret import Secret, SecretCounts

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


@dataclass
class Told:
    """What a gate did, in order."""

    steps: list[str] = field(default_factory=list)

    def disclose(self, label: str, price: Callable[[], Cost]) -> None:
        self.steps.append(f"charged {price().add_remove}")

    def gate(self, checks: list[int] | None = None) -> RevealGate:
        secret_checks, parties = Secret(None, (2,)), ("p0", "p1")

        def open_secret(secret: Secret) -> np.ndarray:
            self.steps.append("checks opened" if secret is secret_checks else "opened")
            return np.array(checks if secret is secret_checks else [[3]])

        def take_checks() -> Secret | None:
            return None if checks is None else secret_checks

        computer = SimpleNamespace(party="p0", parties=parties, add_noise=lambda *given, **named: Secret(None, (1, 1)))
        opener = Opener(open=open_secret, take_checks=take_checks, exchange=lambda message, public: ())
        return RevealGate(computer, opener, self, number_of_records_is_public=False)  # type: ignore[arg-type]


COUNT = Measure(
    label="a count",
    budget=Fraction(1, 3),
    calibrated_to="add-remove",
    l1_sensitivity={"add-remove": 1, "replace": 2},
    changed_entries={"add-remove": 1, "replace": 2},
    entries=1,
)
COUNTS = SecretCounts(Secret(None, (1, 1)), Packing(1))


def test_a_value_is_charged_before_it_is_opened() -> None:
    told = Told()
    told.gate().reveal_measurement(COUNTS, COUNT)
    assert told.steps == ["charged 1/3", "opened"]


def test_inputs_are_checked_before_anything_is_charged_or_opened_and_wrong_ones_end_the_run() -> None:
    told = Told()
    told.gate([0, 0]).reveal_measurement(COUNTS, COUNT)
    assert told.steps == ["checks opened", "charged 1/3", "opened"]
    told = Told()
    with pytest.raises(InvalidInputsError, match="'p1' put in something else"):
        told.gate([0, 7]).reveal_measurement(COUNTS, COUNT)
    assert told.steps == ["checks opened"]
