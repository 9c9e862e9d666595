"""DiffP-C4.5 (Friedman, Schuster: KDD 2010): a decision tree from noisy answers, with the score Max.

Grows a tree to depth 5. A node asks for its noisy size, for a split point of every numerical attribute and for an
attribute; a leaf asks for its size and its noisy class counts: epsilon / ((2 + d_num) depth + 2) each. A node with too
few records for its noise becomes a leaf. Then the tree is pruned as C4.5 does, on the sums of the noisy class counts.
Depth and these two rules are settings, since ArbDistDP's paper does not give its own: `readings.py` scans them.

It publishes a classifier, not data: it stands here because ArbDistDP was compared with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from copublish_reproduction.plain_table import Floats, Ints, PlainTable, counts_by_class
from copublish_reproduction.selection import draw, log_weights

PRUNING_QUANTILE = 0.6745
"""C4.5 prunes at a confidence of 25 %: the normal quantile of its upper bound."""


@dataclass
class Node:
    """A node of the tree.

    Attributes:
        class_counts: Noisy class counts; of an inner node, the sum over its children.
        column: Which attribute an inner node asks for.
        at: The split point, if that attribute is numerical.
        children: By value, or below and from the split point on.
    """

    class_counts: Floats
    column: int = -1
    at: int = 0
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class DiffPC45:
    """The algorithm.

    Attributes:
        epsilon: The budget.
        depth: Largest depth of the tree.
        stop_below: A node becomes a leaf if a child's class would have fewer records on average than so many standard
            deviations of the noise; 0 lets every tree grow to its depth.
        is_pruned: Whether the grown tree is pruned.
    """

    epsilon: float
    depth: int = 5
    stop_below: float = 1.0
    is_pruned: bool = True

    def accuracy(self, table: PlainTable, generator: np.random.Generator) -> float:
        """Grow a tree and return the share of the test records that it gets right."""
        tree = self.grow(table, generator)
        if self.is_pruned:
            prune(tree)
        test = [table.test[column.name].to_numpy() for column in table.columns]
        predicted = np.zeros(len(table.test), dtype=np.int64)
        classify(tree, table, test, np.arange(len(table.test)), predicted)
        truth = table.test[table.class_name].to_numpy()
        return float(np.mean(np.array(table.class_values, dtype=object)[predicted] == truth))

    def grow(self, table: PlainTable, generator: np.random.Generator) -> Node:
        """The tree before pruning."""
        epsilon = self.epsilon / ((2 + len(table.numerical)) * self.depth + 2)
        top = {place: (column.low, column.high) for place, column in enumerate(table.columns)}
        return _grow(table, np.arange(len(table.classes)), top, self.depth, _Step(epsilon, self.stop_below), generator)


@dataclass(frozen=True)
class _Step:
    """The epsilon of one answer, and when a node has too few records for its noise."""

    epsilon: float
    stop_below: float

    def is_too_small(self, noisy_size: float, n_cells: int) -> bool:
        return self.stop_below > 0 and noisy_size / n_cells < self.stop_below * math.sqrt(2) / self.epsilon


def _grow(
    table: PlainTable,
    rows: Ints,
    open_columns: dict[int, tuple[int, int]],
    depth: int,
    step: _Step,
    generator: np.random.Generator,
) -> Node:
    """Grow the tree below one node; `open_columns` are the attributes it may ask for, with intervals of numbers."""
    classes, epsilon = table.classes[rows], step.epsilon
    noisy_size = len(rows) + generator.laplace(0, 1 / epsilon)
    widest = max((_width(table, place) for place in open_columns), default=0)
    if depth == 0 or not open_columns or step.is_too_small(noisy_size, widest * table.n_classes):
        counts = np.bincount(classes, minlength=table.n_classes)
        return Node(np.maximum(counts + generator.laplace(0, 1 / epsilon, table.n_classes), 0))
    scores, splits = [], []
    for place, interval in open_columns.items():
        codes = table.columns[place].codes[rows]
        counts = counts_by_class(codes, len(table.columns[place].counts), classes, table.n_classes)
        if table.columns[place].values is None:
            scores.append(int(counts.max(axis=1).sum()))
            splits.append(0)
        else:
            at, score = _draw_point(table, place, counts, interval, epsilon, generator)
            scores.append(score)
            splits.append(at)
    chosen = draw(log_weights(np.array(scores), epsilon), generator)
    place, at = list(open_columns)[chosen], splits[chosen]
    children = []
    for part, below in _parts(table, place, at, rows, open_columns):
        children.append(_grow(table, part, below, depth - 1, step, generator))
    return Node(np.sum([child.class_counts for child in children], axis=0), place, at, children)


def _width(table: PlainTable, place: int) -> int:
    return 2 if table.columns[place].values is not None else len(table.columns[place].counts)


def _draw_point(
    table: PlainTable,
    place: int,
    counts: Ints,
    interval: tuple[int, int],
    epsilon: float,
    generator: np.random.Generator,
) -> tuple[int, int]:
    """A split point drawn as DiffGen draws it, and its score."""
    values = table.columns[place].values
    low, high = interval
    occurs = np.flatnonzero(counts.sum(axis=1))
    inside = values[occurs] if values is not None else np.empty(0, dtype=np.int64)
    lowest, highest = np.concatenate([[low], inside]), np.concatenate([inside, [high - 1]])
    below = np.vstack([np.zeros((1, counts.shape[1]), dtype=np.int64), counts[occurs].cumsum(axis=0)])
    scores = below.max(axis=1) + (below[-1] - below).max(axis=1)
    if high - low < 2:
        return high, int(scores[-1])
    with np.errstate(divide="ignore"):
        weights: Floats = np.log(np.maximum(highest - lowest, 0)) + epsilon * scores / 2
    chosen = draw(weights, generator)
    return int(generator.integers(lowest[chosen] + 1, highest[chosen] + 1)), int(scores[chosen])


def _parts(
    table: PlainTable, place: int, at: int, rows: Ints, open_columns: dict[int, tuple[int, int]]
) -> list[tuple[Ints, dict[int, tuple[int, int]]]]:
    """The records of every child and the attributes that stay open below it."""
    column = table.columns[place]
    codes = column.codes[rows]
    if column.values is None:
        rest = {other: interval for other, interval in open_columns.items() if other != place}
        return [(rows[codes == code], rest) for code in range(len(column.counts))]
    low, high = open_columns[place]
    is_below = column.values[codes] < at
    return [
        (rows[is_below], {**open_columns, place: (low, at)}),
        (rows[~is_below], {**open_columns, place: (at, high)}),
    ]


def prune(node: Node) -> float:
    """Turn nodes into leaves where that lowers the estimated number of errors; return the estimate."""
    as_leaf = estimated_errors(node.class_counts)
    if node.children:
        as_tree = sum(prune(child) for child in node.children)
        if as_leaf > as_tree:
            return as_tree
        node.children.clear()
    return as_leaf


def estimated_errors(class_counts: Floats) -> float:
    """C4.5's pessimistic number of errors of a leaf: the upper confidence bound of its error rate."""
    n = float(class_counts.sum())
    if n <= 0:
        return 0.0
    rate, z = 1 - float(class_counts.max()) / n, PRUNING_QUANTILE
    bound = (rate + z * z / (2 * n) + z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))) / (1 + z * z / n)
    return n * bound


def classify(node: Node, table: PlainTable, test: list[Ints], rows: Ints, predicted: Ints) -> None:
    """Write the class of every test record that reaches a node."""
    if not node.children:
        predicted[rows] = int(node.class_counts.argmax())
        return
    values = test[node.column][rows]
    is_number = table.columns[node.column].values is not None
    branch = (values >= node.at).astype(np.int64) if is_number else values
    for number, child in enumerate(node.children):
        classify(child, table, test, rows[branch == number], predicted)
