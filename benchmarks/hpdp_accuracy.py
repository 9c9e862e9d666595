"""How often a classifier that was trained on an hpdp release of Adult is right on real test records.

    make benchmark-hpdp_accuracy ADULT=folder-with-adult.data-and-adult.test

One row per noise, epsilon and way to spread the records over the owners: accuracy of logistic regression trained
on the synthetic records and tested on Adult's official test records (mean and standard error over the runs), beside
training on the real records and the trivial baseline. The class share alone gives 0.754. Columns are Adult's without
`education`, which `education-num` says as well, and with `native-country` as United-States or other: 49 coordinates.
Calibrated to add/remove. Releases are simulated on the ideal engine, which gives the same ones as the secure one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.tools.evaluation.baseline import BASELINE, ClassTables
from copublish.tools.evaluation.classification import accuracy
from copublish_reproduction import datasets
from copublish_reproduction.first_values import with_first_values
from measuring import NOT_THERE, Measuring, Row, needed, run, with_error

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
SHORT = ("--data", "made-up", "--runs", "1", "--epsilon", "1", "--owners", "2")


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
        "attributes": with_first_values(attributes),
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


def rows_of(folder: Path, noise: str, epsilon: str, spreads: list[int], runs: int) -> Iterator[Row]:
    """Accuracies of releases of different owners and of the trivial baseline, with the same budget and noise."""
    train, test = read(folder)
    attributes = attributes_of(folder)

    def row(owners: str, drawn: Iterable[pd.DataFrame], target: float | str) -> Row:
        found = [accuracy(one, test, CLASS, "logistic-regression") for one in drawn]
        least: Row = {"worst": min(found), "at least": target}
        return {"noise": noise, "epsilon": epsilon, "owners": owners, **with_error("accuracy", found), **least}

    for owners in spreads:
        data = spread(train, owners)
        agreement = agreement_for(attributes, len(train), epsilon, noise, len(data))
        drawn = (cp.simulate(agreement, data).to_pandas() for _ in range(runs))
        words = str(owners) if owners else "one for each marital status"
        yield row(words, drawn, TARGETS.get((noise, epsilon), NOT_THERE))
    tables = ClassTables.beside(agreement_for(attributes, len(train), epsilon, noise))
    yield row(BASELINE, (tables.draw(train, np.random.default_rng(number)) for number in range(runs)), NOT_THERE)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--owners", nargs="+", type=int, default=[2, 5, 10, 0], help="0: one for each marital status")


def measure(given: argparse.Namespace) -> Measuring:
    train, test = read(needed(given))
    yield "Real records", {"accuracy": accuracy(train, test, CLASS, "logistic-regression")}
    for noise in given.noise:
        for epsilon in given.epsilon:
            for row in rows_of(given.data, noise, epsilon, given.owners, given.runs):
                yield f"Mean of {given.runs} runs", row


if __name__ == "__main__":
    run(sys.modules[__name__])
