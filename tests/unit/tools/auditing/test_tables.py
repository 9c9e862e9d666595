"""Pairs of tables are neighbors of the relation they name."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.tools.auditing.pair_choice import spread_out
from copublish.tools.auditing.tables import ELSEWHERE, invalid_pairs, pairs_against, valid_pairs
from support import SeededCoins, repartition, small_mapping
from support.broken_mechanisms import SMALL

AGREEMENT = cp.agreement_from_mapping(SMALL)


def people_in(pair, table):
    frames = pair.frames(AGREEMENT, table)
    return [person for frame in frames.values() for person in frame["id"]]


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("people", [1, 3])
def test_tables_differ_in_so_many_people_and_replacing_keeps_their_number(relation, people):
    pairs = [*list(valid_pairs(AGREEMENT, relation, SeededCoins(1)))[::7], *invalid_pairs(AGREEMENT, relation)]
    for pair in pairs:
        first, second = (people_in(pair.of_people(people), table) for table in (0, 1))
        assert len(second) - len(first) == (people if relation == "add-remove" else 0)
        if relation == "replace":
            assert len(set(first)) == len(set(second)) == len(first), pair.record
        rows = [
            sorted((tuple(row.items()) for row in pair.of_people(people).tables[table]), key=str) for table in (0, 1)
        ]
        common = len(rows[0]) - (0 if relation == "add-remove" else people)
        assert sum(row in rows[1] for row in rows[0]) >= common


def several_classes(relation: str = "add-remove") -> cp.Agreement:
    return cp.agreement_from_mapping(repartition(small_mapping(**{"privacy.neighbors": relation}), "vertical", 3))


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_where_several_hold_the_class_some_records_have_another_one_elsewhere(relation):
    """The column of the last holder counts; all others list the other class."""
    agreement = several_classes(relation)
    pairs = [pair for pair in valid_pairs(agreement, relation, SeededCoins(1)) if ELSEWHERE in pair.tables[1][-1]]
    assert len(pairs) > 20
    for pair in pairs[::9]:
        first, second = (pair.of_people(2).frames(agreement, table) for table in (0, 1))
        new = [second[party]["default"].tolist()[-2:] for party in agreement.owners]
        assert new[0] == new[1] != new[2] and all(len(set(own)) == 1 for own in new)
        common = len(first["p0"]) - (2 if relation == "replace" else 0)
        before = [first[party]["default"].tolist()[:common] for party in agreement.owners]
        assert before[0] == before[1] == before[2]


@pytest.mark.parametrize("party", ["p0", "p1", "p2"])
def test_neighbors_against_a_holder_of_the_class_leave_its_own_column_as_it_is(party):
    agreement, differs = several_classes(), 0
    for pair in list(pairs_against(agreement, party, SeededCoins(1)))[::11]:
        first, second = (pair.frames(agreement, table) for table in (0, 1))
        assert first[party].equals(second[party])
        assert any(not first[other].equals(second[other]) for other in agreement.owners if other != party)
        differs += any(not first[other]["default"].equals(second[other]["default"]) for other in agreement.owners)
    assert differs > 0


def test_where_one_party_holds_the_class_or_all_have_other_people_no_record_has_two():
    held = small_mapping(**{"class.held_by": "bank"})
    horizontal = repartition(small_mapping(), "horizontal")
    for agreement in map(cp.agreement_from_mapping, (held, horizontal)):
        assert not any(
            ELSEWHERE in record
            for pair in valid_pairs(agreement, "add-remove", SeededCoins(1))
            for record in pair.tables[1]
        )


def test_the_first_pairs_that_an_audit_looks_at_have_both_kinds_of_records():
    agreement = several_classes()
    pairs = list(valid_pairs(agreement, "add-remove", SeededCoins(1)))
    first = [pairs[number] for number in spread_out(len(pairs))[:4]]
    assert len({ELSEWHERE in pair.tables[1][-1] for pair in first}) == 2
