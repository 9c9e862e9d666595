"""Attributes that are derived from event tables: one value for each person, from that person's rows alone.

Rows of events become values in three steps. The source hands over the columns that functions read; a server groups
equal rows first. Here every row gets its person and, for each attribute, whether it counts: identifiers, conditions,
missing values and numbers are read as everywhere else. DuckDB then computes the functions, on disk where memory is
short.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copublish.agreement.derived import IN_ORDER, OF_NUMBERS, OF_ROWS, Derived, Where
from copublish.agreement.domain import NumericalDomain
from copublish.agreement.encoding_rules import ColumnRule
from copublish.agreement.model import Agreement
from copublish.errors import FragmentError, SourceError
from copublish.rows.encoding import Need, texts_of
from copublish.rows.event_functions import Chosen, EventStore
from copublish.rows.identifiers import normalize_batch
from copublish.rows.numbers import finite_numbers, numbers_of
from copublish.rows.sources import OpenRows, OpenSource, Source, events_of, mapping_of, open_rows, plain
from copublish.types import BoolArray

PERSON, ROWS = "person", "n_rows"


@dataclass(frozen=True)
class _Task:
    """One attribute that is derived from a table.

    Attributes:
        name: The attribute.
        derived: How.
        rule: What becomes of its values, and how missing ones are spelled.
    """

    name: str
    derived: Derived
    rule: ColumnRule

    @property
    def value_need(self) -> Need:
        """What is read of the column: an attribute of numbers orders and compares them as numbers."""
        is_numeric = isinstance(self.rule.domain, NumericalDomain) and self.derived.function != "distinct"
        return "number" if is_numeric or self.derived.function in OF_NUMBERS else "text"

    def needs(self) -> Iterator[tuple[str, Need]]:
        """The columns that it reads."""
        if self.derived.column is not None:
            yield self.derived.column, self.value_need
        if self.derived.by is not None:
            yield self.derived.by, "text"
        if (where := self.derived.where) is not None:
            yield where.column, "text"
            if any(isinstance(value, Decimal) for value in where.values):
                yield where.column, "number"


def refuse_unfit_events(agreement: Agreement, party: str, source: Source) -> None:
    """Raise unless a party has the event tables that the agreement names, with the columns and types that it reads.

    No row is read.

    Raises:
        FragmentError: If not; it lists every problem.
        SourceError: If a table cannot be opened.
    """
    events = events_of(source)
    problems: list[str] = []
    for table, tasks in _tasks(agreement, party).items():
        if table not in events:
            columns = ", ".join(f"'{task.name}'" for task in tasks)
            problems.append(
                f"{columns}: derived from the event table '{table}', and it is not known where yours is. Say so with "
                f'--events {table}=FILE, in party.toml with events = {{ {table} = "FILE" }}, or with runs.PartyData.'
            )
            continue
        with open_rows(events[table], _subject(party, table)) as opened:
            if found := list(_column_problems(agreement, table, tasks, opened)):
                problems += found
            else:
                opened.try_out(list(_expressions(agreement, tasks, opened).values()))
    problems += _shared_tables(agreement, party, source)
    if problems:
        raise FragmentError(party, problems)


def _tasks(agreement: Agreement, party: str) -> dict[str, list[_Task]]:
    """The attributes that a party derives, by table."""
    found: dict[str, list[_Task]] = {}
    for name, derived in agreement.derived_at(party).items():
        found.setdefault(derived.source, []).append(_Task(name, derived, agreement.encoding[name]))
    return found


def _identifier(agreement: Agreement, tasks: Sequence[_Task]) -> str:
    """The column that says whose row it is: one for a table, by a rule of the agreement."""
    return tasks[0].derived.identifier or str(agreement.records.identifier)


def _subject(party: str, table: str) -> str:
    return f"The event table '{table}' of party '{party}'"


def _column_problems(agreement: Agreement, table: str, tasks: Sequence[_Task], opened: OpenRows) -> Iterator[str]:
    present, identifier = opened.columns, _identifier(agreement, tasks)
    if identifier not in present:
        yield (
            f"The event table '{table}' has no column '{identifier}', which says whose row it is. Names must match "
            "exactly; the agreement can name another one with 'identifier' in 'derived'."
        )
    for task in tasks:
        missing = dict.fromkeys(column for column, _ in task.needs() if column not in present)
        for column in missing:
            yield (
                f"Column '{task.name}' is derived from column '{column}' of the event table '{table}', which has none "
                "of that name. Names must match exactly; a CSV needs a header line."
            )
        if not missing:
            yield from _type_problems(task, table, opened)


def _type_problems(task: _Task, table: str, opened: OpenRows) -> Iterator[str]:
    derived = task.derived
    for column, need in dict.fromkeys(task.needs()):
        if need == "number" and opened.reads_as(column) == "neither":
            yield (
                f"Column '{task.name}' is derived from numbers in column '{column}' of the event table '{table}', and "
                "by its type it has none: dates and the like are no numbers."
            )
    if (where := derived.where) is None or (where.at_least is None and where.below is None):
        return
    if where.texts and opened.reads_as(where.column) == "number":
        yield (
            f"Column '{task.name}' compares column '{where.column}' of the event table '{table}' with a text, and by "
            "its type it has numbers. Write numbers in 'at_least' and 'below', without quotes."
        )


def _shared_tables(agreement: Agreement, party: str, data: Source) -> Iterator[str]:
    """A table under two identifiers: a row that belongs to two people would change two records."""
    events, agreed = events_of(data), str(agreement.records.identifier)
    own = mapping_of(data).columns.get(agreed)
    whose: list[tuple[Source, str]] = [(plain(data), agreed if own is None else own.column)]
    for table, tasks in _tasks(agreement, party).items():
        if table not in events:
            continue
        source, identifier = events[table], _identifier(agreement, tasks)
        if any(_is_same(source, other) and identifier != known for other, known in whose):
            yield (
                f"The event table '{table}' is read under two identifiers. A row of events belongs to one person: what "
                "two people share would change two records. Take one of the columns."
            )
        whose.append((source, identifier))


def _is_same(source: Source, other: Source) -> bool:
    """Whether two sources are surely the same; nobody can tell for all."""
    if source is other:
        return True
    by_name = type(source) is type(other) and type(source).__module__.startswith(("copublish.", "pathlib", "builtins"))
    return by_name and bool(source == other)


def _names(tasks: Sequence[_Task]) -> dict[tuple[str, Need], str]:
    """A plain name for everything that is read of a table."""
    needs = dict.fromkeys(need for task in tasks for need in task.needs())
    return {need: f"{need[1]}{number}" for number, need in enumerate(needs)}


def _expressions(agreement: Agreement, tasks: Sequence[_Task], opened: OpenRows) -> dict[str, Any]:
    """What the source is asked for, by plain names."""
    found = {PERSON: opened.expression(_identifier(agreement, tasks), "text", name=PERSON)}
    for (column, need), name in _names(tasks).items():
        found[name] = opened.expression(column, need, name=name)
    return found


def derived_batches(
    agreement: Agreement, party: str, events: Mapping[str, Source], identifiers: Sequence[pa.Array]
) -> Iterator[pa.RecordBatch]:
    """Yield what is derived for a party's rows, one attribute after the other, in batches with the one column.

    Values stand in the order of the rows, as a source would give them: a value or null for each row.

    Args:
        agreement: What is agreed.
        party: Whose rows.
        events: Its event tables.
        identifiers: The normalized identifiers of its rows; rows without one have no events.

    Raises:
        SourceError: If a table cannot be read. No value raises it.

    Privacy:
        Stability: the values of a row follow from the agreement, its identifier, and the rows of events with that
            identifier, as a multiset. Other people's rows, and the order of all, play no part: one person's events
            change the rows of that person alone.
    """
    tables = _tasks(agreement, party)
    with EventStore(identifiers) as store:
        for table, tasks in tables.items():
            with open_rows(events[table], _subject(party, table)) as opened, _told_about(party, table):
                store.add(_schema(tasks), _rows(agreement, tasks, opened))
                for number, task in enumerate(tasks):
                    yield from store.derive(task.name, _chosen(task, number, _names(tasks)))


@contextmanager
def _told_about(party: str, table: str) -> Iterator[None]:
    """Name the table in an error of the store, whose messages can quote rows."""
    import duckdb

    try:
        yield
    except duckdb.Error as exc:
        if isinstance(exc.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise SourceError(f"{_subject(party, table)} cannot be read ({type(exc).__name__}).") from None


def _chosen(task: _Task, number: int, names: Mapping[tuple[str, Need], str]) -> Chosen:
    derived = task.derived
    column = None if derived.column is None else names[derived.column, task.value_need]
    by = None if derived.by is None else names[derived.by, "text"]
    return Chosen(derived.function, f"keep{number}", column, by)


def _rows(agreement: Agreement, tasks: Sequence[_Task], opened: OpenRows) -> Iterator[pa.RecordBatch]:
    """The rows of a table that count for some attribute, with their person and for which they count."""
    names, schema = _names(tasks), _schema(tasks)
    rules = agreement.records.rules_of(str(agreement.records.identifier))
    for batch in _source_batches(opened, _expressions(agreement, tasks, opened)):
        columns = {PERSON: normalize_batch(texts_of(batch[PERSON]), rules), ROWS: batch[ROWS]}
        values: dict[tuple[str, Need], pa.Array] = {}
        for (column, need), name in names.items():
            read = pa.array(_plain_zero(numbers_of(batch[name]))) if need == "number" else _plain_text(batch[name])
            values[column, need] = columns[name] = read
        for by in _orders(tasks):
            order = _plain_zero(numbers_of(columns[by]))
            columns[f"order_{by}"] = pa.array(order, mask=~np.isfinite(order))
        keeps = [_counts(task, values, len(batch[PERSON])) for task in tasks]
        columns |= {f"keep{number}": pa.array(keep) for number, keep in enumerate(keeps)}
        rows = pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)
        yield from rows.filter(pa.array(np.any(keeps, axis=0))).to_batches()


def _orders(tasks: Sequence[_Task]) -> list[str]:
    """The columns by which rows are ordered, by their plain names."""
    names = _names(tasks)
    return list(dict.fromkeys(names[task.derived.by, "text"] for task in tasks if task.derived.by is not None))


def _schema(tasks: Sequence[_Task]) -> pa.Schema:
    """The columns of a table's rows as the store gets them."""
    return pa.schema(
        {
            PERSON: pa.string(),
            ROWS: pa.int64(),
            **{name: pa.float64() if need == "number" else pa.string() for (_, need), name in _names(tasks).items()},
            **{f"order_{by}": pa.float64() for by in _orders(tasks)},
            **{f"keep{number}": pa.bool_() for number, _ in enumerate(tasks)},
        }.items()
    )


def _source_batches(opened: OpenRows, expressions: Mapping[str, Any]) -> Iterator[dict[str, pa.Array]]:
    """Rows with how many of them are alike; only a server counts, whose memory is not this process's."""
    if isinstance(opened, OpenSource) and opened.is_server:
        for batch in opened.grouped_batches(list(expressions.values()), count=ROWS):
            yield {name: batch.column(name) for name in (*expressions, ROWS)}
        return
    for batch in opened.batches(list(expressions.values())):
        ones = pa.array(np.ones(batch.num_rows, dtype=np.int64))
        yield {**{name: batch.column(name) for name in expressions}, ROWS: ones}


def _plain_text(values: pa.Array) -> pa.Array:
    """Text, with nothing for what is no text."""
    if pa.types.is_floating(values.type):
        values = pa.array(_plain_zero(values.to_numpy(zero_copy_only=False).astype(np.float64)), from_pandas=True)
    return texts_of(values).cast(pa.string())


def _plain_zero(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same numbers with one zero: -0 equals 0, so which of the two came first must not show."""
    return cast(NDArray[np.float64], numbers + 0.0)


def _counts(task: _Task, values: Mapping[tuple[str, Need], pa.Array], n_rows: int) -> BoolArray:
    """Which rows count for an attribute: those that meet its condition and have what it reads."""
    keep, spellings = np.ones(n_rows, dtype=np.bool_), task.rule.missing_spellings
    if (where := task.derived.where) is not None:
        numbers = values.get((where.column, "number"))
        keep &= _meets(where, values[where.column, "text"], numbers, spellings)
    if task.derived.function not in OF_ROWS and task.derived.column is not None:
        value = values[task.derived.column, task.value_need]
        keep &= _has_number(value, spellings) if task.value_need == "number" else _has_text(value, spellings)
    if task.derived.function in IN_ORDER and task.derived.by is not None:
        keep &= _has_text(values[task.derived.by, "text"], spellings)
    return keep


def _meets(where: Where, texts: pa.Array, numbers: pa.Array | None, spellings: tuple[str, ...]) -> BoolArray:
    """Which rows meet a condition; an empty cell meets none."""
    met = np.zeros(len(texts), dtype=np.bool_)
    number = np.full(len(texts), np.nan) if numbers is None else numbers.to_numpy(zero_copy_only=False)
    for value in (where.equals, *(where.one_of or ())):
        if isinstance(value, str):
            met |= _mask(pc.equal(texts, value))
        elif value is not None:
            met |= number == float(value)
    for prefix in where.starts_with or ():
        met |= _mask(pc.starts_with(texts, prefix))
    if where.at_least is not None or where.below is not None:
        met = np.ones(len(texts), dtype=np.bool_)
        if isinstance(where.at_least, str):
            met &= _mask(pc.greater_equal(texts, where.at_least))
        elif where.at_least is not None:
            met &= number >= float(where.at_least)
        if isinstance(where.below, str):
            met &= _mask(pc.less(texts, where.below))
        elif where.below is not None:
            met &= number < float(where.below)
    if numbers is not None:
        met &= ~np.isin(number, finite_numbers(spellings))
    return met & _has_text(texts, spellings)


def _has_text(texts: pa.Array, spellings: tuple[str, ...]) -> BoolArray:
    return ~_mask(pc.is_in(texts, value_set=pa.array(["", None, *spellings], pa.string())))


def _has_number(numbers: pa.Array, spellings: tuple[str, ...]) -> BoolArray:
    number = numbers.to_numpy(zero_copy_only=False)
    return cast(BoolArray, np.isfinite(number) & ~np.isin(number, finite_numbers(spellings)))


def _mask(values: pa.Array) -> BoolArray:
    return cast(BoolArray, pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(np.bool_))
