"""Classification accuracy of Adult and Nursery releases: train on the release, test on generalized test records.

    make accuracy ADULT=folder-with-adult.data-and-nursery.data

Prints one row per data set, score and epsilon: mean and standard error over the runs, beside the raw baseline (BA: the
same kind of tree on the raw training data), the majority class (LA) and, as the score "trivial", the trivial baseline:
a tree on records drawn from noisy tables of every column by the class. Adult has its official split, Nursery another
random one for each run. Releases are simulated on the ideal engine, which gives the same releases as the secure one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import adult
import copublish as cp
import nursery
from copublish.agreement.columns import COUNT
from copublish.evaluation.baseline import ClassTables
from copublish.local.simulation import read_fragments, simulate_fragments
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.privacy.coins import Coins
from copublish.release.folder import generalization_of

SCORES = ("max", "tv-gain", "auto")
SPECIALIZATIONS = 14
"""More than the size rule allows at these budgets, so that the rule decides."""

TARGETS = {
    "adult": {"0.1": 0.808, "0.5": 0.820, "1": 0.830},
    "nursery": {"0.1": 0.82, "0.5": 0.84, "1": 0.89},
}
"""What `auto` must reach, mean of 20 runs."""


@dataclass(frozen=True)
class DataSet:
    """How one data set is read, agreed on and split between the parties.

    Attributes:
        read: Training and test records from a folder and the number of a run.
        agreement: The agreement from a folder, epsilon and a score.
        split: Every party's columns of the training records.
        numerical: The attributes that are numbers.
    """

    read: Callable[[Path, int], tuple[pd.DataFrame, pd.DataFrame]]
    agreement: Callable[[Path, str, str], cp.Agreement]
    split: Callable[[pd.DataFrame], dict[str, pd.DataFrame]]
    numerical: tuple[str, ...]


@cache
def _adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return adult.read_adult(folder)


DATA_SETS = {
    "adult": DataSet(
        lambda folder, run: _adult(folder),
        lambda folder, epsilon, score: adult.adult_agreement(
            folder, epsilon, n=30_000, score=score, specializations=SPECIALIZATIONS
        ),
        adult.split_columns,
        tuple(adult.NUMERICAL),
    ),
    "nursery": DataSet(
        nursery.read_nursery,
        lambda folder, epsilon, score: nursery.nursery_agreement(
            folder, epsilon, score=score, specializations=SPECIALIZATIONS
        ),
        nursery.split_columns,
        (),
    ),
}


def new_tree() -> DecisionTreeClassifier:
    """Tiny leaves would fit noise: a leaf holds at least 0.2 % of the records."""
    return DecisionTreeClassifier(min_weight_fraction_leaf=0.002, random_state=0)


def accuracy(release: cp.Release, test: pd.DataFrame) -> float:
    """Train a tree on the release's counts and score it on the generalized test set."""
    counts, cut = release.to_pandas("counts"), generalization_of(release, "no tree can be tested on it")
    generalized = cp.generalize(release, test).to_pandas()
    names, label, labels = list(cut.attributes), cut.class_.name, cut.labels()
    encoder = OrdinalEncoder(categories=[list(labels[name]) for name in names]).fit(generalized[names])
    tree = new_tree().fit(
        encoder.transform(counts[names].astype(object)),
        counts[label].astype(str),
        sample_weight=counts[COUNT],
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
    return {"BA": raw_accuracy(data_set, agreement, train, test), "LA": largest}


def trivial_row(name: str, folder: Path, epsilon: str, runs: int) -> dict[str, Any]:
    """Return the accuracy of the trivial baseline: a tree on records drawn from noisy tables by the class."""
    data_set, reached = DATA_SETS[name], []
    agreement = data_set.agreement(folder, epsilon, "max")
    for run in range(runs):
        train, test = data_set.read(folder, run)
        drawn = ClassTables.beside(agreement).draw(train, np.random.default_rng(run))
        reached.append(raw_accuracy(data_set, agreement, drawn, test))
    return {
        "score": "trivial",
        "used": "class tables",
        "epsilon": epsilon,
        "accuracy": float(np.mean(reached)),
        "standard_error": float(np.std(reached, ddof=1) / np.sqrt(runs)) if runs > 1 else None,
        "median_cells": ClassTables.beside(agreement).tables.entries,
        "target": None,
    }


def measure(
    name: str, folder: Path, epsilon: str, score: str, run: int, coins: Mapping[str, Coins] | None = None
) -> tuple[float, cp.Release]:
    """Return the accuracy of one release and the release."""
    data_set = DATA_SETS[name]
    train, test = data_set.read(folder, run)
    agreement = data_set.agreement(folder, epsilon, score)
    fragments = read_fragments(agreement, data_set.split(train))
    release = simulate_fragments(agreement, fragments, coins)
    return accuracy(release, test), release


def table(name: str, folder: Path, epsilons: list[str], scores: list[str], runs: int) -> dict[str, Any]:
    """Return mean accuracies and standard errors of one data set."""
    data_set, rows = DATA_SETS[name], []
    for score in scores:
        for epsilon in epsilons:
            found = [measure(name, folder, epsilon, score, run) for run in range(runs)]
            reached = [value for value, _ in found]
            used = SpecializationPlan.of(data_set.agreement(folder, epsilon, score)).score
            rows.append(
                {
                    "score": score,
                    "used": used,
                    "epsilon": epsilon,
                    "accuracy": float(np.mean(reached)),
                    "standard_error": float(np.std(reached, ddof=1) / np.sqrt(runs)) if runs > 1 else None,
                    "median_cells": int(np.median([release.table("counts").num_rows for _, release in found])),
                    "target": TARGETS[name].get(epsilon) if score == "auto" else None,
                }
            )
    rows += [trivial_row(name, folder, epsilon, runs) for epsilon in epsilons]
    train, test = data_set.read(folder, 0)
    agreement = data_set.agreement(folder, epsilons[0], "max")
    return {"records": [len(train), len(test)], **baselines(data_set, agreement, train, test), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.*, nursery.data, taxonomies/")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--scores", nargs="*", default=list(SCORES), help="none: the trivial baseline alone")
    parser.add_argument("--data-sets", nargs="+", choices=list(DATA_SETS), default=list(DATA_SETS))
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args()
    results = {}
    for name in given.data_sets:
        results[name] = table(name, given.data, given.epsilon, given.scores, given.runs)
        if given.format == "text":
            _print(name, results[name], given.runs)
    if given.format == "json":
        print(json.dumps({"runs": given.runs, **results}, indent=2))


def _print(name: str, result: dict[str, Any], runs: int) -> None:
    train, test = result["records"]
    print(f"{name}: {train:,} training and {test:,} test records, mean of {runs} runs")
    print(f"raw data (BA) {result['BA']:.4f}, majority class (LA) {result['LA']:.4f}")
    print(f"{'score':>8} {'used':>14} {'epsilon':>8} {'accuracy':>9} {'std.err.':>9} {'cells':>6} {'target':>7}")
    for row in result["rows"]:
        error = "" if row["standard_error"] is None else f"{row['standard_error']:.4f}"
        target = "" if row["target"] is None else f"{row['target']:.3f}"
        print(
            f"{row['score']:>8} {row['used']:>14} {row['epsilon']:>8} {row['accuracy']:9.4f} {error:>9} "
            f"{row['median_cells']:6} {target:>7}"
        )
    print(flush=True)


if __name__ == "__main__":
    main()
