"""The Nursery table (UCI data set 76), read from a user's own copy, as a two-party agreement."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import copublish as cp
from copublish_reproduction import datasets


def read_nursery(folder: Path, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two thirds of the rows for training and one third for testing (8,640 and 4,320), drawn at random."""
    found = datasets.load_dataset("nursery", folder, seed)
    return found.train, found.test


def nursery_agreement(folder: Path, epsilon: str, *, n: int, score: str, specializations: int) -> cp.Agreement:
    """Return the agreement: eight attributes split 4/4 between two parties that both know the class."""
    mechanism = {"specializations": specializations, "score": score}
    return datasets.agreement_for("nursery", folder, epsilon, expected=n, mechanism=mechanism)


def split_columns(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each party's columns; both hold the class."""
    return datasets.split_columns("nursery", table)
