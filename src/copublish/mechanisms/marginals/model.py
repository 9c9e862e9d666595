"""The distribution that fits noisy tables: a product of one factor for each table. Released values only.

Among all distributions p of N records it is the one that minimizes

    sum over tables t of  |N p_t - y_t|^2 / (2 k s_t)  +  N KL(p, uniform),

where y_t is a noisy table, s_t the standard deviation of its noise and k a public constant: the distribution with most
entropy among those that fit as well. It is unique, and a small cell is not taken at its word where noise is larger. By
duality p is proportional to the product over tables of exp(f_t), where the factors f_t minimize the strictly convex

    N log Z(f) - sum over t of <f_t, y_t> + (k s_t / 2) |f_t|^2,        Z(f) the sum of that product,

whose gradient is N p_t - y_t + k s_t f_t. The fit ends where the gradient has vanished up to a part of the noise.
Every party fits by itself: all arithmetic comes out the same to the last bit on every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from copublish.kernel.accounting.disclosures import Place
from copublish.mechanisms.marginals.junction_tree import Columns, JunctionTree, axes_without
from copublish.mechanisms.shared.portable_floats import dot, exp
from copublish.types import FloatArray, IntArray

SHRINKAGE = 0.2
"""The constant k: a factor of e weighs as much as being off by this part of the noise's deviation."""

FACTOR_UNIT = 2.0**-20
"""Factors are published as whole numbers of this unit."""

TABLE_BITS = 36
"""Tables of the model are published in whole numbers of its inverse power of 2."""

LARGEST_FACTOR = 2**30
"""In units: e to the 1024, more than floating point tells apart."""

FITTED = 0.1
"""How large an entry of the gradient may be where fitting ends, in deviations of its noise."""

MOST_STEPS = 3000
MEMORY = 10
LEAST_DECREASE, SHORTEST_STEP, LARGEST_CHANGE = 1e-4, 1e-7, 5.0


@dataclass(frozen=True)
class MeasuredTable:
    """A measured table.

    Attributes:
        columns: Its columns, ascending.
        values: The noisy counts, last column fastest, shape (n_cells,).
        deviation: Standard deviation of their noise.
        place: The disclosure that opened it.
    """

    columns: Columns
    values: IntArray
    deviation: float
    place: Place


@dataclass(frozen=True)
class State:
    """Factors, what they cost, and the distribution they make.

    Attributes:
        factors: Of all tables, one after the other.
        cost: What is minimized.
        gradient: Its gradient.
        answers: What the distribution says of the tables' cells.
        beliefs: The marginals of the tree's cliques.
    """

    factors: FloatArray
    cost: float
    gradient: FloatArray
    answers: FloatArray
    beliefs: Sequence[FloatArray]


@dataclass(frozen=True)
class FittingProblem:
    """Tables that a distribution is fitted to.

    Attributes:
        sizes: Number of cells of every column.
        tables: The noisy tables.
        total: Number of records, estimated or public, at least 1.
    """

    sizes: tuple[int, ...]
    tables: tuple[MeasuredTable, ...]
    total: int

    @cached_property
    def tree(self) -> JunctionTree:
        """The cliques that these tables ask for."""
        return JunctionTree.of(self.sizes, [table.columns for table in self.tables])

    @cached_property
    def wanted(self) -> FloatArray:
        """All noisy counts, one table after the other."""
        return np.concatenate([table.values for table in self.tables]).astype(np.float64)

    @cached_property
    def deviations(self) -> FloatArray:
        """The deviation of each of them."""
        return np.concatenate([np.full(len(table.values), table.deviation) for table in self.tables])

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(table.values) for table in self.tables]

    @cached_property
    def _starts(self) -> IntArray:
        """Where the factors of every table begin."""
        return np.cumsum([0, *self._lengths[:-1]])

    @cached_property
    def _places(self) -> list[tuple[slice, int, tuple[int, ...], tuple[int, ...]]]:
        """For every table: its part of the factors, its clique, its shape there, and the axes that it does not have."""
        found, start = [], 0
        for table in self.tables:
            home = self.tree.home(table.columns)
            if home is None:
                raise KeyError(table.columns)
            clique = self.tree.cliques[home]
            part = slice(start, start + len(table.values))
            away = axes_without(clique, set(table.columns))
            found.append((part, home, self.tree.shape_in(table.columns, clique), away))
            start = part.stop
        return found

    def state(self, factors: FloatArray) -> State:
        """What factors make."""
        potentials = [np.ones([self.sizes[column] for column in clique]) for clique in self.tree.cliques]
        largest = np.maximum.reduceat(factors, self._starts)
        shift = float(largest.sum())
        weights = exp(factors - np.repeat(largest, self._lengths))
        for part, home, shape, _ in self._places:
            potentials[home] *= weights[part].reshape(shape)
        beliefs, log_sum = self.tree.calibrated(potentials)
        answers = self.total * np.concatenate(
            [beliefs[home].sum(axis=away).ravel() for _, home, _, away in self._places]
        )
        ridge = SHRINKAGE * self.deviations
        return State(
            factors=factors,
            cost=self.total * (log_sum + shift) - dot(factors, self.wanted) + 0.5 * dot(ridge, factors * factors),
            gradient=answers - self.wanted + ridge * factors,
            answers=answers,
            beliefs=beliefs,
        )

    def misfit(self, state: State) -> float:
        """The largest entry of the gradient, in deviations of its noise."""
        return float(np.abs(state.gradient / self.deviations).max())

    def fit(self, factors: FloatArray) -> State:
        """Minimize from some factors on: L-BFGS that begins with the diagonal of the second derivatives."""
        now = self.state(factors)
        history: list[tuple[FloatArray, FloatArray, float]] = []
        for _ in range(MOST_STEPS):
            if self.misfit(now) <= FITTED:
                break
            curvature = now.answers * (1 - now.answers / self.total) + SHRINKAGE * self.deviations
            direction = -_two_loops(now.gradient, history, 1 / curvature)
            if dot(direction, now.gradient) >= 0:  # rounding has spoiled what was learned
                history, direction = [], -now.gradient / curvature
            tried = self._step(now, direction)
            if tried is None:
                break
            moved, change = tried.factors - now.factors, tried.gradient - now.gradient
            if (product := dot(moved, change)) > 0:
                history = [*history[1 - MEMORY :], (moved, change, 1 / product)]
            now = tried
        return now

    def _step(self, now: State, direction: FloatArray) -> State | None:
        """Go along a direction as far as it pays; nothing if it does not."""
        slope = dot(direction, now.gradient)
        length = min(1.0, LARGEST_CHANGE / float(np.abs(direction).max()))
        while length > SHORTEST_STEP:
            with suppress(FloatingPointError):  # so far that nothing is left: less far
                tried = self.state(now.factors + length * direction)
                if tried.cost <= now.cost + LEAST_DECREASE * length * slope:
                    return tried
            length /= 2
        return None


def _two_loops(
    gradient: FloatArray, history: Sequence[tuple[FloatArray, FloatArray, float]], scale: FloatArray
) -> FloatArray:
    """The gradient times the inverse of what the history says of second derivatives (Nocedal 1980)."""
    found, weights = gradient.copy(), []
    for moved, change, inverse in reversed(history):
        weights.append(inverse * dot(moved, found))
        found -= weights[-1] * change
    if history:  # the diagonal does not know that tables overlap; the latest step does
        _, change, inverse = history[-1]
        scale = scale / (inverse * dot(change, scale * change))
    found *= scale
    for (moved, change, inverse), weight in zip(history, reversed(weights), strict=True):
        found += moved * (weight - inverse * dot(change, found))
    return found


def in_units(factors: FloatArray) -> IntArray:
    """Factors as whole numbers of their unit."""
    found: IntArray = np.clip(np.rint(factors / FACTOR_UNIT), -LARGEST_FACTOR, LARGEST_FACTOR).astype(np.int64)
    return found


def from_units(units: IntArray) -> FloatArray:
    """Factors from whole numbers of their unit."""
    return units.astype(np.float64) * FACTOR_UNIT


def estimated_total(tables: Sequence[MeasuredTable], expected: int) -> int:
    """The number of records from all tables' sums, each weighted by how exact it is. At least 1.

    The public guess counts as one more of them that is off by as much as it says: it matters where noise is larger.
    """
    # Rounded before they are added up in whole numbers, so that all parties get the same one.
    weights = [max(1, round(2**60 / (table.deviation**2 * len(table.values)))) for table in tables]
    weighted = sum(weight * int(table.values.sum()) for weight, table in zip(weights, tables, strict=True))
    guess = max(1, 2**60 // expected**2)
    return max(1, (weighted + guess * expected) // (sum(weights) + guess))
