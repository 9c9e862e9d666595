"""No course of rounds spends more than there is, whatever they choose."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.mechanisms.marginals.schedule import (
    LARGEST_SELECTIONS_SHARE,
    RemainingBudget,
    RoundBudget,
    SpendingRule,
)


@given(
    st.sampled_from(["rho", "epsilon"]),
    st.fractions(Fraction(1, 10**6), 10),
    st.integers(0, 100),
    st.lists(st.sampled_from(["none", "quiet", "moved"]), min_size=110, max_size=110),
)
def test_rounds_never_spend_more_than_the_budget(currency, budget, rounds, outcomes) -> None:
    purse, spent, selections, taken = RemainingBudget.of(currency, budget, rounds), Fraction(0), Fraction(0), 0
    while (now := purse.next_round()) is not None:
        outcome = outcomes[taken]
        taken += 1
        used = RoundBudget(now.selection, Fraction(0) if outcome == "none" else now.table)
        assert now.selection > 0 and now.table > 0
        spent, selections = spent + used.selection + used.table, selections + used.selection
        was_last = purse.is_last
        purse = purse.after(used, halve_noise=outcome != "moved")
        if was_last and outcome != "none":
            assert purse.left == 0
    assert taken <= rounds and spent + purse.left == budget
    assert selections <= budget * LARGEST_SELECTIONS_SHARE


@given(
    st.sampled_from(["rho", "epsilon"]),
    st.integers(1, 100),
    st.lists(st.sampled_from(["none", "quiet", "moved"]), min_size=100, max_size=100),
)
def test_no_round_gets_less_than_the_first_for_its_choice_or_its_table(currency, rounds, outcomes) -> None:
    """So the delta of samplers that a plan states for the first round's budgets holds for all of them."""
    purse = RemainingBudget.of(currency, Fraction(1), rounds)
    first = purse.next_round()
    for outcome in outcomes:
        now, was_last = purse.next_round(), purse.is_last
        if now is None:
            break
        assert first is not None and now.selection >= first.selection and now.table >= first.table
        if was_last:
            break
        used = RoundBudget(now.selection, Fraction(0) if outcome == "none" else now.table)
        purse = purse.after(used, halve_noise=outcome != "moved")


def test_a_round_that_is_not_covered_is_refused() -> None:
    purse = RemainingBudget.of("rho", Fraction(1), 5)
    with pytest.raises(ValueError, match="more than was left"):
        purse.after(RoundBudget(Fraction(0), Fraction(2)), halve_noise=False)
    with pytest.raises(ValueError, match="more than was left"):
        purse.after(RoundBudget(Fraction(3, 5), Fraction(0)), halve_noise=False)


@pytest.mark.parametrize(("currency", "price"), [("rho", 4), ("epsilon", 2)])
def test_half_of_the_noise_costs_four_times_the_rho_or_twice_the_epsilon(currency, price) -> None:
    """The deviation of Gaussian noise is 1 / sqrt(2 rho), the scale of Laplace noise 1 / epsilon."""
    purse = RemainingBudget.of(currency, Fraction(1), 24)
    first = purse.next_round()
    assert first is not None
    after = purse.after(first, halve_noise=True).next_round()
    assert after is not None and after.selection + after.table == price * (first.selection + first.table)


def test_caution_grows_with_the_noise_between_its_two_ends() -> None:
    cases = (("rho", Fraction(7, 20), Fraction(9, 10), 3 / 80), ("epsilon", Fraction(1, 2), Fraction(1), 0.021))
    for currency, usual, largest, halfway in cases:
        found = [SpendingRule.at(Fraction(n, 1000), currency) for n in range(100)]
        assert found[0] == SpendingRule(usual, Fraction(1)) and found[-1] == SpendingRule(largest, Fraction(2))
        assert [caution.share for caution in found] == sorted(caution.share for caution in found)
        assert SpendingRule.at(Fraction(str(halfway)), currency).share == (usual + largest) / 2


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_where_noise_moves_a_tenth_of_a_table_the_first_tables_take_everything(currency) -> None:
    assert SpendingRule.at(Fraction(1, 10), currency).share == 1
