"""Public tables of whole rows, divided into what is released and what is tested on, and agreements about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish_reproduction import datasets
from copublish_reproduction.copula_schemas import ATTRIBUTES
from copublish_reproduction.first_values import with_first_values
from copublish_reproduction.labeled_table import STATLOG_COLUMNS
from hpdp_accuracy import attributes_of
from hpdp_accuracy import read as read_adult

TRAINING_SHARE = 2 / 3
GOOD_QUALITY = 6

EXPECTED = {"adult": 30_000, "nursery": 8_600, "wine": 4_300, "heart": 180}
"""Public guesses at the number of training records, and how many are published."""

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


WINE_EDGES = {
    "fixed acidity": [5, 6, 7, 8, 9, 10, 12],
    "volatile acidity": ["0.2", "0.3", "0.4", "0.5", "0.6", "0.8", "1"],
    "citric acid": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
    "residual sugar": [2, 4, 6, 8, 12, 16],
    "chlorides": ["0.03", "0.04", "0.05", "0.06", "0.08", "0.1"],
    "free sulfur dioxide": [10, 20, 30, 40, 50, 60],
    "total sulfur dioxide": [50, 100, 125, 150, 175, 200],
    "density": ["0.99", "0.992", "0.994", "0.996", "0.998", "1"],
    "pH": ["3", "3.1", "3.2", "3.3", "3.4", "3.5"],
    "sulphates": ["0.3", "0.4", "0.5", "0.6", "0.7", "0.8"],
    "alcohol": [9, "9.5", 10, "10.5", 11, 12, 13],
}
"""Round cells from what the columns mean."""

HEART_STEPS = {"resting-blood-pressure": 20, "serum-cholesterol": 50, "max-heart-rate": 20}


@dataclass(frozen=True)
class Division:
    """A table, divided into what is released and what is tested on."""

    train: pd.DataFrame
    test: pd.DataFrame
    attributes: dict[str, dict[str, Any]]
    label: tuple[str, tuple[str, ...]]


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


def adult(folder: Path, run: int) -> Division:
    """Return Adult's official division, the same in every run."""
    train, test = read_adult(folder)
    attributes = attributes_of(folder)
    attributes["fnlwgt"] = {
        "kind": "numerical",
        "bounds": [0, 1_500_000],
        "grid": {"edges": [100_000, 200_000, 300_000, 400_000]},
    }
    return Division(train, test, attributes, (train.columns[-1], ("<=50K", ">50K")))


def wine_on_cells(folder: Path, run: int) -> Division:
    """Return Wine Quality with six to eight cells for each column."""
    found = wine(folder, run)
    attributes = {
        name: {**found.attributes[name], "grid": {"edges": edges}, "decimals": 4} for name, edges in WINE_EDGES.items()
    }
    return Division(found.train, found.test, attributes, found.label)


def heart_on_cells(folder: Path, run: int) -> Division:
    """Return Statlog heart with coarse cells: there are 180 records."""
    found = heart(folder, run)
    attributes = {
        name: {**attribute, "grid": {"step": HEART_STEPS[name]}} if name in HEART_STEPS else attribute
        for name, attribute in found.attributes.items()
    }
    return Division(found.train, found.test, attributes, found.label)


TABLES: dict[str, Callable[[Path, int], Division]] = {
    "adult": adult,
    "nursery": nursery,
    "wine": wine_on_cells,
    "heart": heart_on_cells,
}


def agreement_for(
    division: Division,
    table: str,
    epsilon: str,
    delta: str | None,
    *,
    expected: int | None = None,
    public: bool = False,
    **keys: Any,
) -> cp.Agreement:
    """The agreement of two owners of whole rows, with `marginals`; other mechanisms are put in its place.

    Args:
        division: The table.
        table: Its name.
        epsilon: Of the release.
        delta: For Gaussian noise; `None` for Laplace noise.
        expected: A public guess at the number of records.
        public: Whether that number is known and records are replaced, as mechanisms need that publish every record.
        keys: Settings of the mechanism.
    """
    privacy = {"epsilon": epsilon, "neighbors": "replace" if public else "add-remove"}
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": table,
            "dataset": table,
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": expected or EXPECTED.get(table, 400), "public": public},
            "class": {"name": division.label[0], "values": list(division.label[1])},
            "attributes": with_first_values(division.attributes),
            "privacy": privacy | ({} if delta is None else {"delta": delta}),
            "mechanism": {"name": "marginals", **keys},
        }
    )


def halves(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Every other row at each owner."""
    return {"p0": table.iloc[::2], "p1": table.iloc[1::2]}
