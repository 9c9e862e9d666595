"""DP-SUBN3, which HPDP-DP is compared with: owners update one Bayesian network in turn and fill its tables together.

Cheng, Tang, Su, Chen, Wu and Zhu, "Multi-Party High-Dimensional Data Publishing Under Differential Privacy", IEEE TKDE
2020; before that Su, Tang, Cheng, Chen and Wu at ICDE 2016. Their text was not at hand. What is known here is what
HPDP-DP's paper and the abstract say: a semi-trusted curator; four stages that each read local records with noise,
namely correlations of pairs of attributes (by a non-overlapping covering design), a first structure, its update by one
owner after the other within a search frontier that the correlations give, and parameters; then records are drawn.

Everything else is assumed, most of it as in PrivBayes (Zhang and others 2017), on which the method builds:

- Columns are the binary digits of HPDP-DP's experiments, the class one of them.
- The number of records is public, and neighbors differ by one record that is added or removed, as in the other lines
  of these figures; a calibration to replaced records would double all noise.
- Epsilon is divided into 0.15 for correlations, 0.15 for structure and 0.7 for parameters, for every owner: a person's
  record is with one owner, so owners compose in parallel. PrivBayes has 0.3 and 0.7.
- An owner adds Laplace noise of full scale to each of its tables, since the curator sees them, and adds them up.
  `noise="once"` is the kinder reading, in which all owners together add the noise of one, as in HPDP-DP.
- The covering design is the one of `subn_design`.
- Correlation is mutual information, of noisy pair tables.
- The number of parents is the largest for which a cell's share of the records is 4 times its noise (PrivBayes' theta),
  at least 1 and at most 6.
- The network starts at the attribute with the largest sum of correlations. The search frontier of a step has the ten
  best pairs of an attribute and its parents by the sum of correlations; of an update the ten best parents, and the
  present ones. One of them is chosen by the exponential mechanism; its score is the distance of the owner's table from
  independence, PrivBayes' function R. Steps have equal shares of epsilon.
- The first owner starts the network, each other one updates every attribute once, in the network's order.
- Every attribute has a table with its parents and an equal share of epsilon. Negative counts become 0, and a row
  without any becomes uniform.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

import numpy as np

from copublish.errors import AgreementError
from copublish_reproduction.hpdp import refuse_unusable
from copublish_reproduction.plain_table import Floats, Ints
from copublish_reproduction.subn_design import covering_design

Noise = Literal["every owner", "once"]
"""How much Laplace noise the sum of all owners' tables has: that of each of them, or that of one."""

CORRELATION_SHARE, STRUCTURE_SHARE = 0.15, 0.15
USEFULNESS = 4.0
MOST_PARENTS = 6
FRONTIER = 10

SCORE_SENSITIVITY = 1.5
"""One record changes the score of `dependence` by at most this; see there."""

Parents = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """An attribute of the network and the ones before it that it depends on."""

    column: int
    parents: Parents


@dataclass(frozen=True)
class Subn:
    """The algorithm that owners and curator run.

    Attributes:
        epsilon: The budget of every owner; infinite for no noise.
        noise: How much noise the sum of the owners' tables has.

    Privacy:
        Protects: one record, added or removed, at one owner.
        Guarantee: epsilon-DP, were the noise exact: it is drawn in floating point.
        Assumes: the public number of records is not exceeded by any owner; for `once`, that owners draw their shares
            of the noise honestly and do not subtract them.
        Reveals: to curator and owners, noisy tables and every version of the network.
    """

    epsilon: float
    noise: Noise = "every owner"

    def __post_init__(self) -> None:
        """Check the budget."""
        if not self.epsilon > 0:
            raise AgreementError("DP-SUBN3", [f"epsilon must be positive, got epsilon = {self.epsilon}."])

    def publish(self, owners: Sequence[Floats], n_records: int, generator: np.random.Generator) -> Floats:
        """Synthetic records, as many as the public number.

        Args:
            owners: Each owner's records of zeros and ones, shape (n_m, p).
            n_records: The public number of all records; every owner has at most its even part of it, rounded up.
            generator: Where all randomness comes from.

        Raises:
            AgreementError: If owners cannot run the algorithm together, or one has more records than its part.
        """
        refuse_unusable(owners, None)
        most = math.ceil(n_records / len(owners))
        if any(len(values) > most for values in owners):
            raise AgreementError(
                "DP-SUBN3", [f"an owner has more than {most:,} records, its part of the public number."]
            )
        bits = [values.astype(np.int64) for values in owners]
        correlations = self.correlations(bits, generator)
        network = self.structure(bits, correlations, most, generator)
        return draw(network, self.parameters(bits, network, generator), n_records, generator)

    def correlations(self, owners: Sequence[Ints], generator: np.random.Generator) -> Floats:
        """Noisy mutual information of every two columns, shape (p, p), zero on the diagonal."""
        p = owners[0].shape[1]
        blocks = covering_design(p)
        scale = len(blocks) / (CORRELATION_SHARE * self.epsilon)  # a record adds 1 to one cell of each table
        found = np.zeros((p, p))
        for block in blocks:
            table = self._sum([table_of(values, block) for values in owners], scale, generator)
            table = np.maximum(table, 0).reshape([2] * len(block))
            for first, second in combinations(range(len(block)), 2):
                others = tuple(axis for axis in range(len(block)) if axis not in (first, second))
                information = mutual_information(table.sum(axis=others))
                found[block[first], block[second]] = found[block[second], block[first]] = information
        return found

    def structure(
        self, owners: Sequence[Ints], correlations: Floats, most: int, generator: np.random.Generator
    ) -> list[Node]:
        """The network that the first owner starts and the others update, in an order in which parents come first."""
        p = correlations.shape[0]
        n_parents = self.n_parents(p, most * len(owners), len(owners))
        root = int(correlations.sum(axis=0).argmax())
        network = [Node(root, ())]
        noise = 2 * SCORE_SENSITIVITY * (p - 1) / (STRUCTURE_SHARE * self.epsilon)
        while len(network) < p:
            candidates = frontier(network, correlations, n_parents)
            network.append(_choose(owners[0], candidates, most, noise, generator))
        for values in owners[1:]:
            for place in range(1, p):
                candidates = updates(network, place, correlations, n_parents)
                network[place] = _choose(values, candidates, most, noise, generator)
        return network

    def n_parents(self, n_columns: int, n_records: int, n_owners: int) -> int:
        """How many parents an attribute has, at most."""
        deviations = math.sqrt(n_owners) if self.noise == "every owner" else 1.0
        scale = deviations * n_columns / ((1 - CORRELATION_SHARE - STRUCTURE_SHARE) * self.epsilon)
        useful = (k for k in range(MOST_PARENTS, 1, -1) if n_records / 2 ** (k + 1) >= USEFULNESS * scale)
        return next(useful, 1)

    def parameters(
        self, owners: Sequence[Ints], network: Sequence[Node], generator: np.random.Generator
    ) -> list[Floats]:
        """For every attribute the chance of a 1, by the number that its parents' values make."""
        share = 1 - CORRELATION_SHARE - STRUCTURE_SHARE
        scale = len(network) / (share * self.epsilon)  # a record adds 1 to one cell of each attribute's table
        chances = []
        for node in network:
            tables = [table_of(values, (*node.parents, node.column)) for values in owners]
            counts = np.maximum(self._sum(tables, scale, generator), 0).reshape(-1, 2)
            totals = counts.sum(axis=1)
            chances.append(np.divide(counts[:, 1], totals, out=np.full(len(totals), 0.5), where=totals > 0))
        return chances

    def _sum(self, tables: Sequence[Ints], scale: float, generator: np.random.Generator) -> Floats:
        total: Floats = np.sum(tables, axis=0).astype(np.float64)
        for _ in tables if self.noise == "every owner" else tables[:1]:
            total += generator.laplace(0, scale, total.shape)
        return total


def table_of(values: Ints, columns: Parents) -> Ints:
    """Counts by the number that the columns' values make in binary, the first column the largest digit."""
    return np.bincount(_numbers(values, columns), minlength=2 ** len(columns)).astype(np.int64)


def _numbers(values: Ints, columns: Parents) -> Ints:
    weights = 2 ** np.arange(len(columns))[::-1]
    numbers: Ints = values[:, list(columns)] @ weights
    return numbers


def mutual_information(table: Floats) -> float:
    """Mutual information in bits of a table of two columns; 0 of an empty one."""
    if table.sum() <= 0:
        return 0.0
    joint = table / table.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / apart[seen])).sum())


def dependence(values: Ints, node: Node, most: int) -> float:
    """Half the L1 distance of an attribute's table from independence of its parents, in records.

    Independence is the product of both margins over N, the public bound on the owner's records. Adding a record to n of
    them, n < N, changes one cell of the table by 1 and the products by (2n + 1) / N < 2 in sum; half of it is below
    `SCORE_SENSITIVITY`.
    """
    table = table_of(values, (*node.parents, node.column)).reshape(-1, 2)
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / most
    return float(np.abs(table - apart).sum() / 2)


def frontier(network: Sequence[Node], correlations: Floats, n_parents: int) -> list[Node]:
    """The search frontier of a step: attributes outside the network with their most correlated ones inside."""
    inside = [node.column for node in network]
    outside = [column for column in range(correlations.shape[0]) if column not in inside]
    found = [
        Node(column, parents)
        for column in outside
        for parents in _best_parents(column, inside, correlations, n_parents, 2)
    ]
    found.sort(key=lambda node: -correlations[node.column, list(node.parents)].sum())
    return found[:FRONTIER]


def updates(network: Sequence[Node], place: int, correlations: Floats, n_parents: int) -> list[Node]:
    """The search frontier of an update: the present parents, and the best ones among all attributes before."""
    present = network[place]
    before = [node.column for node in network[:place]]
    best = _best_parents(present.column, before, correlations, n_parents, FRONTIER)
    return [present, *(Node(present.column, parents) for parents in best if parents != present.parents)]


def _best_parents(
    column: int, possible: Sequence[int], correlations: Floats, n_parents: int, most: int
) -> Iterator[Parents]:
    """Sets of parents with large sums of correlations, the largest first."""
    ranked = sorted(possible, key=lambda other: -correlations[column, other])[: n_parents + 3]
    sets = combinations(ranked, min(n_parents, len(ranked)))
    by_sum = sorted(sets, key=lambda parents: -correlations[column, list(parents)].sum())
    return islice(iter(by_sum), most)


def _choose(values: Ints, candidates: Sequence[Node], most: int, noise: float, generator: np.random.Generator) -> Node:
    """The exponential mechanism: the largest score after Gumbel noise of scale 2 sensitivities / epsilon."""
    scores = np.array([dependence(values, node, most) for node in candidates])
    return candidates[int(np.argmax(scores + noise * generator.gumbel(size=len(scores))))]


def draw(network: Sequence[Node], chances: Sequence[Floats], n_records: int, generator: np.random.Generator) -> Floats:
    """Records drawn from the network, attribute by attribute."""
    records = np.zeros((n_records, len(network)), dtype=np.int64)
    for node, by_parents in zip(network, chances, strict=True):
        chance = by_parents[_numbers(records, node.parents)]
        records[:, node.column] = generator.random(n_records) < chance
    return records.astype(np.float64)
