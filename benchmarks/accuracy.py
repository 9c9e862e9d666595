"""Classification accuracy of Adult and Nursery releases: train on the release, test on generalized test records.

    make benchmark-accuracy ADULT=folder-with-adult.data-and-nursery.data

One row per data set, score and epsilon: mean and standard error over the runs, beside the raw baseline (BA: the
same kind of tree on the raw training data), the majority class (LA) and, as the score "trivial", the trivial baseline:
a tree on records drawn from noisy tables of every column by the class. Numbers of Adult have a grid made by hand for
this table, or one that everybody has who knows their bounds: 100 equal cells, `round = 20`, or bounds alone, of which
`specialization` makes a fine grid that it splits step by step, and the trivial baseline a round one. Adult has its
official split, Nursery another random one for each run. Releases are simulated on the ideal engine, which gives the
same releases as the secure one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import adult
import copublish as cp
import nursery
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.base import cells_of_table, counted_table, counts_of
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.folder import generalization_of
from copublish.tools.evaluation.baseline import ClassTables
from measuring import NOT_THERE, Measuring, Row, needed, public_guess, run, with_error

SCORES = ("max", "tv-gain", "auto")
SHORT = ("--data", "made-up", "--runs", "1", "--epsilon", "1")
SPECIALIZATIONS = 14
"""More than the size rule allows at these budgets, so that the rule decides."""

TARGETS = {
    "adult": {"0.1": 0.808, "0.5": 0.820, "1": 0.830},
    "adult, bounds alone": {"0.1": 0.81, "0.5": 0.83, "1": 0.834},
    "nursery": {"0.1": 0.82, "0.5": 0.84, "1": 0.89},
}
"""What `auto` shall reach, mean of 20 runs, within one standard error."""


@dataclass(frozen=True)
class DataSet:
    """How one data set is read, agreed on and split between the parties.

    Attributes:
        read: Training and test records from a folder and the number of a run.
        agreement: The agreement from a folder, epsilon and a score.
        split: Every party's columns of the training records.
        numerical: The attributes that are numbers.
        is_divided_anew: Whether every run has other training records.
    """

    read: Callable[[Path, int], tuple[pd.DataFrame, pd.DataFrame]]
    agreement: Callable[[Path, str, str], cp.Agreement]
    split: Callable[[pd.DataFrame], dict[str, pd.DataFrame]]
    numerical: tuple[str, ...]
    is_divided_anew: bool


@cache
def _adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return adult.read_adult(folder)


@cache
def _nursery(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return nursery.read_nursery(folder, 0)


def adult_with(grid: Mapping[str, int] | Literal["by hand"] | None) -> DataSet:
    """Adult with a grid for its numbers."""

    def agreement(folder: Path, epsilon: str, score: str) -> cp.Agreement:
        n = public_guess(len(_adult(folder)[0]))
        return adult.adult_agreement(folder, epsilon, n=n, score=score, specializations=SPECIALIZATIONS, grid=grid)

    return DataSet(lambda folder, run: _adult(folder), agreement, adult.split_columns, tuple(adult.NUMERICAL), False)


DATA_SETS = {
    "adult": adult_with("by hand"),
    "adult, 100 equal cells": adult_with({"count": 100}),
    "adult, round = 20": adult_with({"round": 20}),
    "adult, bounds alone": adult_with(None),
    "nursery": DataSet(
        nursery.read_nursery,
        lambda folder, epsilon, score: nursery.nursery_agreement(
            folder, epsilon, n=public_guess(len(_nursery(folder)[0])), score=score, specializations=SPECIALIZATIONS
        ),
        nursery.split_columns,
        (),
        True,
    ),
}


def new_tree() -> DecisionTreeClassifier:
    """Tiny leaves would fit noise: a leaf holds at least 0.2 % of the records."""
    return DecisionTreeClassifier(min_weight_fraction_leaf=0.002, random_state=0)


def accuracy(release: cp.Release, test: pd.DataFrame) -> float:
    """Train a tree on the release's counts and score it on the generalized test set."""
    cells = cells_of_table(release.published, counted_table(release.published)).to_pandas()
    cut = generalization_of(release, "no tree can be tested on it")
    generalized = cp.generalize(release, test).to_pandas()
    names, label, labels = list(cut.runs), cut.columns.class_name, cut.labels()
    encoder = OrdinalEncoder(categories=[list(labels[name]) for name in names]).fit(generalized[names])
    tree = new_tree().fit(
        encoder.transform(cells[names].astype(object)),
        cells[label].astype(str),
        sample_weight=counts_of(release.published),
    )
    return float(tree.score(encoder.transform(generalized[names]), generalized[label]))


def raw_accuracy(data_set: DataSet, agreement: cp.Agreement, train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Train the same kind of tree on records and score it on the test set as it is."""
    label = agreement.class_.name
    names = [name for name in agreement.attributes if name not in data_set.numerical]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(train[names])
    numbers = list(data_set.numerical)
    both = [np.hstack([encoder.transform(frame[names]), frame[numbers].to_numpy()]) for frame in (train, test)]
    return float(new_tree().fit(both[0], train[label]).score(both[1], test[label]))


def baselines(data_set: DataSet, agreement: cp.Agreement, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Accuracy of the same kind of tree on the raw data (BA) and of the majority class (LA)."""
    label = agreement.class_.name
    largest = float((test[label] == train[label].mode()[0]).mean())
    return {"raw data (BA)": raw_accuracy(data_set, agreement, train, test), "majority class (LA)": largest}


def trivial_row(name: str, folder: Path, epsilon: str, runs: int) -> Row:
    """The accuracy of the trivial baseline: a tree on records drawn from noisy tables by the class."""
    data_set, reached = DATA_SETS[name], []
    agreement = data_set.agreement(folder, epsilon, "max")
    for number in range(runs):
        train, test = data_set.read(folder, number)
        drawn = ClassTables.beside(agreement).draw(train, np.random.default_rng(number))
        reached.append(raw_accuracy(data_set, agreement, drawn, test))
    return {
        "score": "trivial: class tables",
        "epsilon": epsilon,
        **with_error("accuracy", reached),
        "cells, median": ClassTables.beside(agreement).tables.entries,
        "at least": NOT_THERE,
    }


@lru_cache(1)
def _fragments(name: str, folder: Path, epsilon: str, score: str, run: int) -> dict[str, Fragment]:
    """What the parties read of the training records of a run."""
    data_set = DATA_SETS[name]
    return read_fragments(data_set.agreement(folder, epsilon, score), data_set.split(data_set.read(folder, run)[0]))


def measure_release(
    name: str, folder: Path, epsilon: str, score: str, run: int, coins: Mapping[str, Coins] | None = None
) -> tuple[float, cp.Release]:
    """Return the accuracy of one release and the release."""
    data_set = DATA_SETS[name]
    _, test = data_set.read(folder, run)
    agreement = data_set.agreement(folder, epsilon, score)
    fragments = _fragments(name, folder, epsilon, score, run if data_set.is_divided_anew else 0)
    release = simulate_fragments(agreement, fragments, coins)
    return accuracy(release, test), release


def rows_of(name: str, folder: Path, epsilons: list[str], scores: list[str], runs: int) -> Iterator[Row]:
    """Mean accuracies and standard errors of one data set."""
    data_set = DATA_SETS[name]
    train, test = data_set.read(folder, 0)
    for what, reached in baselines(data_set, data_set.agreement(folder, epsilons[0], "max"), train, test).items():
        absent: Row = {"accuracy, ±": NOT_THERE, "cells, median": NOT_THERE, "at least": NOT_THERE}
        yield {"score": what, "epsilon": NOT_THERE, "accuracy": reached, **absent}
    for score in scores:
        for epsilon in epsilons:
            found = [measure_release(name, folder, epsilon, score, number) for number in range(runs)]
            used = SpecializationPlan.of(data_set.agreement(folder, epsilon, score)).score
            yield {
                "score": score if score == used else f"{score}: {used}",
                "epsilon": epsilon,
                **with_error("accuracy", [value for value, _ in found]),
                "cells, median": int(np.median([counted_table(release.published).values.size for _, release in found])),
                "at least": TARGETS.get(name, {}).get(epsilon, NOT_THERE) if score == "auto" else NOT_THERE,
            }
    for epsilon in epsilons:
        yield trivial_row(name, folder, epsilon, runs)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--scores", nargs="*", default=list(SCORES), help="none: the trivial baseline alone")
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=list(DATA_SETS))


def measure(given: argparse.Namespace) -> Measuring:
    for name in given.data_sets:
        for row in rows_of(name, needed(given), given.epsilon, given.scores, given.runs):
            yield f"{name.capitalize()}, mean of {given.runs} runs", row


if __name__ == "__main__":
    run(sys.modules[__name__])
