"""Agreements and made-up tables of the shape of the papers' own set-ups: ten owners, eleven numbers, two values.

Values are made up here; a folder with copies of the real tables gives the values of these instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from support import with_first_values

NO_PROMISE = "idp-ir does not protect cluster membership; this is not differential privacy"

SETTINGS: dict[str, dict[str, Any]] = {
    "idp-ir": {"k": 10, "acknowledge": NO_PROMISE},
    "marginals": {"rounds": 2},
    "specialization": {"specializations": 2},
}
"""What the mechanisms of these set-ups need beside their names."""

ADULT: dict[str, dict[str, Any]] = {
    "age": {"kind": "numerical", "bounds": [17, 90], "grid": {"edges": [30, 50]}},
    "workclass": {"kind": "categorical", "values": ["Private", "Self-emp-not-inc", "State-gov", "Federal-gov"]},
    "education-num": {"kind": "numerical", "bounds": [1, 16], "grid": {"edges": [9, 13]}},
    "marital-status": {"kind": "categorical", "values": ["Married-civ-spouse", "Never-married", "Divorced"]},
    "occupation": {"kind": "categorical", "values": ["Exec-managerial", "Craft-repair", "Adm-clerical", "Sales"]},
    "relationship": {"kind": "categorical", "values": ["Husband", "Not-in-family", "Own-child", "Unmarried"]},
    "race": {"kind": "categorical", "values": ["White", "Black", "Other"]},
    "sex": {"kind": "categorical", "values": ["Female", "Male"]},
    "hours-per-week": {"kind": "numerical", "bounds": [1, 99], "grid": {"edges": [35, 45]}},
}
"""Nine attributes of Adult; values that are not listed become the first one."""

WINE: dict[str, tuple[float, float, int]] = {
    "fixed acidity": (3, 16, 1),
    "volatile acidity": (0, 2, 3),
    "citric acid": (0, 2, 2),
    "residual sugar": (0, 70, 1),
    "chlorides": (0, 1, 3),
    "free sulfur dioxide": (0, 300, 0),
    "total sulfur dioxide": (0, 450, 0),
    "density": (0.9, 1.1, 4),
    "pH": (2, 5, 2),
    "sulphates": (0, 3, 2),
    "alcohol": (8, 15, 1),
}
"""The eleven measured numbers of wines, with their bounds and decimals; the quality is left out."""

ITEMS = ("eating", "bed", "inside", "dressing", "bathing", "toilet", "money", "outside")
"""Two-valued items of a survey, as HPDP-DP has them."""


def alignment(in_order: bool) -> dict[str, Any]:
    """Whether records are joined by an identifier, or by the order of rows that all owners have."""
    return {"alignment": "row-order"} if in_order else {"identifier": "id"}


def agreed(mechanism: str, content: dict[str, Any], owners: int, **changes: Any) -> cp.Agreement:
    """An agreement between owners o1, o2, ... with what its mechanism needs."""
    publishes_each_record = mechanism in ("vhdp", "idp-ir")
    relation = {"neighbors": "replace"} if publishes_each_record else {}
    records = {"expected": 1000, "public": publishes_each_record, **content.get("records", {})}
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "as-printed",
            "dataset": "people",
            "parties": {f"o{number}": {} for number in range(1, owners + 1)},
            "privacy": {"epsilon": 4, **relation},
            "mechanism": {"name": mechanism, **SETTINGS.get(mechanism, {})},
            **content,
            "records": records,
            **changes,
        }
    )


def ten_owners_of_adult(mechanism: str, *, in_order: bool = False, **changes: Any) -> cp.Agreement:
    """Ten owners with one column of Adult each; the last one holds only the class."""
    attributes = {
        name: {**attribute, "held_by": f"o{number}"}
        for number, (name, attribute) in enumerate(with_first_values(ADULT).items(), start=1)
    }
    income = {"name": "income", "values": ["<=50K", ">50K"], "held_by": "o10"}
    content = {"partition": "vertical", "records": alignment(in_order), "class": income, "attributes": attributes}
    return agreed(mechanism, content, 10, **changes)


def owners_of_wine(mechanism: str, owners: int = 3, *, in_order: bool = False, **changes: Any) -> cp.Agreement:
    """Wine's eleven numbers, divided between owners column by column; no class."""
    attributes = {
        name: {
            "kind": "numerical",
            "bounds": [low, high],
            "decimals": decimals,
            "grid": {"count": 5},
            "missing": low,
            "held_by": f"o{1 + number % owners}",
        }
        for number, (name, (low, high, decimals)) in enumerate(WINE.items())
    }
    content = {"partition": "vertical", "records": alignment(in_order), "attributes": attributes}
    return agreed(mechanism, content, owners, **changes)


def owners_of_items(mechanism: str = "hpdp", owners: int = 4, **changes: Any) -> cp.Agreement:
    """Two-valued items of whole rows at several owners, as HPDP-DP has them; no class."""
    items = with_first_values({name: {"kind": "categorical", "values": ["no", "yes"]} for name in ITEMS})
    return agreed(mechanism, {"partition": "horizontal", "attributes": items}, owners, **changes)


def owners_of_numbers(mechanism: str = "hpdp", owners: int = 4, **changes: Any) -> cp.Agreement:
    """Adult's numbers in whole rows at several owners, as HPDP-DP has them; no class."""
    numbers = {name: one for name, one in with_first_values(ADULT).items() if one["kind"] == "numerical"}
    return agreed(mechanism, {"partition": "horizontal", "attributes": numbers}, owners, **changes)


def made_up(agreement: cp.Agreement, n: int, seed: int = 1) -> pd.DataFrame:
    """A table of the agreed columns; numbers and classes go together."""
    generator = np.random.default_rng(seed)
    behind = generator.normal(size=n)
    columns: dict[str, Any] = {}
    for name, domain in agreement.columns.items():
        strength = 0.7 * behind + 0.7 * generator.normal(size=n)
        ranks = np.argsort(np.argsort(strength))
        if hasattr(domain, "tree"):
            columns[name] = np.array(domain.values, dtype=object)[ranks * domain.size // max(n, 1)]
        else:
            places = 1 / (1 + np.exp(-strength))
            width = float(domain.upper - domain.lower)
            columns[name] = np.round(float(domain.lower) + width * places, domain.decimals_of_numbers)
    return pd.DataFrame(columns)


def real_adult(folder: Path) -> pd.DataFrame:
    """Adult's training records as they are."""
    names = [
        *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
        *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
    ]
    return pd.read_csv(folder / "adult.data", names=names, skipinitialspace=True, na_filter=False)


def real_wine(folder: Path) -> pd.DataFrame:
    """Red and white wines."""
    files = (folder / f"winequality-{color}.csv" for color in ("red", "white"))
    return pd.concat([pd.read_csv(file, sep=";") for file in files], ignore_index=True)


def divided(agreement: cp.Agreement, table: pd.DataFrame, seed: int = 2) -> dict[str, pd.DataFrame]:
    """What every owner holds: its columns and identifiers in an order of its own, or its rows."""
    generator = np.random.default_rng(seed)
    if agreement.partition == "horizontal":
        owner = generator.integers(0, len(agreement.owners), len(table))
        return {party: table[owner == number] for number, party in enumerate(agreement.owners)}
    if agreement.records.identifier is None:
        return {party: table[list(agreement.columns_of(party))] for party in agreement.owners}
    named = table.assign(id=[f"p{number}" for number in range(len(table))])
    return {
        party: named[["id", *agreement.columns_of(party)]].sample(frac=1, random_state=number)
        for number, party in enumerate(agreement.owners)
    }
