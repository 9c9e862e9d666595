"""Tables that an agreement requires, and pairs across owners that come first: what is measured, chosen and refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.mechanisms.marginals import run
from copublish.mechanisms.marginals.measurements import SHARE_FOR_PAIRS_ACROSS
from copublish.mechanisms.marginals.plan import MarginalsPlan
from copublish.mechanisms.marginals.publish import MarginalsModel
from copublish.mechanisms.registry import plan_of
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping

N_RECORDS = 600

MUST = [["income", "job"], ["age", "region", "income"]]


def agreement_with(
    partition: str = "vertical", *, parties: int = 2, has_class: bool = True, changes: Any = None, **keys: Any
) -> cp.Agreement:
    mapping = repartition(small_mapping(mechanism={"name": "marginals", **keys}), partition, parties)
    mapping["records"]["expected"] = 10 * N_RECORDS  # a public guess, so large that noise is small beside it
    mapping["privacy"] |= {"epsilon": 2, **(changes or {})}
    if not has_class:
        del mapping["class"]
    return cp.agreement_from_mapping(mapping)


def plan_with(*given: Any, **keys: Any) -> MarginalsPlan:
    plan = plan_of(agreement_with(*given, **keys))
    assert isinstance(plan, MarginalsPlan)
    return plan


def released(agreement: cp.Agreement, table: pd.DataFrame, coins: Any = None) -> cp.Release:
    frames = fragment_frames(agreement, table, np.random.default_rng(1))
    return simulate_with(agreement, frames, coins or no_noise(agreement.party_names))


def rounds_of(release: cp.Release) -> tuple[tuple[str, ...], ...]:
    model = release.published.model
    assert isinstance(model, MarginalsModel)
    return model.rounds


def cells(agreement: cp.Agreement, table: pd.DataFrame) -> pd.DataFrame:
    """The label of each value's cell, by plain pandas."""
    found = {}
    for name, domain in agreement.columns.items():
        if name in ("age", "income"):
            edges = [float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)]
            codes = np.searchsorted(edges[1:-1], table[name].astype(float), side="right")
            found[name] = [domain.label((code, code + 1)) for code in codes]
        else:
            found[name] = table[name].astype(str)
    return pd.DataFrame(found)


@pytest.mark.parametrize("has_class", [True, False])
@pytest.mark.parametrize(("partition", "parties"), [("horizontal", 2), ("vertical", 3), ("arbitrary", 2)])
def test_required_tables_are_those_of_pandas_and_others_are_chosen_after_them(partition, parties, has_class) -> None:
    agreement = agreement_with(
        partition, parties=parties, has_class=has_class, tables={"must": MUST, "then": "auto"}, rounds=2
    )
    table = random_table(agreement, N_RECORDS, np.random.default_rng(3))
    release, labels = released(agreement, table), cells(agreement, table)
    required = [("job", "income"), ("region", "age", "income")]  # in agreed order
    for_sure = [own for own in release.published.tables if own.chosen is None]
    assert [own.columns for own in for_sure[-2:]] == required and len(rounds_of(release)) >= 1
    for name in release.tables:
        rows = release.to_pandas(name)
        columns = list(rows.columns[:-2])
        expected = labels.groupby(columns if len(columns) > 1 else columns[0]).size()
        for cell, count in zip(rows[columns].itertuples(index=False), rows["noisy_count"], strict=True):
            assert count == expected.get(tuple(cell) if len(columns) > 1 else cell[0], 0)


def test_first_tables_that_a_required_one_contains_are_left_out() -> None:
    must = [["job", "income"], ["age"]]
    with_class, without = (
        plan_with(has_class=has_class, tables={"must": must, "then": "auto"}) for has_class in (True, False)
    )
    named = [[tuple(plan.names[column] for column in table) for table in plan.fixed] for plan in (with_class, without)]
    label = with_class.names[-1]
    assert named[0] == [*((name, label) for name in ("job", "region", "age", "income")), ("job", "income"), ("age",)]
    assert named[1] == [("region",), ("job", "income"), ("age",)]
    assert with_class.rounds > 0 and without.rounds > 0
    assert plan_with(tables=must).rounds == 0  # a list alone is measured without a choice


@pytest.mark.parametrize("has_class", [True, False])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_stated_sensitivity_is_what_one_person_changes_in_all_tables_that_are_measured_for_sure(
    has_class, delta
) -> None:
    """By counting all tables in plain pandas, with one person more, and with one of other values."""
    changes = {} if delta is None else {"delta": delta}
    plan = plan_with(has_class=has_class, changes=changes, tables={"must": MUST, "then": "auto"})
    agreement = plan.agreement
    table = cells(agreement, random_table(agreement, 40, np.random.default_rng(1)))

    def counts(people: pd.DataFrame) -> dict[tuple[Any, ...], int]:
        names = [[plan.names[column] for column in own] for own in plan.fixed]
        found: dict[tuple[Any, ...], int] = {}
        for number, own in enumerate(names):
            for cell in people[own].itertuples(index=False):
                found[number, *cell] = found.get((number, *cell), 0) + 1
        return found

    def moved(one: pd.DataFrame, other: pd.DataFrame) -> tuple[int, int]:
        before, after = counts(one), counts(other)
        steps = [abs(before.get(cell, 0) - after.get(cell, 0)) for cell in {*before, *after}]
        return sum(steps), sum(step**2 for step in steps)

    assert moved(table, table) == (0, 0)  # the check does not find changes where there are none
    added = [moved(table, table.drop(row)) for row in table.index]
    swapped = [moved(table.drop(index=i), table.drop(index=j)) for i, j in combinations(table.index[:20], 2)]
    first = plan.first
    stated = first.l1_sensitivity if delta is None else first.squared_l2_sensitivity  # type: ignore[union-attr]
    which = 0 if delta is None else 1
    assert {own[which] for own in added} == {stated["add-remove"]} == {len(plan.fixed)}
    assert max(own[which] for own in swapped) == stated["replace"] == 2 * len(plan.fixed)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_required_tables_take_a_stated_share_and_leave_some_for_a_choice(delta) -> None:
    changes = {} if delta is None else {"delta": delta}
    columns = ["job", "region", "age", "income"]
    usual = plan_with(changes=changes)
    shares = [
        plan_with(changes=changes, tables={"must": [list(own) for own in must], "then": "auto"}).first_share
        for must in (list(combinations(columns, 2))[:number] for number in range(1, 7))
    ]
    first = Fraction(7, 20) if delta else Fraction(1, 2)
    assert usual.first_share == first
    assert shares[0] == min(first * Fraction(4 + 3, 4), Fraction(3, 4))
    assert shares == sorted(shares) and shares[-1] == Fraction(3, 4)
    plan = plan_with(changes=changes, tables={"must": [["job", "age"]], "then": "auto"})
    assert plan.describe()["first_share_of_budget"] == float(shares[0])
    assert plan.purse.left == plan.budget * (1 - shares[0])


@pytest.mark.parametrize("relation", NEIGHBORS)
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_what_a_run_with_required_tables_opened_costs_no_more_than_was_agreed(relation, delta) -> None:
    changes = {"neighbors": relation} | ({} if delta is None else {"delta": delta})
    agreement = agreement_with(changes=changes, tables={"must": MUST, "then": "auto"}, rounds=4)
    table = random_table(agreement, N_RECORDS, np.random.default_rng(2))
    release = released(agreement, table, seeded(agreement.party_names, 3))
    spent = Fraction(release.certificate.epsilon.public[relation])
    assert 0 < spent <= Fraction(2)


WHOLE = 'write "pairs", "class-triples", a list of tables'


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"must": [["job", "weight"]], "then": "auto"}, "mechanism.tables.must[1]: there is no column 'weight'"),
        ({"must": [["job", "job"]], "then": "auto"}, "mechanism.tables.must[1]: name one to 4 different columns"),
        ({"must": [["job", "region", "age", "income", "default"]], "then": "auto"}, "name one to 4 different columns"),
        ({"must": [[]], "then": "auto"}, "name one to 4 different columns"),
        ({"must": [["job", "age"], ["age", "job"]], "then": "auto"}, "mechanism.tables.must: a table is listed twice"),
        ({"must": [], "then": "auto"}, '"must" names no table'),
        ({"must": ["job", "age"], "then": "auto"}, "write a list of lists of columns"),
        ({"must": [["job", 3]], "then": "auto"}, "write a list of lists of columns"),
        ({"must": "job", "then": "auto"}, "write a list of lists of columns"),
        ({"must": [["job", "age"]]}, 'like { must = [["age", "region"]], then = "auto" }'),
        ({"must": [["job", "age"]], "then": "auto", "share": 1}, "write required tables and what is chosen after"),
        ({"must": [["job", "age"]], "then": "pears"}, '"then" is "auto" or "class-triples"'),
        ({"must": [["job", "age"]], "then": ["auto"]}, '"then" is "auto" or "class-triples"'),
        (3, WHOLE),
        ("must", WHOLE),
    ],
)
def test_shapes_that_say_nothing_are_refused_in_one_sentence(tables, said) -> None:
    with pytest.raises(cp.AgreementError) as caught:
        agreement_with(tables=tables)
    assert len(caught.value.problems) == 1
    assert said in caught.value.problems[0]
    assert caught.value.problems[0].startswith("mechanism.tables")


def test_required_tables_need_an_engine_that_chooses_and_cells_that_fit() -> None:
    must = {"must": [["job", "age"]], "then": "auto"}
    mapping = repartition(
        small_mapping(mechanism={"name": "marginals", "tables": must}, engine={"name": "masked-sum"}), "horizontal", 2
    )
    with pytest.raises(cp.AgreementError, match="choosing tables compares secrets, which masked sums cannot") as caught:
        cp.agreement_from_mapping(mapping)
    assert str(caught.value).endswith(
        'List the tables to measure, like tables = [["job", "age"]]; or take another engine'
    )
    mapping["mechanism"]["tables"] = must["must"]
    assert plan_of(cp.agreement_from_mapping(mapping)).rounds == 0  # as the sentence says
    wide = {"kind": "categorical", "values": [f"v{number}" for number in range(100)]}
    mapping = repartition(
        small_mapping(mechanism={"name": "marginals", "tables": must}, **{"attributes.job": wide}), "vertical", 2
    )
    mapping["attributes"]["age"]["grid"] = {"step": 1}
    mapping["attributes"]["age"]["bounds"] = [0, 99]
    with pytest.raises(cp.AgreementError, match=r"the table of 'job' by 'age' has [\d,]+ cells"):
        cp.agreement_from_mapping(mapping)


def test_triples_may_follow_required_tables() -> None:
    plan = plan_with(tables={"must": [["job", "age"]], "then": "class-triples"})
    assert {len(table) for table in plan.candidates} == {3}
    with pytest.raises(cp.AgreementError, match="needs a"):
        plan_with(has_class=False, tables={"must": [["job", "age"]], "then": "class-triples"})


def test_the_agreed_hash_covers_required_tables() -> None:
    hashes = {
        agreement_with(tables=tables).hash
        for tables in (
            None,
            [["job", "age"]],
            {"must": [["job", "age"]], "then": "auto"},
            {"must": MUST, "then": "auto"},
        )
    }
    assert len(hashes) == 4


# Pairs across owners. Of two owners, one has job and age, the other region and income.


def people(agreement: cp.Agreement) -> pd.DataFrame:
    """Records in which age follows job, and region follows job half of the time."""
    generator = np.random.default_rng(5)
    table = random_table(agreement, N_RECORDS, generator)
    jobs, regions = (list(agreement.columns[name].values) for name in ("job", "region"))
    codes = np.array([jobs.index(job) for job in table["job"]])
    edges = [float(edge) for edge in (agreement.columns["age"].lower, *agreement.columns["age"].thresholds)]
    table["age"] = [int(edges[code % len(edges)]) for code in codes]
    follows = np.array([regions[code % len(regions)] for code in codes])
    table["region"] = np.where(generator.random(N_RECORDS) < 0.5, follows, table["region"])
    return table


@pytest.mark.parametrize("has_class", [True, False])
def test_pairs_across_owners_come_first_where_every_column_has_an_owner(has_class) -> None:
    agreement = agreement_with("vertical", has_class=has_class, rounds=6)
    chosen = [table for table in rounds_of(released(agreement, people(agreement))) if table]
    assert chosen[0] == ("job", "region") and ("job", "age") in chosen


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_elsewhere_the_table_that_is_farthest_off_comes_first(partition) -> None:
    agreement = agreement_with(partition, rounds=6)
    assert rounds_of(released(agreement, people(agreement)))[0] == ("job", "age")


def test_the_budget_for_pairs_across_owners_ends() -> None:
    plan = plan_with("vertical")
    left = plan.purse.left
    assert plan.keeps_to_pairs_across(plan.purse)
    purse = plan.purse
    for number in range(24):
        budget = purse.next_round()
        assert budget is not None
        assert plan.keeps_to_pairs_across(purse) == (number < 24 * SHARE_FOR_PAIRS_ACROSS)
        purse = purse.after(budget, halve_noise=False)
    assert purse.left == 0 < left


def test_without_a_pair_across_owners_that_is_worth_its_noise_all_others_are_asked_next_with_the_same_noise(
    monkeypatch,
) -> None:
    agreement, asked = agreement_with("vertical", rounds=6), []
    table = people(agreement)
    table["region"] = random_table(agreement, N_RECORDS, np.random.default_rng(8))["region"]
    before = run._Run.ask

    def ask(self: Any, fitted: Any, number: int, budget: Any, among: Any) -> Any:
        asked.append((number, budget.table, among))
        return before(self, fitted, number, budget, among)

    monkeypatch.setattr(run._Run, "ask", ask)
    rounds = rounds_of(released(agreement, table))
    by_round = {number: (budget, among) for number, budget, among in asked}
    assert by_round[1][1] == plan_of(agreement).candidates_across and by_round[2][1] is None  # type: ignore[attr-defined]
    assert rounds[0] == () and rounds[1] == ("job", "age")
    assert by_round[2][0] == by_round[1][0]
    assert by_round[3][0] >= by_round[2][0]


def test_candidates_across_owners_are_those_of_which_no_party_has_both_columns() -> None:
    plan = plan_with("vertical", has_class=False)
    holders = {name: plan.agreement.holders(name) for name in plan.names}
    found = {tuple(plan.names[n] for n in plan.candidates[number]) for number in plan.candidates_across}
    assert found == {pair for pair in combinations(plan.names, 2) if holders[pair[0]] != holders[pair[1]]}
    assert 0 < len(found) < len(plan.candidates)


@pytest.mark.parametrize(("partition", "parties"), [("horizontal", 2), ("arbitrary", 2)])
def test_nothing_comes_first_where_owners_share_columns(partition, parties) -> None:
    plan = plan_with(partition, parties=parties)
    assert plan.candidates_across == frozenset()
    assert "across owners" not in " ".join(plan.headline().values())


# What is said before.


@pytest.mark.parametrize(("has_class", "rounds"), list(product([True, False], [0, 5])))
def test_a_description_names_every_pair_as_sure_possible_or_never_measured(has_class, rounds) -> None:
    plan = plan_with("vertical", has_class=has_class, rounds=rounds, tables={"must": MUST, "then": "auto"})
    sure, possible, never = (
        {tuple(plan.names[column] for column in pair) for pair in pairs}
        for pairs in (plan.pairs_for_sure, plan.pairs_by_choice, plan.pairs_never)
    )
    assert sure | possible | never == set(combinations(plan.names, 2))
    assert len(sure) + len(possible) + len(never) == len(list(combinations(plan.names, 2)))
    assert {("job", "income"), ("region", "age"), ("age", "income"), ("region", "income")} <= sure
    assert bool(possible) == (rounds > 0) and bool(never) == (rounds == 0)
    told = cp.describe(plan.agreement)
    assert told.to_dict()["pairs_for_sure"] == [[plan.names[n] for n in pair] for pair in plan.pairs_for_sure]
    assert "Pairs for sure" in str(told) and ("May be chosen" in str(told)) == (rounds > 0)


def test_nothing_comes_first_where_every_pair_is_across_owners() -> None:
    plan = plan_with("vertical", has_class=False, parties=len(plan_with("vertical", has_class=False).names))
    assert len({plan.agreement.holders(name) for name in plan.names}) == len(plan.names), "an owner for each column"
    assert len(plan.candidates_across) == len(plan.candidates) and plan.first_candidates == frozenset()
    assert "across owners" not in " ".join(plan.headline().values())
