"""Adult and Nursery (UCI data sets 2 and 76), read from a user's own copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.errors import SourceError
from copublish_reproduction.first_values import with_first_values

Partition = Literal["vertical", "arbitrary"]
DatasetName = Literal["adult", "nursery"]

COLUMNS: dict[DatasetName, tuple[str, ...]] = {
    "adult": (
        *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
        *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
    ),
    "nursery": ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class"),
}
"""Attributes, then the class."""

CLASSES: dict[DatasetName, tuple[str, ...]] = {
    "adult": ("<=50K", ">50K"),
    "nursery": ("not_recom", "recommend", "very_recom", "priority", "spec_prior"),
}

FILES: dict[DatasetName, tuple[str, ...]] = {
    "adult": ("adult.data", "adult.test", "taxonomies/adult.json"),
    "nursery": ("nursery.data", "taxonomies/nursery.json"),
}
# Round split points, made by hand for this table: decades of age, tens of hours, and few steps for the heavy-tailed
# capital columns. Others would be found by nobody who only knows the bounds; `agreement_for` takes other grids.
NUMERICAL: dict[DatasetName, dict[str, dict[str, Any]]] = {
    "adult": {
        "age": {"bounds": [17, 90], "grid": {"edges": [20, 30, 40, 50, 60, 70, 80]}},
        "fnlwgt": {"bounds": [0, 1_500_000], "grid": {"step": 500_000}},
        "education-num": {"bounds": [1, 16], "grid": {"step": 1}},
        "capital-gain": {"bounds": [0, 99_999], "grid": {"edges": [1, 3000, 5000, 7000, 10_000, 20_000]}},
        "capital-loss": {"bounds": [0, 4500], "grid": {"edges": [1, 1500, 1800, 2000, 2500]}},
        "hours-per-week": {"bounds": [1, 99], "grid": {"edges": [10, 20, 30, 40, 50, 60, 70, 80, 90]}},
    },
    "nursery": {},
}
EXPECTED: dict[DatasetName, int] = {"adult": 30_000, "nursery": 8_600}
"""A public guess at the number of training records."""

TRAINING_SHARE = 2 / 3


@dataclass(frozen=True)
class Dataset:
    """One benchmark table, divided into training and test records.

    Attributes:
        name: Which table.
        folder: The user's folder, where the taxonomies are too.
        train: What is released.
        test: What the release is tested on.
    """

    name: DatasetName
    folder: Path
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def class_name(self) -> str:
        """The column to predict."""
        return COLUMNS[self.name][-1]

    @property
    def attributes(self) -> tuple[str, ...]:
        """All other columns."""
        return COLUMNS[self.name][:-1]

    @property
    def numerical(self) -> Mapping[str, Mapping[str, Any]]:
        """Public bounds and grid of every numerical attribute."""
        return NUMERICAL[self.name]

    def taxonomies(self) -> dict[str, Any]:
        """The tree of every categorical attribute."""
        return _trees(self.name, self.folder)


def _trees(name: DatasetName, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "taxonomies" / f"{name}.json").read_text())
    return found


def load_dataset(name: DatasetName, folder: Path, seed: int = 0) -> Dataset:
    """Read a table and divide it: Adult officially, Nursery at random, 2/3 for training.

    Args:
        name: Which table.
        folder: Where its files and `taxonomies/` are.
        seed: Another random division of Nursery; Adult's is fixed.

    Raises:
        SourceError: If a file is missing.
    """
    absent = [file for file in FILES[name] if not (folder / file).exists()]
    if absent:
        raise SourceError(
            f"The folder '{folder}' lacks {', '.join(absent)}. Download the data set '{name}' from the UCI Machine "
            "Learning Repository; reproduction/README.md describes the taxonomies."
        )
    if name == "adult":
        train, test = (read_table(folder / file, name) for file in FILES[name][:2])
        return Dataset(name, folder, train, test)
    whole = read_table(folder / FILES[name][0], name)
    order = np.random.default_rng(seed).permutation(len(whole))
    cut = round(TRAINING_SHARE * len(whole))
    train, test = (whole.iloc[np.sort(part)].reset_index(drop=True) for part in (order[:cut], order[cut:]))
    return Dataset(name, folder, train, test)


def read_table(file: Path, name: DatasetName) -> pd.DataFrame:
    """The rows without missing values; Adult has 30,162 official training and 15,060 test rows."""
    frame = pd.read_csv(
        file,
        names=COLUMNS[name],
        skiprows=int(file.name == "adult.test"),
        skipinitialspace=True,
        na_values="?",
        keep_default_na=False,
        dtype={column: str for column in COLUMNS[name] if column not in NUMERICAL[name]},
    )
    frame = frame.dropna().reset_index(drop=True)
    label = COLUMNS[name][-1]
    frame[label] = frame[label].str.rstrip(".")
    return frame


def parties_of(name: DatasetName) -> dict[str, tuple[str, ...]]:
    """Which half of the columns each party of a vertical release holds."""
    attributes = COLUMNS[name][:-1]
    half = len(attributes) // 2
    return {"bank": attributes[:half], "office": attributes[half:]}


def agreement_for(
    name: DatasetName,
    folder: Path,
    epsilon: str,
    *,
    expected: int | None = None,
    partition: Partition = "vertical",
    identifier: str | None = None,
    mechanism: Mapping[str, Any] | None = None,
    grid: Mapping[str, int] | Literal["by hand"] | None = "by hand",
) -> Agreement:
    """A two-party agreement on a benchmark table; both parties know the class.

    Args:
        name: Which table.
        folder: Where `taxonomies/` is.
        epsilon: The budget of the release.
        expected: A public guess at the number of records.
        partition: `vertical` halves the columns; with `arbitrary` both parties hold cells of every attribute.
        identifier: Column that joins the records; without it rows are in the same order at both parties.
        mechanism: Parameters of the mechanism other than its name, such as the score.
        grid: One for all numbers that is not made for this table; none takes their bounds alone.
    """
    parties = parties_of(name)
    alignment = {"alignment": "row-order"} if identifier is None else {"identifier": identifier}
    attributes = {}
    for attribute in COLUMNS[name][:-1]:
        kind: dict[str, Any] = {"kind": "categorical", "taxonomy": f"{name}.json"}
        if attribute in NUMERICAL[name]:
            kind = {"kind": "numerical", **NUMERICAL[name][attribute]}
            if grid != "by hand":
                kind["grid"] = grid
        holders = [party for party, names in parties.items() if partition == "arbitrary" or attribute in names]
        attributes[attribute] = {**kind, "held_by": holders}
    return agreement_from_mapping(
        {
            "format": 1,
            "name": name,
            "dataset": name,
            "partition": partition,
            "parties": {party: {} for party in parties},
            "records": {**alignment, "expected": expected or EXPECTED[name]},
            "class": {"name": COLUMNS[name][-1], "values": list(CLASSES[name])},
            "attributes": with_first_values(attributes, _trees(name, folder)),
            "privacy": {"epsilon": epsilon},
            "mechanism": {"name": "specialization", **(mechanism or {})},
        },
        folder=folder / "taxonomies",
    )


def split_columns(name: DatasetName, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Each party's columns; both hold the class."""
    return {party: frame[[*names, COLUMNS[name][-1]]] for party, names in parties_of(name).items()}


def scatter_cells(name: DatasetName, frame: pd.DataFrame, seed: int = 0) -> dict[str, pd.DataFrame]:
    """The table with every cell at a random one of the parties, empty at the other; both hold the class."""
    attributes, parties = list(COLUMNS[name][:-1]), list(parties_of(name))
    label = COLUMNS[name][-1]
    holder_of = np.random.default_rng(seed).integers(len(parties), size=(len(frame), len(attributes)))
    cells = frame[attributes].convert_dtypes()  # numbers stay whole numbers beside empty cells
    return {
        party: cells.where(holder_of == number).assign(**{label: frame[label]}) for number, party in enumerate(parties)
    }
