"""The Adult table (UCI data set 2), read from a user's own copy, as a two-party agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp

COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
CLASS = "income"
# Round public split points: decades of age, tens of hours, and few steps for the heavy-tailed capital columns.
NUMERICAL: dict[str, dict[str, Any]] = {
    "age": {"bounds": [17, 90], "grid": {"edges": [20, 30, 40, 50, 60, 70, 80]}},
    "fnlwgt": {"bounds": [0, 1_500_000], "grid": {"step": 500_000}},
    "education-num": {"bounds": [1, 16], "grid": {"step": 1}},
    "capital-gain": {"bounds": [0, 99_999], "grid": {"edges": [1, 3000, 5000, 7000, 10_000, 20_000]}},
    "capital-loss": {"bounds": [0, 4500], "grid": {"edges": [1, 1500, 1800, 2000, 2500]}},
    "hours-per-week": {"bounds": [1, 99], "grid": {"edges": [10, 20, 30, 40, 50, 60, 70, 80, 90]}},
}
ATTRIBUTES = [column for column in COLUMNS if column != CLASS]
PARTIES = {"bank": ATTRIBUTES[:7], "office": ATTRIBUTES[7:]}


def read_adult(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the official training and test rows without missing values (30,162 and 15,060)."""
    frames = []
    for name, skip in (("adult.data", 0), ("adult.test", 1)):
        frame = pd.read_csv(
            folder / name,
            names=COLUMNS,
            skiprows=skip,
            skipinitialspace=True,
            na_values="?",
            keep_default_na=False,
        )
        frame = frame.dropna().reset_index(drop=True)
        frame[CLASS] = frame[CLASS].str.rstrip(".")
        frames.append(frame)
    return frames[0], frames[1]


def adult_agreement(
    folder: Path,
    epsilon: str,
    *,
    n: int,
    specializations: int = 10,
    partition: str = "vertical",
    score: str = "max",
) -> cp.Agreement:
    """Return the agreement: 14 attributes split 7/7 between two parties that both know the class.

    With partition = "arbitrary" both parties hold cells of every attribute.
    """
    attributes = {}
    for name in ATTRIBUTES:
        holder: str | list[str] = next(party for party, names in PARTIES.items() if name in names)
        if partition == "arbitrary":
            holder = list(PARTIES)
        kind: dict[str, Any] = {"kind": "categorical", "taxonomy": "adult.json"}
        if name in NUMERICAL:
            kind = {"kind": "numerical", **NUMERICAL[name]}
        attributes[name] = {**kind, "held_by": holder}
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "adult",
            "dataset": "adult",
            "partition": partition,
            "parties": {party: {} for party in PARTIES},
            "records": {"alignment": "row-order", "expected": n},
            "class": {"name": CLASS, "values": ["<=50K", ">50K"]},
            "attributes": attributes,
            "privacy": {"epsilon": epsilon},
            "mechanism": {"name": "specialization", "specializations": specializations, "score": score},
        },
        folder=folder / "taxonomies",
    )


def split_columns(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return each party's columns; both hold the class."""
    return {party: frame[[*names, CLASS]] for party, names in PARTIES.items()}


def scatter_cells(frame: pd.DataFrame, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Return the table with every cell at a random one of the parties, empty at the other; both hold the class."""
    holder_of = np.random.default_rng(seed).integers(len(PARTIES), size=(len(frame), len(ATTRIBUTES)))
    cells = frame[ATTRIBUTES].convert_dtypes()  # numbers stay whole numbers beside empty cells
    return {
        party: cells.where(holder_of == number).assign(**{CLASS: frame[CLASS]}) for number, party in enumerate(PARTIES)
    }
