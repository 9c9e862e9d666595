"""The public tables that papers report accuracies for: their columns, and how an agreement on one is told."""

from __future__ import annotations

from typing import Literal

from copublish.agreement.model import Agreement

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


def benchmark_of(agreement: Agreement) -> DatasetName | None:
    """The benchmark table that an agreement is about, if it is about one.

    It is if its class has the table's values and all its attributes are the table's; some may be left out, and copies
    of these tables spell names in many ways: capitals, '-', '_', '.' and spaces do not count.
    """
    attributes = {_bare(name) for name in agreement.attributes}
    for name, columns in COLUMNS.items():
        is_its_class = set(agreement.class_.values) == set(CLASSES[name])
        if is_its_class and attributes <= {_bare(column) for column in columns[:-1]}:
            return name
    return None


def _bare(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
