"""Records of one owner or of all of them as a matrix, with the public schema of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copublish.errors import AgreementError, FragmentError
from copublish_reproduction.plain_table import Floats, Ints


@dataclass(frozen=True)
class Attribute:
    """One column of the schema.

    Attributes:
        name: What it is called.
        low: Public lower bound; 0 for categories.
        high: Public upper bound; the last place in `categories` for categories.
        categories: In schema order, whose places stand for them; none for a number.
    """

    name: str
    low: float
    high: float
    categories: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse an attribute that has one value only."""
        if not self.low < self.high:
            rule = "two categories" if self.categories is not None else "a lower bound below its upper bound"
            raise AgreementError("The schema", [f"Attribute '{self.name}' needs {rule}. Leave out what is constant."])

    @staticmethod
    def categorical(name: str, categories: tuple[str, ...]) -> Attribute:
        """An attribute whose values are places in a list of categories."""
        return Attribute(name, 0.0, float(len(categories) - 1), categories)


@dataclass(frozen=True)
class Microdata:
    """A matrix of records.

    Attributes:
        attributes: One for each column.
        values: Numbers, and places in schema order for categories; shape (n, n_attributes).
    """

    attributes: tuple[Attribute, ...]
    values: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(attribute.name for attribute in self.attributes)

    def rows(self, places: Ints) -> Microdata:
        """Some of the records."""
        return Microdata(self.attributes, np.asfortranarray(self.values[places]))

    def columns(self, names: tuple[str, ...]) -> Microdata:
        """Some of the columns, in the order asked for."""
        places = [self.names.index(name) for name in names]
        return Microdata(tuple(self.attributes[place] for place in places), self.values[:, places])


def refuse_unusable(owner: str, data: Microdata, k: int) -> None:
    """Check one owner's records by themselves.

    Raises:
        FragmentError: With every rule that they break.
    """
    problems = []
    if len(data.values) < k:
        problems.append(f"There are fewer records than k = {k}. Agree on a smaller k, or leave this owner out.")
    else:
        lows, highs = data.values.min(axis=0), data.values.max(axis=0)
        for attribute, low, high in zip(data.attributes, lows, highs, strict=True):
            if not attribute.low <= low <= high <= attribute.high:  # also false for a missing value
                problems.append(f"Column '{attribute.name}' has missing values or values outside its public bounds.")
            elif low == high:
                problems.append(
                    f"Column '{attribute.name}' is constant. Leave it out, or agree on what it is in words."
                )
    if problems:
        raise FragmentError(owner, problems)


def refuse_other_schemas(owners: Mapping[str, Microdata]) -> None:
    """Check that owners of different records agree on all columns, their bounds and their categories.

    Raises:
        AgreementError: With every owner that differs from the first.
    """
    first, *others = owners
    differing = [name for name in others if owners[name].attributes != owners[first].attributes]
    if differing:
        raise AgreementError(
            "The schema",
            [
                f"Owner '{name}' and owner '{first}' differ in attributes, their order, bounds or categories. "
                "Owners of different records need the same."
                for name in differing
            ],
        )


def refuse_common_columns(owners: Mapping[str, Microdata]) -> None:
    """Check that owners of different columns of the same records share none, two by two.

    The paper asks that no attribute be at all owners; then two of three could publish the same one, each on a budget of
    its own.

    Raises:
        AgreementError: With every attribute that two owners have.
        FragmentError: If the numbers of records differ.
    """
    holders: dict[str, list[str]] = {}
    for owner, data in owners.items():
        for name in data.names:
            holders.setdefault(name, []).append(owner)
    problems = [
        f"Attribute '{name}' is at owners {', '.join(map(repr, found))}. Every attribute needs exactly one owner."
        for name, found in holders.items()
        if len(found) > 1
    ]
    if problems:
        raise AgreementError("The schema", problems)
    first, *others = owners
    for owner in others:
        if len(owners[owner].values) != len(owners[first].values):
            raise FragmentError(
                owner, [f"Owner '{first}' has another number of records; they must be the same people."]
            )
