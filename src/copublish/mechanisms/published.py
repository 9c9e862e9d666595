"""What a mechanism publishes: measurements, a model, and records. Released values only.

Readers, pages and verifiers see these types and never a mechanism. `docs/reference/release-folder.md` describes the
files that they are written to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CodeRange, Domain, NumericalDomain
from copublish.kernel.accounting.disclosures import Place
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.shared.allocation import Division
from copublish.types import IntArray, TypedJson

NoiseAt = Callable[[Place], Noise]
"""The noise that the certificate states of a disclosure."""


@typed(frozen=True, kw_only=True)
class Cells(TypedJson):
    """An axis with an entry for each run of codes: 1 for a person who has one of them.

    Attributes:
        kind: Which axis it is.
        column: The column.
        runs: The runs, in code order; none if each code is a run of its own.
    """

    kind: Literal["cells"] = "cells"
    column: str
    runs: tuple[CodeRange, ...] | None = None

    def runs_of(self, domain: Domain) -> tuple[CodeRange, ...]:
        """The runs, spelled out."""
        return tuple((code, code + 1) for code in range(domain.size)) if self.runs is None else self.runs

    def labels(self, domain: Domain) -> tuple[str, ...]:
        """The name of each entry, in published tables."""
        return tuple(domain.label(run) for run in self.runs_of(domain))

    def entries(self, domain: Domain) -> IntArray:
        """What each code counts as in each entry, shape (n_entries, n_codes).

        Raises:
            ValueError: If the runs do not divide the domain.
        """
        runs = self.runs_of(domain)
        borders = [0, *(stop for _, stop in runs)]
        if [start for start, _ in runs] != borders[:-1] or borders[-1] != domain.size:
            raise ValueError(f"the published values of '{self.column}' do not stand for all of its values")
        if any(start >= stop for start, stop in runs):
            raise ValueError(f"a published value of '{self.column}' stands for none of its values")
        codes = np.arange(domain.size)
        return np.array([(start <= codes) & (codes < stop) for start, stop in runs], dtype=np.int64)


@typed(frozen=True, kw_only=True)
class Scores(TypedJson):
    """An axis with one entry: a whole number for each code.

    Attributes:
        kind: Which axis it is.
        column: The column.
        scores: The number of each code.
    """

    kind: Literal["scores"] = "scores"
    column: str
    scores: tuple[int, ...]

    def entries(self, domain: Domain) -> IntArray:
        """What each code counts as, shape (1, n_codes).

        Raises:
            ValueError: If there is not one score for each code.
        """
        if len(self.scores) != domain.size:
            raise ValueError(f"the scores of '{self.column}' are not those of its {domain.size} values")
        return np.array([self.scores], dtype=np.int64)


@typed(frozen=True, kw_only=True)
class Position(TypedJson):
    """An axis with one entry: the place of a number's cell between the bounds, from -parts/2 to parts/2; 0 if missing.

    Attributes:
        kind: Which axis it is.
        column: The column.
        parts: Into how many parts the way from the first cell to the last is divided.
        power: 2 for the square of the place.
    """

    kind: Literal["position"] = "position"
    column: str
    parts: Annotated[int, Field(ge=2, le=2**20)]
    power: Literal[1, 2] = 1

    def entries(self, domain: Domain) -> IntArray:
        """What each code counts as, shape (1, n_codes).

        Raises:
            ValueError: If the column holds no numbers, or has one cell for all of them.
        """
        if not isinstance(domain, NumericalDomain):
            raise ValueError(f"'{self.column}' has a position and holds no numbers")
        if domain.number_codes < 2:
            raise ValueError(f"'{self.column}' has a position and is published as one cell")
        places = np.zeros(domain.size, dtype=np.int64)
        cells = np.arange(domain.number_codes, dtype=np.int64)
        places[: domain.number_codes] = places_of_cells(cells, domain.number_codes - 1, self.parts)
        return np.array([places**self.power], dtype=np.int64)


def places_of_cells(cells: IntArray, most: int, parts: int) -> IntArray:
    """Places of cells 0 to `most` as whole numbers from -parts/2 to parts/2, rounded to the nearest, halves up."""
    return np.asarray((2 * parts * cells + most) // (2 * most) - parts // 2, dtype=np.int64)


Axis = Annotated[Cells | Scores | Position, Field(discriminator="kind")]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A table of noisy sums: `times` the sum over people of a product of one entry of each axis, plus noise.

    Attributes:
        place: The disclosure that opened it; the certificate has its price and its law.
        axes: One for each column; none for the number of people.
        values: As opened, unbiased; the last axis fastest.
        noise: As the certificate states it at `place`.
        points: How many points of that law stand for one person.
        times: What every sum was multiplied with: its unit, and its weight.
        chosen: The number of the round that chose it; none if it was measured for sure.
        steered: Whether later cells, or later noise, depend on its noise.
    """

    place: Place
    axes: tuple[Cells | Scores | Position, ...]
    values: IntArray
    noise: Noise
    points: int = 1
    times: int = 1
    chosen: int | None = None
    steered: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its axes, in their order."""
        return tuple(axis.column for axis in self.axes)

    @property
    def cells(self) -> tuple[Cells, ...] | None:
        """Its axes if it counts people by cells; none if it is another sum."""
        found = tuple(axis for axis in self.axes if isinstance(axis, Cells))
        return found if len(found) == len(self.axes) and found else None

    def shape(self, columns: PublicColumns) -> tuple[int, ...]:
        """The number of entries of each axis."""
        return tuple(len(axis.entries(columns.domains[axis.column])) for axis in self.axes)

    @property
    def within_95_percent(self) -> float:
        """How far a value is off at most in 95 of 100 cases, after division by `times`."""
        return float(self.noise.within_95_percent or 0.0) * self.points / self.times

    def check(self, columns: PublicColumns) -> None:
        """Compare axes and values.

        Raises:
            ValueError: If an axis is of no column, or does not fit its values.
        """
        for axis in self.axes:
            if axis.column not in columns.domains:
                raise ValueError(f"a measurement has the column '{axis.column}', which was not published")
        twice = next((name for name in self.columns if self.columns.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"a measurement has the column '{twice}' twice")
        if self.points < 1 or self.times < 1:
            raise ValueError("points and times of a measurement are at least 1")
        expected = math.prod(self.shape(columns))
        if self.values.shape != (expected,):
            raise ValueError(
                f"the axes of a measurement ({' by '.join(self.columns) or 'people'}) have {expected} entries, and it "
                f"has {self.values.size} values"
            )


@dataclass(frozen=True, kw_only=True)
class PerturbedRows:
    """Published rows that stand for people, one each: the records are the measurement.

    Attributes:
        records: The rows, in an order without meaning.
        noise: Of every value, by column; none where the mechanism states no law.
    """

    records: pa.Table
    noise: Mapping[str, Noise] = field(default_factory=dict)


@typed(frozen=True, kw_only=True)
class Words(TypedJson):
    """A mechanism's release in words. Sentences end with a period.

    Attributes:
        title: A few words for a page's heading, like "Synthetic records".
        kind: "counted" for generalized values that were counted, "synthetic" for records drawn from a model,
            "perturbed" for rows that stand for people.
        made: How records were made.
        kept: What they keep of the joint table.
        lost: What they do not.
    """

    title: str
    kind: Literal["counted", "synthetic", "perturbed"]
    made: str
    kept: str
    lost: str


@typed(frozen=True, kw_only=True)
class Model(TypedJson):
    """What records are made from, as a mechanism writes it to `model.json`. A subclass adds the model itself.

    Attributes:
        warning: What everything about a release without a guarantee says first.
        records: How many records are published.
        key: The key that they are drawn under, in hexadecimal: a hash of everything that was opened. Empty if records
            follow without chance.
        notes: Sentences about this release.
        division: How the budget was divided between columns, where each has its own.
    """

    warning: str | None = None
    records: int
    key: str = ""
    notes: tuple[str, ...] = ()
    division: Division | None = None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What a mechanism hands over to be published.

    Attributes:
        measured: Everything that was opened as numbers.
        model: What records are made from.
        rows: Published rows, where records are not made from a model.
    """

    measured: tuple[Measured, ...]
    model: Model
    rows: PerturbedRows | None = None


@dataclass(frozen=True, kw_only=True)
class Published:
    """Everything that was published but for words and evidence.

    Attributes:
        columns: The published columns in agreed order, the class last, with what is needed to read data like theirs.
        measured: Everything that was opened as numbers.
        model: What records are made from.
        rows: Published rows, where records are not made from a model.
    """

    columns: PublicColumns
    measured: tuple[Measured, ...]
    model: Model
    rows: PerturbedRows | None = None

    def __post_init__(self) -> None:
        for measured in self.measured:
            measured.check(self.columns)
        _ = self.generalized  # refuses columns whose values are divided in two ways

    @cached_property
    def tables(self) -> tuple[Measured, ...]:
        """The measurements that count people by cells."""
        return tuple(measured for measured in self.measured if measured.cells is not None)

    @cached_property
    def generalized(self) -> dict[str, tuple[CodeRange, ...]]:
        """The published runs of codes of every column whose values were generalized; mostly none."""
        axes = [axis for measured in self.measured if not measured.steered for axis in measured.axes]
        return generalized_runs(axes, self.columns)


def generalized_runs(
    axes: Iterable[Cells | Scores | Position], columns: PublicColumns
) -> dict[str, tuple[CodeRange, ...]]:
    """The runs of codes of every column whose values are generalized on one of these axes.

    Raises:
        ValueError: If they do not divide the values of their column, or two axes divide them in different ways.
    """
    found: dict[str, tuple[CodeRange, ...] | None] = {}
    for axis in axes:
        if isinstance(axis, Cells):
            if found.setdefault(axis.column, axis.runs) != axis.runs:
                raise ValueError(f"the published values of '{axis.column}' are divided in two ways")
            if axis.runs is not None:
                axis.entries(columns.domains[axis.column])
    return {column: runs for column, runs in found.items() if runs is not None}
