"""Releases of idp-ir on the ideal engine: agreement, budgets, owners, bad input before anything is spent, ledger."""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.errors import AgreementError, BudgetExceededError, FragmentError, MeetingError, PartyLostError
from copublish.kernel.accounting.cost import UNLIMITED
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.settings import ACKNOWLEDGEMENT
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments
from copublish.party.network.rendezvous import refuse_differences
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.release.prepare import facts_of
from support import fragment_frames, no_noise, random_table, seeded, simulate_with
from support.idp_ir import idp_ir_agreement, idp_ir_mapping, naive_values

COLUMNS = ("job", "region", "age", "income", "default")
pytestmark = pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")


def data(agreement, n=61, seed=3):
    generator = np.random.default_rng(seed)
    table = random_table(agreement, n, generator)
    return table, fragment_frames(agreement, table, generator)


def places(agreement, column, values):
    """Values as whole numbers from 0, as the agreement orders them."""
    if column in ("age", "income"):
        return [int(value) - int(agreement.domains[column].lower) for value in values]
    domain = agreement.class_domain if column == "default" else agreement.domains[column]
    return [domain.values.index(value) for value in values]


# --- what is released ---


@pytest.mark.parametrize("parties", [2, 4])
def test_owners_of_records_cluster_their_own_and_all_come_together(parties):
    agreement = idp_ir_agreement("horizontal", parties)
    _, frames = data(agreement)
    released = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    expected = {
        column: [
            value
            for party in agreement.party_names
            for value in naive_values(places(agreement, column, frames[party][column]), k=5)
        ]
        for column in COLUMNS
    }
    assert rows_of({column: places(agreement, column, released[column]) for column in COLUMNS}) == rows_of(expected)


def rows_of(columns):
    """Rows without their order, which a release does not keep."""
    return sorted(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("alignment", ["identifier", "row-order"])
def test_owners_of_columns_join_them_by_identifier_or_position(parties, alignment):
    mapping = idp_ir_mapping("vertical", parties)
    if alignment == "row-order":
        mapping["records"] |= {"alignment": alignment, "identifier": None}
    agreement = cp.agreement_from_mapping(mapping)
    table, frames = data(agreement)
    if alignment == "row-order":
        frames = {party: frame.sort_index() for party, frame in frames.items()}
        ordered = table
    else:
        ordered = table.sort_values("id")  # the order in which the ideal engine aligns them
    released = simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()
    expected = {column: naive_values(places(agreement, column, ordered[column]), k=5) for column in COLUMNS}
    found = {column: places(agreement, column, released[column]) for column in COLUMNS}
    assert rows_of(found) == rows_of(expected)
    assert any(found[column] != expected[column] for column in COLUMNS), "the owners' order would name the rows"


def test_epsilon_is_divided_by_columns_and_between_owners_of_columns_first():
    horizontal = IdpIrPlan.of(idp_ir_agreement("horizontal", 3))
    assert dict(horizontal.epsilon_of) == dict.fromkeys(COLUMNS, Fraction(1, 5))
    vertical = IdpIrPlan.of(idp_ir_agreement("vertical", 2))  # p0: job, age; p1: region, income, default
    sixth = Fraction(1, 6)
    assert dict(vertical.epsilon_of) == {
        **{"job": Fraction(1, 4), "region": sixth, "age": Fraction(1, 4), "income": sixth, "default": sixth}
    }


def test_a_party_without_data_helps_and_publishes_nothing():
    mapping = idp_ir_mapping("vertical", 2)
    mapping["parties"]["aggregator"] = {"data": False}
    plan = IdpIrPlan.of(cp.agreement_from_mapping(mapping))
    assert plan.epsilon_of["job"] == Fraction(1, 4)


@pytest.mark.parametrize(
    ("kind", "order"), [("exact", "frequency"), ("fixed", "schema"), ("gap", "frequency"), ("global", "schema")]
)
def test_every_reading_runs_and_stays_within_the_domains(kind, order):
    agreement = idp_ir_agreement("horizontal", 2, local_sensitivity=kind, category_order=order)
    release = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 1))
    records = release.to_pandas()
    assert len(records) == 61 and records["age"].between(18, 99).all() and records["income"].between(0, 100).all()
    assert set(records["job"]) <= set(agreement.domains["job"].values)
    assert release.published.model.local_sensitivity == kind


def test_exact_is_what_is_meant_without_a_word_and_vector_is_its_other_name():
    released = []
    for kind in (None, "exact", "vector"):
        agreement = idp_ir_agreement("horizontal", 2, local_sensitivity=kind)
        released.append(simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 1)).records)
    assert released[0].equals(released[1]) and released[0].equals(released[2])


def test_decimals_are_those_of_the_agreement():
    mapping = idp_ir_mapping("horizontal")
    mapping["attributes"]["income"]["decimals"] = 2
    agreement = cp.agreement_from_mapping(mapping)
    income = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 2)).to_pandas()["income"]
    assert income.dtype == float and (income == income.round(2)).all() and (income != income.round(1)).any()


def test_the_release_shows_its_clusters_whatever_the_noise():
    """Records of one cluster share a published age, so every age is there as often as whole clusters are large."""
    agreement = idp_ir_agreement("vertical", 2, local_sensitivity="global")
    _, frames = data(agreement, 300)
    records = simulate_with(agreement, frames, seeded(agreement.party_names, 5)).to_pandas()
    assert all(times % 5 == 0 for times in records["age"].value_counts())


# --- the agreement ---


@pytest.mark.parametrize(
    "said", [None, "", ACKNOWLEDGEMENT + ".", ACKNOWLEDGEMENT.upper(), ACKNOWLEDGEMENT.split(";")[0], "yes"]
)
def test_it_runs_only_if_the_agreement_acknowledges_word_for_word(said):
    with pytest.raises(AgreementError) as caught:
        idp_ir_agreement("horizontal", acknowledge=said)
    (problem,) = caught.value.problems
    assert (
        f'acknowledge = "{ACKNOWLEDGEMENT}"' in problem
        and "name the mechanism 'marginals' or 'copula' or 'hpdp'" in problem
    )


@pytest.mark.parametrize("k", [None, 2, 0, -3, 10_001])
def test_k_is_agreed_and_at_least_3(k):
    with pytest.raises(AgreementError, match=r"mechanism\.k") as caught:
        idp_ir_agreement("horizontal", k=k)
    assert "3" in str(caught.value)


def changed(partition, *path, value):
    mapping = idp_ir_mapping(partition)
    table = mapping
    for step in path[:-1]:
        table = table[step]
    if value is None:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return mapping


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (changed("horizontal", "records", "public", value=False), "Write public = true"),
        (changed("horizontal", "privacy", "neighbors", value="add-remove"), 'neighbors = "replace"'),
        (changed("vertical", "class", "held_by", value=None), "may not have one in common"),
        (changed("vertical", "attributes", "age", "held_by", value=["p0", "p1"]), "one party holds the whole column"),
        (changed("horizontal", "attributes", "age", "held_by", value="p0"), "every party holds whole rows"),
        (changed("horizontal", "attributes", "age", "missing", value="category"), "a missing one has no rank"),
        (changed("horizontal", "attributes", "region", "values", value=["north"]), "one value alone"),
        (changed("horizontal", "attributes", "income", "decimals", value=9), "fewer decimals"),
        (changed("horizontal", "partition", value="arbitrary"), "cannot be spread"),
        (changed("horizontal", "mechanism", "score", value="max"), "means nothing to the mechanism 'idp-ir'"),
        (changed("horizontal", "mechanism", "local_sensitivity", value="smooth"), "'smooth' is not one of"),
    ],
)
def test_what_it_cannot_do_is_refused_by_the_agreement(mapping, said):
    with pytest.raises(AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    assert said in str(caught.value)


def test_missing_categories_are_one_more_value():
    agreement = cp.agreement_from_mapping(changed("horizontal", "attributes", "region", "missing", value="category"))
    _, frames = data(agreement)
    frames["p0"].iloc[:10, frames["p0"].columns.get_loc("region")] = None
    assert "(missing)" in set(simulate_with(agreement, frames, no_noise(agreement.party_names)).to_pandas()["region"])


# --- refused before anything is spent ---


def outcome_of(agreements, frames):
    """Run every party with a ledger of its own; return each one's error and what it has spent."""
    ledgers = {party: Ledger(":memory:") for party in frames}
    errors = {}

    def job(engine):
        agreement = agreements[engine.party]
        ledgers[engine.party].set_limit(agreement.dataset, Limit(None, "replace"))
        fragment = read_fragments(agreement, frames)[engine.party]
        try:
            publish_release(plan_of(agreement), fragment, engine, ledgers[engine.party], no_progress)
        except Exception as exc:
            errors[engine.party] = exc
            raise

    with pytest.raises(Exception):  # noqa: B017  each party's own is looked at
        Room(tuple(frames)).run(job)
    return errors, [ledger.entries() for ledger in ledgers.values()]


def few(frames):
    return {**frames, "p1": frames["p1"].head(4)}


def constant(frames):
    return {**frames, "p1": frames["p1"].assign(region="north")}


@pytest.mark.parametrize(
    ("spoil", "said"), [(few, "fewer records than mechanism.k = 5"), (constant, "'region' is const")]
)
def test_an_owner_with_unfit_records_hears_why_and_the_others_only_that_it_stopped(spoil, said):
    agreement = idp_ir_agreement("horizontal", 3)
    frames = spoil(data(agreement)[1])
    errors, entries = outcome_of(dict.fromkeys(frames, agreement), frames)
    assert isinstance(errors["p1"], FragmentError) and said in str(errors["p1"])
    assert " 4 " not in str(errors["p1"])
    for other in ("p0", "p2"):
        assert isinstance(errors[other], PartyLostError)
        assert "region" not in str(errors[other]) and "k" not in str(errors[other]).split()
    assert entries == [[], [], []]


def test_columns_owners_with_fewer_common_records_than_k_are_refused():
    agreement = idp_ir_agreement("vertical", 2)
    _, frames = data(agreement)
    frames["p1"] = frames["p1"].head(4)
    errors, entries = outcome_of(dict.fromkeys(frames, agreement), frames)
    assert any("fewer records than mechanism.k" in str(error) for error in errors.values())
    assert entries == [[], []]


def test_owners_of_records_with_another_schema_are_refused():
    mapping = idp_ir_mapping("horizontal")
    others = copy.deepcopy(mapping)
    others["attributes"]["age"]["bounds"] = [16, 99]
    own, other = (facts_of(cp.agreement_from_mapping(each)) for each in (mapping, others))
    with pytest.raises(MeetingError, match=r"You and party 'p1' differ in: agreement: attributes\.age\."):
        refuse_differences(own, other, "p1")


def test_a_column_in_the_data_that_another_owner_publishes_is_refused():
    agreement = idp_ir_agreement("vertical", 2)
    _, frames = data(agreement)
    frames["p0"] = frames["p0"].assign(income=5.0)
    with pytest.raises(FragmentError, match="'income' is in the data, but by the agreement its cells are held by 'p1'"):
        simulate_with(agreement, frames, no_noise(agreement.party_names))


# --- the ledger ---


def test_the_ledger_records_it_as_unbounded_and_takes_it_only_without_a_limit():
    agreement = idp_ir_agreement("vertical", 2)
    fragments = read_fragments(agreement, data(agreement)[1])
    plan = plan_of(agreement)
    books = {party: Ledger(":memory:") for party in agreement.party_names}

    def publish():
        Room(agreement.party_names).run(
            lambda engine: publish_release(plan, fragments[engine.party], engine, books[engine.party], no_progress)
        )

    for book in books.values():
        book.set_limit("people", Limit(Fraction(1000), "replace"))
    with pytest.raises(BudgetExceededError, match="people=unbounded"):
        publish()
    assert all(book.entries() == [] for book in books.values())
    for book in books.values():
        book.set_limit("people", Limit(None, "replace"))
    publish()
    for book in books.values():
        (entry,) = book.entries()
        assert (entry.cost, entry.state, entry.disclosures) == (UNLIMITED, "complete", len(COLUMNS))
        assert book.spent("people") == UNLIMITED


def test_the_clusters_of_a_release_have_k_records_and_the_last_the_rest():
    agreement = idp_ir_agreement("vertical", 2)
    records = simulate_with(agreement, data(agreement)[1], seeded(agreement.party_names, 9)).to_pandas()
    assert all(times >= 5 for times in Counter(records["income"]).values())
