"""What certificates say that each party learns when people are compared, in every way to compare them."""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.kernel.certificate.comparing import way_of
from support import repartition, small_mapping

COMMITMENT = (
    "a keyed commitment to every owner's list of people, which tells whether it is the same in other runs of this "
    "agreement, and nothing else"
)
COMMON = "which of its records are common to all parties by 'id'"
LENGTH = (
    "lists of identifiers of one length, 200, twice records.expected: shorter ones are padded, and of longer ones so "
    "many are compared, so their own lengths stay secret"
)
ANY = "whether any person is at two parties by 'id' (the run ends if there are any)"


def agreement_of(partition: str, owners: int, *, idle: bool = False, helped: bool = False, **changes: Any):
    mapping = repartition(small_mapping(**changes), partition, owners)
    mapping["records"] = {"identifier": "id", "expected": 100}
    if idle or helped:
        mapping["parties"]["helper"] = {"data": False}
    if helped:
        mapping["records"]["compared_by"] = "helper"
    return cp.agreement_from_mapping(mapping)


def learned(agreement: cp.Agreement) -> dict[str, list[str]]:
    """What each party learns from comparing, and from nothing else."""
    others = ("its own", "the agreement", "one share of each", "two of three", "which party holds", "the disclosures")
    views = cp.describe(agreement).views
    return {party: [said for said in seen if not said.startswith(others)] for party, seen in views.items()}


def test_two_parties_intersect_lists():
    agreement = agreement_of("vertical", 2)
    assert way_of(agreement) == "intersection"
    each = [f"{COMMON}, and how many records each party has", COMMITMENT, "the number of common records"]
    assert learned(agreement) == {"p0": each, "p1": each}


@pytest.mark.parametrize("idle", [False, True])
def test_owners_along_the_chain_learn_by_their_place_in_it(idle):
    agreement = agreement_of("vertical", 4, idle=idle)
    assert way_of(agreement) == "chain"
    number = "the number of common records"
    expected = {
        "p0": [COMMON, "how many records 'p1' has", COMMITMENT, number],
        "p1": [
            COMMON,
            "which of its records 'p0' lists too, whoever else does or does not",
            "how many records 'p0' and 'p2' have",
            COMMITMENT,
            number,
        ],
        "p2": [
            COMMON,
            "which of its records 'p0' and 'p1' all list too, whoever else does or does not",
            "how many records 'p1' and 'p3' have",
            COMMITMENT,
            number,
        ],
        "p3": [COMMON, "how many records 'p2' has", COMMITMENT, number],
    }
    assert learned(agreement) == expected | ({"helper": [COMMITMENT, number]} if idle else {})
    said = cp.describe(agreement)
    assert any(
        line.startswith("From 'p1' and 'p2', between the first and the last owner:") for line in said.not_protected
    )
    assert any("Owners that collude learn what each of them learns, and no more" in line for line in said.assumptions)


def test_of_two_owners_and_a_party_without_data_nobody_is_between():
    agreement = agreement_of("vertical", 2, idle=True)
    assert way_of(agreement) == "chain"
    assert learned(agreement)["p1"] == [COMMON, "how many records 'p0' has", COMMITMENT, "the number of common records"]
    assert not any("between the first" in line for line in cp.describe(agreement).not_protected)


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_a_helper_learns_sizes_and_the_pattern_and_owners_the_outcome_alone(partition):
    agreement = agreement_of(partition, 3, helped=True)
    assert way_of(agreement) == "pseudonyms"
    found = learned(agreement)
    assert found["p1"] == [COMMON, COMMITMENT, "the number of common records"]
    assert found["helper"] == [
        COMMITMENT,
        "pseudonyms of every owner's people, how many they are, and for each of them which owners list it",
        "the number of common records",
    ]
    said = cp.describe(agreement)
    assert any(
        "From it and any one owner that help each other: every owner's people" in line for line in said.not_protected
    )
    assert any(
        line.startswith("'helper', which compares the owners' pseudonyms, colludes") for line in said.assumptions
    )


def test_of_two_owners_of_whole_rows_none_learns_who_is_at_both():
    agreement = agreement_of("horizontal", 2)
    assert way_of(agreement) == "rounds"
    numbers = "if any person is at two parties, how many people any of the owners share, and not who they are"
    assert learned(agreement) == {"p0": [ANY, numbers, LENGTH], "p1": [ANY, LENGTH]}


def test_where_people_at_two_owners_are_looked_for_the_first_owner_or_the_helper_learns_numbers():
    among = agreement_of("horizontal", 3, idle=True)
    assert way_of(among) == "rounds"
    numbers = "if any person is at two parties, how many people any of the owners share, and not who they are"
    assert learned(among) == {"p0": [ANY, numbers, LENGTH], "p1": [ANY, LENGTH], "p2": [ANY, LENGTH], "helper": [ANY]}
    assert any("even all but one, learn how many people lists share" in line for line in cp.describe(among).assumptions)
    helped = agreement_of("horizontal", 3, helped=True)
    pattern = "pseudonyms of every owner's people, padded to a public length, and for each of them which owners list it"
    assert learned(helped) == {
        **{owner: [ANY, LENGTH] for owner in ("p0", "p1", "p2")},
        "helper": [ANY, LENGTH, pattern],
    }


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"owners": 2}, ", and how many records each party has."),
        ({"owners": 4}, ", and, from the owners next to it in the agreement, how many records each owner has."),
        ({"owners": 3, "helped": True}, "."),
    ],
)
def test_lengths_of_lists_are_told_to_those_who_compare_them(changes, end):
    said = cp.describe(agreement_of("vertical", **changes)).not_protected
    assert f"From the other parties: who is in the table, how many they are{end}" in said


def test_where_nobody_is_compared_nothing_is_said():
    mapping = repartition(small_mapping(), "vertical", 3)
    mapping["records"] = {"alignment": "row-order", "expected": 100}
    agreement = cp.agreement_from_mapping(mapping)
    assert way_of(agreement) is None
    assert learned(agreement) == {party: ["every party's number of rows"] for party in ("p0", "p1", "p2")}
    assert not any("P-256" in line or "pseudonyms" in line for line in cp.describe(agreement).assumptions)


def test_words_can_be_wrong_and_would_be_noticed(monkeypatch):
    agreement = agreement_of("vertical", 4)
    before = learned(agreement)
    monkeypatch.setattr("copublish.kernel.certificate.comparing._links", lambda agreement, party: [])
    assert learned(agreement) != before
