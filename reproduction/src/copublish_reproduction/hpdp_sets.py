"""Adult and NLTCS as the HPDP-DP paper uses them: columns from 0 to 1, the last one the class to predict.

NLTCS may not be passed on, so a table of its shape is made up here unless the user's folder has a copy, `nltcs.csv`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from copublish.agreement.domain import parse_taxonomy
from copublish.errors import SourceError
from copublish_reproduction.datasets import COLUMNS, NUMERICAL, load_dataset
from copublish_reproduction.plain_table import Floats, category_codes

Encoding = Literal["bits", "one-hot"]
"""`bits`: 16 ranges of every number, all in binary digits, which makes the paper's 52 columns; `one-hot`: 48."""

Label = Literal["salary", "education"]
Target = Literal["adult, salary", "adult, education", "NLTCS-like, money", "NLTCS-like, outside"]
TARGETS: tuple[Target, ...] = get_args(Target)

CONTRIBUTION = {"adult": 0.95, "NLTCS-like": 0.8}
"""The paper's c for either table."""

NLTCS_FILE = "nltcs.csv"

RANGES = 16
FIRST_POST_SECONDARY = 10
"""Number of 'Some-college' in `education-num`; all above it is post-secondary too."""

ONE_HOT = ("workclass", "marital-status", "occupation", "relationship", "race")

NLTCS_RECORDS = 21_574
# Persons who are unable to, by item: published counts of the table.
NLTCS_COUNTS = {
    "eating": 2_285,
    "bed": 5_947,
    "inside": 8_697,
    "dressing": 4_483,
    "bathing": 9_466,
    "toilet": 5_347,
    "heavy housework": 14_577,
    "light housework": 4_671,
    "laundry": 7_646,
    "cooking": 5_590,
    "grocery": 10_477,
    "outside": 11_965,
    "traveling": 10_638,
    "money": 4_949,
    "medicine": 4_552,
    "telephone": 3_144,
}
GROUPS = (
    ("eating", "dressing", "bathing", "toilet"),
    ("bed", "inside", "outside", "traveling"),
    ("heavy housework", "light housework", "laundry", "cooking", "grocery"),
    ("money", "medicine", "telephone"),
)
"""Items that also go together beyond general frailty: care of oneself, moving, housework, a clear mind."""
FRAILTY_LOADING, GROUP_LOADING = 0.74, 0.57


@dataclass(frozen=True)
class Records:
    """A table for HPDP-DP.

    Attributes:
        names: Of the columns; the last one is the class.
        values: From 0 to 1, shape (n, p).
    """

    names: tuple[str, ...]
    values: Floats


def load_records(target: Target, folder: Path, encoding: Encoding = "bits") -> Records:
    """Read the table of a target: Adult's 45,222 records without missing values, or NLTCS's 21,574.

    Raises:
        SourceError: If a file is missing or unusable.
    """
    table, label = target.split(", ")
    if table == "NLTCS-like":
        return _with_label_last(load_nltcs(folder), label)
    dataset = load_dataset("adult", folder)
    frame = pd.concat([dataset.train, dataset.test], ignore_index=True)
    return adult_records(frame, dataset.taxonomies(), "salary" if label == "salary" else "education", encoding)


def _with_label_last(records: Records, label: str) -> Records:
    order = [place for place, name in enumerate(records.names) if name != label] + [records.names.index(label)]
    return Records(tuple(records.names[place] for place in order), records.values[:, order])


def adult_records(frame: pd.DataFrame, taxonomies: dict[str, object], label: Label, encoding: Encoding) -> Records:
    """Encode Adult.

    Args:
        frame: Rows without missing values.
        taxonomies: Of the categorical attributes; their leaves are the categories.
        label: The class.
        encoding: How attributes become columns.
    """
    columns = attribute_columns(frame, taxonomies, label, encoding)
    columns["income"] = (frame["income"] == ">50K").to_numpy(np.float64)
    if label == "education":
        columns["post-secondary"] = (frame["education-num"] >= FIRST_POST_SECONDARY).to_numpy(np.float64)
    return Records(tuple(columns), np.column_stack(list(columns.values())))


def attribute_columns(
    frame: pd.DataFrame, taxonomies: dict[str, object], label: Label, encoding: Encoding
) -> dict[str, Floats]:
    """Encode Adult's attributes. With education as the class, its own are left out: they say it already."""
    columns: dict[str, Floats] = {}
    for name in COLUMNS["adult"][:-1]:
        if label == "education" and name in ("education", "education-num"):
            continue
        columns |= _bits(name, frame, taxonomies) if encoding == "bits" else _one_hot(name, frame)
    return columns


def _bits(name: str, frame: pd.DataFrame, taxonomies: dict[str, object]) -> dict[str, Floats]:
    """The binary digits of a range's or category's place, the largest first."""
    if name in NUMERICAL["adult"]:
        n_codes = RANGES
        codes = np.minimum((n_codes * _scaled(name, frame)).astype(np.int64), n_codes - 1)
    else:
        categories = tuple(parse_taxonomy(taxonomies[name]).leaves())
        n_codes = len(categories)
        codes = category_codes(frame[name], categories)
    n_bits = math.ceil(math.log2(n_codes))
    return {f"{name} {2**bit}": ((codes >> bit) & 1).astype(np.float64) for bit in reversed(range(n_bits))}


def _one_hot(name: str, frame: pd.DataFrame) -> dict[str, Floats]:
    """Numbers as one column, most attributes as one per category, sex and country as one; no education names."""
    if name in NUMERICAL["adult"]:
        return {name: _scaled(name, frame)}
    if name in ONE_HOT:
        return {
            f"{name} {value}": (frame[name] == value).to_numpy(np.float64) for value in sorted(frame[name].unique())
        }
    chosen = {"sex": "Male", "native-country": "United-States"}
    return {name: (frame[name] == chosen[name]).to_numpy(np.float64)} if name in chosen else {}


def _scaled(name: str, frame: pd.DataFrame) -> Floats:
    low, high = NUMERICAL["adult"][name]["bounds"]
    scaled: Floats = (frame[name].to_numpy(np.float64) - low) / (high - low)
    return scaled


def load_nltcs(folder: Path) -> Records:
    """Read the user's own copy of NLTCS, or make up a table of its shape.

    Raises:
        SourceError: If there is a copy and it is unusable.
    """
    file = folder / NLTCS_FILE
    if not file.exists():
        return made_up_nltcs()
    frame = pd.read_csv(file)
    absent = [name for name in NLTCS_COUNTS if name not in frame.columns]
    if absent:
        raise SourceError(
            f"'{file}' lacks the columns {', '.join(absent)}. It needs one column for each of the sixteen items, with "
            f"these names: {', '.join(NLTCS_COUNTS)}. Without the file a made-up table of the same shape is used."
        )
    if not frame[list(NLTCS_COUNTS)].isin([0, 1]).all(axis=None):
        raise SourceError(f"'{file}' must have 0 (able) or 1 (unable) in every item.")
    return Records(tuple(NLTCS_COUNTS), frame[list(NLTCS_COUNTS)].to_numpy(np.float64))


def made_up_nltcs(n: int = NLTCS_RECORDS) -> Records:
    """Records of NLTCS's shape, always the same: latent factors, thresholds by the published item counts.

    A person is unable where general frailty, a factor of the item's group and chance together exceed the item's
    threshold. The loadings are chosen so that principal components have about the shares that the paper mentions, so
    these shares confirm nothing about the paper.
    """
    generator = np.random.default_rng(16)
    frailty, by_group = generator.normal(size=(n, 1)), generator.normal(size=(n, len(GROUPS)))
    group_of = [next(place for place, group in enumerate(GROUPS) if name in group) for name in NLTCS_COUNTS]
    own = math.sqrt(1 - FRAILTY_LOADING**2 - GROUP_LOADING**2) * generator.normal(size=(n, len(NLTCS_COUNTS)))
    strain = FRAILTY_LOADING * frailty + GROUP_LOADING * by_group[:, group_of] + own
    thresholds = stats.norm.isf(np.array(list(NLTCS_COUNTS.values())) / NLTCS_RECORDS)
    return Records(tuple(NLTCS_COUNTS), (strain > thresholds).astype(np.float64))
