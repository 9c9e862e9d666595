"""Releases of copublish's own `vhdp` for the figures of the VHDP paper: the same tables, between two owners of columns.

Bounds and values are public: from what the columns mean and from the code book, not from the records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from copublish.agreement.domain import parse_taxonomy
from copublish.agreement.loading import agreement_from_mapping
from copublish.agreement.model import Agreement
from copublish.kernel.records.fragment import Fragment
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish_reproduction.datasets import CLASSES, COLUMNS, NUMERICAL, read_table
from copublish_reproduction.first_values import with_first_values
from copublish_reproduction.labeled_table import LABELED_FILES, STATLOG_COLUMNS, LabeledName
from copublish_reproduction.vhdp import IgrSlip
from copublish_reproduction.vhdp_release import ReleasedScore, scores_of_release

Rule = Literal["protect-informative", "use-informative"]
RULES: tuple[Rule, Rule] = ("protect-informative", "use-informative")

STATLOG_BOUNDS: dict[str, tuple[int, int]] = {
    "age": (20, 90),
    "resting-blood-pressure": (80, 220),
    "serum-cholesterol": (100, 600),
    "max-heart-rate": (60, 220),
    "oldpeak": (0, 10),
}
STATLOG_VALUES: dict[str, tuple[int, ...]] = {
    "sex": (0, 1),
    "chest-pain-type": (1, 2, 3, 4),
    "fasting-blood-sugar>120": (0, 1),
    "resting-ecg": (0, 1, 2),
    "exercise-angina": (0, 1),
    "slope": (1, 2, 3),
    "major-vessels": (0, 1, 2, 3),
    "thal": (3, 6, 7),
    "class": (1, 2),
}
STATLOG_CELLS = 8
"""Round cells of numbers, for the tables that show what columns tell."""


@dataclass(frozen=True)
class OwnReleases:
    """Releases of one table on the ideal engine, with fresh coins each time.

    Attributes:
        rows: The records.
        attributes: The public schema of all columns but the label.
        label: The column that scores are about, and its values.
        fragments: What each of the two owners holds.
    """

    rows: pd.DataFrame
    attributes: Mapping[str, Mapping[str, Any]]
    label: tuple[str, tuple[str, ...]]
    fragments: Mapping[str, Fragment]

    @staticmethod
    def of(name: LabeledName, folder: Path) -> OwnReleases:
        """Prepare for releases of a table."""
        rows, attributes, label = _statlog(folder) if name == "statlog" else _adult(folder)
        agreement = _agreement(attributes, label, len(rows), RULES[0], 1.0)
        data = {party: rows[list(agreement.columns_of(party))] for party in agreement.parties}
        return OwnReleases(rows, attributes, label, read_fragments(agreement, data))

    def agreement(self, rule: Rule, epsilon: float) -> Agreement:
        """The agreement of one release."""
        return _agreement(self.attributes, self.label, len(self.rows), rule, epsilon)

    def scores(self, rule: Rule, epsilon: float, slip: IgrSlip = "none") -> dict[str, ReleasedScore]:
        """Release once and return the paper's scores of every attribute."""
        return scores_of_release(simulate_fragments(self.agreement(rule, epsilon), self.fragments), self.rows, slip)


def _agreement(
    attributes: Mapping[str, Mapping[str, Any]], label: tuple[str, tuple[str, ...]], n: int, rule: Rule, epsilon: float
) -> Agreement:
    owner = {name: ("p0", "p1")[2 * place // len(attributes)] for place, name in enumerate(attributes)}
    return agreement_from_mapping(
        {
            "format": 1,
            "name": "vhdp",
            "dataset": "vhdp",
            "partition": "vertical",
            "parties": {"p0": {}, "p1": {}},
            "records": {"alignment": "row-order", "expected": n, "public": True},
            "class": {"name": label[0], "values": list(label[1]), "held_by": "p1"},
            "attributes": {
                name: {**column, "held_by": owner[name]} for name, column in with_first_values(attributes).items()
            },
            "privacy": {"epsilon": f"{epsilon:g}", "neighbors": "replace"},
            "mechanism": {"name": "vhdp"},
            "budget": {"allocation": rule},
        }
    )


def _statlog(folder: Path) -> tuple[pd.DataFrame, dict[str, dict[str, Any]], tuple[str, tuple[str, ...]]]:
    rows = pd.read_csv(folder / LABELED_FILES["statlog"][0], sep=" ", names=STATLOG_COLUMNS)
    for name in STATLOG_VALUES:
        rows[name] = rows[name].astype(int).astype(str)
    schema: dict[str, dict[str, Any]] = {}
    for name in STATLOG_COLUMNS[:-1]:
        if name in STATLOG_BOUNDS:
            decimals = 1 if name == "oldpeak" else 0
            grid = {"round": STATLOG_CELLS}
            schema[name] = {"kind": "numerical", "bounds": STATLOG_BOUNDS[name], "grid": grid, "decimals": decimals}
        else:
            schema[name] = {"kind": "categorical", "values": list(map(str, STATLOG_VALUES[name]))}
    return rows, schema, ("class", tuple(map(str, STATLOG_VALUES["class"])))


def _adult(folder: Path) -> tuple[pd.DataFrame, dict[str, dict[str, Any]], tuple[str, tuple[str, ...]]]:
    data, trees = (folder / file for file in LABELED_FILES["adult"])
    code_book = json.loads(trees.read_text(encoding="utf-8"))
    schema: dict[str, dict[str, Any]] = {}
    for name in COLUMNS["adult"][:-1]:
        if name in NUMERICAL["adult"]:
            schema[name] = {"kind": "numerical", **NUMERICAL["adult"][name], "decimals": 0}
        else:
            schema[name] = {"kind": "categorical", "values": list(parse_taxonomy(code_book[name]).leaves())}
    return read_table(data, "adult"), schema, (COLUMNS["adult"][-1], CLASSES["adult"])
