"""Neighbors that an audit tries on agreements without a class."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.tools.auditing.tables import corners, few_rivals, invalid_records, opposite, random_record, valid_pairs
from support import SeededCoins, repartition, small_mapping


@pytest.fixture(params=["horizontal", "vertical", "arbitrary"])
def agreement(request) -> cp.Agreement:
    return cp.agreement_from_mapping(
        repartition(small_mapping(mechanism={"name": "marginals"}, **{"class": None}), request.param)
    )


def test_records_have_the_attributes_and_every_corner_has_an_opposite(agreement):
    found = corners(agreement)
    assert len(found) == 4 and all(set(record) == set(agreement.attributes) for record in found.values())
    assert all(opposite(agreement, name) != record for name, record in found.items() if "first values" in name)
    assert set(random_record(agreement, SeededCoins(1))) == set(agreement.attributes)


def test_no_record_lacks_a_class_where_there_is_none(agreement):
    assert not any("class" in name for name in invalid_records(agreement))
    assert list(few_rivals(agreement, "add-remove")) == []


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_neighbors_differ_in_one_record_and_owners_hold_their_columns(agreement, relation):
    pairs = list(valid_pairs(agreement, relation, SeededCoins(2)))
    assert len(pairs) > 20
    for pair in pairs[::5]:
        one, other = pair.tables
        assert len(other) - len(one) == (1 if relation == "add-remove" else 0)
        for party, frame in pair.frames(agreement, 1).items():
            assert set(frame.columns) == {*agreement.columns_of(party), "id"}
