"""Columns that owners publish come together as one table, whoever holds what; what is no column is refused."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.protocol.table import PERTURBED
from copublish.engines.ideal import Room
from copublish.errors import EngineError
from copublish.kernel.secrets.own_columns import OwnColumns, join_columns
from copublish.mechanisms.shared.post_processing import published_columns
from support import repartition, small_mapping

SIZES = {"job": 5, "region": 3, "age": 82, "income": 101, "default": 2}


def agreement_of(partition: str, parties: int, **changes: object) -> cp.Agreement:
    mapping = repartition(small_mapping(), partition, parties)
    if partition == "horizontal" or changes:
        mapping["parties"]["helper"] = {"data": False}  # it must not hear of a class that all owners hold
    mapping["class"] |= changes
    return cp.agreement_from_mapping(mapping)


def joined(agreement: cp.Agreement, values: dict[str, dict[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    layout = published_columns(agreement)

    def job(engine):
        own = OwnColumns(values.get(engine.party, {}), SIZES, layout, agreement.partition != "horizontal")
        return join_columns(own, engine.party, engine.exchange)

    return Room(agreement.party_names).run(job)


def test_vertical_columns_stand_side_by_side_and_a_shared_class_is_published_once():
    agreement = agreement_of("vertical", 3)
    assert published_columns(agreement) == {
        "p0": ("job", "income", "default"),
        "p1": ("region",),
        "p2": ("age",),
    }
    helped = published_columns(agreement_of("vertical", 2, held_by="p1"))
    assert helped["p1"] == ("region", "income", "default")
    assert helped["helper"] == ()
    generator = np.random.default_rng(0)
    truth = {name: generator.integers(0, size, 20) for name, size in SIZES.items()}
    values = {party: {name: truth[name] for name in held} for party, held in published_columns(agreement).items()}
    for table in joined(agreement, values).values():
        assert list(table) == list(SIZES)
        assert all((table[name] == truth[name]).all() for name in SIZES)


def test_horizontal_rows_follow_each_other_in_party_order():
    agreement = agreement_of("horizontal", 2)
    values = {
        "p0": {name: np.zeros(3, dtype=np.int64) for name in SIZES},
        "p1": {name: np.ones(2, dtype=np.int64) for name in SIZES},
    }
    for table in joined(agreement, values).values():
        assert all(column.tolist() == [0, 0, 0, 1, 1] for column in table.values())


def test_what_is_no_table_of_columns_is_refused():
    agreement = agreement_of("vertical", 2)
    layout = published_columns(agreement)

    def job(engine):
        own = {name: np.zeros(4, dtype=np.int64) for name in layout[engine.party]}
        if engine.party == "p1":
            return engine.exchange(PERTURBED, np.zeros(5, dtype=np.uint8))
        return join_columns(OwnColumns(own, SIZES, layout, True), engine.party, engine.exchange)

    with pytest.raises(EngineError, match="'p1' sent something that is no table of columns"):
        Room(agreement.party_names).run(job)


@pytest.mark.parametrize(("column", "length", "value"), [("age", 4, 82), ("age", 4, -1), ("age", 3, 5)])
def test_values_that_are_not_agreed_and_columns_of_another_length_are_refused(column, length, value):
    agreement = agreement_of("vertical", 2)
    values = {
        party: {name: np.zeros(4, dtype=np.int64) for name in held}
        for party, held in published_columns(agreement).items()
    }
    holder = next(party for party, held in values.items() if column in held)
    values[holder] = {name: np.full(length, value if name == column else 0) for name in values[holder]}
    with pytest.raises(EngineError, match="Nothing is published"):
        joined(agreement, values)
