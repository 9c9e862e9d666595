"""Adult and Wine Quality (UCI data sets 2 and 186) as the iDP-IR paper uses and divides them; a user's own copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from copublish.agreement.domain import parse_taxonomy
from copublish.errors import SourceError
from copublish_reproduction.datasets import FILES, NUMERICAL, load_dataset
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.plain_table import Floats, category_codes

MicrodataName = Literal["adult", "wine"]
Bounds = Literal["public", "published"]
"""`published`: Adult's are what occurs, Wine's 0 and twice the largest value; both are data."""

MICRODATA_FILES: dict[MicrodataName, tuple[str, ...]] = {
    "adult": FILES["adult"],
    "wine": ("winequality-red.csv", "winequality-white.csv"),
}
ADULT_ATTRIBUTES = (
    *("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
    *("hours-per-week", "native-country"),
)
# Round numbers that hold for any table wine.
WINE_BOUNDS: dict[str, tuple[float, float]] = {
    "fixed acidity": (0, 20),
    "volatile acidity": (0, 2),
    "citric acid": (0, 2),
    "residual sugar": (0, 100),
    "chlorides": (0, 1),
    "free sulfur dioxide": (0, 300),
    "total sulfur dioxide": (0, 500),
    "density": (0.98, 1.05),
    "pH": (2, 5),
    "sulphates": (0, 3),
    "alcohol": (5, 20),
}
HORIZONTAL: dict[MicrodataName, tuple[int, ...]] = {
    "adult": (11_100, 15_000, 12_000, 7_122),
    "wine": (500, 1_000, 4_997),
}
"""Records of every owner."""
VERTICAL: dict[MicrodataName, tuple[tuple[str, ...], ...]] = {
    "adult": tuple((name,) for name in ADULT_ATTRIBUTES),
    "wine": (tuple(WINE_BOUNDS)[:3], tuple(WINE_BOUNDS)[3:7], tuple(WINE_BOUNDS)[7:]),
}
"""Attributes of every owner."""


def load_microdata(name: MicrodataName, folder: Path, bounds: Bounds = "public") -> Microdata:
    """Read a table: Adult's 45,222 records without missing values, or Wine's 6,497.

    Raises:
        SourceError: If a file is missing.
    """
    return _load_adult(folder, bounds) if name == "adult" else _load_wine(folder, bounds)


def _load_adult(folder: Path, bounds: Bounds) -> Microdata:
    dataset = load_dataset("adult", folder)
    frame = pd.concat([dataset.train, dataset.test], ignore_index=True)
    trees = dataset.taxonomies()
    attributes, columns = [], []
    for name in ADULT_ATTRIBUTES:
        if name in NUMERICAL["adult"]:
            values = frame[name].to_numpy(np.float64)
            ends = NUMERICAL["adult"][name]["bounds"] if bounds == "public" else (values.min(), values.max())
            attributes.append(Attribute(name, float(ends[0]), float(ends[1])))
        else:
            categories = tuple(parse_taxonomy(trees[name]).leaves())
            values = category_codes(frame[name], categories).astype(np.float64)
            attributes.append(Attribute.categorical(name, categories))
        columns.append(values)
    return Microdata(tuple(attributes), _matrix(columns))


def _load_wine(folder: Path, bounds: Bounds) -> Microdata:
    absent = [file for file in MICRODATA_FILES["wine"] if not (folder / file).exists()]
    if absent:
        raise SourceError(
            f"The folder '{folder}' lacks {', '.join(absent)}. Download the data set 'Wine Quality' from the UCI "
            "Machine Learning Repository."
        )
    frame = pd.concat([pd.read_csv(folder / file, sep=";") for file in MICRODATA_FILES["wine"]], ignore_index=True)
    attributes, columns = [], []
    for name, (low, high) in WINE_BOUNDS.items():
        values = frame[name].to_numpy(np.float64)
        low, high = (low, high) if bounds == "public" else (0, 2 * values.max())
        attributes.append(Attribute(name, float(low), float(high)))
        columns.append(values)
    return Microdata(tuple(attributes), _matrix(columns))


def _matrix(columns: list[Floats]) -> Floats:
    return np.asfortranarray(np.column_stack(columns))  # columns are worked on one by one


@dataclass(frozen=True)
class Owners:
    """The data owners of the paper's experiments, each with a part of one table."""

    name: MicrodataName
    data: Microdata

    def horizontal(self, generator: np.random.Generator) -> dict[str, Microdata]:
        """Other records at every owner, at random; the numbers are scaled where the table is another size."""
        n, sizes = len(self.data.values), np.array(HORIZONTAL[self.name])
        ends = np.rint(np.cumsum(sizes) * (n / sizes.sum())).astype(np.int64)
        parts = np.split(generator.permutation(n), ends[:-1])
        return {f"owner {number}": self.data.rows(part) for number, part in enumerate(parts, start=1)}

    def vertical(self) -> dict[str, Microdata]:
        """Other columns at every owner."""
        groups = enumerate(VERTICAL[self.name], start=1)
        return {f"owner {number}": self.data.columns(names) for number, names in groups}
