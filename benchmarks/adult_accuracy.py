"""Classification accuracy of Adult releases: train on the release, test on the generalized official test set.

    make accuracy ADULT=folder-with-adult.data

Prints one row per epsilon: mean and standard error over the runs, beside the raw baseline (BA: the same kind of
tree on the raw training data) and the majority class (LA). Releases are simulated on the ideal engine, which
gives the same releases as the secure one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import copublish as cp
from adult import ATTRIBUTES, CLASS, NUMERICAL, adult_agreement, read_adult, split_columns
from copublish.engine import Room
from copublish.simulation import read_fragments, run_room, throwaway_ledger

TARGETS = {"0.1": 0.795, "0.5": 0.810, "1": 0.815}
"""What a release must reach, mean of 10 runs."""


def new_tree() -> DecisionTreeClassifier:
    """Tiny leaves would fit noise: a leaf holds at least 0.2 % of the records."""
    return DecisionTreeClassifier(min_weight_fraction_leaf=0.002, random_state=0)


def accuracy(release: cp.Release, test: pd.DataFrame) -> float:
    """Train a tree on the release's counts and score it on the generalized test set."""
    counts = release.to_pandas("counts")
    generalized = cp.generalize(release.cut, test).to_pandas()
    categories = [[value["label"] for value in release.cut["attributes"][name]["values"]] for name in ATTRIBUTES]
    encoder = OrdinalEncoder(categories=categories).fit(generalized[ATTRIBUTES])
    tree = new_tree().fit(
        encoder.transform(counts[ATTRIBUTES].astype(object)),
        counts[CLASS].astype(str),
        sample_weight=counts["count"],
    )
    return float(tree.score(encoder.transform(generalized[ATTRIBUTES]), generalized[CLASS]))


def baseline(train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Accuracy of the same kind of tree on the raw data."""
    names = [name for name in ATTRIBUTES if name not in NUMERICAL]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(train[names])
    both = [np.hstack([encoder.transform(frame[names]), frame[list(NUMERICAL)].to_numpy()]) for frame in (train, test)]
    return float(new_tree().fit(both[0], train[CLASS]).score(both[1], test[CLASS]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data, adult.test, taxonomies/")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=list(TARGETS))
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    train, test = read_adult(arguments.data)
    rows = []
    for epsilon in arguments.epsilon:
        agreement = adult_agreement(arguments.data, epsilon, n=30_000)
        fragments = read_fragments(agreement, split_columns(train))
        scores = []
        for _ in range(arguments.runs):
            ledgers = {party: throwaway_ledger(agreement) for party in agreement.parties}
            scores.append(accuracy(run_room(agreement, fragments, Room(agreement.party_names), ledgers), test))
        error = float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else float("nan")
        rows.append({"epsilon": epsilon, "accuracy": float(np.mean(scores)), "standard_error": error,
                     "target": TARGETS.get(epsilon)})  # fmt: skip
    majority = float((test[CLASS] == train[CLASS].mode()[0]).mean())
    result = {"runs": arguments.runs, "BA": baseline(train, test), "LA": majority, "rows": rows}
    if arguments.format == "json":
        print(json.dumps(result, indent=2))
        return
    print(f"Adult, {len(train):,} training and {len(test):,} test records, mean of {arguments.runs} runs")
    print(f"raw data (BA) {result['BA']:.4f}, majority class (LA) {result['LA']:.4f}")
    print(f"{'epsilon':>8} {'accuracy':>9} {'std.err.':>9} {'target':>7}")
    for row in rows:
        target = "" if row["target"] is None else f"{row['target']:.3f}"
        print(f"{row['epsilon']:>8} {row['accuracy']:9.4f} {row['standard_error']:9.4f} {target:>7}")


if __name__ == "__main__":
    main()
