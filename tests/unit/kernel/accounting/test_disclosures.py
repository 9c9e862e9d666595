"""What one disclosure costs under each relation, against the laws of its noise computed anew here."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.kernel.accounting.disclosures import NEIGHBORS, Measure, Neighbors, Select
from support.profiles import examples

LAWS = examples(60)

budgets = st.fractions(min_value=Fraction(1, 10**6), max_value=10, max_denominator=10**7)
relations = st.sampled_from(NEIGHBORS)
influences = st.tuples(st.integers(1, 5), st.integers(1, 9)).map(
    lambda pair: {"add-remove": pair[0], "replace": pair[1]}
)


def exact_delta(epsilon: Fraction, samples: int, rate: Fraction) -> Decimal:
    """(1 + e^epsilon) * samples * tau with tau = 2^-64 + K 2^-63, to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        k = 1
        while (-(Decimal(rate.numerator) / rate.denominator) * 2**k).exp() > Decimal(2) ** -64:
            k += 1
        tau = Decimal(2) ** -64 + k * Decimal(2) ** -63
        return (1 + (Decimal(epsilon.numerator) / epsilon.denominator).exp()) * samples * tau


def is_upper_bound(bound: Fraction, exact: Decimal) -> bool:
    """Whether `bound` is not below the exact value, and above it by rounding alone."""
    exact_fraction = Fraction(exact)
    return exact_fraction <= bound <= exact_fraction * (1 + Fraction(1, 10**9))


@given(budgets, relations, influences, st.integers(1, 500))
@LAWS
def test_a_selection_costs_its_budget_under_the_calibrated_relation_and_in_proportion_under_the_other(
    budget: Fraction, relation: Neighbors, score_range: dict, candidates: int
) -> None:
    select = Select(
        label="which", budget=budget, calibrated_to=relation, score_range=score_range, candidates=candidates
    )
    assert select.noise.rate == budget / score_range[relation]
    assert select.epsilon(relation) == budget
    for neighbors in NEIGHBORS:
        assert select.epsilon(neighbors) == budget * score_range[neighbors] / score_range[relation]
        expected = exact_delta(select.epsilon(neighbors), candidates, budget / score_range[relation])
        assert is_upper_bound(select.delta(neighbors), expected)


@given(budgets, relations, influences, influences, st.integers(1, 500))
@LAWS
def test_a_measurement_costs_its_budget_under_the_calibrated_relation_and_in_proportion_under_the_other(
    budget: Fraction, relation: Neighbors, l1: dict, changed: dict, entries: int
) -> None:
    measure = Measure(
        label="counts",
        budget=budget,
        calibrated_to=relation,
        l1_sensitivity=l1,
        changed_entries=changed,
        entries=entries,
    )
    assert measure.noise.rate == budget / l1[relation]
    assert measure.epsilon(relation) == budget
    for neighbors in NEIGHBORS:
        assert measure.epsilon(neighbors) == budget * l1[neighbors] / l1[relation]
        expected = exact_delta(measure.epsilon(neighbors), 2 * changed[neighbors], budget / l1[relation])
        assert is_upper_bound(measure.delta(neighbors), expected)


def test_the_check_of_upper_bounds_rejects_a_formula_without_the_factor_or_rounded_down() -> None:
    select = Select(
        label="which",
        budget=Fraction(1, 2),
        calibrated_to="add-remove",
        score_range={"add-remove": 1, "replace": 2},
        candidates=40,
    )
    exact = exact_delta(Fraction(1, 2), 40, Fraction(1, 2))
    assert is_upper_bound(select.delta("add-remove"), exact)
    assert not is_upper_bound(select.delta("add-remove") * 39 / 40, exact)
    assert not is_upper_bound(Fraction(exact) - Fraction(1, 10**80), exact)
    assert not is_upper_bound(40 * select.noise.distance, exact)


def test_histogram_and_max_cost_twice_as_much_under_replace_as_under_add_remove() -> None:
    doubled = {"add-remove": 1, "replace": 2}
    for disclosure in (
        Select(label="which", budget=Fraction(3, 10), calibrated_to="add-remove", score_range=doubled, candidates=5),
        Measure(
            label="counts",
            budget=Fraction(3, 10),
            calibrated_to="add-remove",
            l1_sensitivity=doubled,
            changed_entries=doubled,
            entries=5,
        ),
    ):
        assert disclosure.epsilon("add-remove") == Fraction(3, 10)
        assert disclosure.epsilon("replace") == Fraction(6, 10)
    for disclosure in (
        Select(label="which", budget=Fraction(3, 10), calibrated_to="replace", score_range=doubled, candidates=5),
        Measure(
            label="counts",
            budget=Fraction(3, 10),
            calibrated_to="replace",
            l1_sensitivity=doubled,
            changed_entries=doubled,
            entries=5,
        ),
    ):
        assert disclosure.epsilon("add-remove") == Fraction(3, 20)
        assert disclosure.epsilon("replace") == Fraction(3, 10)


def test_many_small_costs_add_up_without_rounding() -> None:
    tenth = Select(
        label="which",
        budget=Fraction(1, 10),
        calibrated_to="replace",
        score_range={"add-remove": 1, "replace": 3},
        candidates=2,
    )
    assert sum(tenth.epsilon("add-remove") for _ in range(30)) == 1
    assert sum(float(tenth.epsilon("add-remove")) for _ in range(30)) != 1  # what floating point would say


def test_delta_does_not_depend_on_entries_that_one_person_cannot_change() -> None:
    one = {"add-remove": 1, "replace": 2}
    few, many = (
        Measure(
            label="counts",
            budget=Fraction(1),
            calibrated_to="add-remove",
            l1_sensitivity=one,
            changed_entries=one,
            entries=n,
        )
        for n in (2, 2**20)
    )
    assert few.delta("replace") == many.delta("replace")


def test_delta_of_a_release_with_the_default_size_is_below_two_to_the_minus_40() -> None:
    one = {"add-remove": 1, "replace": 2}
    selections = [
        Select(
            label="which", budget=Fraction(4, 100), calibrated_to="add-remove", score_range=one, candidates=2**16 // 10
        )
        for _ in range(10)
    ]
    leaves = Measure(
        label="counts",
        budget=Fraction(6, 10),
        calibrated_to="add-remove",
        l1_sensitivity=one,
        changed_entries=one,
        entries=2**16,
    )
    total = sum(selection.delta("replace") for selection in selections) + leaves.delta("replace")
    assert 0 < total < Fraction(1, 2**40)


def test_the_kinds_are_told_apart_and_scale_is_in_people() -> None:
    one = {"add-remove": 1, "replace": 2}
    select = Select(label="which", budget=Fraction(1, 20), calibrated_to="add-remove", score_range=one, candidates=2)
    measure = Measure(
        label="counts",
        budget=Fraction(1, 2),
        calibrated_to="replace",
        l1_sensitivity=one,
        changed_entries=one,
        entries=2,
    )
    assert (select.kind, measure.kind) == ("select", "measure")
    assert math.isclose(select.noise.scale, 20)
    assert math.isclose(measure.noise.scale, 4)


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1, 2)])
def test_a_disclosure_without_budget_has_no_noise_to_draw(budget: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        _ = Select(
            label="which",
            budget=budget,
            calibrated_to="replace",
            score_range={"add-remove": 1, "replace": 2},
            candidates=2,
        ).noise
