"""Information gain and widest range beside the scores of specialization: accuracy on Adult and Nursery.

    make benchmark-scores ADULT=folder-with-adult.data-and-nursery.data

DistDiffGen names these scores. Rounds, budgets and cells are those of `balanced-gain`, but for `max`. A score differs
in what it says of a split and in its range, in bits or people, which the noise of a selection goes in proportion to:

- information gain of all records, n H(parent) - sum n_c H(child). One more record changes n H by log2(n + 1) + 1/ln 2
  at most, so the range is at most twice that. n has to be bounded in public: twice the expected records are taken.
- information gain per record, as it is published. One more record in a part of one moves it from 0 to 1 with two
  classes, so the range is at least log2 of the number of classes, and that is taken.
- widest range: the part that holds most of its domain, at its middle. It asks no record and costs nothing; all of
  epsilon goes to the counts. (The range of the values that occur would move by all of it with one record.)
- any: each split with the same probability.

Selections add geometric noise to whole 64ths, and counts discrete Laplace noise, from a seeded generator. Mean and
standard error over the runs. Numbers of Adult have the grid made by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from accuracy import SPECIALIZATIONS, new_tree
from copublish.mechanisms.shared.post_processing import consistent_counts, consistent_counts_by_class
from copublish.mechanisms.specialization.cut import Candidates, Cut
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.mechanisms.specialization.score import MAX, POINTS_PER_PERSON, balanced_gain
from copublish.mechanisms.specialization.score_programs import range_counts
from copublish.types import FloatArray, IntArray
from copublish_reproduction.datasets import CLASSES, DatasetName, agreement_for, load_dataset
from copublish_reproduction.trivial import CodedTable, coded_table
from measuring import Measuring, Row, needed, run, with_error

SHORT = ("--data", "made-up", "--runs", "2", "--epsilon", "1")
DATA_SETS: tuple[DatasetName, ...] = ("adult", "nursery")


def bits(counts: IntArray) -> FloatArray:
    """n H for counts by class along the last axis: n times the bits that tell the class of a record."""
    numbers = counts.astype(np.float64)
    totals = numbers.sum(axis=-1)
    logs = np.log2(np.maximum(numbers, 1))
    return totals * np.log2(np.maximum(totals, 1)) - (numbers * logs).sum(axis=-1)


def information_gain(children: IntArray) -> FloatArray:
    """n H of the parent minus that of its children."""
    return bits(children.sum(axis=1)) - bits(children).sum(axis=1)


def information_gain_per_record(children: IntArray) -> FloatArray:
    """The same for each record of the parent; 0 where there is none."""
    return information_gain(children) / np.maximum(children.sum(axis=(1, 2)), 1)


def range_of_information_gain(records: int) -> float:
    """The range of `information_gain` in bits for a table of so many records at most, one of which is added."""
    return 2 * (np.log2(records + 1) + 1 / np.log(2))


def width(candidates: Sequence[Candidates], cut: Cut) -> FloatArray:
    """The share of its domain that a part holds; of its splits the most even one is a little better."""
    found = []
    for group in candidates:
        share = (group.part[1] - group.part[0]) / cut.domains[group.attribute].size
        found += [share - 1e-6 * max(stop - start for start, stop in split) for split in group.splits]
    return np.array(found)


def child_counts(table: dict[str, IntArray], candidates: Sequence[Candidates]) -> IntArray:
    """The class counts of the children of all splits, padded with empty children."""
    most = max(len(split) for group in candidates for split in group.splits)
    found = []
    for group in candidates:
        ranges = np.array([[*split, *[(0, 0)] * (most - len(split))] for split in group.splits])
        found.append(range_counts(np, table[group.attribute], ranges[..., 0], ranges[..., 1]))
    return np.concatenate(found)


def one_sided(generator: np.random.Generator, scale: float, size: int) -> IntArray:
    """Geometric noise."""
    return generator.geometric(-np.expm1(-1 / scale), size) - 1


def two_sided(generator: np.random.Generator, scale: float, size: tuple[int, ...]) -> IntArray:
    """Discrete Laplace noise."""
    stop = -np.expm1(-1 / scale)
    return generator.geometric(stop, size) - generator.geometric(stop, size)


def accuracy_of(table: CodedTable, name: str, epsilon: str, generator: np.random.Generator) -> tuple[float, float]:
    """Release once by a score; return the accuracy of a tree on it and the range of the score."""
    data, n_classes = table.dataset, len(CLASSES[table.dataset.name])
    score = "max" if name == "max" else "balanced-gain"
    agreement = agreement_for(
        data.name, data.folder, epsilon, mechanism={"specializations": SPECIALIZATIONS, "score": score}
    )
    plan, domains = SpecializationPlan.of(agreement), agreement.domains
    tables = {
        column: np.bincount(table.train[:, place] * n_classes + table.classes, minlength=domain.size * n_classes)
        for place, (column, domain) in enumerate(domains.items())
    }
    tables = {column: counts.reshape(-1, n_classes) for column, counts in tables.items()}
    classes = np.bincount(table.classes, minlength=n_classes)
    range_ = {
        "max": 1.0,
        "balanced-gain": 2.0,
        "information gain": range_of_information_gain(2 * agreement.records.expected),
        "information gain per record": float(np.log2(n_classes)),
        "widest range": 0.0,
        "any": 0.0,
    }[name]
    per_selection = float(plan.epsilon_per_selection)
    weights = balanced_gain(classes + two_sided(generator, 1 / float(plan.epsilon_for_classes or 1), (n_classes,)))

    def scores(candidates: Sequence[Candidates], cut: Cut) -> FloatArray:
        if name == "widest range":
            return width(candidates, cut)
        children = child_counts(tables, candidates)
        points = {
            "max": lambda: MAX.of(children),
            "balanced-gain": lambda: weights.of(children) / POINTS_PER_PERSON,
            "information gain": lambda: information_gain(children),
            "information gain per record": lambda: information_gain_per_record(children),
            "any": lambda: np.zeros(len(children)),
        }[name]()
        scale = POINTS_PER_PERSON * range_ / per_selection
        noise = one_sided(generator, scale, len(children)) if range_ else generator.random(len(children))
        return np.rint(POINTS_PER_PERSON * points) + noise

    cut = Cut.top(domains)
    for _ in range(plan.rounds):
        if not (candidates := cut.candidates(plan.max_leaves)):
            break
        cut = cut.specialize(candidates, int(np.argmax(scores(candidates, cut))))
    spent = 0.0 if name == "widest range" else float(plan.epsilon_for_classes) + plan.rounds * per_selection
    return _accuracy(table, cut, 1 / (float(plan.epsilon) - spent), name == "max", generator), range_


def _accuracy(table: CodedTable, cut: Cut, scale: float, is_max: bool, generator: np.random.Generator) -> float:
    """The accuracy of a tree on noisy counts of the leaves, on generalized test records."""
    shape, n_classes = [len(parts) for parts in cut.parts.values()], len(CLASSES[table.dataset.name])
    parts = [cut.part_of_code(name) for name in cut.domains]
    leaves = np.ravel_multi_index([part[table.train[:, i]] for i, part in enumerate(parts)], shape)
    counts = np.bincount(leaves * n_classes + table.classes, minlength=int(np.prod(shape)) * n_classes)
    noisy = (counts + two_sided(generator, scale, counts.shape)).reshape(-1, n_classes)
    total = max(0, int(noisy.sum()))
    consistent = consistent_counts(noisy.ravel(), total) if is_max else consistent_counts_by_class(noisy, total)
    cells = np.stack(np.unravel_index(np.repeat(np.arange(len(noisy)), n_classes), shape), axis=1)
    labels = np.tile(np.array(CLASSES[table.dataset.name]), len(noisy))
    tree = new_tree().fit(cells, labels, sample_weight=consistent.ravel())
    test = np.stack([part[table.test[name].to_numpy()] for part, name in zip(parts, cut.domains, strict=True)], axis=1)
    return float(tree.score(test, table.test[table.dataset.class_name].astype(str)))


SCORES = ("max", "balanced-gain", "information gain", "information gain per record", "widest range", "any")


@cache
def _coded(name: DatasetName, folder: Path, seed: int) -> CodedTable:
    return coded_table(load_dataset(name, folder, seed))


def rows_of(name: DatasetName, folder: Path, epsilons: Sequence[str], runs: int) -> Iterator[Row]:
    """Mean accuracies and standard errors of one data set."""
    for score in SCORES:
        for epsilon in epsilons:
            reached = []
            for number in range(runs):
                table = _coded(name, folder, number if name == "nursery" else 0)
                accuracy, range_ = accuracy_of(table, score, epsilon, np.random.default_rng([number, 16]))
                reached.append(accuracy)
            yield {"score": score, "epsilon": epsilon, **with_error("accuracy", reached), "range": range_}


OPTIONAL = ("range",)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])


def measure(given: argparse.Namespace) -> Measuring:
    for name in DATA_SETS:
        for row in rows_of(name, needed(given), given.epsilon, given.runs):
            yield f"{name.capitalize()}, mean of {given.runs} runs", row


if __name__ == "__main__":
    run(sys.modules[__name__])
