"""What several ledgers that count the same person allow together: docs/budgets.md says it, and no ledger shows it."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from copublish.errors import BudgetExceededError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.ledger import Ledger, Limit

PAGE = Path(__file__).parents[2] / "docs" / "budgets.md"


def ledgers_of(limits: dict[str, Fraction]) -> dict[str, Ledger]:
    opened = {name: Ledger(":memory:") for name in limits}
    for name, ledger in opened.items():
        ledger.set_limit("people", Limit(limits[name], "add-remove"))
    return opened


def release(ledgers: dict[str, Ledger], owners: tuple[str, ...], epsilon: Fraction) -> Fraction:
    """What a release costs a person at all its owners: its epsilon, or nothing if a ledger refuses."""
    cost = Cost(add_remove=epsilon, replace=2 * epsilon, delta=Fraction(0))
    try:
        for owner in owners:
            ledgers[owner].refuse_if_over("people", cost)
    except BudgetExceededError:
        return Fraction(0)
    for owner in owners:
        with ledgers[owner].reserve("people", "r", "h", cost):
            pass
    return epsilon


def test_three_ledgers_of_two_let_a_person_be_at_three_as_the_page_says() -> None:
    ledgers = ledgers_of(dict.fromkeys(("bank", "loans", "shop"), Fraction(2)))
    total = sum(release(ledgers, pair, Fraction(1)) for pair in combinations(ledgers, 2))
    assert total == 3
    assert all(ledger.spent("people").add_remove == 2 for ledger in ledgers.values())
    assert "(2 + 2 + 2) / 2 = 3" in PAGE.read_text()


@pytest.mark.parametrize("n_ledgers", [2, 3, 4, 5])
def test_whatever_owners_release_it_is_at_most_half_of_all_limits(n_ledgers: int) -> None:
    rng = random.Random(n_ledgers)
    names = [f"owner{number}" for number in range(n_ledgers)]
    for _ in range(8):
        limits = {name: Fraction(rng.randint(1, 6)) for name in names}
        ledgers, total = ledgers_of(limits), Fraction(0)
        for _ in range(30):
            owners = tuple(rng.sample(names, rng.randint(2, n_ledgers)))
            total += release(ledgers, owners, Fraction(rng.randint(1, 4), 2))
        assert total <= sum(limits.values()) / 2
    # With equal limits and every two owners releasing together it is reached: 2 E / k in each keeps a person at E.
    limits = dict.fromkeys(names, Fraction(2 * 3, n_ledgers))
    ledgers = ledgers_of(limits)
    each = limits[names[0]] / (n_ledgers - 1)
    assert sum(release(ledgers, pair, each) for pair in combinations(names, 2)) == 3
