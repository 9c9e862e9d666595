"""A ledger with charges that no finite epsilon bounds: allowed where somebody said so, and never forgotten."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.errors import BudgetExceededError
from copublish.kernel.accounting.cost import UNLIMITED, Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from support.profiles import examples

PRICES = st.fractions(Fraction(1, 50), 1, max_denominator=50)
COSTS = st.one_of(
    st.builds(lambda epsilon: Cost(add_remove=epsilon, replace=2 * epsilon), PRICES),
    st.builds(lambda epsilon: Cost(add_remove=None, replace=epsilon), PRICES),
    st.just(UNLIMITED),
)
LIMITS = st.builds(Limit, st.one_of(st.none(), PRICES), st.sampled_from(["add-remove", "replace"]))
STEPS = st.lists(st.one_of(LIMITS, COSTS), min_size=1, max_size=12)


@given(STEPS)
@examples(60)
def test_mixtures_of_bounded_and_unbounded_charges_are_allowed_exactly_as_the_newest_limit_says(steps):
    ledger, limit = Ledger(":memory:"), None
    spent: dict[str, Fraction | float] = {"add-remove": Fraction(0), "replace": Fraction(0)}
    for step in steps:
        if isinstance(step, Limit):
            ledger.set_limit("people", step)
            limit = step
            assert ledger.limit("people") == step
            continue
        # Infinity stands for what has no bound; float arithmetic knows its rules.
        price = {
            relation: float("inf") if epsilon is None else epsilon
            for relation, epsilon in (("add-remove", step.add_remove), ("replace", step.replace))
        }
        allowed = limit is not None and (
            limit.epsilon is None or spent[limit.neighbors] + price[limit.neighbors] <= limit.epsilon
        )
        if allowed:
            with ledger.reserve("people", "release", "hash", step) as charge:
                charge.disclose("all of it", step)
            spent = {relation: spent[relation] + price[relation] for relation in spent}
        else:
            with pytest.raises(BudgetExceededError, match=r"Nothing was measured"):
                ledger.refuse_if_over("people", step)
        found = ledger.spent("people")
        for relation, total in spent.items():
            assert found.under(relation) == (None if total == float("inf") else total)
    ledger.close()


def test_a_finite_limit_says_how_to_allow_what_has_no_bound_and_what_that_means(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.set_limit("people", Limit(Fraction(3), "replace"))
    with pytest.raises(BudgetExceededError) as caught:
        ledger.refuse_if_over("people", UNLIMITED)
    assert f"copublish ledger limit people=unbounded --ledger {path}" in str(caught.value)
    assert "not differentially private" in str(caught.value)
    with pytest.raises(BudgetExceededError) as caught:  # another matter: the relation of the limit
        ledger.set_limit("people", Limit(Fraction(3), "add-remove"))
        ledger.refuse_if_over("people", Cost(add_remove=None, replace=Fraction(1)))
    assert "unbounded" not in str(caught.value)


def test_after_an_unbounded_charge_a_finite_limit_never_holds_again(tmp_path):
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.set_limit("people", Limit(None, "replace"))
    with ledger.reserve("people", "first", "hash", UNLIMITED):
        pass
    ledger.set_limit("people", Limit(Fraction(10**6), "replace"))
    ledger.close()
    again = Ledger(path)
    assert again.entries()[0].cost == UNLIMITED
    with pytest.raises(BudgetExceededError, match="no finite limit can hold any more"):
        again.refuse_if_over("people", Cost(add_remove=Fraction(1, 10**6), replace=Fraction(1, 10**6)))
    again.close()


def test_without_a_limit_nothing_unbounded_may_be_spent_either():
    with pytest.raises(BudgetExceededError, match="no limit"):
        Ledger(":memory:").refuse_if_over("people", UNLIMITED)
