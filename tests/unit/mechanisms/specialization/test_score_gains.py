"""Gains: what they are, how far one person moves them, and that their noise fits the engine's integers.

The ranges are checked in three ways: every neighbor of random tables on a domain of 4 x 3 x 3, every table of up to
three records with every neighbor on two attributes that were split before, and tables made by hand that attain them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from copublish import AgreementError, agreement_from_mapping
from copublish.agreement.protocol.shapes import MAX_RECORDS
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.programs.noise import measurement_fits, selection_fits
from copublish.mechanisms.specialization.cut import Candidates, Cut
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.score import (
    MAX,
    POINTS_PER_PERSON,
    WIDEST_RANGE,
    Score,
    balanced_gain,
    gain_score,
    tv_gain,
)
from support import repartition, small_mapping
from support.records import (
    NAMES,
    PARTITIONS,
    Record,
    added,
    agreement_with,
    cuts,
    engine_scores,
    padded,
    random_records,
    replaced,
)

GAINS = ["balanced-gain", "tv-gain"]
Q = POINTS_PER_PERSON

# --- What they are ---


def naive_gain(score: Score, children: Sequence[Sequence[int]]) -> Fraction:
    """A gain from its definition, in fractions of people, for one candidate."""
    parent = [sum(column) for column in zip(*children, strict=True)]

    def value(node: Sequence[int]) -> Fraction:
        if score.name == "balanced-gain":
            return max(Fraction(int(w), Q) * n for w, n in zip(score.public["weights"], node, strict=True))
        shares = [Fraction(int(share), Q) for share in score.public["shares"]]
        return sum((abs(n - share * sum(node)) for share, n in zip(shares, node, strict=True)), Fraction(0)) / 2

    return sum((value(child) for child in children), Fraction(0)) - value(parent)


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_programs_give_the_gain_of_the_definition_and_empty_children_add_nothing(name: str, classes: int) -> None:
    generator = np.random.default_rng(classes)
    for _ in range(10):
        score = gain_score(name, generator.integers(-20, 1000, classes))
        counts = generator.integers(0, 50, (30, 3, classes)) * (generator.random((30, 3, classes)) < 0.7)
        expected = [Q * naive_gain(score, candidate) for candidate in counts.tolist()]
        assert score.of(counts).tolist() == expected
        assert min(expected) >= 0  # so places without a candidate stay below every candidate
        empty = np.zeros((30, 2, classes), dtype=np.int64)
        assert score.of(np.concatenate([counts, empty], axis=1)).tolist() == expected


def test_weights_lower_the_largest_class_to_the_second_and_leave_the_others() -> None:
    assert balanced_gain(np.array([7500, 2500])).public["weights"].tolist() == [21, 64]
    assert balanced_gain(np.array([100, 30, 50, 1])).public["weights"].tolist() == [32, 64, 64, 64]
    assert balanced_gain(np.array([10, 10, 10])).public["weights"].tolist() == [64, 64, 64]
    assert balanced_gain(np.array([-30, -5])).public["weights"].tolist() == [64, 64]  # noise without records
    assert balanced_gain(np.array([10**9, 0])).public["weights"].tolist() == [1, 64]  # no class weighs nothing


def test_shares_are_in_proportion_and_add_up() -> None:
    assert tv_gain(np.array([7500, 2500])).public["shares"].tolist() == [48, 16]
    assert tv_gain(np.array([1, 1, 1])).public["shares"].tolist() == [22, 21, 21]
    assert tv_gain(np.array([-4, 10**9])).public["shares"].tolist() == [0, 64]
    many = tv_gain(np.arange(100)).public["shares"]
    assert many.sum() == 64
    assert many.min() == 0


def test_with_two_classes_both_gains_rank_alike_and_have_the_same_range_to_scale() -> None:
    """For shares a, b: tv = 2 min(P, N), balanced = tv / (2 max(a, b)), so noise per gain is the same."""
    counts = np.random.default_rng(3).integers(0, 80, (200, 2, 2))
    tv, balanced = tv_gain(np.array([48, 16])), balanced_gain(np.array([3 * 64, 64]))
    assert balanced.public["weights"].tolist() == [21, 64]  # 64 / 3, rounded
    assert np.allclose(tv.of(counts) / tv.score_range["add-remove"], balanced.of(counts) / (2 * Q), atol=0.8)


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize(("partition", "parties", "class_holder"), PARTITIONS)
def test_scores_of_the_engine_are_gains_for_any_partition(partition, parties, class_holder, name) -> None:
    generator = np.random.default_rng(1)
    for classes in (2, 5):
        agreement = agreement_with(classes, partition, parties, class_holder)
        score = gain_score(name, generator.integers(1, 100, classes))
        for n in (0, 1, 30):
            records = random_records(classes, n, generator)
            for cut in cuts(agreement):
                groups = cut.candidates(1000)
                expected = [int(Q * naive_gain(score, c)) for c in child_counts(records, groups, classes)]
                assert engine_scores(agreement, records, groups, score) == padded(expected, agreement)


def child_counts(records: Sequence[Record], groups: Sequence[Candidates], classes: int) -> list[list[list[int]]]:
    """Counts by class of each child of each candidate, one record at a time."""
    found = []
    for group in groups:
        position = NAMES.index(group.attribute)
        for split in group.splits:
            inside = [[r for r in records if first <= r[position] < past] for first, past in split]
            found.append([[sum(r[3] == value for r in child) for value in range(classes)] for child in inside])
    return found


# --- How far one person moves them ---


def changes_of_gains(score: Score, before: Sequence[Record], after: Sequence[Record], cut: Cut, classes: int) -> list:
    groups = cut.candidates(1000)
    pairs = zip(child_counts(before, groups, classes), child_counts(after, groups, classes), strict=True)
    return [Q * (naive_gain(score, b) - naive_gain(score, a)) for a, b in pairs]


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize(("relation", "neighbors"), [("add-remove", added), ("replace", replaced)])
def test_no_neighbor_moves_the_gains_of_a_round_by_more_than_the_stated_range(relation, neighbors, name) -> None:
    classes, generator = 3, np.random.default_rng(2)
    agreement = agreement_with(classes)
    for n in (1, 3, 5):
        score = gain_score(name, generator.integers(1, 30, classes))
        records = random_records(classes, n, generator)
        for cut in list(cuts(agreement))[:3]:
            for neighbor in itertools.islice(neighbors(records, classes), 0, None, 3):
                changes = changes_of_gains(score, records, neighbor, cut, classes)
                assert max(changes) - min(changes) <= score.score_range[relation]
                assert max(map(abs, changes)) <= score.score_range[relation] / 2


CODES = 4
"""Two attributes with four codes each, both split in the middle before: the candidates' parents differ."""


ONE_RECORD = np.eye(CODES * CODES * 2, dtype=np.int64).reshape(-1, CODES, CODES, 2)
"""The tables of one record with two classes; the first two lie in the first cell."""


def candidate_counts(tables: np.ndarray, classes: int) -> np.ndarray:
    """Counts of the four candidates' children, (n_tables, 4, 2, classes), from counts (n_tables, 4, 4, classes)."""
    by_attribute = [tables.sum(axis=2), tables.sum(axis=1)]
    children = [part[:, [start, start + 1]] for part in by_attribute for start in (0, 2)]
    return np.stack(children, axis=1).reshape(len(tables), 4, 2, classes)


def ranges(score: Score, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Largest minus smallest change over the candidates, for each pair of tables."""
    classes = before.shape[-1]
    gains = [
        score.of(candidate_counts(tables, classes).reshape(-1, 2, classes)).reshape(-1, 4) for tables in (before, after)
    ]
    change = gains[1] - gains[0]
    return change.max(axis=1) - change.min(axis=1)


def all_tables(most: int, classes: int) -> np.ndarray:
    """Every table of at most so many records, as counts (n_tables, 4, 4, classes)."""
    kinds = CODES * CODES * classes
    found = []
    for n in range(most + 1):
        chosen = np.array(list(itertools.combinations_with_replacement(range(kinds), n)), dtype=np.int64)
        table = np.zeros((len(chosen), kinds), dtype=np.int64)
        for column in range(n):
            table[np.arange(len(chosen)), chosen[:, column]] += 1
        found.append(table)
    return np.concatenate(found).reshape(-1, CODES, CODES, classes)


SCORES = [
    MAX,
    balanced_gain(np.array([5, 5])),
    balanced_gain(np.array([30, 10])),
    tv_gain(np.array([5, 5])),
    tv_gain(np.array([30, 10])),
    tv_gain(np.array([63, 1])),
]


@pytest.mark.parametrize("score", SCORES, ids=lambda score: f"{score.name} {[*score.public.values()]}")
def test_every_table_of_up_to_three_records_and_every_neighbor_keep_the_range(score: Score) -> None:
    tables = all_tables(3, 2)
    assert len(tables) == 1 + 32 + 32 * 33 // 2 + 32 * 33 * 34 // 6
    # Renumbering codes inside a parent, and the parents, renumbers candidates: the record may lie in the first cell.
    first_cell = ONE_RECORD[:2]
    widest = max(int(ranges(score, tables, tables + record).max()) for record in first_cell)
    assert widest <= score.score_range["add-remove"]
    smaller = all_tables(2, 2)  # with one more record of either kind: all replacements in tables of up to three
    replacements = itertools.product(first_cell, ONE_RECORD)
    widest_replaced = max(int(ranges(score, smaller + old, smaller + new).max()) for old, new in replacements)
    assert widest_replaced <= score.score_range["replace"]
    if score.name == "max" or len(set(next(iter(score.public.values())).tolist())) == 1:
        assert widest == score.score_range["add-remove"]  # attained by so few records if classes weigh the same


def table_of(cells: dict[tuple[int, int, int], int], classes: int) -> np.ndarray:
    table = np.zeros((1, CODES, CODES, classes), dtype=np.int64)
    for cell, n in cells.items():
        table[(0, *cell)] += n
    return table


@pytest.mark.parametrize("counts", [(30, 10), (5, 5), (100, 30, 20), (63, 1), (1, 1, 1, 1, 1)])
def test_an_added_record_attains_the_range_of_tv_gain(counts: tuple[int, ...]) -> None:
    """For the first attribute the child it is in has few others and the parent lacks its class; for the second the
    child lacks its class and the parent has little else."""
    score, classes = tv_gain(np.array(counts)), len(counts)
    shares = score.public["shares"]
    rare = int(shares.argmin())
    others = {k: int(share) * 10 for k, share in enumerate(shares) if k != rare}
    outside = 3
    cells = {(1, outside, k): n for k, n in others.items()}  # the first attribute's sibling
    cells |= {(outside, 0, k): n for k, n in others.items()}  # the second attribute's child
    cells[outside, 1, rare] = 10**5  # and its sibling
    before = table_of(cells, classes)
    assert ranges(score, before, before + table_of({(0, 0, rare): 1}, classes))[0] == score.score_range["add-remove"]


@pytest.mark.parametrize("counts", [(30, 10), (5, 5), (100, 30, 20), (63, 1), (1, 1, 1, 1, 1)])
def test_an_added_record_attains_the_range_of_balanced_gain(counts: tuple[int, ...]) -> None:
    score, classes = balanced_gain(np.array(counts)), len(counts)
    heavy = int(score.public["weights"].argmax())
    other, outside = (heavy + 1) % classes, 3
    cells = {(1, outside, other): 1000, (outside, 0, other): 1000, (outside, 1, heavy): 5000}
    before = table_of(cells, classes)
    assert ranges(score, before, before + table_of({(0, 0, heavy): 1}, classes))[0] == score.score_range["add-remove"]


@pytest.mark.parametrize("score", [balanced_gain(np.array([5, 5])), tv_gain(np.array([5, 5]))], ids=GAINS)
def test_a_replaced_record_attains_twice_that_if_classes_weigh_the_same(score: Score) -> None:
    outside = 3
    cells = {(0, outside, 1): 1, (1, outside, 0): 2, (outside, 0, 0): 3, (outside, 1, 1): 6}
    common = table_of(cells, 2)
    before, after = common + table_of({(0, 0, 0): 1}, 2), common + table_of({(0, 0, 1): 1}, 2)
    assert ranges(score, before, after)[0] == score.score_range["replace"] == 2 * score.score_range["add-remove"]


def test_the_search_notices_a_range_that_forgets_the_parent() -> None:
    """Half the range would do if all candidates had one parent, or if the score were no gain."""
    score = tv_gain(np.array([5, 5]))
    tables = all_tables(2, 2)
    widest = max(int(ranges(score, tables, tables + record).max()) for record in ONE_RECORD)
    assert widest > score.score_range["add-remove"] / 2


# --- The plan ---


@pytest.mark.parametrize("name", GAINS)
def test_no_class_counts_give_a_wider_range_than_planned(name: str) -> None:
    generator = np.random.default_rng(4)
    for _ in range(200):
        score = gain_score(name, generator.integers(-50, 10 ** generator.integers(1, 12), generator.integers(2, 70)))
        for relation in NEIGHBORS:
            assert 0 < score.score_range[relation] <= WIDEST_RANGE[name][relation]


@pytest.mark.parametrize("name", [*GAINS, "auto"])
def test_the_smallest_budget_with_most_rounds_and_candidates_fits_the_engines_integers(name: str) -> None:
    number = {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 129}}
    changes = {
        "privacy": {"epsilon": Decimal("0.000001"), "neighbors": "replace"},
        "mechanism": {
            "name": "specialization",
            "specializations": 100,
            "selection_share": Decimal("0.01"),
            "max_cells": 2**22,
            "score": name,
        },
        "attributes": {f"a{i}": {**number} for i in range(128)},
    }
    mapping = small_mapping(**changes)
    plan = SpecializationPlan.of(agreement_from_mapping(repartition(mapping, "vertical")))
    selection = plan.selection(0, 128 * 128)
    assert plan.rounds == 21
    assert selection_fits(128 * 128, MAX_RECORDS * selection.points_per_person, selection.noise.bits)
    if name != "auto":
        assert measurement_fits(2, MAX_RECORDS, plan.class_counts().noise.bits)
    mapping["attributes"]["one more"] = {**number}
    with pytest.raises(AgreementError, match=r"mechanism\.score: .* at most 16,384 splits"):
        agreement_from_mapping(repartition(mapping, "vertical"))
    mapping["mechanism"]["score"] = "max"
    agreement_from_mapping(repartition(mapping, "vertical"))


def planned(**changes: object) -> SpecializationPlan:
    return SpecializationPlan.of(agreement_from_mapping(small_mapping(**changes)))


def test_the_class_counts_take_a_twentieth_of_the_selections_budget_and_max_needs_none() -> None:
    changes = {"mechanism.max_cells": 512, "privacy.epsilon": Decimal("0.5")}
    for name in GAINS:
        plan = planned(**{"mechanism.score": name}, **changes)
        assert plan.epsilon_for_classes == Fraction(1, 2) * Fraction(4, 10) / 20
        assert plan.epsilon_per_selection * plan.rounds == Fraction(1, 2) * Fraction(4, 10) * Fraction(19, 20)
        assert [d.kind for d in plan.disclosures()] == ["measure", *["select"] * plan.rounds, "measure"]
        nothing = planned(**{"mechanism.score": name, "mechanism.specializations": 0}, **changes)
        assert nothing.epsilon_for_classes == 0
        assert [d.epsilon("add-remove") for d in nothing.disclosures()] == [Fraction(1, 2)]
    assert [d.kind for d in planned(**changes).disclosures()] == ["select"] * planned(**changes).rounds + ["measure"]


def test_auto_compares_gains_where_their_noise_is_small_beside_the_expected_records() -> None:
    changes = {"mechanism.score": "auto", "mechanism.max_cells": 512, "mechanism.specializations": 5}
    noise = 2 * 5 / (0.4 * 0.95)  # range 2 people, five rounds, epsilon 1
    assert planned(**changes, **{"records.expected": int(50 * noise) + 1}).score == "balanced-gain"
    assert planned(**changes, **{"records.expected": int(50 * noise) - 1}).score == "max"
    twice = {**changes, "privacy.neighbors": "replace"}
    assert planned(**twice, **{"records.expected": int(100 * noise) + 1}).score == "balanced-gain"
    assert planned(**twice, **{"records.expected": int(100 * noise) - 1}).score == "max"
    assert planned(**{**changes, "mechanism.specializations": 0}).score == "max"


def test_auto_is_what_it_chooses() -> None:
    for expected in (100, 10**6):
        auto = planned(**{"mechanism.score": "auto", "records.expected": expected})
        named = planned(**{"mechanism.score": auto.score, "records.expected": expected})
        assert [d.noise.rate for d in auto.disclosures()] == [d.noise.rate for d in named.disclosures()]
        assert (auto.rounds, auto.max_leaves) == (named.rounds, named.max_leaves)


@pytest.mark.parametrize(
    ("epsilon", "score", "cells_per_unit"),
    [
        ("0.1", "max", Fraction(1, 3)),
        ("0.5", "max", Fraction(1, 3)),
        ("0.51", "max", 1),
        ("0.1", "tv-gain", Fraction(1, 2)),
        ("0.49", "balanced-gain", Fraction(1, 2)),
        ("0.5", "balanced-gain", 1),
        ("1", "tv-gain", 1),
    ],
)
def test_the_table_is_sized_by_the_expected_records_and_the_leaves_noise(epsilon, score, cells_per_unit) -> None:
    changes = {"mechanism.score": score, "privacy.epsilon": Decimal(epsilon), "records.expected": 30_000}
    leaf_epsilon = Fraction(epsilon) * Fraction(6, 10)
    assert planned(**changes).max_leaves == int(30_000 * leaf_epsilon * cells_per_unit) // 2
    halved = planned(**changes, **{"privacy.neighbors": "replace"})
    assert halved.max_leaves == int(30_000 * leaf_epsilon / 2 * cells_per_unit) // 2
