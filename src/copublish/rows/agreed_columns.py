"""Columns of a source beside those that were agreed: names and types are compared, and no value is looked at.

For drafting an agreement its owner may ask for single values; a type is a hint about what a column is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from copublish.agreement.model import Agreement
from copublish.files.regular import open_regular
from copublish.rows.categories import categories_of
from copublish.rows.csv_files import csv_options
from copublish.rows.encoding import as_text
from copublish.rows.sheets import cell_types
from copublish.rows.sources import OPEN_FILES, OpenSource, Source, is_json_lines, open_source, sheet_of

ColumnType = Literal["text", "whole number", "number", "truth value", "truth word", "date", "unknown"]
"""What a source says of a column. A truth value is one by its type; a truth word is text of a CSV file that looks like
one, and is read as it is written. Unknown is what a file without rows says."""

FEW_ROWS = 20
"""A value in fewer rows is called rare, so that its owner thinks twice."""


@dataclass(frozen=True)
class OfferedValue:
    """A value of private data that its owner may confirm for a public agreement.

    Privacy:
        Reveals: it occurs in the data, to the owner alone. Whoever confirms it makes that public.
    """

    text: str
    is_rare: bool

    def __repr__(self) -> str:
        return "OfferedValue(...)"


def column_types(source: Source) -> dict[str, ColumnType]:
    """The columns of a source with their types, in its order.

    Raises:
        SourceError: If the source cannot be read.

    Privacy:
        No value is returned. The types of CSV columns are guessed from cells, so a type can say that all of them are
        whole numbers; and the first line of a CSV file is taken for names.
    """
    if (sheet := sheet_of(source)) is not None:
        return dict(cell_types(*sheet))
    with open_source(source) as opened:
        if is_json_lines(source):
            with _typed_json(Path(str(source)), opened) as table:
                return {name: _type(kind, of_text=False) for name, kind in table.schema().items()}
        if not _is_csv(source):
            types = {name: _type(kind, of_text=False) for name, kind in opened.table.schema().items()}
            # Codes that are whole numbers are categories where their owner's file calls them so.
            return types | dict.fromkeys(categories_of(source), "text")
        if opened.table.limit(1).count().execute() == 0:
            return dict.fromkeys(opened.table.columns, "unknown")
        with _typed_csv(Path(str(source)), opened) as table:
            return {name: _type(kind, of_text=True) for name, kind in table.schema().items()}


def offered_values(source: Source, columns: Sequence[str], *, at_most: int) -> Iterator[tuple[str, list[OfferedValue]]]:
    """Yield, for every column with few values, these values as they are read in a run.

    They come in alphabetical order, and those of a column that is called ordered in that order.

    Args:
        source: The owner's data.
        columns: Which columns.
        at_most: How many values a column may have; one with more is left out, since nobody confirms them one by one.
    """
    ordered = categories_of(source)
    with open_source(source) as opened:
        for column in columns:
            texts = opened.table.select(as_text(opened.table[column]).cast("string").name("text"))
            given = texts.filter(texts["text"].notnull())
            found = (
                given.group_by("text")
                .aggregate(rows=given.count())
                .order_by("text")
                .limit(at_most + 1)
                .to_pyarrow()
                .to_pylist()
            )
            rank = {text: place for place, text in enumerate(ordered.get(column) or ())}
            found.sort(key=lambda row: rank.get(row["text"], len(rank)))
            if 0 < len(found) <= at_most:
                yield column, [OfferedValue(row["text"], row["rows"] < FEW_ROWS) for row in found if row["text"]]


def _is_csv(source: Source) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix.lower() == ".csv"


@contextmanager
def _typed_csv(path: Path, opened: OpenSource) -> Iterator[Any]:
    """The same file with types that DuckDB finds in its cells, to tell numbers from text."""
    with open_regular(path) as file:
        literal = Path(OPEN_FILES, str(file))
        yield opened.connection.read_csv(literal, **{**csv_options(literal, path), "all_varchar": False})


@contextmanager
def _typed_json(path: Path, opened: OpenSource) -> Iterator[Any]:
    """The same file with the types that DuckDB finds in all of its lines."""
    with open_regular(path) as file:
        literal = Path(OPEN_FILES, str(file))
        yield opened.connection.read_json(literal, format="newline_delimited", sample_size=-1)


def _type(kind: Any, *, of_text: bool) -> ColumnType:
    if kind.is_boolean():
        return "truth word" if of_text else "truth value"
    if kind.is_integer():
        return "whole number"
    if kind.is_numeric():
        return "number"
    return "date" if kind.is_temporal() else "text"


def column_problems(
    agreement: Agreement, party: str, present: list[str], own_names: Mapping[str, str] | None = None
) -> list[str]:
    """A sentence for every column of a party that is not there, or there and not agreed; no value is looked at.

    Args:
        agreement: What is agreed.
        party: Whose columns.
        present: The columns that are there, by agreed names where the party has its own.
        own_names: Those names, as the party's mapping has them.
    """
    own_names = own_names or {}
    derived = agreement.derived_at(party)
    wanted = [*agreement.read_at(party), *agreement.records.identifier_columns]
    # Names in the data are not repeated: in a file without a header they are somebody's values.
    problems = [
        f"Column '{column}' is agreed but not in the data. Names must match exactly; a CSV needs a header line."
        if column not in own_names
        else f"Column '{column}' is '{own_names[column]}' by the mapping, and the data have no such column. Names must "
        "match exactly; a CSV needs a header line."
        for column in wanted
        if column not in present
    ]
    if problems and not own_names and (other := looks_like_data_of(agreement, present)) not in (None, party):
        return [
            f"This looks like the data of '{other}': columns that '{other}' alone holds are in them, and "
            f"those of '{party}' are not. Name the data of '{party}', or the party '{other}'.",
            *problems,
        ]
    problems += ambiguous_columns(wanted, present)
    problems += [
        f"Column '{column}' is in the data, and by the agreement it is derived from the event table "
        f"'{derived[column].source}'. Leave the column out, or remove 'derived'."
        for column in present
        if column in derived
    ]
    for column in present:
        if column in agreement.attributes and party not in agreement.holders(column):
            holders = " and ".join(f"'{name}'" for name in agreement.holders(column))
            problems.append(
                f"Column '{column}' is in the data, but by the agreement its cells are held by {holders} alone. A "
                "cell has one holder: leave the column out, or change 'held_by'."
            )
    return problems


def looks_like_data_of(agreement: Agreement, present: Sequence[str]) -> str | None:
    """The party most of whose own columns are in data that have hardly any of the others'; none if it is not clear."""
    shares = {}
    for party in agreement.owners:
        derived = agreement.derived_at(party)
        own = [
            column for column in agreement.attributes if agreement.holders(column) == (party,) and column not in derived
        ]
        shares[party] = sum(column in present for column in own) / len(own) if own else 0.0
    best = max(shares, key=lambda party: shares[party])
    others = [share for party, share in shares.items() if party != best]
    return best if shares[best] > 0.5 and max(others) < 0.5 else None


def ambiguous_columns(wanted: list[str], present: list[str]) -> list[str]:
    """A problem for every wanted column that the source cannot tell from another one: it ignores case."""
    return [
        f"Column '{column}' is there twice, in upper and lower case. Rename one of them."
        for column in wanted
        if column in present and sum(name.lower() == column.lower() for name in present) > 1
    ]
