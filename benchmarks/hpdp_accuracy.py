"""How often a classifier that was trained on an hpdp release of Adult is right on real test records.

    make hpdp-accuracy ADULT=folder-with-adult.data-and-adult.test

Prints one row per noise, epsilon and way to spread the records over the owners: accuracy of logistic regression trained
on the synthetic records and tested on Adult's official test records (mean and standard error over the runs), beside
training on the real records and the trivial baseline. The class share alone gives 0.754. Columns are Adult's without
`education`, which `education-num` says as well, and with `native-country` as United-States or other: 49 coordinates.
Calibrated to add/remove. Releases are simulated on the ideal engine, which gives the same ones as the secure one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.evaluation.baseline import BASELINE, ClassTables
from copublish.evaluation.classification import accuracy
from copublish_reproduction import datasets

CLASS = datasets.COLUMNS["adult"][-1]
DELTA = "1e-6"
TARGETS = {
    ("laplace", "0.1"): 0.75,
    ("laplace", "0.5"): 0.80,
    ("laplace", "1"): 0.81,
    ("gaussian", "0.1"): 0.79,
    ("gaussian", "0.5"): 0.81,
    ("gaussian", "1"): 0.82,
}
"""Mean accuracy of 10 runs, at least."""

HOME, ELSEWHERE = "United-States", "other"


def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return training and test records without missing values, with the columns that are released."""
    found = datasets.load_dataset("adult", folder)
    train, test = (frame.drop(columns="education").copy() for frame in (found.train, found.test))
    for frame in (train, test):
        frame["native-country"] = np.where(frame["native-country"] == HOME, HOME, ELSEWHERE)
    return train, test


def attributes_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the public schema: bounds from what the columns mean, values from the code book."""
    code_book = datasets.agreement_for("adult", folder, "1", expected=30_000).attributes
    found: dict[str, dict[str, Any]] = {}
    for name in datasets.COLUMNS["adult"][:-1]:
        if name in datasets.NUMERICAL["adult"]:
            found[name] = {"kind": "numerical", **datasets.NUMERICAL["adult"][name]}
        elif name == "native-country":
            found[name] = {"kind": "categorical", "values": [HOME, ELSEWHERE]}
        elif name != "education":
            found[name] = {"kind": "categorical", "values": list(code_book[name].tree.leaves())}
    return found


def agreement_for(
    attributes: dict[str, Any],
    n: int,
    epsilon: str,
    noise: str = "laplace",
    owners: int = 2,
    label: tuple[str, tuple[str, ...]] = (CLASS, datasets.CLASSES["adult"]),
) -> cp.Agreement:
    """Return the agreement between some owners of whole rows; the label is the class and its values."""
    privacy: dict[str, Any] = {"epsilon": epsilon} | ({"delta": DELTA} if noise == "gaussian" else {})
    mapping: dict[str, Any] = {
        "format": 1,
        "name": "accuracy",
        "dataset": "accuracy",
        "partition": "horizontal",
        "parties": {f"p{number}": {} for number in range(owners)},
        "records": {"expected": n},
        "class": {"name": label[0], "values": list(label[1])},
        "attributes": attributes,
        "privacy": privacy,
        "mechanism": {"name": "hpdp", "noise": noise},
    }
    return cp.agreement_from_mapping(mapping)


def spread(table: pd.DataFrame, owners: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Return each owner's records, at random; or, for 0 owners, one owner for each marital status."""
    if owners == 0:
        return {f"p{i}": part for i, (_, part) in enumerate(table.groupby("marital-status"))}
    owner = np.random.default_rng(seed).integers(owners, size=len(table))
    return {f"p{number}": table[owner == number] for number in range(owners)}


def measure(folder: Path, noise: str, epsilon: str, owners: int, runs: int) -> dict[str, Any]:
    """Return mean accuracy over some releases; 0 owners: one for each marital status."""
    train, test = read(folder)
    data = spread(train, owners)
    agreement = agreement_for(attributes_of(folder), len(train), epsilon, noise, len(data))
    found = [
        accuracy(cp.simulate(agreement, data).to_pandas(), test, CLASS, "logistic-regression") for _ in range(runs)
    ]
    return {
        "noise": noise,
        "epsilon": epsilon,
        "owners": owners or "one for each marital status",
        "accuracy": float(np.mean(found)),
        "standard_error": float(np.std(found, ddof=1) / np.sqrt(runs)) if runs > 1 else None,
        "worst": min(found),
        "target": TARGETS.get((noise, epsilon)),
    }


def measure_baseline(folder: Path, noise: str, epsilon: str, runs: int) -> dict[str, Any]:
    """Return mean accuracy over some draws of the trivial baseline, with the same budget and noise."""
    train, test = read(folder)
    tables = ClassTables.beside(agreement_for(attributes_of(folder), len(train), epsilon, noise))
    drawn = [tables.draw(train, np.random.default_rng(run)) for run in range(runs)]
    found = [accuracy(one, test, CLASS, "logistic-regression") for one in drawn]
    return {
        "noise": noise,
        "epsilon": epsilon,
        "owners": BASELINE,
        "accuracy": float(np.mean(found)),
        "standard_error": float(np.std(found, ddof=1) / np.sqrt(runs)) if runs > 1 else None,
        "worst": min(found),
        "target": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.data and adult.test")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--owners", nargs="+", type=int, default=[2, 5, 10, 0], help="0: one for each marital status")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args()
    train, test = read(given.data)
    real = accuracy(train, test, CLASS, "logistic-regression")
    rows = []
    if given.format == "text":
        print(f"trained on real records: {real:.4f}; mean of {given.runs} runs, standard error in brackets")
        print(f"{'noise':>9} {'epsilon':>8} {'owners':>28} {'accuracy':>16} {'worst':>7} {'target':>7}")
    for noise in given.noise:
        for epsilon in given.epsilon:
            for owners in (*given.owners, BASELINE):
                if owners == BASELINE:
                    row = measure_baseline(given.data, noise, epsilon, given.runs)
                else:
                    row = measure(given.data, noise, epsilon, owners, given.runs)
                rows.append(row)
                if given.format == "text":
                    shown = f"{row['accuracy']:.4f} ({row['standard_error'] or 0:.4f})"
                    print(
                        f"{noise:>9} {epsilon:>8} {row['owners']!s:>28} {shown:>16} {row['worst']:7.4f} "
                        f"{row['target'] or '-':>7}",
                        flush=True,
                    )
    if given.format == "json":
        print(json.dumps({"runs": given.runs, "real": real, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
