"""A release costs exactly what was agreed, as planned, as charged and as certified, for any agreement.

The laws are checked on random agreements (hypothesis, fixed examples), expected values are naive sums of fractions.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from copublish import Agreement, agreement_from_mapping
from copublish.engines.ideal import Room
from copublish.errors import AgreementError
from copublish.kernel.accounting.cost import NOTHING, Cost, cost_of
from copublish.kernel.accounting.disclosures import NEIGHBORS, Measure, Select
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments, run_room
from support import fragment_frames, random_table, repartition, seeded, small_mapping
from support.profiles import examples

BOTH = {"add-remove": 1, "replace": 2}

fractions = st.fractions(min_value=0, max_value=10, max_denominator=10**6)
epsilons = st.none() | fractions
costs = st.builds(Cost, add_remove=epsilons, replace=epsilons, delta=fractions)


@given(costs, costs, costs)
def test_costs_add_up_in_any_order_and_nothing_is_neutral(a: Cost, b: Cost, c: Cost) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + NOTHING == a
    for neighbors in NEIGHBORS:
        parts = [a.under(neighbors), b.under(neighbors)]
        assert (a + b).under(neighbors) == (None if None in parts else sum(parts))
    assert (a + b).delta == a.delta + b.delta


@given(costs, costs)
def test_a_cost_fits_iff_no_part_of_it_is_larger_where_none_is_infinite(cost: Cost, limit: Cost) -> None:
    def as_number(epsilon: Fraction | None) -> Fraction | float:
        return float("inf") if epsilon is None else epsilon

    expected = cost.delta <= limit.delta and all(
        as_number(cost.under(neighbors)) <= as_number(limit.under(neighbors)) for neighbors in NEIGHBORS
    )
    assert cost.fits_in(limit) == expected
    assert cost.fits_in(cost)


def test_the_smallest_excess_in_any_part_does_not_fit() -> None:
    limit, tiny = Cost(add_remove=Fraction(1), replace=Fraction(2), delta=Fraction(1, 2**60)), Fraction(1, 10**40)
    assert not (limit + Cost(add_remove=tiny, replace=Fraction(0))).fits_in(limit)
    assert not (limit + Cost(add_remove=Fraction(0), replace=tiny)).fits_in(limit)
    assert not (limit + Cost(add_remove=Fraction(0), replace=Fraction(0), delta=tiny)).fits_in(limit)


def test_disclosures_are_added_by_sequential_composition_with_the_larger_delta() -> None:
    select = Select(label="which", budget=Fraction(1, 7), calibrated_to="add-remove", score_range=BOTH, candidates=11)
    measure = Measure(
        label="counts",
        budget=Fraction(1, 3),
        calibrated_to="replace",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=8,
    )
    cost = cost_of([select, measure, select], number_of_records_is_public=False)
    assert cost.add_remove == 2 * Fraction(1, 7) + Fraction(1, 6)
    assert cost.replace == 2 * Fraction(2, 7) + Fraction(1, 3)
    assert cost.delta == 2 * select.delta("replace") + measure.delta("replace")
    assert cost_of([], number_of_records_is_public=False) == NOTHING


def test_a_public_number_of_records_leaves_no_finite_epsilon_under_add_remove() -> None:
    measure = Measure(
        label="counts",
        budget=Fraction(1, 3),
        calibrated_to="replace",
        l1_sensitivity=BOTH,
        changed_entries=BOTH,
        entries=8,
    )
    cost = cost_of([measure], number_of_records_is_public=True)
    assert cost.add_remove is None
    assert cost.replace == Fraction(1, 3)


@st.composite
def attributes(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["flat", "tree", "number"]))
    missing = draw(st.sampled_from([None, "category"]))
    if kind == "number":
        return {
            "kind": "numerical",
            "bounds": [0, 100],
            "grid": {"count": draw(st.integers(2, 9))},
            "missing": missing,
        }
    if kind == "flat":
        values = [f"v{number}" for number in range(draw(st.integers(1, 5)))]
        return {"kind": "categorical", "values": values, "missing": missing}
    widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    tree = {f"g{g}": {f"v{g}.{v}": {} for v in range(width)} for g, width in enumerate(widths)}
    return {"kind": "categorical", "taxonomy": {"ANY": tree}, "missing": missing}


@st.composite
def agreements(draw: st.DrawFn) -> Agreement:
    """Any schema, budget, relation and way to split the budget, for any partition of two or three parties."""
    neighbors = draw(st.sampled_from(NEIGHBORS))
    parties = draw(st.integers(2, 3))
    mapping = small_mapping(
        attributes={f"a{number}": draw(attributes()) for number in range(draw(st.integers(parties, 4)))},
        privacy={
            "epsilon": draw(st.decimals(Decimal("0.000001"), 10, places=6) | st.sampled_from([Decimal("0.001"), 1])),
            "neighbors": neighbors,
        },
        mechanism={
            "name": "specialization",
            "specializations": draw(st.sampled_from([6, 0, 1, 2, 3, 12])),
            "selection_share": draw(st.decimals(Decimal("0.01"), Decimal("0.99"), places=3)),
            "max_cells": draw(st.sampled_from([64, None, 2, 7, 1000])),
            "score": draw(st.sampled_from(["max", "tv-gain", "balanced-gain", "auto"])),
        },
        records={
            "identifier": "id",
            "expected": draw(st.sampled_from([1000, 1, 30, 10**6])),
            "public": neighbors == "replace" and draw(st.booleans()),
        },
    )
    mapping["class"]["values"] = ["no", "yes", "maybe"][: draw(st.integers(2, 3))]
    agreement = agreement_from_mapping(
        repartition(mapping, draw(st.sampled_from(["horizontal", "vertical", "arbitrary"])), parties)
    )
    try:
        plan_of(agreement)
    except AgreementError:  # so little is left for a specialization that the engine's integers cannot hold its noise
        reject()
    return agreement


def run(agreement: Agreement, records: int, seed: int) -> tuple[Certificate, dict[str, list[Cost]]]:
    """Simulate on a random table. Return the certificate and the disclosures in every party's ledger."""
    generator = np.random.default_rng(seed)
    frames = fragment_frames(agreement, random_table(agreement, records, generator), generator)
    plan = plan_of(agreement)
    ledgers = {party: throwaway_ledger(plan) for party in agreement.parties}
    room = Room(agreement.party_names, seeded(agreement.party_names, seed))
    release = run_room(plan, read_fragments(agreement, frames), room, ledgers)
    charged = {}
    for party, ledger in ledgers.items():
        rows = ledger._database.execute("SELECT epsilon_add_remove, epsilon_replace, delta FROM disclosures")
        exact = [[None if text is None else Fraction(text) for text in row] for row in rows]
        charged[party] = [Cost(add_remove=added, replace=replaced, delta=delta) for added, replaced, delta in exact]
        ledger.close()
    return release.certificate, charged


@pytest.mark.slow
@given(agreements())
@examples(150)
def test_planned_disclosures_add_up_to_exactly_the_agreed_epsilon(agreement: Agreement) -> None:
    plan = SpecializationPlan.of(agreement)
    relation = agreement.privacy.neighbors
    factor = Fraction(BOTH["replace"], BOTH[relation])
    planned = plan.disclosures()
    assert sum(disclosure.epsilon(relation) for disclosure in planned) == agreement.epsilon
    assert sum(disclosure.epsilon("replace") for disclosure in planned) == agreement.epsilon * factor
    assert plan.cost().under(relation) == agreement.epsilon
    assert plan.cost().replace == agreement.epsilon * factor
    assert plan.cost().add_remove == (None if agreement.records.public else agreement.epsilon * factor / 2)


@pytest.mark.slow
@given(agreements())
@examples(150)
def test_the_reserved_cost_suffices_wherever_specialization_stops(agreement: Agreement) -> None:
    plan = SpecializationPlan.of(agreement)
    candidates = sum(domain.max_splits for domain in agreement.domains.values())
    for rounds in range(plan.rounds + 1):
        classes = [plan.class_counts()] if plan.epsilon_for_classes else []
        selections = [plan.selection(number, candidates) for number in range(rounds)]
        made = [*classes, *selections, plan.leaf_counts(rounds, 2)]
        cost = cost_of(made, number_of_records_is_public=agreement.records.public)
        assert cost.under(agreement.privacy.neighbors) == agreement.epsilon
        assert cost.fits_in(plan.cost())


@pytest.mark.slow
@given(agreements(), st.integers(0, 30), st.integers(0, 1000))
@examples(30, shrinks=False)
def test_charged_and_certified_disclosures_of_a_run_add_up_to_exactly_the_agreed_epsilon(
    agreement: Agreement, records: int, seed: int
) -> None:
    relation = agreement.privacy.neighbors
    records = min(records, 2 * agreement.records.expected)  # more people than twice the public estimate are refused
    certificate, charged = run(agreement, records, seed)
    certified = [Fraction(made.epsilon[relation]) for made in certificate.disclosures]
    assert sum(certified) == agreement.epsilon
    *selections, leaves = certificate.disclosures
    planned = SpecializationPlan.of(agreement).disclosures()  # whose numbers of candidates and cells are upper bounds
    assert len(selections) < len(planned)
    if SpecializationPlan.of(agreement).epsilon_for_classes:
        classes = selections.pop(0)
        assert classes.values_opened == planned.pop(0).entries == len(agreement.class_.values)
    assert all(made.kind == "select" for made in selections)
    assert all(made.candidates <= planned[0].candidates for made in selections)
    assert leaves.values_opened <= planned[-1].entries
    for disclosures in charged.values():
        assert [cost.under(relation) for cost in disclosures] == certified
        assert sum(disclosures, NOTHING).fits_in(SpecializationPlan.of(agreement).cost())
        assert (sum(disclosures, NOTHING).add_remove is None) == agreement.records.public


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_specialization_that_stops_early_leaves_the_rest_of_the_budget_to_the_counts(partition, neighbors) -> None:
    flat = {f"a{number}": {"kind": "categorical", "values": ["x", "y", "z"]} for number in range(2)}
    changes = {"mechanism.specializations": 4, "mechanism.max_cells": 4096, "privacy.epsilon": Decimal("0.7")}
    mapping = small_mapping(attributes=flat, **changes)
    mapping["privacy"]["neighbors"] = neighbors
    agreement = agreement_from_mapping(repartition(mapping, partition))
    assert SpecializationPlan.of(agreement).rounds == 4  # of which two can be used: each attribute splits once
    certificate, charged = run(agreement, 20, 3)
    certified = [Fraction(made.epsilon[neighbors]) for made in certificate.disclosures]
    share = Fraction(4, 10)
    assert certified == [Fraction(7, 10) * share / 4] * 2 + [Fraction(7, 10) * (1 - share / 2)]
    for disclosures in charged.values():
        assert sum(cost.under(neighbors) for cost in disclosures) == Fraction(7, 10)
        assert sum(disclosures, NOTHING).fits_in(SpecializationPlan.of(agreement).cost())


def test_a_small_budget_with_one_round_can_be_spent_as_reserved() -> None:
    number = {"kind": "numerical", "bounds": [0, 100], "grid": {"count": 5}}
    changes = {"mechanism.specializations": 1, "mechanism.max_cells": 64, "privacy.epsilon": Decimal("0.001")}
    mapping = small_mapping(attributes={"a": number, "b": number}, **changes)
    _, charged = run(agreement_from_mapping(repartition(mapping, "horizontal")), 20, 3)
    assert all(sum(cost.add_remove for cost in disclosures) == Fraction(1, 1000) for disclosures in charged.values())
