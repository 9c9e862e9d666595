"""How far one person moves the scores of a round: exhaustive neighbors on a domain of 4 x 3 x 3.

Expected scores come from a naive Max: count records one by one, child by child.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from copublish.kernel.accounting.disclosures import HISTOGRAM_L1
from copublish.mechanisms.specialization.cut import Candidates, Cut, max_candidates
from copublish.mechanisms.specialization.score import MAX_SCORE_RANGE
from copublish.mechanisms.specialization.score_programs import max_scores, range_counts
from support.records import (
    NAMES,
    PARTITIONS,
    ROUNDS,
    SIZES,
    Record,
    added,
    agreement_with,
    all_records,
    cuts,
    engine_scores,
    padded,
    random_records,
    replaced,
)


def naive_max(records: Sequence[Record], groups: Sequence[Candidates], classes: int) -> list[int]:
    scores = []
    for group in groups:
        position = NAMES.index(group.attribute)
        for split in group.splits:
            score = 0
            for first, past in split:
                inside = [record for record in records if first <= record[position] < past]
                score += max(sum(record[3] == value for record in inside) for value in range(classes))
            scores.append(score)
    return scores


def program_max(records: Sequence[Record], groups: Sequence[Candidates], classes: int) -> list[int]:
    """The secure programs, on NumPy; splits with fewer children than others have empty ones besides."""
    children = []
    most = max((len(split) for group in groups for split in group.splits), default=1)
    for group in groups:
        position = NAMES.index(group.attribute)
        table = np.zeros((SIZES[position], classes), dtype=np.int64)
        for record in records:
            table[record[position], record[3]] += 1
        starts = np.array([[*(a for a, _ in split), *[0] * (most - len(split))] for split in group.splits])
        stops = np.array([[*(b for _, b in split), *[0] * (most - len(split))] for split in group.splits])
        children.append(range_counts(np, table, starts, stops))
    return max_scores(np, np.concatenate(children)).tolist()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("partition", "parties", "class_holder"),
    PARTITIONS,
)
def test_scores_of_the_engine_are_max_for_any_partition_and_never_win_elsewhere(
    partition: str, parties: int, class_holder: str | None, classes: int
) -> None:
    agreement = agreement_with(classes, partition, parties, class_holder)
    generator = np.random.default_rng(1)
    lengths = set()
    for n in (0, 1, 7, 30):
        records = random_records(classes, n, generator)
        for cut in cuts(agreement):
            groups = cut.candidates(1000)
            expected = naive_max(records, groups, classes)
            assert engine_scores(agreement, records, groups) == padded(expected, agreement)
            lengths.add(len(expected))
    most = max_candidates(agreement.domains, ROUNDS)
    assert max(lengths) <= most
    assert min(lengths) < most  # there were places without a candidate


@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("shape", [(0,), (7,), (4, 3), (2, 0), (2, 3, 2)])
def test_counts_of_ranges_of_any_shape_are_what_a_loop_counts_and_empty_ones_are_zero(shape, classes) -> None:
    generator = np.random.default_rng(6)
    table = generator.integers(0, 100, (6, classes))
    starts = generator.integers(0, 7, shape)
    stops = np.minimum(starts + generator.integers(0, 4, shape), 6).clip(starts)
    counts = range_counts(np, table, starts, stops)
    assert counts.shape == (*shape, classes)
    for place in np.ndindex(*shape):
        codes = range(int(starts[place]), int(stops[place]))
        assert counts[place].tolist() == [sum(int(table[code, value]) for code in codes) for value in range(classes)]


@pytest.mark.parametrize("classes", [1, 2, 3, 5])
def test_max_is_the_sum_over_children_of_the_largest_class_and_empty_children_add_nothing(classes: int) -> None:
    counts = np.random.default_rng(7).integers(0, 100, (20, 3, classes))
    naive = [sum(max(child) for child in candidate) for candidate in counts.tolist()]
    assert max_scores(np, counts).tolist() == naive
    empty = np.zeros((20, 4, classes), dtype=np.int64)
    assert max_scores(np, np.concatenate([counts, empty], axis=1)).tolist() == naive


def test_the_candidates_include_thresholds_and_splits_into_two_and_three() -> None:
    groups = Cut.top(agreement_with(2).domains).candidates(1000)
    assert [(group.attribute, len(split)) for group in groups for split in group.splits] == [
        ("tree", 2),
        ("flat", 3),
        ("number", 2),
        ("number", 2),
    ]


RELATIONS = [("add-remove", added, {0, 1}), ("replace", replaced, {-1, 0, 1})]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("relation", "neighbors", "allowed"), RELATIONS, ids=["add-remove", "replace"])
def test_one_person_moves_every_score_by_at_most_one_and_the_scores_of_a_round_by_the_stated_range(
    relation, neighbors, allowed, classes
) -> None:
    agreement = agreement_with(classes)
    generator = np.random.default_rng(2)
    changes_seen, ranges_seen = set(), set()
    for n in (0, 1, 3, 6) if relation == "add-remove" else (1, 3, 6):
        records = random_records(classes, n, generator)
        for cut in cuts(agreement):
            groups = cut.candidates(1000)
            before = naive_max(records, groups, classes)
            assert program_max(records, groups, classes) == before
            for neighbor in neighbors(records, classes):
                after = program_max(neighbor, groups, classes)
                changes = [a - b for a, b in zip(after, before, strict=True)]
                changes_seen.update(changes)
                ranges_seen.add(max(changes) - min(changes))
    assert changes_seen == allowed
    assert max(ranges_seen) == MAX_SCORE_RANGE[relation]  # never above, and attained


@pytest.mark.parametrize("classes", [2, 3])
def test_programs_and_naive_max_agree_on_every_neighbor(classes: int) -> None:
    agreement = agreement_with(classes)
    records = random_records(classes, 6, np.random.default_rng(3))
    for neighbor in itertools.chain(added(records, classes), replaced(records, classes)):
        groups = Cut.top(agreement.domains).candidates(1000)
        assert program_max(neighbor, groups, classes) == naive_max(neighbor, groups, classes)


def test_another_score_with_a_larger_range_would_be_noticed() -> None:
    """The difference of two classes, summed over children, rises for one candidate while it falls for another."""
    groups = Cut.top(agreement_with(2).domains).candidates(1000)

    def difference(records: list[Record]) -> list[int]:
        # With two classes |a - b| = 2 max(a, b) - (a + b), and the children of a split hold all records.
        return [2 * score - len(records) for score in naive_max(records, groups, 2)]

    records = random_records(2, 6, np.random.default_rng(4))
    ranges = set()
    for neighbor in added(records, 2):
        changes = [a - b for a, b in zip(difference(neighbor), difference(records), strict=True)]
        ranges.add(max(changes) - min(changes))
    assert max(ranges) > MAX_SCORE_RANGE["add-remove"]


@pytest.mark.parametrize(("relation", "neighbors", "_"), RELATIONS, ids=["add-remove", "replace"])
def test_one_person_moves_the_finest_counts_by_the_stated_l1_norm(relation, neighbors, _) -> None:
    records = random_records(2, 5, np.random.default_rng(5))

    def histogram(found: list[Record]) -> list[int]:
        return [found.count(record) for record in all_records(2)]

    before = histogram(records)
    distances = {
        sum(abs(a - b) for a, b in zip(histogram(neighbor), before, strict=True)) for neighbor in neighbors(records, 2)
    }
    assert max(distances) == HISTOGRAM_L1[relation]
