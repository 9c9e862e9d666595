"""The accuracy of hpdp releases of tables, and of a class, that its recipe was not chosen on.

    make hpdp-other-tables ADULT=folder-with-the-data-sets

The recipe was chosen on Adult's test records and their income, the class's weight on its training records; while the
latter was done Nursery and Wine were looked at. Here nothing is chosen: the recipe runs as it is on Nursery, Wine
Quality (is the quality 6 or better?) and Statlog heart, divided at random into 2/3 and 1/3 in every run, and on Adult
for another class, post-secondary education, without the two columns that say it. Prints the accuracy of logistic
regression trained on synthetic records of two owners and tested on real ones, mean and standard error over the runs,
beside the most frequent class and training on the real records. Public bounds are round numbers from what the columns
mean. Calibrated to add/remove; releases are simulated on the ideal engine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.evaluation.classification import accuracy, majority_accuracy
from copublish_reproduction import datasets
from copublish_reproduction.copula_schemas import ATTRIBUTES
from copublish_reproduction.hpdp_sets import FIRST_POST_SECONDARY
from copublish_reproduction.labeled_table import STATLOG_COLUMNS
from hpdp_accuracy import CLASS, agreement_for, attributes_of, spread
from hpdp_accuracy import read as read_adult

CLASSIFIER = "logistic-regression"
TRAINING_SHARE = 2 / 3
GOOD_QUALITY = 6

# From what the columns mean; the other columns of Statlog heart are categories with these values.
HEART_BOUNDS = {
    "age": (20, 90),
    "resting-blood-pressure": (80, 220),
    "serum-cholesterol": (100, 600),
    "max-heart-rate": (60, 220),
    "oldpeak": (0, 10),
    "major-vessels": (0, 3),
}
HEART_VALUES = {
    "sex": (0, 1),
    "chest-pain-type": (1, 2, 3, 4),
    "fasting-blood-sugar>120": (0, 1),
    "resting-ecg": (0, 1, 2),
    "exercise-angina": (0, 1),
    "slope": (1, 2, 3),
    "thal": (3, 6, 7),
}


@dataclass(frozen=True)
class Division:
    """A table, divided into what is released and what is tested on."""

    train: pd.DataFrame
    test: pd.DataFrame
    attributes: dict[str, dict[str, Any]]
    label: tuple[str, tuple[str, ...]]


def adult_education(folder: Path, run: int) -> Division:
    """Return Adult's official division, the same in every run."""
    train, test = read_adult(folder)
    attributes = attributes_of(folder)
    del attributes["education-num"]
    attributes[CLASS] = {"kind": "categorical", "values": list(datasets.CLASSES["adult"])}
    for frame in (train, test):
        frame["post-secondary"] = np.where(frame.pop("education-num") >= FIRST_POST_SECONDARY, "yes", "no")
    return Division(train, test, attributes, ("post-secondary", ("no", "yes")))


def nursery(folder: Path, run: int) -> Division:
    """Return a random division of Nursery."""
    found = datasets.load_dataset("nursery", folder, seed=run)
    code_book = datasets.agreement_for("nursery", folder, "1").attributes
    attributes = {
        name: {"kind": "categorical", "values": list(code_book[name].tree.leaves())} for name in found.attributes
    }
    return Division(found.train, found.test, attributes, (found.class_name, datasets.CLASSES["nursery"]))


def wine(folder: Path, run: int) -> Division:
    """Return a random division of red and white wines together."""
    colors = [pd.read_csv(folder / f"winequality-{color}.csv", sep=";") for color in ("red", "white")]
    whole = pd.concat(colors, ignore_index=True)
    whole["good"] = np.where(whole.pop("quality") >= GOOD_QUALITY, "yes", "no")
    return divided(whole, ATTRIBUTES["wine"], ("good", ("no", "yes")), run)


def heart(folder: Path, run: int) -> Division:
    """Return a random division of Statlog heart."""
    whole = pd.read_csv(folder / "heart.dat", sep=" ", names=STATLOG_COLUMNS)
    attributes: dict[str, dict[str, Any]] = {}
    for name in STATLOG_COLUMNS[:-1]:
        if name in HEART_BOUNDS:
            low, high = HEART_BOUNDS[name]
            attributes[name] = {
                "kind": "numerical",
                "bounds": [low, high],
                "grid": {"step": 10 if high > 10 else 1},  # hpdp makes no use of it
                "decimals": int(name == "oldpeak"),
            }
        else:
            attributes[name] = {"kind": "categorical", "values": [str(value) for value in HEART_VALUES[name]]}
            whole[name] = whole[name].astype(int).astype(str)
    whole["class"] = np.where(whole["class"] == 2, "presence", "absence")
    return divided(whole, attributes, ("class", ("absence", "presence")), run)


def divided(
    whole: pd.DataFrame, attributes: dict[str, dict[str, Any]], label: tuple[str, tuple[str, ...]], run: int
) -> Division:
    """Divide a table at random, differently in every run."""
    order = np.random.default_rng(run).permutation(len(whole))
    cut = round(TRAINING_SHARE * len(whole))
    return Division(whole.iloc[order[:cut]], whole.iloc[order[cut:]], attributes, label)


TABLES: dict[str, Callable[[Path, int], Division]] = {
    "adult, post-secondary": adult_education,
    "nursery": nursery,
    "wine, quality": wine,
    "statlog heart": heart,
}


def released(division: Division, noise: str, epsilon: str, run: int) -> float:
    """Return the accuracy after one release of two owners."""
    data = spread(division.train, 2, seed=run)
    agreement = agreement_for(division.attributes, len(division.train), epsilon, noise, 2, division.label)
    published = cp.simulate(agreement, data).to_pandas()
    if published.empty:  # noise can leave no record at all; then one class is as good a guess as another
        return float(np.mean(division.test[division.label[0]] == division.label[1][0]))
    return accuracy(published, division.test, division.label[0], CLASSIFIER)


def mean_and_error(found: list[float]) -> tuple[float, float | None]:
    """Return a mean and its standard error, none for a single run."""
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "0.5", "1"])
    parser.add_argument("--noise", nargs="+", default=["laplace", "gaussian"])
    parser.add_argument("--table", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--format", choices=["text", "json"], default="text")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for table in given.table:
        divisions = [TABLES[table](given.data, run) for run in range(given.runs)]
        measured: list[tuple[str, str, list[float]]] = [
            ("majority", "", [majority_accuracy(d.train, d.test, d.label[0]) for d in divisions]),
            ("real", "", [accuracy(d.train, d.test, d.label[0], CLASSIFIER) for d in divisions]),
        ]
        for noise in given.noise:
            for epsilon in given.epsilon:
                found = [released(division, noise, epsilon, run) for run, division in enumerate(divisions)]
                measured.append((noise, epsilon, found))
        for trained_on, epsilon, found in measured:
            mean, error = mean_and_error(found)
            rows.append(
                {"table": table, "trained_on": trained_on, "epsilon": epsilon, "accuracy": mean, "error": error}
            )
            if given.format == "text":
                print(f"{table:>22} {trained_on:>9} {epsilon:>4} {mean:.4f} ({error or 0:.4f})", flush=True)
    if given.format == "json":
        print(json.dumps({"runs": given.runs, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
