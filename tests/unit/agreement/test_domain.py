"""Public domains: whatever tree or grid people write, splitting covers every value exactly once, down to the last."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from copublish import AgreementError, agreement_from_mapping
from copublish.agreement.domain import (
    MISSING_LABEL,
    CategoricalDomain,
    CodeRange,
    Domain,
    NumericalDomain,
    format_number,
    parse_taxonomy,
)
from support import small_mapping
from support.profiles import examples

UNHURRIED = examples(unchecked=[HealthCheck.data_too_large])
"""A busy machine is no failure."""

# --- Trees and grids of all kinds ------------------------------------------------------------------------------------


SHAPES = st.recursive(st.just([]), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=14)
"""A tree without labels: a list of the trees below; the empty list is a value."""


def labelled(shape: list[Any], numbers: Iterator[int]) -> dict[str, Any]:
    return {f"label {next(numbers)}": labelled(below, numbers) for below in shape}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """A taxonomy as people write it: one root, different labels, levels with a single child among them."""
    shape = draw(SHAPES.filter(bool))
    return {"ANY": labelled(shape, itertools.count())}


@st.composite
def categorical_domains(draw: st.DrawFn) -> CategoricalDomain:
    return CategoricalDomain("job", parse_taxonomy(draw(trees())), missing=draw(st.booleans()))


@st.composite
def grids(draw: st.DrawFn) -> tuple[dict[str, Any], Decimal, Decimal]:
    """A grid given in one of the three ways, with bounds that it fits."""
    lower = draw(st.decimals(-1000, 1000, places=2))
    width = draw(st.decimals("0.5", 500, places=2))
    way = draw(st.sampled_from(["step", "edges", "count"]))
    if way == "step":
        step = draw(st.decimals(width / 100, width, places=3).filter(lambda step: width / 128 <= step))
        return {"step": step}, lower, lower + width
    if way == "count":
        return {"count": draw(st.integers(2, 129))}, lower, lower + width
    inside = st.decimals(lower, lower + width, places=3).filter(lambda edge: lower < edge <= lower + width)
    return {"edges": sorted(draw(st.lists(inside, min_size=1, max_size=12, unique=True)))}, lower, lower + width


@st.composite
def numerical_domains(draw: st.DrawFn) -> NumericalDomain:
    grid, lower, upper = draw(grids())
    domain = numerical(grid, lower, upper, missing=draw(st.sampled_from([None, "category"])))
    assume(domain.size <= 40)  # a finer one has too many parts to visit them all
    return domain


def numerical(grid: dict[str, Any], lower: Any, upper: Any, missing: str | None = None) -> NumericalDomain:
    attribute = {"kind": "numerical", "bounds": [lower, upper], "grid": grid, "missing": missing, "held_by": "loans"}
    domain = agreement_from_mapping(small_mapping(**{"attributes.age": attribute})).domains["age"]
    assert isinstance(domain, NumericalDomain)
    return domain


@st.composite
def fine_domains(draw: st.DrawFn) -> NumericalDomain:
    """A grid of which few points are on offer at once, and few enough cells to visit all of its parts."""
    cells = draw(st.integers(2, 40))
    domain = numerical({"count": cells}, 0, cells, missing=draw(st.sampled_from([None, "category"])))
    return replace(domain, points_at_once=draw(st.integers(1, 9)))


domains = categorical_domains() | numerical_domains() | fine_domains()


def reachable_parts(domain: Domain) -> set[CodeRange]:
    found, waiting = set(), [(0, domain.size)]
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += [child for split in domain.splits(part) for child in split]
    return found


def random_cuts(domain: Domain, data: st.DataObject) -> Iterator[list[CodeRange]]:
    """The cuts on one random way from the top to where nothing can be split."""
    cut = [(0, domain.size)]
    yield cut
    while options := [(part, split) for part in cut for split in domain.splits(part)]:
        part, split = data.draw(st.sampled_from(options))
        cut = [piece for old in cut for piece in (split if old == part else [old])]
        yield cut


# --- Laws for every domain -------------------------------------------------------------------------------------------


@pytest.mark.slow
@UNHURRIED
@given(domains)
def test_every_split_covers_its_part_exactly_and_without_overlap(domain: Domain) -> None:
    for part in reachable_parts(domain):
        for split in domain.splits(part):
            covered = [code for start, stop in split for code in range(start, stop)]
            assert covered == list(range(*part))
            assert len(split) >= 2
            assert all(start < stop for start, stop in split)


@UNHURRIED
@given(domains)
def test_no_part_offers_the_same_split_twice(domain: Domain) -> None:
    for part in reachable_parts(domain):
        assert len(set(domain.splits(part))) == len(domain.splits(part))


@UNHURRIED
@given(domains, st.data())
def test_labels_tell_the_parts_of_any_cut_apart(domain: Domain, data: st.DataObject) -> None:
    for cut in random_cuts(domain, data):
        labels = [domain.label(part) for part in cut]
        assert len(set(labels)) == len(cut), labels


@UNHURRIED
@given(domains, st.data())
def test_max_splits_bounds_what_any_cut_offers(domain: Domain, data: st.DataObject) -> None:
    for cut in random_cuts(domain, data):
        assert sum(len(domain.splits(part)) for part in cut) <= domain.max_splits


@UNHURRIED
@given(domains, st.data())
def test_no_round_offers_more_splits_than_the_first_and_as_many_more_for_every_round_before(
    domain: Domain, data: st.DataObject
) -> None:
    for rounds_before, cut in enumerate(random_cuts(domain, data)):
        on_offer = sum(len(domain.splits(part)) for part in cut)
        assert on_offer <= domain.first_splits + rounds_before * domain.more_splits


# --- Fine grids ------------------------------------------------------------------------------------------------------


@UNHURRIED
@given(fine_domains(), st.data())
def test_every_point_of_a_fine_grid_can_be_reached(domain: NumericalDomain, data: st.DataObject) -> None:
    wanted = data.draw(st.integers(1, domain.number_codes - 1))
    start, stop, steps = 0, domain.number_codes, 0
    while wanted not in (points := list(domain.points(start, stop))):
        start = max((point for point in points if point < wanted), default=start)
        stop = min((point for point in points if point > wanted), default=stop)
        steps += 1
    assert steps <= math.log2(domain.number_codes)


def test_points_of_a_fine_grid_are_the_evenly_spaced_ones_and_then_those_between_them() -> None:
    domain = replace(numerical({"count": 100}, 0, 100), points_at_once=3)
    assert list(domain.points(0, 100)) == [32, 64, 96]
    assert list(domain.points(32, 64)) == [40, 48, 56]
    assert list(domain.points(96, 100)) == [97, 98, 99]
    assert list(domain.points(97, 98)) == []
    assert [len(domain.splits(part)) for part in ((0, 100), (32, 64), (97, 98))] == [3, 3, 0]


@UNHURRIED
@given(fine_domains())
def test_what_is_on_offer_for_a_range_is_on_offer_for_its_parts(domain: NumericalDomain) -> None:
    missing = 1 if domain.missing else 0
    for start, stop in reachable_parts(domain):
        points = domain.points(start, min(stop, domain.number_codes))
        assert len(points) <= domain.points_at_once
        assert len(points) >= min(domain.points_at_once // 2, min(stop, domain.number_codes) - start - 1)
        assert len(domain.splits((start, stop))) <= len(points) + missing
        for point in points:
            assert {other for other in points if start < other < point} <= set(domain.points(start, point))


@UNHURRIED
@given(domains, st.data())
def test_splitting_to_the_end_leaves_one_code_in_every_part(domain: Domain, data: st.DataObject) -> None:
    *_, last = random_cuts(domain, data)
    assert last == [(code, code + 1) for code in range(domain.size)]


# --- Trees -----------------------------------------------------------------------------------------------------------


def leaves_of(tree: dict[str, Any]) -> list[str]:
    return [leaf for label, below in tree.items() for leaf in (leaves_of(below) or [label])]


@UNHURRIED
@given(trees(), st.booleans())
def test_values_are_the_leaves_in_written_order_and_missing_is_last(tree: dict[str, Any], missing: bool) -> None:
    domain = CategoricalDomain("job", parse_taxonomy(tree), missing=missing)
    assert list(domain.values) == leaves_of(tree) + [MISSING_LABEL] * missing
    assert domain.size == len(leaves_of(tree)) + missing


@UNHURRIED
@given(trees(), st.booleans())
def test_parts_are_the_nodes_of_the_tree_and_levels_with_one_child_are_skipped(
    tree: dict[str, Any], missing: bool
) -> None:
    domain = CategoricalDomain("job", parse_taxonomy(tree), missing=missing)
    expected = {tuple(leaves_of(node)) for node in nodes_of(tree)}  # nodes with the same leaves are one part
    if missing:
        everything = tuple(leaves_of(tree))
        top_is_split = len(everything) > 1
        expected = (expected - {everything} if top_is_split else expected) | {(*everything, MISSING_LABEL)}
        expected.add((MISSING_LABEL,))
    assert {domain.members(part) for part in reachable_parts(domain)} == expected


def nodes_of(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for label, below in tree.items():
        yield {label: below}
        yield from nodes_of(below)


@UNHURRIED
@given(trees())
def test_label_of_a_part_is_the_topmost_node_that_stands_for_its_values(tree: dict[str, Any]) -> None:
    domain = CategoricalDomain("job", parse_taxonomy(tree))
    topmost: dict[tuple[str, ...], str] = {}
    for node in nodes_of(tree):  # from the root down
        topmost.setdefault(tuple(leaves_of(node)), next(iter(node)))
    assert {domain.members(part): domain.label(part) for part in reachable_parts(domain)} == topmost


@UNHURRIED
@given(trees())
def test_a_split_goes_to_the_next_level_at_which_values_part(tree: dict[str, Any]) -> None:
    domain = CategoricalDomain("job", parse_taxonomy(tree))
    for node in nodes_of(tree):
        below = next(iter(node.values()))
        if len(below) < 2:
            continue
        (split,) = domain.splits(part_with(domain, leaves_of(node)))
        assert [list(domain.members(part)) for part in split] == [leaves_of({k: v}) for k, v in below.items()]


def part_with(domain: CategoricalDomain, values: list[str]) -> CodeRange:
    start = domain.values.index(values[0])
    return start, start + len(values)


def test_missing_category_splits_off_at_the_top() -> None:
    tree = parse_taxonomy({"ANY": {"Worker": {"cook": {}, "clerk": {}}, "vet": {}}})
    domain = CategoricalDomain("job", tree, missing=True)
    assert domain.values == ("cook", "clerk", "vet", "(missing)")
    assert domain.splits((0, 4)) == (((0, 2), (2, 3), (3, 4)),)
    assert [domain.label(part) for part in ((0, 4), (0, 2), (2, 3), (3, 4))] == ["ANY", "Worker", "vet", "(missing)"]
    assert domain.splits((3, 4)) == ()


def test_single_value_with_a_missing_category_splits_into_the_value_and_missing() -> None:
    domain = CategoricalDomain("job", parse_taxonomy({"ANY": {"cook": {}}}), missing=True)
    assert domain.splits((0, 2)) == (((0, 1), (1, 2)),)
    assert [domain.label(part) for part in ((0, 2), (0, 1), (1, 2))] == ["ANY", "cook", "(missing)"]


def test_single_value_cannot_be_split() -> None:
    domain = CategoricalDomain("job", parse_taxonomy({"ANY": {"All jobs": {"cook": {}}}}))
    assert (domain.size, domain.max_splits, domain.splits((0, 1))) == (1, 0, ())


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({}, "one root"),
        ({"a": {}, "b": {}}, "one root"),
        (["a", "b"], "one root"),
        ({"ANY": {}}, "holds no value"),
        ({"ANY": {"a": None}}, "below 'a'"),
        ({"ANY": {"a": {}, "": {}}}, "surrounding space"),
        ({"ANY": {1: {}, "b": {}}}, "texts"),
        ({"ANY": {"a": {"ANY": {}}}}, "occur twice in the taxonomy: 'ANY'"),
        ({"ANY": {"a": {"x": {}}, "b": {"x": {}}}}, "occur twice in the taxonomy: 'x'"),
    ],
)
def test_trees_that_are_no_taxonomy_are_refused(tree: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_taxonomy(tree)


# --- Grids -----------------------------------------------------------------------------------------------------------


@UNHURRIED
@given(st.integers(-50, 50), st.integers(1, 127), st.integers(0, 9))
def test_step_puts_a_threshold_at_every_step_up_to_the_upper_bound(lower: int, steps: int, tenths: int) -> None:
    step = Decimal("0.25")
    domain = numerical({"step": step}, lower, lower + step * (steps + Decimal(tenths) / 10))
    assert list(domain.thresholds) == [lower + Decimal(i) / 4 for i in range(1, steps + 1)]


def test_step_that_gives_128_thresholds_and_a_rest_is_allowed() -> None:
    assert len(numerical({"step": 1}, 0, Decimal("128.5")).thresholds) == 128


@UNHURRIED
@given(grids())
def test_thresholds_increase_and_lie_above_the_lower_and_not_above_the_upper_bound(
    given_grid: tuple[dict[str, Any], Decimal, Decimal],
) -> None:
    grid, lower, upper = given_grid
    thresholds = numerical(grid, lower, upper).thresholds
    assert all(a < b for a, b in itertools.pairwise([lower, *thresholds]))
    assert thresholds[-1] <= upper


@UNHURRIED
@given(st.decimals(-1000, 1000, places=3), st.decimals("0.01", 1000, places=3), st.integers(2, 129))
def test_count_makes_cells_of_equal_width(lower: Decimal, width: Decimal, count: int) -> None:
    thresholds = numerical({"count": count}, lower, lower + width).thresholds
    assert len(thresholds) == count - 1
    exact = [Fraction(lower) + Fraction(width) * i / count for i in range(1, count)]
    assert all(abs(Fraction(t) - e) <= Fraction(width) / 10**11 for t, e in zip(thresholds, exact, strict=True))


@pytest.mark.parametrize("lower", [10**12, 1_700_000_000_000])
def test_count_makes_different_thresholds_for_bounds_that_are_large_and_close(lower: int) -> None:
    thresholds = numerical({"count": 10}, lower, lower + 10).thresholds
    assert list(thresholds) == [lower + i for i in range(1, 10)]


def test_edges_are_taken_as_written() -> None:
    assert numerical({"edges": [1, 10, 50]}, 0, 100).thresholds == (1, 10, 50)


@pytest.mark.parametrize("edges", [[0, 5], [5, 101], [5, 5], [7, 5], [-1]])
def test_edges_outside_the_bounds_or_out_of_order_are_refused(edges: list[int]) -> None:
    with pytest.raises(AgreementError, match="must increase and lie above 0 and not above 100"):
        numerical({"edges": edges}, 0, 100)


@pytest.mark.parametrize("grid", [{"step": "0.77"}, {"edges": [Decimal(i) / 2 for i in range(1, 130)]}, {"count": 130}])
def test_more_than_128_thresholds_are_refused(grid: dict[str, Any]) -> None:
    with pytest.raises(AgreementError, match=r"128|129"):
        numerical(grid, 0, 100)


def test_exactly_128_thresholds_are_allowed() -> None:
    for grid in ({"step": Decimal("0.78125")}, {"edges": [Decimal(i) / 2 for i in range(1, 129)]}, {"count": 129}):
        assert len(numerical(grid, 0, 100).thresholds) == 128


@pytest.mark.slow
@UNHURRIED
@given(numerical_domains())
def test_parts_of_numbers_are_all_intervals_between_grid_points(domain: NumericalDomain) -> None:
    codes = len(domain.thresholds) + 1
    expected = {(a, b) for a in range(codes) for b in range(a + 1, codes + 1)}
    if domain.missing:
        expected |= {(0, codes + 1), (codes, codes + 1)}
    assert reachable_parts(domain) == expected


@UNHURRIED
@given(numerical_domains())
def test_bounds_of_a_part_are_its_outermost_grid_points(domain: NumericalDomain) -> None:
    points = [domain.lower, *domain.thresholds, domain.upper]
    for start, stop in reachable_parts(domain):
        if start <= len(domain.thresholds):
            assert domain.bounds((start, stop)) == (points[start], points[min(stop, len(points) - 1)])


def test_labels_of_numbers_are_half_open_intervals_and_the_last_is_closed() -> None:
    domain = numerical({"edges": [Decimal("2.50"), 10]}, 0, 100, missing="category")
    assert [domain.label(part) for part in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (3, 4), (0, 4))] == [
        "[0, 2.5)",
        "[2.5, 10)",
        "[0, 10)",
        "[10, 100]",
        "[0, 100]",
        "(missing)",
        "[0, 100] or missing",
    ]


def test_missing_splits_off_numbers_at_the_top_alone_or_with_a_threshold() -> None:
    domain = numerical({"edges": [2, 10]}, 0, 100, missing="category")
    assert set(domain.splits((0, 4))) == {
        ((0, 3), (3, 4)),
        ((0, 1), (1, 3), (3, 4)),
        ((0, 2), (2, 3), (3, 4)),
    }
    assert domain.splits((3, 4)) == ()


@UNHURRIED
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_numbers_are_written_plainly_and_without_trailing_zeros(number: Decimal) -> None:
    text = format_number(number)
    assert Decimal(text) == number
    assert "e" not in text.lower()
    assert not ("." in text and text.endswith(("0", ".")))


@pytest.mark.parametrize(("number", "text"), [("1E+3", "1000"), ("20.0", "20"), ("0.10", "0.1"), ("100", "100")])
def test_numbers_are_written_as_people_do(number: str, text: str) -> None:
    assert format_number(Decimal(number)) == text


def test_zero_is_published_without_a_sign() -> None:
    domain = numerical({"edges": [Decimal("-0.0"), 10]}, -5, 10)
    assert [domain.label(part) for part in ((0, 1), (1, 2))] == ["[-5, 0)", "[0, 10)"]
    assert numerical({"step": 5}, Decimal("-0.0"), 10).label((0, 1)) == "[0, 5)"
