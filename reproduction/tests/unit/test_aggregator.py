"""Owners of columns whose records stand in different orders: the aggregator joins them by pseudonym, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from copublish.engines.comparing.pseudonyms import positions_of, pseudonyms_of
from copublish.errors import AgreementError, FragmentError
from copublish_reproduction.aggregator import release_by_pseudonym
from copublish_reproduction.idp_ir import IdpIr, release_vertical
from copublish_reproduction.microdata import Attribute, Microdata

KEY = b"k" * 32
N = 60
NO_NOISE = IdpIr(1e15, 4)


class Silent:
    """Stands for a generator without noise."""

    def laplace(self, size):
        return np.zeros(size)


@pytest.fixture
def table():
    generator = np.random.default_rng(1)
    names = ("a", "b", "c", "d")
    values = np.column_stack([generator.permutation(N) for _ in names]).astype(float)  # no ties
    return Microdata(tuple(Attribute(name, 0.0, N) for name in names), values)


def shuffled(table, groups, seed):
    generator, owners, identifiers = np.random.default_rng(seed), {}, {}
    for number, names in enumerate(groups):
        order = generator.permutation(N)
        owners[f"owner {number}"] = table.columns(names).rows(order)
        identifiers[f"owner {number}"] = [f"person {place}" for place in order]
    return owners, identifiers


@pytest.mark.parametrize("groups", [(("a", "b"), ("c", "d")), (("a",), ("b", "c"), ("d",))])
@pytest.mark.parametrize("epsilon", [1e15, 0.5])
def test_shuffled_owners_rejoin_to_what_owners_in_one_order_release(table, groups, epsilon):
    owners, identifiers = shuffled(table, groups, seed=2)
    mechanism = IdpIr(epsilon, 4)
    joined = release_by_pseudonym(mechanism, owners, identifiers, KEY, np.random.default_rng(3))
    in_order = release_vertical(
        mechanism, {f"owner {n}": table.columns(names) for n, names in enumerate(groups)}, np.random.default_rng(3)
    )
    everybody = pseudonyms_of([f"person {place}" for place in range(N)], N, KEY)
    by_pseudonym = positions_of(everybody, everybody)
    assert joined.records.names == in_order.names
    assert (joined.records.values == in_order.values[by_pseudonym]).all()
    assert (joined.pseudonyms == np.sort(everybody)).all()


def test_owners_know_whose_records_come_back_and_strangers_to_the_key_do_not(table):
    """What E37 is about: each owner sees the others' clusters of people it knows by name."""
    owners, identifiers = shuffled(table, (("a", "b"), ("c", "d")), seed=4)
    joined = release_by_pseudonym(NO_NOISE, owners, identifiers, KEY, Silent())
    names = [f"person {place}" for place in range(N)]
    place_of = {pseudonym: place for place, pseudonym in enumerate(pseudonyms_of(names, N, KEY))}
    lowest = int(np.argmin(table.values[:, 2]))
    row = next(r for r, pseudonym in enumerate(joined.pseudonyms) if place_of[pseudonym] == lowest)
    assert joined.records.values[row, 2] == joined.records.values[:, 2].min()
    assert not set(pseudonyms_of(names, N, b"another key".ljust(32))) & set(joined.pseudonyms)


def test_people_that_differ_or_are_listed_twice_and_columns_in_common_are_refused(table):
    owners, identifiers = shuffled(table, (("a", "b"), ("c", "d")), seed=5)
    for spoil in ("person 0", "nobody"):
        place = identifiers["owner 1"].index("person 7")
        others = {**identifiers, "owner 1": [*identifiers["owner 1"]]}
        others["owner 1"][place] = spoil
        with pytest.raises(FragmentError, match="same people"):
            release_by_pseudonym(NO_NOISE, owners, others, KEY, Silent())
    owners, identifiers = shuffled(table, (("a", "b"), ("b", "d")), seed=5)
    with pytest.raises(AgreementError, match="'b' is at owners"):
        release_by_pseudonym(NO_NOISE, owners, identifiers, KEY, Silent())
