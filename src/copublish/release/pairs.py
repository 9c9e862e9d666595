"""Which pairs of columns were measured together; of all others the records only guess. Released values only.

A pair was measured if some published measurement has both columns. Where rows stand for people nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import pyarrow as pa

from copublish.mechanisms.published import Published
from copublish.release.evidence.completeness import FOLDER

if TYPE_CHECKING:
    from copublish.release.publication import Publication

PAIRS_FILE = f"{FOLDER}/pairs.csv"
"""There where some pair of columns was not measured, unless the release has no files in CSV."""

PAIRS_KEY = "pairs_not_measured"
"""Of the metadata of the records."""

PAIRS_NAMED = 20
"""Pairs of columns that a sentence names."""

Holders = Mapping[str, Sequence[str]]
"""The columns of which each party holds cells, as the certificate has them."""


@dataclass(frozen=True)
class ColumnPair:
    """Two columns.

    Attributes:
        columns: Their names, in agreed order.
        held_by: Of each the parties that hold cells of it.
        is_measured: Whether some measurement has both.
    """

    columns: tuple[str, str]
    held_by: tuple[tuple[str, ...], tuple[str, ...]]
    is_measured: bool

    @property
    def is_across(self) -> bool:
        """Whether no party holds both."""
        return set(self.held_by[0]).isdisjoint(self.held_by[1])


def pairs_of(published: Published, holders: Holders) -> list[ColumnPair]:
    """Every pair of columns, those first of which no party holds both; none where rows stand for people."""
    if published.rows is not None:
        return []
    names = list(published.columns.domains)
    held = {name: tuple(party for party, columns in holders.items() if name in columns) for name in names}
    measured = {frozenset(pair) for own in published.measured for pair in combinations(own.columns, 2)}
    found = [ColumnPair(pair, (held[pair[0]], held[pair[1]]), set(pair) in measured) for pair in combinations(names, 2)]
    return sorted(found, key=lambda pair: not pair.is_across)


def pairs_of_release(publication: Publication) -> list[ColumnPair]:
    """The pairs of columns of a release."""
    return pairs_of(publication.published, publication.certificate.contributions.columns)


def pairs_not_measured(publication: Publication) -> str:
    """A sentence that names the pairs of a release that were not measured; nothing if all were."""
    return in_words(pairs_of_release(publication), has_file=publication.certificate.warning is None)


def in_words(pairs: Sequence[ColumnPair], *, has_file: bool = True) -> str:
    """A sentence that names the pairs that were not measured; nothing if all were."""
    missing = [pair for pair in pairs if not pair.is_measured]
    if not missing:
        return ""
    named = ", ".join(" by ".join(pair.columns) for pair in missing[:PAIRS_NAMED])
    more = len(missing) - PAIRS_NAMED
    rest = "" if more <= 0 else f", and {more:,} more"
    where = f" All are in {PAIRS_FILE}." if has_file else ""
    return (
        f"Not measured: {len(missing):,} of {len(pairs):,} pairs of columns. How such columns go together in the "
        f"records follows from other tables by the model, and may be wrong: {named}{rest}.{where}"
    )


def named_in_short(pairs: Sequence[ColumnPair]) -> str:
    """The pairs that were not measured in a few words, for a reader without the folder; nothing if all were."""
    missing = [" by ".join(pair.columns) for pair in pairs if not pair.is_measured]
    if not missing:
        return ""
    return f"Not measured together, and drawn from the model alone: {_some(missing)}."


def not_measured_with(pairs: Sequence[ColumnPair], column: str) -> str:
    """The columns that a column was not measured with, in a few words; nothing if it was with all."""
    missing = [pair.columns for pair in pairs if column in pair.columns and not pair.is_measured]
    others = [first if second == column else second for first, second in missing]
    return f"Not measured together with {_some(others)}." if others else ""


def _some(names: Sequence[str]) -> str:
    more = len(names) - PAIRS_NAMED
    return f"{', '.join(names[:PAIRS_NAMED])}{f' and {more:,} more' if more > 0 else ''}"


def pairs_table(pairs: Sequence[ColumnPair]) -> pa.Table:
    """A row for each pair: the columns, whether they were measured together, and who holds them."""
    return pa.table(
        {
            "first": [pair.columns[0] for pair in pairs],
            "second": [pair.columns[1] for pair in pairs],
            "measured": ["yes" if pair.is_measured else "no" for pair in pairs],
            "first_held_by": [" ".join(pair.held_by[0]) for pair in pairs],
            "second_held_by": [" ".join(pair.held_by[1]) for pair in pairs],
        }
    )
