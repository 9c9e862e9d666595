"""Checks before a run begins: the ledger lets it, and the parties are about to do the same."""

from __future__ import annotations

from collections.abc import Mapping

from copublish.agreement.model import Agreement
from copublish.errors import plain_text
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.plan import PricedPlan
from copublish.kernel.records.comparison import compares_identifiers

MAX_DIFFERENCES = 12
"""More are not listed."""


def refuse_by_ledger(plan: PricedPlan, party: str, ledger: Ledger) -> None:
    """Raise if a party's ledger does not let a run begin. Nothing is charged by asking.

    Raises:
        LedgerError: If the ledger was edited, the budget does not suffice, the people were compared too often, the
            data set is locked for one of the other parties, or the ledger cannot be written.
    """
    refuse_by_what_ledger_says(plan, party, ledger)
    ledger.refuse_if_unwritable()


def refuse_by_what_ledger_says(plan: PricedPlan, party: str, ledger: Ledger) -> None:
    """Raise as `refuse_by_ledger`, but for a ledger that cannot be written: for who only looks.

    Raises:
        LedgerError: Naming the reason.
    """
    agreement = plan.agreement
    ledger.refuse_if_edited()
    ledger.refuse_if_locked(agreement.dataset, peers_of(agreement, party))
    ledger.refuse_if_over(agreement.dataset, *costs_of_run(agreement, plan.cost()))
    if compares_identifiers(agreement, party):
        ledger.refuse_if_aligned_too_often(agreement.dataset)


def peers_of(agreement: Agreement, party: str) -> dict[str, str | None]:
    """The other parties of a run, with the fingerprints of their certificates as far as the agreement has them."""
    return {name: other.certificate for name, other in agreement.parties.items() if name != party}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """What two parties differ in, in words; nothing if they do not."""
    different = []
    for key in sorted(here.keys() | there.keys()):
        ours, theirs = here.get(key, "missing"), there.get(key, "missing")
        if ours != theirs:
            is_hash = len(ours) == 64 or len(theirs) == 64
            name = plain_text(key, 80)
            different.append(name if is_hash else f"{name} ({ours} here, {plain_text(theirs, 40)} there)")
    if not different:
        return None
    more = f" and {len(different) - MAX_DIFFERENCES} more" if len(different) > MAX_DIFFERENCES else ""
    return f"{', '.join(different[:MAX_DIFFERENCES])}{more}"
