"""A table in the clear, as codes and counts: what the published algorithms compute on.

Categories have the codes of their public domain. A numerical column has one code per distinct value of the training
data, in ascending order, because the published algorithms look at every value that occurs. A generalized value is a
run of consecutive codes (a `Piece`); its counts by class are a difference of prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copublish.agreement.domain import CategoricalDomain, parse_taxonomy
from copublish_reproduction.datasets import CLASSES, Dataset

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Column:
    """One attribute of the training data.

    Attributes:
        name: The attribute.
        codes: One per record, shape (n,).
        counts: Records by code and class, shape (n_codes, n_classes).
        domain: The taxonomy of a categorical attribute.
        values: The distinct values of a numerical attribute, one per code.
        low: Lower bound of a numerical attribute.
        high: The first whole number above its upper bound.
    """

    name: str
    codes: Ints
    counts: Ints
    domain: CategoricalDomain | None = None
    values: Ints | None = None
    low: int = 0
    high: int = 0

    @cached_property
    def cumulative(self) -> Ints:
        """Records with a code below i, by class, shape (n_codes + 1, n_classes)."""
        return np.vstack([np.zeros((1, self.counts.shape[1]), dtype=np.int64), self.counts.cumsum(axis=0)])


@dataclass(frozen=True)
class Piece:
    """A generalized value: codes from `start` up to, not including, `stop`; for numbers, the interval [low, high)."""

    column: int
    start: int
    stop: int
    low: int = 0
    high: int = 0


@dataclass(frozen=True)
class PlainTable:
    """Training records in the clear, with the test records coded the same way.

    Attributes:
        columns: The attributes.
        classes: Class codes of the training records, shape (n,).
        class_values: What the class codes stand for.
        test: Categories as codes, numbers as they are, and the class as text under `class_name`.
        class_name: The column to predict.
    """

    columns: tuple[Column, ...]
    classes: Ints
    class_values: tuple[str, ...]
    test: pd.DataFrame
    class_name: str

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_values)

    @property
    def numerical(self) -> list[int]:
        """Places of the numerical attributes."""
        return [place for place, column in enumerate(self.columns) if column.values is not None]

    def top(self) -> list[Piece]:
        """For every attribute the value that stands for all."""
        return [
            Piece(place, 0, len(column.counts), column.low, column.high) for place, column in enumerate(self.columns)
        ]

    def children(self, piece: Piece) -> tuple[Piece, ...]:
        """The children of a category in its taxonomy; none for a value that has no children."""
        domain = self.columns[piece.column].domain
        splits = domain.splits((piece.start, piece.stop)) if domain else ()
        return tuple(Piece(piece.column, start, stop) for start, stop in splits[0]) if splits else ()

    def class_counts(self, pieces: Sequence[Piece]) -> Ints:
        """The records of each piece by class, shape (n_pieces, n_classes)."""
        cumulative = self.columns[pieces[0].column].cumulative
        return cumulative[[piece.stop for piece in pieces]] - cumulative[[piece.start for piece in pieces]]

    def max_score(self, children: Sequence[Piece]) -> int:
        """The score Max of a split: the sum over the children of the largest class count."""
        return int(self.class_counts(children).max(axis=1).sum())


def plain_table(dataset: Dataset) -> PlainTable:
    """Encode the training records of a data set."""
    train = dataset.train
    class_values = CLASSES[dataset.name]
    classes = category_codes(train[dataset.class_name], class_values)
    trees = dataset.taxonomies()
    columns, test = [], {}
    for name in dataset.attributes:
        if name in dataset.numerical:
            column = numerical_column(name, train[name].to_numpy(np.int64), classes, len(class_values))
            low, high = dataset.numerical[name]["bounds"]
            columns.append(Column(name, column.codes, column.counts, None, column.values, int(low), int(high) + 1))
            test[name] = dataset.test[name].to_numpy(np.int64)
            continue
        domain = CategoricalDomain(name, parse_taxonomy(trees[name]))
        codes = category_codes(train[name], domain.values)
        columns.append(Column(name, codes, counts_by_class(codes, domain.size, classes, len(class_values)), domain))
        test[name] = category_codes(dataset.test[name], domain.values)
    frame = pd.DataFrame(test).assign(**{dataset.class_name: dataset.test[dataset.class_name].to_numpy()})
    return PlainTable(tuple(columns), classes, class_values, frame, dataset.class_name)


def numerical_column(
    name: str, numbers: Ints, classes: Ints, n_classes: int, low: int | None = None, high: int | None = None
) -> Column:
    """Encode whole numbers by their distinct values; the bounds default to the values' own."""
    values, codes = np.unique(numbers, return_inverse=True)
    counts = counts_by_class(codes, len(values), classes, n_classes)
    low = int(values[0]) if low is None else low
    high = int(values[-1]) + 1 if high is None else high
    return Column(name, codes.astype(np.int64), counts, None, values, low, high)


def category_codes(texts: pd.Series, values: Sequence[str]) -> Ints:
    """The place of each text in a list of values."""
    codes = pd.Categorical(texts, categories=list(values)).codes.astype(np.int64)
    if (codes < 0).any():
        raise ValueError(f"column '{texts.name}' has values that are not in its taxonomy")
    return np.asarray(codes)


def counts_by_class(codes: Ints, n_codes: int, classes: Ints, n_classes: int) -> Ints:
    """The number of records by code and class, shape (n_codes, n_classes)."""
    return np.bincount(codes * n_classes + classes, minlength=n_codes * n_classes).reshape(n_codes, n_classes)
