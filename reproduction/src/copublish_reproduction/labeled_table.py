"""Statlog heart and Adult (UCI data sets 145 and 2) as the VHDP paper uses them; a user's own copy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from copublish.errors import SourceError
from copublish_reproduction.datasets import COLUMNS, NUMERICAL, read_table
from copublish_reproduction.plain_table import Floats, Ints

LabeledName = Literal["statlog", "adult"]

LABELED_FILES: dict[LabeledName, tuple[str, ...]] = {
    "statlog": ("heart.dat",),
    "adult": ("adult.data", "taxonomies/adult.json"),
}
STATLOG_COLUMNS = (
    *("age", "sex", "chest-pain-type", "resting-blood-pressure", "serum-cholesterol", "fasting-blood-sugar>120"),
    *("resting-ecg", "max-heart-rate", "exercise-angina", "oldpeak", "slope", "major-vessels", "thal", "class"),
)


@dataclass(frozen=True)
class LabeledTable:
    """Records with the privacy label that the paper protects them against.

    Attributes:
        names: Of the attributes.
        values: Numbers, and whole numbers that stand for categories; shape (n, n_attributes).
        labels: A whole number from 0 for every record's label, shape (n,).
    """

    names: tuple[str, ...]
    values: Floats
    labels: Ints

    def column(self, name: str) -> Floats:
        """One attribute."""
        return self.values[:, self.names.index(name)]


def load_labeled(name: LabeledName, folder: Path) -> LabeledTable:
    """Read a table: Statlog's 270 records, or Adult's 30,162 training records without missing values.

    Raises:
        SourceError: If a file is missing.
    """
    absent = [file for file in LABELED_FILES[name] if not (folder / file).exists()]
    if absent:
        raise SourceError(
            f"The folder '{folder}' lacks {', '.join(absent)}. Download the data set '{name}' from the UCI Machine "
            "Learning Repository."
        )
    file = folder / LABELED_FILES[name][0]
    if name == "statlog":
        frame = pd.read_csv(file, sep=" ", names=STATLOG_COLUMNS)
        numerical = set(STATLOG_COLUMNS[:-1])  # its file has codes for categories
    else:
        frame, numerical = read_table(file, name), set(NUMERICAL[name])
        frame = frame[list(COLUMNS[name])]
    *names, label = frame.columns
    columns = [frame[column].to_numpy(np.float64) if column in numerical else _codes(frame[column]) for column in names]
    return LabeledTable(tuple(names), np.column_stack(columns), _codes(frame[label]).astype(np.int64))


def _codes(column: pd.Series) -> Floats:
    """The place of every value among those that occur, in alphabetical order: the paper names no other."""
    codes: Floats = np.unique(column.to_numpy(), return_inverse=True)[1].astype(np.float64)
    return codes
