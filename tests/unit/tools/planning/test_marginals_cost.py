"""Predictions of marginals: operations counted from the agreement, against naive counts and runs that were measured."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.engines.spu.products import most_records, padded_records
from copublish.kernel.programs.noise import blinds_of, noisy_argmax
from copublish.mechanisms.marginals import run
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.party.local.simulation import simulate_fragments
from copublish.tools.planning import costs
from copublish.tools.planning.costs import (
    BEYOND,
    MIB,
    Surroundings,
    all_coefficients,
    coefficients_for,
    cost_words,
    measured_coefficients,
)
from copublish.tools.planning.links import Link, over_link, predict_over_link, run_cost
from copublish.tools.planning.marginals_cost import (
    comparisons_of,
    planned_rounds,
    predict_from_agreement,
    rounds_made,
    work_of,
)
from copublish.tools.planning.tables import as_fragments, made_up_table
from marginals_shapes import CHECKED, FITTED, Shape, agreement_of
from run_all import RESULTS
from support import seeded, simulate_with

SMALL = Shape(5_000)


@pytest.fixture(autouse=True)
def on_the_machine_that_was_measured(monkeypatch):
    """Whatever this one is."""
    known, loop = measured_coefficients(), all_coefficients()
    monkeypatch.setattr(costs, "how_much_slower", lambda: loop[ON].measured["loop_seconds"] / _loop(known))


ON = "marginals on cheetah"


def _loop(known):
    return known.measured["loop_seconds"]


def predicted(shape, surroundings=None):
    found = predict_from_agreement(agreement_of(shape), surroundings)
    assert found is not None and found.seconds is not None
    return found


def checked_rows():
    tables = json.loads((RESULTS / "cost_model.json").read_text())["tables"]
    rows = tables["Marginals: predictions held against other runs"]["rows"]
    return {(row["engine"], row["run"]): row for row in rows}


@pytest.mark.parametrize("shape", CHECKED, ids=lambda shape: f"{shape.engine}: {shape.name}")
def test_runs_that_nothing_was_fitted_to_took_what_the_agreement_says_within_three_tenths(shape):
    """What docs/benchmarks.md shows: measured by `benchmarks/cost_model.py`; predicted here, by the agreement alone."""
    row, found = checked_rows()[shape.engine, shape.name], predicted(shape)
    assert found.mib_sent == pytest.approx(row["MiB sent"], rel=0.3)
    assert found.cpu_seconds == pytest.approx(row["CPU s"], rel=0.3)


def test_no_shape_that_is_checked_was_fitted():
    assert len(CHECKED) >= 6 and not set(CHECKED) & set(FITTED)
    assert not {(one.records, one.columns, one.cells) for one in CHECKED} & {
        (one.records, one.columns, one.cells) for one in FITTED
    }


@pytest.mark.parametrize("places", [2, 3, 37, 129, 300, 1500])
def test_comparisons_of_a_selection_are_those_that_it_makes(places):
    class Counting(np.ndarray):
        compared = 0

        def __lt__(self, other):
            Counting.compared += self.size
            return np.asarray(super().__lt__(other))

    def concatenate(parts, axis=0):
        return np.concatenate(parts, axis=axis).view(Counting)  # NumPy's own forgets what it puts together

    scores, nothing = np.arange(places, dtype=np.int64).view(Counting), np.zeros(places, dtype=np.int64)
    blinds = np.ones(blinds_of(places), dtype=np.int64)
    noisy_argmax(SimpleNamespace(concatenate=concatenate), scores, nothing, blinds)
    assert Counting.compared == comparisons_of(places)


def test_products_are_those_of_all_pairs_of_two_owners():
    """Three columns and the class of one owner, two of the other: all their cells are multiplied at once."""
    shape = Shape(30_000, columns=6, cells=8, class_values=None)
    work, lines = work_of(agreement_of(shape)), 3 * 8
    step, records = most_records(lines * lines), 0
    for start in range(0, shape.records, step):
        records += padded_records(min(step, shape.records - start))
    assert work.product_columns * 1e6 == records * lines
    assert work.product_cells * 1e6 == records * lines * lines
    assert work.calls == -(-shape.records // step)


def test_cells_that_are_compared_are_those_of_all_candidates():
    agreement = agreement_of(Shape(5_000, columns=5, cells=7, class_values=None))
    pairs = len(list(combinations(range(5), 2)))
    rounds = planned_rounds(MarginalsPlan.of(agreement))[:3]
    assert work_of(agreement, rounds).compared * 1e3 == pairs * 49 * (3 + 1)  # and once where they are put in
    assert work_of(agreement, rounds).rounds == 3


def test_whole_rows_and_tables_of_one_owner_are_not_multiplied():
    assert work_of(agreement_of(Shape(5_000, partition="horizontal"))).product_cells == 0
    assert work_of(agreement_of(Shape(5_000))).product_cells > 0


def test_columns_of_three_owners_are_marked():
    three, two = work_of(agreement_of(Shape(5_000, owners=3))), work_of(agreement_of(SMALL))
    assert three.marks == 2 * three.first_marks > 0 and three.guest_marks == three.first_marks
    assert two.marks == two.first_marks == two.guest_marks == 0


def test_rounds_are_between_one_and_those_of_noise_that_is_never_halved():
    for shape in FITTED:
        plan = MarginalsPlan.of(agreement_of(shape))
        usual = planned_rounds(plan)
        assert (len(usual) == 0) == (plan.rounds == 0)
        most = planned_rounds(plan, math.inf)
        assert len(usual) <= len(most) <= plan.rounds
        assert all(one.table is not None for one in most)
        if plan.rounds == 30:
            assert len(most) == 24


def test_fewer_tables_are_worth_their_noise_among_fewer_people():
    """Pairs of 400 cells: of 2,000 people next to none is worth it, of a million nearly all."""
    few, many = (
        [one.table for one in planned_rounds(MarginalsPlan.of(agreement_of(Shape(n, columns=8, cells=20))))]
        for n in (2_000, 1_000_000)
    )
    assert sum(table is not None for table in few) <= 2
    assert len(many) > 15 and None not in many[:7]


def requiring(agreement, *must):
    """The same agreement with required tables."""
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    content["mechanism"]["tables"] = {"must": must, "then": "auto"}
    return cp.agreement_from_mapping(content)


def test_pairs_across_owners_are_chosen_in_the_first_rounds():
    """In 6 of 24 rounds, where noise is never halved: a quarter of the budget is theirs."""
    plan = MarginalsPlan.of(agreement_of(Shape(30_000, columns=10, cells=8)))
    owner = {number: plan.agreement.holders(name) for number, name in enumerate(plan.names)}
    rounds = planned_rounds(plan, math.inf)
    assert len(rounds) == 24
    assert all(owner[one.table[0]] != owner[one.table[1]] for one in rounds[:6])
    assert any(owner[one.table[0]] == owner[one.table[1]] for one in rounds[6:])
    with_whole_rows = MarginalsPlan.of(agreement_of(Shape(30_000, columns=10, cells=8, partition="horizontal")))
    assert len({one.table[0] % 2 == one.table[1] % 2 for one in planned_rounds(with_whole_rows, math.inf)[:6]}) == 2


def test_pairs_that_a_required_table_holds_are_not_chosen_and_take_a_part_of_the_budget():
    agreement = agreement_of(Shape(30_000, columns=7, cells=4))
    plans = [MarginalsPlan.of(one) for one in (agreement, requiring(agreement, ["x0", "x1"], ["x2", "x3", "x4"]))]
    usual, required = ([one.table for one in planned_rounds(plan, math.inf)] for plan in plans)
    held = {(0, 1), (2, 3), (2, 4), (3, 4)}
    assert held <= set(usual) and held.isdisjoint(required) and len(set(required)) == 15 - len(held)
    before, after = (planned_rounds(plan)[0].budget.table for plan in plans)
    assert before / after == (1 - plans[0].first_share) / (1 - plans[1].first_share) > 1


def test_rounds_are_played_with_the_budgets_of_a_run_that_finds_no_pair_across_owners(monkeypatch):
    """Columns of one owner follow each other, and those of the other owner nothing."""
    agreement = requiring(agreement_of(Shape(20_000, columns=6, cells=4, class_values=None, rounds=6)), ["x1", "x2"])
    asked, usual = {}, run._Run.ask

    def ask(self, fitted, number, budget, among):
        asked[number] = budget, among is not None  # by each party
        return usual(self, fitted, number, budget, among)

    monkeypatch.setattr(run._Run, "ask", ask)
    generator = np.random.default_rng(0)
    table = pd.DataFrame({f"x{number}": generator.integers(0, 4, 600) for number in range(6)}).astype(str)
    table["x2"] = table["x4"] = table["x0"]
    frames = {party: table[list(agreement.columns_of(party))] for party in agreement.owners}
    release = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    plan, chosen = MarginalsPlan.of(agreement), release.published.model.rounds
    assert chosen[0] == () and len(chosen[1]) == 2 and asked[1][1] and not asked[2][1]
    tables = [tuple(plan.names.index(name) for name in one) or None for one in chosen]
    assert [one.budget for one in rounds_made(plan, tables)][:2] == [asked[1][0], asked[2][0]]
    assert asked[1][0] == asked[2][0]  # the noise was not halved
    assert [one.table is None for one in planned_rounds(plan, 1e-9)][:2] == [True, True]
    budgets = [one.budget.table for one in planned_rounds(plan, 1e-9)]
    assert budgets[0] == budgets[1] < budgets[2]


@pytest.mark.parametrize(
    "more",
    [
        {"records": 500_000},
        {"columns": 14},
        {"cells": 15},
        {"owners": 4},
    ],
    ids=str,
)
def test_more_of_anything_costs_more(more):
    """Of two pairs, so that both make as many rounds, which are none: finer tables may be worth none."""
    of_two = replace(SMALL, listed=2)
    small, large = predicted(of_two), predicted(replace(of_two, **more))
    assert large.cpu_seconds > small.cpu_seconds and large.mib_sent > small.mib_sent


def test_predictions_are_the_same_whatever_the_data_are():
    """Two tables with nothing in common, of other lengths; the agreement and what it expects are the same."""
    agreement = agreement_of(Shape(3_000, columns=4, cells=3))
    found = []
    for seed, n_records in ((0, 200), (1, 900)):
        generator = np.random.default_rng(seed)
        table = made_up_table(agreement, n_records, generator)
        if seed:
            table[:] = table.iloc[0]  # everybody is alike
        release = simulate_fragments(agreement, as_fragments(agreement, table, generator, with_numbers=False))
        found.append(run_cost(agreement, release, n_records))
    assert found[0] == found[1] == predict_from_agreement(agreement)
    other = agreement_of(Shape(300_000, columns=4, cells=3))
    assert run_cost(other, None, 200) != found[0], "what is expected is public, and counts"


def test_predicting_reads_nothing_but_the_coefficients(monkeypatch):
    """Nothing of data could come in: no file is opened, and no table is asked for."""
    agreement = agreement_of(SMALL)
    usual = predict_from_agreement(agreement)  # the coefficients are in memory now

    def refuse(*_args, **_kwargs):
        raise AssertionError("a prediction opened something")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    assert predict_from_agreement(agreement) == usual
    with pytest.raises(AssertionError, match="opened something"):
        Path("/dev/null").read_text()  # so that the check above can fail


def test_all_rounds_cost_more_than_the_usual_ones_and_both_are_said():
    found = predicted(SMALL)
    assert found.rounds < found.most_rounds and found.seconds < found.most_seconds
    words = cost_words(found.to_json())
    assert f"in {found.rounds} rounds" in words and f"in {found.most_rounds}, the most" in words and "MiB" in words
    assert found.mib_sent < found.most_mib_sent
    without = predicted(Shape(5_000, rounds=0))
    assert without.rounds is without.most_rounds is None and "rounds" not in cost_words(without.to_json())


def test_a_link_adds_waiting_and_transfers():
    agreement, here = agreement_of(SMALL), predicted(SMALL)
    far = predict_over_link(agreement, round_trip_seconds=0.1, bytes_per_second=MIB)
    assert far.waiting_seconds == pytest.approx(0.1 * here.round_trips, abs=0.1)
    assert far.transfer_seconds == pytest.approx(here.mib_sent, abs=0.2)
    assert far.seconds == pytest.approx(here.seconds + far.waiting_seconds + far.transfer_seconds, abs=0.3)
    assert f"with {here.rounds} rounds" in far.why
    on_page = over_link(here.to_json(), Link("far", 0.1, MIB))
    assert on_page["seconds"] == pytest.approx(far.seconds, abs=0.3) and "rounds" in on_page["why"]
    assert predicted(SMALL, Surroundings(round_trip_seconds=0.1)).seconds > here.seconds


def test_what_is_far_beyond_all_measured_runs_says_so():
    assert "right order of magnitude" not in predicted(SMALL).why
    largest = coefficients_for(agreement_of(SMALL)).largest
    huge = Shape(1_000_000, columns=40, cells=10)
    assert work_of(agreement_of(huge)).compared > BEYOND * largest.compared
    assert "cells that are compared" in predicted(huge).why


def test_every_engine_has_coefficients_and_other_mechanisms_none():
    for shape in (*FITTED, *CHECKED):
        assert coefficients_for(agreement_of(shape)) is not None
    content = agreement_of(replace(SMALL, delta=False)).model_dump(mode="json", exclude_none=True, by_alias=True)
    content["mechanism"] = {"name": "specialization"}
    assert predict_from_agreement(cp.agreement_from_mapping(content)) is None
