"""The Adult table (UCI data set 2), read from a user's own copy, as a two-party agreement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pandas as pd

import copublish as cp
from copublish_reproduction import datasets

CLASS = datasets.COLUMNS["adult"][-1]
NUMERICAL = datasets.NUMERICAL["adult"]
ATTRIBUTES = list(datasets.COLUMNS["adult"][:-1])
PARTIES = datasets.parties_of("adult")


def read_adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the official training and test rows without missing values (30,162 and 15,060)."""
    found = datasets.load_dataset("adult", folder)
    return found.train, found.test


def adult_agreement(
    folder: Path,
    epsilon: str,
    *,
    n: int,
    specializations: int = 10,
    identifier: str | None = None,
    score: str = "max",
    grid: Mapping[str, int] | Literal["by hand"] | None = "by hand",
) -> cp.Agreement:
    """Return the agreement: 14 attributes split 7/7 between two parties that both know the class.

    Rows are in the same order at both, unless an identifier is named.
    """
    mechanism = {"specializations": specializations, "score": score}
    return datasets.agreement_for(
        "adult",
        folder,
        epsilon,
        expected=n,
        partition="vertical",
        identifier=identifier,
        mechanism=mechanism,
        grid=grid,
    )


def split_columns(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each party's columns; both hold the class."""
    return datasets.split_columns("adult", frame)
