"""Budgets of zCDP that disclosures share: what a filter lets pass, and what that costs by another accountant."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import dp_accounting
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st

from copublish.errors import BudgetExceededError
from copublish.kernel.accounting.concentrated import (
    Concentrated,
    ConcentratedMeasure,
    ConcentratedSelect,
    RhoFilter,
    selection_epsilon,
)
from copublish.kernel.accounting.cost import cost_of
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, NEIGHBORS, Measure, Neighbors
from copublish.kernel.accounting.formatting import state_disclosure
from support.profiles import examples

DELTA = Fraction(1, 10**6)


def whole(relation: Neighbors = "add-remove", **changes: object) -> Concentrated:
    given = {"budget": Fraction(1), "agreed_delta": DELTA, "selections_share": Fraction(1, 4)}
    return Concentrated(calibrated_to=relation, **{**given, "samplers_distance": Fraction(1, 2**40), **changes})


def table(budget: Concentrated, rho: Fraction) -> ConcentratedMeasure:
    return ConcentratedMeasure(
        label="a table",
        budget=budget.budget,
        agreed_delta=budget.agreed_delta,
        calibrated_to=budget.calibrated_to,
        squared_l2_sensitivity=HISTOGRAM_L1,
        entries=8,
        rho_budget=rho,
        whole=budget,
    )


def choice(budget: Concentrated, rho: Fraction) -> ConcentratedSelect:
    return ConcentratedSelect(
        label="a choice",
        budget=selection_epsilon(rho),
        calibrated_to=budget.calibrated_to,
        score_range={"add-remove": 2, "replace": 4},
        candidates=5,
        whole=budget,
    )


@pytest.mark.parametrize("relation", NEIGHBORS)
def test_a_part_costs_no_more_rho_than_it_was_given_and_hardly_less(relation) -> None:
    budget, rho = whole(relation), Fraction(1, 1000)
    for part in (table(budget, rho), choice(budget, rho)):
        assert Fraction(97, 100) * rho <= part.rho(relation) <= rho  # variances are products of whole numbers
    assert table(budget, rho).noise.variance >= HISTOGRAM_L1[relation] / (2 * rho)
    # A pure guarantee epsilon is epsilon^2 / 2 in rho.
    assert choice(budget, rho).rho(relation) == choice(budget, rho).epsilon(relation) ** 2 / 2


def test_replacing_costs_tables_twice_and_selections_four_times_the_rho() -> None:
    budget, rho = whole(), Fraction(1, 1000)
    for part, times in ((table(budget, rho), 2), (choice(budget, rho), 4)):
        assert part.rho("replace") == times * part.rho("add-remove")
    assert budget.rho("replace") == budget.rho("add-remove") * (2 * Fraction(3, 4) + 4 * Fraction(1, 4))
    assert whole("replace").rho("add-remove") == whole("replace").rho("replace") / 2


@pytest.mark.slow
@given(
    st.sampled_from(NEIGHBORS),
    st.lists(st.tuples(st.sampled_from([table, choice]), st.integers(1, 400)), min_size=1, max_size=40),
)
@examples(50)
def test_what_passes_the_filter_is_within_epsilon_and_delta_by_another_accountant(relation, steps) -> None:
    """Compared with Renyi divergences of Gaussian and of pure mechanisms, added up order by order."""
    budget = whole(relation)
    account, orders = RhoFilter(budget), [1 + i / 10 for i in range(1, 2000)]
    divergence = dict.fromkeys(NEIGHBORS, [0.0] * len(orders))
    for make, thousandths in steps:
        part = make(budget, budget.agreed_rho * Fraction(thousandths, 1000))
        before = dict(account.spent)
        try:
            account.let_pass(part)
        except BudgetExceededError:
            assert account.spent == before
            continue
        for neighbors in NEIGHBORS:
            divergence[neighbors] = [
                so_far + _divergence(part, neighbors, order)
                for so_far, order in zip(divergence[neighbors], orders, strict=True)
            ]
    for neighbors in NEIGHBORS:
        assert account.spent[neighbors] <= budget.rho(neighbors)
        epsilon, _ = rdp.compute_epsilon(orders, divergence[neighbors], float(budget.delta_without_sampler))
        assert epsilon <= float(budget.epsilon(neighbors)) * (1 + 1e-6)


def _divergence(part: ConcentratedMeasure | ConcentratedSelect, neighbors: Neighbors, order: float) -> float:
    if isinstance(part, ConcentratedMeasure):
        return order * part.squared_l2_sensitivity[neighbors] / (2 * part.noise.variance)
    epsilon = float(part.epsilon(neighbors))  # the worst pure mechanism is randomized response
    kept = exp(epsilon) / (1 + exp(epsilon))
    return log(kept**order * (1 - kept) ** (1 - order) + (1 - kept) ** order * kept ** (1 - order)) / (order - 1)


def test_a_filter_refuses_what_is_one_part_too_many_and_parts_of_another_budget() -> None:
    budget = whole()
    account = RhoFilter(budget)
    half = table(budget, budget.agreed_rho / 2)
    account.let_pass(half)
    account.let_pass(half)
    with pytest.raises(BudgetExceededError, match="It was not opened"):
        account.let_pass(table(budget, budget.agreed_rho / 10))
    with pytest.raises(BudgetExceededError):
        RhoFilter(whole(budget=Fraction(2))).let_pass(half)


def test_selections_beyond_their_share_are_refused_because_replacing_costs_them_more() -> None:
    budget = whole()
    with pytest.raises(BudgetExceededError):
        RhoFilter(budget).let_pass(choice(budget, budget.agreed_rho))
    RhoFilter(budget).let_pass(choice(budget, budget.agreed_rho / 4))


def test_parts_of_one_budget_cost_it_once_and_others_are_added() -> None:
    budget = whole()
    parts = [table(budget, budget.agreed_rho / 10)] * 3 + [choice(budget, budget.agreed_rho / 10)]
    alone = cost_of(parts, number_of_records_is_public=False)
    assert alone.add_remove == 1 and alone.delta == max(budget.delta("add-remove"), budget.delta("replace"))
    pure = Measure(
        label="more",
        budget=Fraction(1, 3),
        calibrated_to="add-remove",
        l1_sensitivity=HISTOGRAM_L1,
        changed_entries=HISTOGRAM_L1,
        entries=8,
    )
    assert cost_of([*parts, pure], number_of_records_is_public=False).add_remove == Fraction(4, 3)
    other = table(whole(budget=Fraction(2)), Fraction(1, 1000))
    assert cost_of([*parts, other], number_of_records_is_public=False).add_remove == 3


def test_the_conversion_agrees_with_another_accountant() -> None:
    """One Gaussian measurement with the whole rho, by exact Gaussian differential privacy: never more than stated."""
    budget = whole()
    accountant = dp_accounting.pld.PLDAccountant()
    accountant.compose(dp_accounting.GaussianDpEvent(1 / sqrt(2 * float(budget.agreed_rho))))
    exact = accountant.get_epsilon(float(DELTA))
    assert 0.85 <= exact <= 1


def test_a_delta_that_samplers_would_use_up_is_refused() -> None:
    with pytest.raises(ValueError, match="too small for the samplers"):
        whole(samplers_distance=DELTA).agreed_rho  # noqa: B018
    part = whole(samplers_distance=DELTA / 20)  # (1 + e) / 20 of delta: 12 of 64 parts
    assert part.delta_without_sampler == DELTA * Fraction(52, 64)
    assert part.delta("add-remove") == DELTA


def test_a_part_states_what_it_alone_would_cost_and_its_rho() -> None:
    budget = whole()
    stated = state_disclosure(table(budget, budget.agreed_rho / 4))
    assert stated.rho is not None and stated.rho["add-remove"] <= float(budget.agreed_rho) / 4 * (1 + 1e-5)
    assert 0.4 < float(stated.epsilon["add-remove"]) < 0.6  # about the root of a quarter
