"""Sums over people of products of functions of their columns, from everything that was measured. Released values only.

A question is a list of such sums. Two routes lead to them: a table that counts the cells of all columns in question, or
the expansion of each product into terms that were measured. Both are linear in what was opened, so their noise is known
before any value is seen, and the route with less of it is taken.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

import numpy as np

from copublish.agreement.domain import Domain
from copublish.mechanisms.published import Axis, Cells, Measured, Published
from copublish.mechanisms.shared.noise_laws import deviation_of, excess_of
from copublish.release.questions.cells import ColumnCells, NoisyTable, OtherTotal
from copublish.release.questions.noisy import NoisyNumber
from copublish.types import FloatArray

Ask = Mapping[str, FloatArray]
"""A sum over people of a product: for some columns a number for each published cell. Without columns, all people."""

NO_RESIDUAL = 1e-9
"""How far a function may be from what an axis spans, as a part of its size."""

LEAST_VARIANCE = 1e-300

Spanned = tuple[float, FloatArray] | None
"""A constant and a weight for each entry of an axis."""

MOST_KNOWN = 10_000

_KNOWN: dict[bytes, Spanned] = {}
"""By a hash of a function and an axis, both public, what the function is on it."""


@dataclass(frozen=True)
class Answers:
    """The sums of a question.

    Attributes:
        numbers: One for each ask, with common sources of noise.
        by_counts: Whether they are sums of counted cells.
        table: The table that they were read from, if it was one.
    """

    numbers: tuple[NoisyNumber, ...]
    by_counts: bool
    table: NoisyTable | None = None

    @property
    def variance(self) -> float:
        """Of all sums together."""
        return sum(number.variance for number in self.numbers)


@dataclass(frozen=True)
class Linear:
    """A number that is linear in opened values: its value, and its noise by measurement and entry."""

    value: float
    loads: Mapping[int, FloatArray] = field(default_factory=dict)

    def __add__(self, other: Linear) -> Linear:
        loads = dict(self.loads)
        for source, own in other.loads.items():
            loads[source] = loads[source] + own if source in loads else own
        return Linear(self.value + other.value, loads)

    def times(self, factor: float) -> Linear:
        """A multiple."""
        return Linear(self.value * factor, {source: own * factor for source, own in self.loads.items()})

    @property
    def variance(self) -> float:
        """Of its noise."""
        return float(sum(own @ own for own in self.loads.values()))


class Sums:
    """Everything that was measured, for questions.

    Measurements that steered others are read only where nothing else has the columns, and together only with those of
    the same step. A step opens them before anything follows from their noise, so they have the stated laws; what comes
    later could depend on it.
    """

    def __init__(self, published: Published, public_total: int | None) -> None:
        self.published, self.public_total = published, public_total
        self._tables: dict[tuple[str, ...], NoisyTable | None] = {}
        self._known_totals: dict[int, Linear | None] = {}

    @cached_property
    def columns(self) -> dict[str, ColumnCells]:
        """The published cells of each column."""
        runs = self.published.generalized
        return {name: ColumnCells.of(domain, runs.get(name)) for name, domain in self._domains.items()}

    @property
    def _domains(self) -> Mapping[str, Domain]:
        return self.published.columns.domains

    def of(self, *asks: Ask) -> Answers | None:
        """The sums of a question, by the route with the least noise; nothing if it was not measured."""
        columns = list(dict.fromkeys(name for ask in asks for name in ask))
        routes = list(self._expanded(columns, asks)) if self._has_sums or not columns else []
        table = self.table(columns)
        # How exact another route is may follow from the noise of a table that steered it, so the two are not compared.
        if table is not None and not (routes and self._having(columns)[0].steered):
            routes.insert(0, _from_table(table, columns, asks))
        return min(routes, key=lambda answers: answers.variance, default=None)

    def each(self, *asks: Ask) -> tuple[NoisyNumber, ...] | None:
        """Sums of which each takes its own route through what was measured, with common sources of noise."""
        found = [
            min(self._representations(list(ask), [ask]), key=lambda sums: sums[0].variance, default=None)
            for ask in asks
        ]
        return None if None in found else self._together([sums[0] for sums in found if sums is not None])

    # By a table.

    def table(self, columns: Sequence[str]) -> NoisyTable | None:
        """The unbiased joint counts of some columns; nothing if no table has them together."""
        if tuple(columns) not in self._tables:
            self._tables[tuple(columns)] = self._joint(columns) if columns else None
        return self._tables[tuple(columns)]

    def _joint(self, columns: Sequence[str]) -> NoisyTable | None:
        """Joint counts from all tables that have the columns, weighted by how exact they are."""
        having = self._having(columns)
        if not having:
            return None
        summed = [self._summed(table, columns) for table in having]
        weights = np.array([1 / max(part.variance, LEAST_VARIANCE) for part in summed])
        weights = weights / weights.sum()
        counts = sum(weight * part.counts for weight, part in zip(weights.tolist(), summed, strict=True))
        variance = sum(w**2 * part.variance for w, part in zip(weights.tolist(), summed, strict=True))
        kurtosis = sum(w**4 * part.variance**2 * part.excess for w, part in zip(weights.tolist(), summed, strict=True))
        is_single = len(summed) == 1 and summed[0].merged == 1
        return NoisyTable(
            columns=tuple(self.columns[name] for name in columns),
            counts=np.asarray(counts, dtype=np.float64),
            deviation=math.sqrt(variance),
            excess=kurtosis / variance**2 if variance > 0 else 0.0,
            other_total=self._other_total(having),
            single_within=having[0].within_95_percent if is_single else None,
        )

    def _having(self, columns: Sequence[str]) -> list[Measured]:
        """The tables that have some columns; where all of them steered others, those of the first step."""
        having = [table for table in self.published.tables if set(columns) <= set(table.columns)]
        first = [table for table in having if table.place.step == having[0].place.step]
        return [table for table in having if not table.steered] or first

    def _summed(self, table: Measured, columns: Sequence[str]) -> _Summed:
        """The counts of some of a table's columns, in their order."""
        away = tuple(axis for axis, name in enumerate(table.columns) if name not in columns)
        left = [name for name in table.columns if name in columns]
        counts = self._values(table).sum(axis=away).transpose([left.index(name) for name in columns])
        merged = table.values.size // counts.size
        return _Summed(counts, _deviation(table) ** 2 * merged, excess_of(table.noise) / merged, merged)

    def _values(self, measured: Measured) -> FloatArray:
        shape = [len(self._entries(axis)) for axis in measured.axes]
        return measured.values.reshape(shape) / measured.times

    def _other_total(self, used: Sequence[Measured]) -> OtherTotal | None:
        """The number of records: public, or from everything that is not used."""
        if self.public_total is not None:
            return OtherTotal(self.public_total, 0.0)
        if any(table.steered for table in used):
            return None
        others = [own for own in self._totals if all(own is not table for table in used)]
        variances = [_deviation(own) ** 2 * own.values.size for own in others]
        if not others or min(variances) <= 0:
            return None
        weights = [1 / variance for variance in variances]
        value = sum(w * float(own.values.sum()) / own.times for w, own in zip(weights, others, strict=True))
        return OtherTotal(value / sum(weights), math.sqrt(1 / sum(weights)))

    @cached_property
    def _totals(self) -> list[Measured]:
        """The measurements that add up to the number of people."""
        counted = [own for own in self.published.measured if own.cells is not None or not own.axes]
        return [own for own in counted if not own.steered]

    # By expansion.

    @cached_property
    def _has_sums(self) -> bool:
        """Whether anything was measured but tables of cells."""
        return any(own.cells is None for own in self.published.measured)

    @cached_property
    def _by_axes(self) -> dict[frozenset[Axis], int]:
        measured = enumerate(self.published.measured)
        return {frozenset(own.axes): number for number, own in measured if not own.steered}

    @cached_property
    def _axes(self) -> dict[str, list[Axis]]:
        """The axes of each column, each once."""
        found: dict[str, dict[Axis, None]] = {}
        for axes in self._by_axes:
            for axis in axes:
                found.setdefault(axis.column, {})[axis] = None
        return {name: list(axes) for name, axes in found.items()}

    def _entries(self, axis: Axis) -> FloatArray:
        """What each published cell counts as in each entry of an axis."""
        domain, runs = self._domains[axis.column], self.published.generalized.get(axis.column)
        if isinstance(axis, Cells) and axis.runs == runs:
            return np.eye(len(self.columns[axis.column].labels))
        entries = axis.entries(domain).astype(np.float64)
        return entries if runs is None else entries[:, [start for start, _ in runs]]

    def _expanded(self, columns: Sequence[str], asks: Sequence[Ask]) -> Iterator[Answers]:
        for sums in self._representations(columns, asks):
            yield Answers(self._together(sums), by_counts=False)

    def _representations(self, columns: Sequence[str], asks: Sequence[Ask]) -> Iterator[list[Linear]]:
        """Yield all sums of a question, once for each choice of one axis for each column by which all were measured."""
        for axes in product(*(self._axes.get(name, []) for name in columns)):
            by_column = dict(zip(columns, axes, strict=True))
            sums = [self._expand(ask, by_column) for ask in asks]
            if all(own is not None for own in sums):
                yield [own for own in sums if own is not None]

    def _expand(self, ask: Ask, axes: Mapping[str, Axis]) -> Linear | None:
        """A sum by one axis for each column; nothing if an axis does not span a function or a term is missing."""
        constants, weights = {}, {}
        for name, function in ask.items():
            spanned = _on_axis(function, self._entries(axes[name]))
            if spanned is None:
                return None
            constants[name], weights[name] = spanned
        found = Linear(0.0)
        for size in range(len(ask) + 1):
            for chosen in combinations(ask, size):
                factor = math.prod(constants[name] for name in ask if name not in chosen)
                if factor == 0 or any(not weights[name].any() for name in chosen):
                    continue
                term = self._term({axes[name]: weights[name] for name in chosen})
                if term is None:
                    return None
                found = found + term.times(factor)
        return found

    def _term(self, weights: Mapping[Axis, FloatArray]) -> Linear | None:
        """The sum of a measurement's entries times weights for each axis; nothing if there is no such measurement."""
        if not weights:
            return self._total
        source = self._by_axes.get(frozenset(weights))
        if source is None:
            return None
        measured, factors = self.published.measured[source], np.ones(())
        for axis in measured.axes:
            factors = np.multiply.outer(factors, weights[axis])
        flat = factors.ravel()
        others = self._total_without(source) if measured.cells is not None and len(measured.axes) == 1 else None
        if others is None:
            return self._weighted(source, flat)
        # One column's counts, each moved by the same part of what others tell of the total: still unbiased.
        moved = float(flat.sum()) / (flat.size + others.variance / max(_deviation(measured) ** 2, LEAST_VARIANCE))
        return self._weighted(source, flat - moved) + others.times(moved)

    def _weighted(self, source: int, weights: FloatArray) -> Linear:
        """A weighted sum of a measurement's values."""
        measured = self.published.measured[source]
        value = float(weights @ measured.values) / measured.times
        return Linear(value, {source: weights * _deviation(measured)})

    @cached_property
    def _total(self) -> Linear | None:
        """The number of people: public, or by everything that adds up to it."""
        return self._total_without(-1)

    def _total_without(self, left_out: int) -> Linear | None:
        """The number of people without what one measurement tells of it; nothing if no other tells it."""
        if self.public_total is not None:
            return Linear(float(self.public_total))
        if left_out not in self._known_totals:
            known = [(number, own) for number, own in enumerate(self.published.measured) if number != left_out]
            parts = [(number, own) for number, own in known if any(own is total for total in self._totals)]
            weights = np.array([1 / max(_deviation(own) ** 2 * own.values.size, LEAST_VARIANCE) for _, own in parts])
            summed = [
                self._weighted(number, np.full(own.values.size, weight))
                for (number, own), weight in zip(parts, (weights / weights.sum()).tolist(), strict=True)
            ]
            self._known_totals[left_out] = sum(summed[1:], summed[0]) if summed else None
        return self._known_totals[left_out]

    def _together(self, sums: Sequence[Linear]) -> tuple[NoisyNumber, ...]:
        """Numbers over all sources that one of them has."""
        sources = sorted({source for own in sums for source in own.loads})
        measured = [self.published.measured[source] for source in sources]
        excess = np.concatenate([np.zeros(0), *(np.full(own.values.size, excess_of(own.noise)) for own in measured)])
        return tuple(
            NoisyNumber(
                own.value,
                np.concatenate(
                    [
                        np.zeros(0),
                        *(
                            own.loads.get(source, np.zeros(part.values.size))
                            for source, part in zip(sources, measured, strict=True)
                        ),
                    ]
                ),
                excess,
            )
            for own in sums
        )


@dataclass(frozen=True)
class _Summed:
    """A table's counts of some columns: each count's variance and excess kurtosis, and of how many cells it is."""

    counts: FloatArray
    variance: float
    excess: float
    merged: int


def _deviation(measured: Measured) -> float:
    """Standard deviation of one value's noise, after division by `times`."""
    return deviation_of(measured.noise, points_per_person=measured.points) * measured.points / measured.times


def _from_table(table: NoisyTable, columns: Sequence[str], asks: Sequence[Ask]) -> Answers:
    ones = dict(zip(columns, table.all_cells, strict=True))
    numbers = tuple(table.sum(*(ask.get(name, ones[name]) for name in columns)) for ask in asks)
    return Answers(numbers, by_counts=True, table=table)


def _on_axis(function: FloatArray, entries: FloatArray) -> Spanned:
    """A function of a column as a constant plus weights of an axis' entries; nothing if the axis does not span it."""
    # Questions ask for the same few functions again and again, and solving for weights takes most of an answer's time.
    key = hashlib.sha256(repr(entries.shape).encode() + entries.tobytes() + function.tobytes()).digest()
    if key not in _KNOWN:
        if len(_KNOWN) == MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = _solved(function, entries)
    return _KNOWN[key]


def _solved(function: FloatArray, entries: FloatArray) -> Spanned:
    scale = max(float(np.abs(function).max(initial=0.0)), 1.0)
    for constant in (False, True):  # without a constant where that is possible: fewer terms have noise
        basis = np.vstack([entries, np.ones((int(constant), entries.shape[1]))])
        weights, *_ = np.linalg.lstsq(basis.T, function, rcond=None)
        if np.abs(weights @ basis - function).max(initial=0.0) <= NO_RESIDUAL * scale:
            weights = np.where(np.abs(weights) < NO_RESIDUAL * scale, 0.0, weights)
            return (float(weights[-1]), weights[:-1]) if constant else (0.0, weights)
    return None
