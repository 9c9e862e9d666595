"""What a run reads of one party's data: their rows, or counts of them where rows can stay in the database.

Counts are enough where owners have whole rows, nobody's identifiers are compared, and the mechanism asks for tables of
counts alone. All of that is in the agreement, so which of the two is read tells nothing.
"""

from __future__ import annotations

from pathlib import Path

from copublish.agreement.model import Agreement
from copublish.errors import FragmentError, NotCountedThereError, SourceError
from copublish.kernel.records.fragment import Fragment
from copublish.rows.changes import AnyRule, Change, Changes, changed_cells
from copublish.rows.counted import CountedFragment, count_fragment
from copublish.rows.database import DatabaseTable
from copublish.rows.reading import (
    empty_fragment,
    read_and_tell,
    read_fragment,
    refuse_other_columns,
    refuse_unagreed_source,
    subject_of,
)
from copublish.rows.sources import Source, is_ibis_table, open_source, streams_rows

NO_ROWS = (
    "Rows cannot be streamed out of {where}, so it can only be asked for counts, and that is not possible here: {why}. "
    "Write the agreed columns to a Parquet file, or to DuckDB, PostgreSQL or Spark."
)


def read_rows_or_counts(agreement: Agreement, party: str, source: Source | None) -> Fragment:
    """Read what a run needs of one party's data. A party that holds no data by the agreement has no source.

    Raises:
        FragmentError: If columns are not as agreed. No value raises it.
        SourceError: If the source cannot be read at all, or lacks what is needed.

    Privacy:
        Stability: as `read_fragment`, or as `CountedFragment`: both give the same counts.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return empty_fragment(agreement, party)
    why = why_rows(agreement)
    if why is None and counts_there(source):
        try:
            return _count(agreement, party, source)
        except NotCountedThereError as exc:
            why = str(exc)
    if not streams_rows(source):
        raise SourceError(NO_ROWS.format(where=f"the data of party '{party}'", why=why))
    return read_fragment(agreement, party, source)


def tell_of_rows_or_counts(
    agreement: Agreement, party: str, source: Source | None, *, with_rows: bool = False
) -> tuple[Fragment, tuple[Change, ...]]:
    """As `read_and_tell`, also for data whose rows cannot be had: what had to be changed, for their owner alone.

    Raises:
        FragmentError: If columns are not as agreed, or row numbers are asked for and there are none.
        SourceError: If the source cannot be read at all, or lacks what is needed.
    """
    if source is None or streams_rows(source):
        return read_and_tell(agreement, party, source, with_rows=with_rows)
    if with_rows:
        raise FragmentError(party, ["Rows of these data stay where they are, so they have no numbers. Leave out rows."])
    fragment = read_rows_or_counts(agreement, party, source)
    return fragment, _changes(agreement, fragment) if isinstance(fragment, CountedFragment) else ()


def why_rows(agreement: Agreement) -> str | None:
    """Why an agreement needs rows, in words; nothing if counts are enough."""
    if agreement.partition != "horizontal":
        return "records of several parties are joined, which takes rows"
    if agreement.records.identifier is not None:
        return "the agreement names an identifier, and finding a person's rows takes the identifiers themselves"
    if not agreement.mechanism.counts_alone:
        return f"the mechanism '{agreement.mechanism.name}' asks for more than counts"
    return None


def counts_there(source: Source | None) -> bool:
    """Whether a source is one that counts: a database or a Parquet file. CSV files and data frames are read once."""
    is_parquet = isinstance(source, str | Path) and Path(source).suffix.lower() == ".parquet"
    return isinstance(source, DatabaseTable) or is_ibis_table(source) or is_parquet


def _count(agreement: Agreement, party: str, source: Source) -> CountedFragment:
    import ibis.common.exceptions as ibis_errors

    with open_source(source, subject_of(party)) as opened:
        refuse_other_columns(agreement, party, opened)
        try:
            return count_fragment(agreement, party, opened, source, subject_of(party))
        except (
            ibis_errors.OperationNotDefinedError,
            ibis_errors.UnsupportedOperationError,
            ibis_errors.UnsupportedBackendType,
        ) as exc:
            raise NotCountedThereError(f"this database lacks what counting needs ({type(exc).__name__})") from None


def _changes(agreement: Agreement, fragment: CountedFragment) -> tuple[Change, ...]:
    changes = Changes(with_rows=False)
    for name, column in fragment.known_columns().items():
        is_class = name == agreement.class_name
        for broken, kinds in column.encoded.changed.items():
            named: AnyRule = "null class" if column.rule.makes_null_rows else broken
            for words, found in changed_cells(broken, kinds, column.rule, column.values, is_class=is_class):
                changes.note(name, named, words, found, weights=column.weights)
    return changes.listed()
