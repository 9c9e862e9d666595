"""Without noise, a release is a plain top-down specialization and a plain group-by of the joined table.

The naive implementation below works on raw values with pandas, knows nothing of codes, parties or engines, and is
the expected value for every partition.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.mechanisms.specialization.plan import SpecializationPlan
from support import fragment_frames, no_noise, random_table, repartition, seeded, simulate_with, small_mapping
from support.releases import labels_of, leaf_counts


class NaiveValue:
    """A generalized value: a label, which rows it matches, and the ways to split it."""

    def __init__(self, label: str, matches: Any, splits: Any) -> None:
        self.label, self.matches, self.splits = label, matches, splits


def naive_category(tree: dict[str, Any], label: str, extra: list[NaiveValue]) -> NaiveValue:
    def leaves(name: str, below: dict[str, Any]) -> set[str]:
        return {name} if not below else set().union(*(leaves(n, b) for n, b in below.items()))

    members = leaves(label, tree)
    inside, inside_label = tree, label
    while len(inside) == 1:
        ((inside_label, inside),) = inside.items()
    children = [naive_category(below, name, []) for name, below in inside.items()]
    if extra and not children:
        children = [NaiveValue(inside_label, lambda column: column.isin(members), list)]
    children += extra

    def matches(column: pd.Series) -> pd.Series:
        return column.isin(members) | (column.isna() if extra else False)

    return NaiveValue(label, matches, lambda: [children] if len(children) > 1 else [])


def naive_on_offer(low: float, high: float, edges: list[float], at_once: int | None) -> list[float]:
    """Every edge in between, or every second, fourth, ... of all edges, until no more than `at_once` are left."""
    number = {edge: place for place, edge in enumerate(edges, start=1)}
    found = [edge for edge in edges if low < edge < high]
    every = 1
    while at_once is not None and len(found) > at_once:
        every *= 2
        found = [edge for edge in found if number[edge] % every == 0]
    return found


def naive_interval(
    low: float, high: float, edges: list[float], top: float, missing: NaiveValue | None, at_once: int | None = None
) -> NaiveValue:
    closing = "]" if high == top else ")"

    def matches(column: pd.Series) -> pd.Series:
        inside = (column >= low) & ((column < high) | ((high == top) & (column == top)))
        return inside | (column.isna() if missing else False)

    def splits() -> list[list[NaiveValue]]:
        found = []
        if missing:
            found.append([naive_interval(low, high, edges, top, None, at_once), missing])
        for edge in naive_on_offer(low, high, edges, at_once):
            ends = [(low, edge), (edge, high)]
            parts = [naive_interval(start, stop, edges, top, None, at_once) for start, stop in ends]
            found.append(parts + ([missing] if missing else []))
        return found

    label = f"[{low:g}, {high:g}{closing}" + (" or missing" if missing else "")
    return NaiveValue(label, matches, splits)


Counts = dict[str, int]
"""Number of records by class."""


def naive_max(children: list[Counts], total: Counts) -> Fraction:
    return Fraction(sum(max(child.values()) for child in children))


def naive_balanced_gain(children: list[Counts], total: Counts) -> Fraction:
    """Weights in 64ths, half of one rounded up."""
    atleast_one = {value: max(n, 1) for value, n in total.items()}
    second = sorted(atleast_one.values())[-2]
    weight = {
        value: Fraction(min(64, max(1, math.floor(Fraction(64 * second, n) + Fraction(1, 2)))))
        for value, n in atleast_one.items()
    }

    def largest(node: Counts) -> Fraction:
        return max(weight[value] * n for value, n in node.items())

    return sum((largest(child) for child in children), Fraction(0)) - largest(together(children))


def naive_tv_gain(children: list[Counts], total: Counts) -> Fraction:
    """Half the sum of absolute differences from shares in 64ths, which are given out by largest remainder."""
    atleast_one = {value: max(n, 1) for value, n in total.items()}
    exact = {value: Fraction(64 * n, sum(atleast_one.values())) for value, n in atleast_one.items()}
    share = {value: math.floor(e) for value, e in exact.items()}
    by_remainder = sorted(exact, key=lambda value: share[value] - exact[value])
    for value in by_remainder[: 64 - sum(share.values())]:
        share[value] += 1

    def distance(node: Counts) -> Fraction:
        n = sum(node.values())
        return sum((abs(node[value] - Fraction(share[value], 64) * n) for value in node), Fraction(0)) / 2

    return sum((distance(child) for child in children), Fraction(0)) - distance(together(children))


def together(children: list[Counts]) -> Counts:
    return {value: sum(child[value] for child in children) for value in children[0]}


NAIVE_SCORES = {"max": naive_max, "balanced-gain": naive_balanced_gain, "tv-gain": naive_tv_gain}


def naive_release(
    mapping: dict[str, Any], table: pd.DataFrame, plan: SpecializationPlan
) -> tuple[dict[str, list[str]], pd.Series]:
    """Return the labels of the final cut and the counts by leaf and class."""
    cut: dict[str, list[NaiveValue]] = {}
    for name, attribute in mapping["attributes"].items():
        gap = (
            NaiveValue("(missing)", lambda column: column.isna(), list)
            if attribute.get("missing") == "category"
            else None
        )
        if attribute["kind"] == "categorical":
            tree = attribute.get("taxonomy") or {"ANY": {value: {} for value in attribute["values"]}}
            ((root, below),) = tree.items()
            cut[name] = [naive_category(below, root, [gap] if gap else [])]
        else:
            (low, high), grid = attribute["bounds"], attribute.get("grid")
            if grid is None:  # whole numbers, each of which is a value
                edges, at_once = list(range(low + 1, high + 1)), 16
            else:
                edges = grid.get("edges") or list(np.arange(low + grid["step"], high + 1e-9, grid["step"]))
                at_once = None
            cut[name] = [naive_interval(low, high, edges, high, gap, at_once)]
    label = mapping["class"]["name"]

    total = {value: int((table[label] == value).sum()) for value in mapping["class"]["values"]}

    def score(name: str, children: list[NaiveValue]) -> Fraction:
        counts = []
        for child in children:
            inside = table[label][child.matches(table[name])]
            counts.append({value: int((inside == value).sum()) for value in total})
        return NAIVE_SCORES[mapping["mechanism"].get("score", "max")](counts, total)

    for _ in range(plan.rounds):
        leaves = int(np.prod([len(values) for values in cut.values()]))
        options = []
        for name, values in cut.items():
            for position, value in enumerate(values):
                for children in value.splits():
                    if leaves // len(values) * (len(values) - 1 + len(children)) <= plan.max_leaves:
                        options.append((name, position, children))
        if not options:
            break
        scores = [score(name, children) for name, _, children in options]
        name, position, children = options[scores.index(max(scores))]
        cut[name] = cut[name][:position] + children + cut[name][position + 1 :]

    generalized = {label: table[label]}
    for name, values in cut.items():
        column = pd.Series("", index=table.index, dtype=object)
        for value in values:
            column[value.matches(table[name])] = value.label
        generalized[name] = column
    keys = [*cut, label]
    counts = pd.DataFrame(generalized).groupby(keys).size() if len(table) else pd.Series(dtype=int)
    return {name: [value.label for value in values] for name, values in cut.items()}, counts


def schema(classes: int, *, missing: bool, score: str = "max") -> dict[str, Any]:
    mapping = small_mapping()
    mapping["class"]["values"] = [f"class{number}" for number in range(classes)]
    mapping["mechanism"] |= {"specializations": 5, "max_cells": 3000, "score": score}
    if missing:
        mapping["attributes"]["age"]["missing"] = "category"
        mapping["attributes"]["job"]["missing"] = "category"
    return mapping


PARTITIONS = [
    ("horizontal", 2, 2),
    ("horizontal", 4, 5),
    ("vertical", 2, 5),
    ("vertical", 3, 2),
    ("arbitrary", 2, 2),
    ("arbitrary", 3, 5),
]
"""Partition, parties, classes: every partition with few and many of either."""


@pytest.mark.parametrize(("partition", "parties", "classes"), PARTITIONS)
@pytest.mark.parametrize("missing", [False, True])
def test_cuts_and_counts_equal_the_naive_ones_for_any_partition(partition, parties, classes, missing):
    generator = np.random.default_rng([parties, classes, missing, len(partition)])
    mapping = repartition(schema(classes, missing=missing), partition, parties)
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, int(generator.integers(20, 400)), generator)
    if missing:
        for name in ("age", "job"):
            table[name] = table[name].astype(object).where(generator.random(len(table)) > 0.1, None)
    spelled = table.copy()
    if missing:  # an empty cell would mean "held by another party" in an arbitrary release
        spelled["job"] = spelled["job"].fillna("?")
    if missing and partition == "arbitrary":
        mapping["attributes"]["age"]["held_by"] = ["p0"]
        agreement = cp.agreement_from_mapping(mapping)
    release = simulate_with(agreement, fragment_frames(agreement, spelled, generator), no_noise(agreement.party_names))
    labels, counts = naive_release(mapping, table, SpecializationPlan.of(agreement))
    assert labels_of(release) == labels
    assert_counts_equal(release, counts, [*labels, "default"])


@pytest.mark.parametrize(("partition", "parties", "classes"), PARTITIONS)
@pytest.mark.parametrize("score", ["tv-gain", "balanced-gain"])
def test_gains_lead_to_the_naive_cut_for_any_partition(partition, parties, classes, score):
    generator = np.random.default_rng([parties, classes, len(score), len(partition)])
    mapping = repartition(schema(classes, missing=False, score=score), partition, parties)
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 250, generator)
    rare = generator.random(len(table)) < 0.6  # one class dominates
    table.loc[rare, "default"] = "class0"
    frames = fragment_frames(agreement, table, generator)
    release = simulate_with(agreement, frames, no_noise(agreement.party_names))
    labels, counts = naive_release(mapping, table, SpecializationPlan.of(agreement))
    assert labels_of(release) == labels
    assert_counts_equal(release, counts, [*labels, "default"])
    by_class = [int((table["default"] == value).sum()) for value in mapping["class"]["values"]]
    class_counts, _ = release.published.tables
    assert class_counts.columns == ("default",) and class_counts.values.tolist() == by_class
    as_max, _ = naive_release(schema(classes, missing=False), table, SpecializationPlan.of(agreement))
    assert as_max != labels  # another score, another cut: the comparison tells them apart


@pytest.mark.parametrize("score", ["max", "tv-gain", "balanced-gain"])
@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
@pytest.mark.parametrize("holder", ["p0", "p1"])
def test_a_class_that_one_party_holds_gives_the_same_release(partition, holder, score):
    generator = np.random.default_rng(5)
    mapping = repartition(schema(3, missing=False, score=score), partition, 2)
    mapping["class"]["held_by"] = [holder]
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 300, generator)
    release = simulate_with(agreement, fragment_frames(agreement, table, generator), no_noise(agreement.party_names))
    labels, counts = naive_release(mapping, table, SpecializationPlan.of(agreement))
    assert labels_of(release) == labels
    assert_counts_equal(release, counts, [*labels, "default"])


CLASS_AT_ONE = [("vertical", 2, 5, "p0"), ("vertical", 3, 2, "p1"), ("arbitrary", 2, 2, "p1")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partition", "parties", "classes", "holder"), [*[(*p, None) for p in PARTITIONS], *CLASS_AT_ONE]
)
@pytest.mark.parametrize("missing", [False, True])
def test_numbers_with_bounds_alone_are_split_as_by_the_naive_search_for_any_partition(
    partition, parties, classes, holder, missing
):
    generator = np.random.default_rng([parties, classes, missing, len(partition)])
    mapping = schema(classes, missing=missing, score="balanced-gain")
    mapping["mechanism"] |= {"specializations": 6}
    mapping["attributes"] = {name: mapping["attributes"][name] for name in ("age", "income", "job")}
    mapping = repartition(mapping, partition, parties)
    mapping["attributes"]["income"]["bounds"] = [0, 900]
    for name in ("age", "income"):
        del mapping["attributes"][name]["grid"]
    if missing and partition == "arbitrary":
        mapping["attributes"]["age"]["held_by"] = ["p0"]
    if holder:
        mapping["class"]["held_by"] = [holder]
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 300, generator)
    table.loc[table["income"].between(200, 213) | (table["age"] == 41), "default"] = "class1"
    if missing:
        table["age"] = table["age"].astype(object).where(generator.random(len(table)) > 0.1, None)
    release = simulate_with(agreement, fragment_frames(agreement, table, generator), no_noise(agreement.party_names))
    labels, counts = naive_release(mapping, table, SpecializationPlan.of(agreement))
    assert labels_of(release) == labels
    assert_counts_equal(release, counts, [*labels, "default"])
    at_first = agreement.domains["income"].points(0, agreement.domains["income"].number_codes)
    assert any(agreement.domains["income"].label((0, code)) not in labels["income"] for code in at_first)


def test_the_comparison_with_the_naive_release_can_fail():
    generator = np.random.default_rng(6)
    mapping = repartition(schema(2, missing=False), "vertical", 2)
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 300, generator)
    _, counts = naive_release(mapping, table, SpecializationPlan.of(agreement))
    frames = fragment_frames(agreement, table, generator)
    with_noise = simulate_with(agreement, frames, seeded(agreement.party_names, 1))
    with pytest.raises(AssertionError):
        assert_counts_equal(with_noise, counts, [*mapping["attributes"], "default"])


@pytest.mark.parametrize("seed", range(3))
def test_the_same_coins_give_the_same_release_whatever_the_partition(seed):
    """The joint coins are the XOR of the parties' coins, so two parties fix them for every partition."""
    generator = np.random.default_rng(seed)
    released = []
    for partition in ("horizontal", "vertical", "arbitrary"):
        mapping = repartition(schema(2, missing=False), partition, 2)
        agreement = cp.agreement_from_mapping(mapping)
        if not released:
            table = random_table(agreement, 300, generator)
        frames = fragment_frames(agreement, table, generator)
        released.append(simulate_with(agreement, frames, seeded(agreement.party_names, seed)))
    assert released[0].data_files() == released[1].data_files() == released[2].data_files()


def assert_counts_equal(release: cp.Release, counts: pd.Series, keys: list[str]) -> None:
    published = leaf_counts(release)
    assert (published["count"] == published["noisy_count"]).all()
    found = published[published["count"] > 0].set_index(keys)["count"]
    expected = {tuple(map(str, key)): int(value) for key, value in counts.items()}
    assert {tuple(map(str, key)): int(value) for key, value in found.items()} == expected
