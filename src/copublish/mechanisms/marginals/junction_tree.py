"""Junction trees of small discrete tables: which cliques a set of tables asks for, and their marginals.

A distribution that is a product of factors, one for each table, is kept as the marginals of its cliques: sets of
columns of a triangulated graph in which every table's columns are neighbors. All orders and ties are fixed by whole
numbers, and cells are counted in Python's integers, which do not overflow: with two dozen columns their product does
in 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from copublish.mechanisms.shared.portable_floats import log
from copublish.types import FloatArray

Columns = tuple[int, ...]
"""Columns by number, ascending."""


def cliques_of(sizes: Sequence[int], tables: Sequence[Columns]) -> list[Columns]:
    """The maximal cliques of a triangulated graph in which the columns of every table are neighbors.

    Columns are eliminated one by one, always the one whose clique has fewest cells, then fewest columns, then the
    lowest number. A column that all tables share, like a class, goes last, so that it joins no clique of all columns.
    """
    neighbors = [1 << column for column in range(len(sizes))]  # bit sets, each with the column itself
    for table in tables:
        together = sum(1 << column for column in table)
        for column in table:
            neighbors[column] |= together
    found: list[int] = []
    # By number of cells, number of columns, and column: the least is eliminated next.
    waiting = {column: (_cells(bits, sizes), bits.bit_count(), column) for column, bits in enumerate(neighbors)}
    while waiting:
        _, _, best = min(waiting.values())
        clique = neighbors[best]
        if not any(clique | other == other for other in found):
            found.append(clique)
        del waiting[best]
        rest = clique & ~(1 << best)
        for column in _members(rest):
            new = rest & ~neighbors[column]
            neighbors[column] = (neighbors[column] | rest) & ~(1 << best)
            cells = waiting[column][0] // sizes[best] * _cells(new, sizes)
            waiting[column] = (cells, neighbors[column].bit_count(), column)
    return [_members(clique) for clique in found]


def _members(bits: int) -> Columns:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return tuple(found)


def _cells(bits: int, sizes: Sequence[int]) -> int:
    return prod(sizes[column] for column in _members(bits))


def cells_of(columns: Columns, sizes: Sequence[int]) -> int:
    """Number of cells of a table."""
    return prod(sizes[column] for column in columns)


def most_cells(sizes: Sequence[int], tables: Sequence[Columns]) -> int:
    """Cells of the largest clique that some tables ask for."""
    return max(cells_of(clique, sizes) for clique in cliques_of(sizes, tables))


@dataclass(frozen=True)
class JunctionTree:
    """Cliques as a tree in which those that hold a column hang together.

    Attributes:
        sizes: Number of cells of every column.
        cliques: The cliques, each before those that hang below it.
        parents: For each clique the number of the one above it; -1 for the first.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @staticmethod
    def of(sizes: Sequence[int], tables: Sequence[Columns]) -> JunctionTree:
        """The tree for some tables: a spanning tree whose cliques share as many columns as possible (Prim)."""
        waiting = cliques_of(sizes, tables)
        order, parents = [waiting.pop(0)], [-1]
        while waiting:
            # The most common columns, then the earliest pair.
            *_, above, new = max(
                (len(set(clique) & set(waiting[new])), -above - new, above, new)
                for above, clique in enumerate(order)
                for new in range(len(waiting))
            )
            order.append(waiting.pop(new))
            parents.append(above)
        return JunctionTree(tuple(sizes), tuple(order), tuple(parents))

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """What every clique has in common with the one above it; nothing for the first."""
        return tuple(
            tuple(column for column in clique if above >= 0 and column in self.cliques[above])
            for clique, above in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, columns: Columns) -> int | None:
        """The smallest clique that holds these columns; none if there is none."""
        wanted = set(columns)
        fitting = [number for number, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(fitting, key=lambda number: cells_of(self.cliques[number], self.sizes), default=None)

    @cached_property
    def _inner(self) -> tuple[tuple[int, ...], ...]:
        """For every clique the axes that its separator does not have."""
        return tuple(
            tuple(axis for axis, column in enumerate(clique) if column not in separator)
            for clique, separator in zip(self.cliques, self.separators, strict=True)
        )

    @cached_property
    def _in_parent(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]:
        """For every clique: axes of the one above to sum away, and the separator's shape there and in the clique."""
        found = []
        for clique, above, separator in zip(self.cliques, self.parents, self.separators, strict=True):
            upper = self.cliques[above] if above >= 0 else ()
            away = tuple(axis for axis, column in enumerate(upper) if column not in separator)
            found.append((away, self.shape_in(separator, upper), self.shape_in(separator, clique)))
        return tuple(found)

    def shape_in(self, columns: Columns, clique: Columns) -> tuple[int, ...]:
        """The shape under which a table multiplies one of a clique."""
        return tuple(self.sizes[column] if column in columns else 1 for column in clique)

    def calibrated(self, potentials: Sequence[FloatArray]) -> tuple[list[FloatArray], float]:
        """The marginals of all cliques, and the logarithm of the sum, of a product of potentials.

        Args:
            potentials: One table for each clique, not negative, with shape of all its columns.
        """
        collected = list(potentials)
        messages: list[FloatArray] = [np.ones(())] * len(collected)
        log_sum = 0.0
        for number in range(len(collected) - 1, 0, -1):
            away, upper_shape, _ = self._in_parent[number]
            message = collected[number].sum(axis=self._inner[number])
            largest = float(message.max())
            if not 0 < largest < np.inf:
                raise FloatingPointError("the factors of a model leave nothing, or more than floating point holds")
            message = message / largest  # so that products neither vanish nor overflow
            log_sum += log(largest)
            messages[number] = message
            above = self.parents[number]
            collected[above] = collected[above] * message.reshape(upper_shape)
        total = float(collected[0].sum())
        if not 0 < total < np.inf:
            raise FloatingPointError("the factors of a model leave nothing, or more than floating point holds")
        beliefs = [collected[0] / total]
        for number in range(1, len(collected)):
            away, _, own_shape = self._in_parent[number]
            wanted = beliefs[self.parents[number]].sum(axis=away)
            message = messages[number]
            # Where nothing is left below, nothing is wanted above: 0 / 0 is 0.
            ratio = np.divide(wanted, message, out=np.zeros_like(wanted), where=message > 0)
            # The message was divided by its largest entry, the clique itself was not.
            lower = collected[number] * ratio.reshape(own_shape)
            beliefs.append(lower / max(float(lower.sum()), np.finfo(float).tiny))
        return beliefs, log_sum + log(total)

    def marginal(self, beliefs: Sequence[FloatArray], columns: Columns) -> FloatArray:
        """The marginal of columns that one clique holds."""
        number = self.home(columns)
        if number is None:
            raise KeyError(columns)
        clique = self.cliques[number]
        away = tuple(axis for axis, column in enumerate(clique) if column not in columns)
        found: FloatArray = beliefs[number].sum(axis=away)
        return found


def marginals(tree: JunctionTree, beliefs: Sequence[FloatArray], tables: Sequence[Columns]) -> list[FloatArray]:
    """The marginals of any tables, of columns that may be in different cliques.

    Tables that have columns of one clique in common are answered by one walk along the tree. It carries the joint
    distribution of these columns and of the next separator; no larger product is ever made.

    Args:
        tree: The tree.
        beliefs: The marginals of its cliques, which agree on separators.
        tables: The tables, each with ascending columns.
    """
    found: dict[Columns, FloatArray] = {}
    walks: dict[Columns, list[Columns]] = {}
    for table in dict.fromkeys(tables):
        if tree.home(table) is not None:
            found[table] = tree.marginal(beliefs, table)
        else:
            # All but the last column that does not go with the others are carried along.
            walks.setdefault(_longest_part(tree, table), []).append(table)
    walking = _Walks(tree, beliefs)
    for start, wanted in walks.items():
        found.update(walking.answers(start, wanted))
    return [found[table] for table in tables]


def _longest_part(tree: JunctionTree, table: Columns) -> Columns:
    """The columns of a table, all but one or more, that one clique holds; the first of the longest."""
    for left_out in range(1, len(table)):
        for part in combinations(table, len(table) - left_out):
            if tree.home(part) is not None:
                return part
    return ()


@dataclass
class _Walks:
    """Walks along one tree, which have conditional distributions in common."""

    tree: JunctionTree
    beliefs: Sequence[FloatArray]

    @cached_property
    def links(self) -> Mapping[int, list[tuple[int, Columns]]]:
        """For every clique the ones beside it, with what they share."""
        found: dict[int, list[tuple[int, Columns]]] = {number: [] for number in range(len(self.tree.cliques))}
        for number, (above, separator) in enumerate(zip(self.tree.parents, self.tree.separators, strict=True)):
            if above >= 0:
                found[number].append((above, separator))
                found[above].append((number, separator))
        return found

    @cached_property
    def _given(self) -> dict[tuple[int, Columns, Columns], FloatArray]:
        return {}

    def given(self, number: int, separator: Columns, target: Columns) -> FloatArray:
        """The distribution of a clique's columns given a separator: over both, columns ascending."""
        key = number, separator, target
        if key not in self._given:
            clique, both = self.tree.cliques[number], {*separator, *target}
            joint = self.beliefs[number].sum(axis=axes_without(clique, both))
            columns = tuple(sorted(both))
            condition = joint.sum(axis=axes_without(columns, set(separator)))
            condition = condition.reshape(self.tree.shape_in(separator, columns))
            self._given[key] = np.divide(joint, condition, out=np.zeros_like(joint), where=condition > 0)
        return self._given[key]

    def answers(self, start: Columns, wanted: Sequence[Columns]) -> dict[Columns, FloatArray]:
        """Answer tables that have `start` in common, clique by clique away from where it is."""
        found: dict[Columns, FloatArray] = {}
        rest = {table: tuple(column for column in table if column not in start) for table in wanted}
        first = self.tree.home(start)
        if first is None:
            raise KeyError(start)
        clique, joint = self.tree.cliques[first], self.beliefs[first]
        waiting = []
        for beside, separator in self.links[first]:
            kept = {*start, *separator}
            waiting.append((beside, first, separator, joint.sum(axis=axes_without(clique, kept))))
        while waiting:
            number, before, separator, carried = waiting.pop()
            have = tuple(sorted({*start, *separator}))
            here = set(self.tree.cliques[number])
            for table, target in rest.items():
                if table not in found and here.issuperset(target):
                    found[table] = self._step(carried, have, number, separator, target, table)
            for beside, next_separator in self.links[number]:
                if beside != before:
                    wanted_columns = tuple(sorted({*start, *next_separator}))
                    moved = self._step(carried, have, number, separator, next_separator, wanted_columns)
                    waiting.append((beside, number, next_separator, moved))
        for table in wanted:
            if table not in found:  # three columns or more in as many cliques
                found[table] = _joint(self.tree, self.beliefs, table)
        return found

    def _step(
        self, carried: FloatArray, have: Columns, number: int, separator: Columns, target: Columns, out: Columns
    ) -> FloatArray:
        """Exchange a separator for other columns of the clique behind it."""
        given, both = self.given(number, separator, target), tuple(sorted({*separator, *target}))
        everything = tuple(sorted({*have, *both}))
        return summed_product(
            carried.reshape(self.tree.shape_in(have, everything)),
            given.reshape(self.tree.shape_in(both, everything)),
            axes_without(everything, set(out)),
        )


LARGEST_PRODUCT = 2**18
"""Entries of a product that is made as a whole before it is summed."""


def summed_product(first: FloatArray, second: FloatArray, axes: Sequence[int]) -> FloatArray:
    """The product of two tables, summed over axes that both have.

    In parts where it is large. `einsum` would add up in another order on another kind of processor.
    """
    shape = np.broadcast_shapes(first.shape, second.shape)
    longest = max(axes, key=lambda axis: shape[axis], default=None)
    if longest is None or prod(shape) <= LARGEST_PRODUCT or shape[longest] == 1:
        whole: FloatArray = (first * second).sum(axis=tuple(axes))
        return whole
    before, half = (slice(None),) * longest, shape[longest] // 2
    lower, upper = (*before, slice(None, half)), (*before, slice(half, None))
    return summed_product(first[lower], second[lower], axes) + summed_product(first[upper], second[upper], axes)


def axes_without(columns: Columns, kept: Set[int]) -> tuple[int, ...]:
    """The axes of columns that are summed away."""
    return tuple(axis for axis, column in enumerate(columns) if column not in kept)


def _joint(tree: JunctionTree, beliefs: Sequence[FloatArray], table: Columns) -> FloatArray:
    """The marginal of columns anywhere, by carrying all of them along from the leaves to the root."""
    messages: dict[int, tuple[Columns, FloatArray]] = {}
    for number in range(len(tree.cliques) - 1, -1, -1):
        clique, separator = tree.cliques[number], tree.separators[number]
        columns, joint = clique, beliefs[number]
        if number:
            shared = joint.sum(axis=axes_without(clique, set(separator))).reshape(tree.shape_in(separator, clique))
            joint = np.divide(joint, shared, out=np.zeros_like(joint), where=shared > 0)
        for below, above in enumerate(tree.parents):
            if above == number:
                kept, message = messages.pop(below)
                joined = tuple(sorted({*columns, *kept}))
                joint = joint.reshape(tree.shape_in(columns, joined)) * message.reshape(tree.shape_in(kept, joined))
                columns = joined
        kept = tuple(column for column in columns if column in separator or column in table)
        messages[number] = kept, joint.sum(axis=axes_without(columns, set(kept)))
    return messages[0][1]
