"""Split points at round numbers: from public bounds alone, and the same ones for ever."""

from __future__ import annotations

import decimal
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.columns import coarse_grid_warnings
from copublish.agreement.domain import NumericalDomain, format_number
from copublish.agreement.round_grid import round_split_points
from copublish.tools.drafting.draft import default_grid
from support import small_mapping
from support.profiles import examples

RECORDED = {
    (
        "-10000",
        "110000",
        20,
        0,
    ): "-4000 -2000 -1000 -200 0 1 100 300 600 1000 1500 2500 4000 6000 8000 12000 18000 25000 35000 50000 80000",
    ("18", "100", 20, None): "20 22 24 26 28 31 34 36 40 44 48 52 56 62 66 72 78 86 90",
    ("0", "5", 20, None): "1 2 3 4 5",
    ("0", "1", 8, None): "0.001 0.004 0.015 0.03 0.06 0.15 0.3 0.6",
    ("-100", "0", 5, None): "-60 -30 -10 -4 0",
}


@pytest.mark.parametrize("of", RECORDED)
def test_split_points_are_those_that_agreements_in_use_mean(of):
    """An agreement is hashed with the word `round`, not with the points: whatever changes them changes its meaning."""
    lower, upper, cells, decimals = of
    with decimal.localcontext(decimal.Context(prec=3)):  # whatever a caller's context is
        found = round_split_points(Decimal(lower), Decimal(upper), cells=cells, decimals=decimals)
    assert " ".join(map(format_number, found)) == RECORDED[of]


NUMBERS = st.decimals(min_value=-(10**9), max_value=10**9, places=3)


@pytest.mark.slow
@given(bounds=st.tuples(NUMBERS, NUMBERS).filter(lambda two: two[0] < two[1]), cells=st.integers(2, 127))
@examples(150)
def test_points_rise_within_the_bounds_are_whole_where_numbers_are_and_set_0_apart(bounds, cells):
    lower, upper = bounds
    for decimals in (None, 3):
        found = round_split_points(lower, upper, cells=cells, decimals=decimals)
        assert all(one < other for one, other in pairwise(found))
        assert all(lower < point <= upper for point in found) and len(found) <= cells + 1
        assert decimals is None or all(point == round(point, decimals) for point in found)
        if decimals is not None and lower < 0 < upper:
            assert {Decimal(0), Decimal("0.001")} <= set(found) or upper < Decimal("0.001")
    whole = (lower.to_integral_value("ROUND_FLOOR") - 3, upper.to_integral_value("ROUND_CEILING"))
    assert all(point == int(point) for point in round_split_points(*whole, cells=cells, decimals=None))


def test_a_heavy_tailed_column_is_spread_over_cells_and_equal_ones_hold_it_in_one():
    """A made-up balance: log-normal around 500, a tenth below 0. No cell of the round grid holds a quarter of it."""
    generator = np.random.default_rng(1)
    balance = np.where(generator.random(5000) < 0.1, -100, 500) * np.exp(1.4 * generator.standard_normal(5000))
    balance = balance.clip(-10_000, 110_000).round()
    round_ones = round_split_points(Decimal(-10_000), Decimal(110_000), cells=20, decimals=0)
    for points, largest in ((round_ones, (0.0, 0.25)), (np.arange(2000, 110_000, 12_000), (0.8, 1.0))):
        cells = np.searchsorted(np.array(points, dtype=float), balance, side="right")
        share = np.bincount(cells).max() / len(balance)
        assert largest[0] < share < largest[1]


def test_agreements_take_it_and_those_without_it_keep_their_hash():
    mapping = small_mapping()
    before = cp.agreement_from_mapping(mapping).hash
    age = mapping["attributes"]["age"]
    age["grid"] = {"round": 12}
    agreement = cp.agreement_from_mapping(mapping)
    expected = round_split_points(*map(Decimal, age["bounds"]), cells=12, decimals=None)
    assert agreement.domains["age"].thresholds == expected
    assert agreement.hash != before


BY_MECHANISM = [("specialization", 100, 16), ("copula", 20, None), ("marginals", 20, None)]
"""Cells of whole numbers from 0 to 100, and how many points are on offer at once."""


@pytest.mark.parametrize(("mechanism", "cells", "points_at_once"), BY_MECHANISM)
def test_bounds_are_enough_and_the_mechanism_decides_how_fine_the_grid_is(mechanism, cells, points_at_once):
    mapping = small_mapping()
    mapping["mechanism"] = {"name": mechanism}
    del mapping["attributes"]["income"]["grid"]
    agreement = cp.agreement_from_mapping(mapping)
    bounds = map(Decimal, mapping["attributes"]["income"]["bounds"])
    income = agreement.domains["income"]
    assert income.thresholds == round_split_points(*bounds, cells=cells, decimals=None)
    assert income.points_at_once == points_at_once
    assert '"grid"' not in agreement.canonical().partition('"income"')[2].partition("}")[0]
    assert agreement.domains["age"].points_at_once is None  # where a grid is agreed all of it is on offer


def test_a_grid_that_is_left_out_is_another_agreement_than_the_one_it_stands_for():
    mapping = small_mapping(**{"mechanism.name": "copula"})
    mapping["mechanism"] = {"name": "copula"}
    mapping["attributes"]["age"]["grid"] = {"round": 20}
    written = cp.agreement_from_mapping(mapping)
    del mapping["attributes"]["age"]["grid"]
    left_out = cp.agreement_from_mapping(mapping)
    assert left_out.domains["age"] == written.domains["age"]
    assert left_out.hash != written.hash


@pytest.mark.parametrize(
    ("bounds", "points"),
    [
        (("0", "1"), 1000),
        (("17", "90"), 73),
        (("0", "99999"), 1024),
        (("0", "4500"), 1252),
        (("0", "2000"), 2000),
        (("-5.5", "7"), 1250),
        (("0", "1023"), 1023),
    ],
)
def test_a_fine_grid_has_every_number_or_at_least_1024_points(bounds, points):
    mapping = small_mapping()
    mapping["attributes"]["age"] = {"kind": "numerical", "bounds": list(map(Decimal, bounds)), "held_by": "loans"}
    assert len(cp.agreement_from_mapping(mapping).domains["age"].thresholds) == points


@pytest.mark.parametrize(
    "bounds, is_whole, expected",
    [
        (None, False, {"round": 20}),
        (("-10000", "110000"), True, {"round": 20}),
        (("0", "1"), True, {"step": 1}),
        (("2.5", "4"), False, "edges"),
    ],
)
def test_drafts_have_round_cells_and_bounds_close_together_go_by_whether_numbers_are_whole(bounds, is_whole, expected):
    found = default_grid(None if bounds is None else tuple(map(Decimal, bounds)), is_whole=is_whole)
    assert list(found) == ["edges"] if expected == "edges" else found == expected
    if bounds is not None:
        mapping = small_mapping()
        numbers = [Decimal(bound) for bound in bounds]
        mapping["attributes"]["age"] |= {"bounds": numbers, "missing": numbers[0], "grid": found}
        agreement = cp.agreement_from_mapping(mapping)
        assert agreement.domains["age"].number_codes == (2 if expected == {"step": 1} else pytest.approx(20, abs=2))


def number(lower: str, upper: str, *thresholds: str) -> NumericalDomain:
    return NumericalDomain(
        "x", lower=Decimal(lower), upper=Decimal(upper), thresholds=tuple(map(Decimal, thresholds)), decimals=0
    )


def test_describe_warns_of_cells_that_hold_what_is_usual_in_the_columns_unit():
    """The draft of a bank had ten equal cells; its release's mean balance was -1,026 and should have been 1,367."""
    equal = [str(-10_000 + 12_000 * i) for i in range(1, 10)]
    (warning,) = coarse_grid_warnings({"balance": number("-10000", "110000", *equal)})
    assert "balance from -10000 to 2000, by up to 6000" in warning and "round = 20" in warning
    round_ones = map(str, round_split_points(Decimal(-10_000), Decimal(110_000), cells=20, decimals=0))
    assert coarse_grid_warnings({"balance": number("-10000", "110000", *round_ones)}) == []
    ages = [str(18 + 8 * i) for i in range(1, 10)]
    assert coarse_grid_warnings({"age": number("18", "100", *ages)}) == []
    mapping = small_mapping()
    mapping["attributes"]["age"] |= {"bounds": [0, 50_000], "grid": {"count": 10}}
    assert any("age from 0 to 5000" in warning for warning in cp.describe(cp.agreement_from_mapping(mapping)).warnings)
