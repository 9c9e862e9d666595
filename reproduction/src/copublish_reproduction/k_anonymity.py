"""Top-down specialization with k-anonymity (Fung, Wang, Yu: TKDE 2007), which stands for its two-party form DAKA.

No noise, no differential privacy: whoever shares its generalized values with fewer than k - 1 others is never
published, and that is all. Specializes while some specialization keeps every group at k records or more and tells
something about the class; takes the one with the largest information gain per loss of anonymity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
import pandas as pd

from copublish_reproduction.plain_table import Floats, Ints, Piece, PlainTable
from copublish_reproduction.top_down import WEIGHT, Cut


@dataclass(frozen=True)
class TopDownKAnonymity:
    """The single-party algorithm.

    Attributes:
        k: Smallest size of a group of records with the same generalized values.
        rounds: Number of specializations at most; none for as many as k allows.
        by_gain_only: Whether the largest information gain wins, whatever it costs in anonymity.
    """

    k: int = 5
    rounds: int | None = None
    by_gain_only: bool = False

    def run(self, table: PlainTable) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Generalized training records with weights, and the generalized test records."""
        cut, group = self.specialize(table)
        _, first, size = np.unique(group * table.n_classes + table.classes, return_index=True, return_counts=True)
        records: dict[str, object] = {}
        for column, pieces in zip(table.columns, cut.pieces, strict=True):
            if len(pieces) > 1:
                starts = [piece.start for piece in pieces[1:]]
                records[column.name] = np.searchsorted(starts, column.codes[first], side="right")
        records[table.class_name] = np.array(table.class_values, dtype=object)[table.classes[first]]
        records[WEIGHT] = size.astype(np.float64)
        return pd.DataFrame(records), cut.generalized_test()

    def specialize(self, table: PlainTable) -> tuple[Cut, Ints]:
        """The cut and each record's group."""
        pieces = table.top()
        group = np.zeros(len(table.classes), dtype=np.int64)
        refused: set[Piece] = set()  # once a specialization breaks k it always will: groups only get smaller
        for _ in count() if self.rounds is None else range(self.rounds):
            smallest = int(np.bincount(group).min())
            best: tuple[float, Piece, tuple[Piece, ...], Ints] | None = None
            for piece in pieces:
                children = () if piece in refused else best_children(table, piece)
                gain = information_gain(table.class_counts(children)) if children else 0.0
                if gain <= 0:
                    refused.add(piece)
                    continue
                regrouped = regroup(table, group, children)
                after = int(np.bincount(regrouped).min())
                if after < self.k:
                    refused.add(piece)
                    continue
                score = gain if self.by_gain_only else gain / (smallest - after + 1)
                if best is None or score > best[0]:
                    best = (score, piece, children, regrouped)
            if best is None:
                break
            _, winner, children, group = best
            place = pieces.index(winner)
            pieces[place : place + 1] = children
        by_column = [tuple(piece for piece in pieces if piece.column == place) for place in range(len(table.columns))]
        return Cut(table, tuple(by_column)), group


def best_children(table: PlainTable, piece: Piece) -> tuple[Piece, ...]:
    """A category's children, or the halves of an interval at the value with the largest information gain."""
    column = table.columns[piece.column]
    if column.values is None:
        return table.children(piece)
    places = np.arange(piece.start + 1, piece.stop)
    if len(places) == 0:
        return ()
    cumulative = column.cumulative
    below = cumulative[places] - cumulative[piece.start]
    above = cumulative[piece.stop] - cumulative[places]
    place = int(places[np.argmin(weighted_entropy(below) + weighted_entropy(above))])
    at = int(column.values[place])
    return (
        Piece(piece.column, piece.start, place, piece.low, at),
        Piece(piece.column, place, piece.stop, at, piece.high),
    )


def regroup(table: PlainTable, group: Ints, children: tuple[Piece, ...]) -> Ints:
    """The groups, numbered from 0, after records that fall into one of the children are told apart by it."""
    starts = np.array([child.start for child in children])
    codes = table.columns[children[0].column].codes
    child = np.searchsorted(starts, codes, side="right")
    child[codes >= children[-1].stop] = 0
    regrouped: Ints = np.unique(group * (len(children) + 1) + child, return_inverse=True)[1].astype(np.int64)
    return regrouped


def weighted_entropy(counts: Ints) -> Floats:
    """Number times entropy of the classes of each row, in nats."""
    totals = counts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts / totals[..., np.newaxis]), 0.0)
    result: Floats = -terms.sum(axis=-1)
    return result


def information_gain(child_counts: Ints) -> float:
    """How much the class of a record of the parent gets clearer by its child, in nats."""
    parent = child_counts.sum(axis=0)
    gain = float(weighted_entropy(parent) - weighted_entropy(child_counts).sum()) / max(int(parent.sum()), 1)
    return gain if gain > 1e-12 else 0.0
