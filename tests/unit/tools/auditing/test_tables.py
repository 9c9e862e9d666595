"""Pairs of tables are neighbors of the relation they name."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.tools.auditing.tables import invalid_pairs, valid_pairs
from support import SeededCoins
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
