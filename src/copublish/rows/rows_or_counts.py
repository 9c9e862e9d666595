"""One party's data as a run reads them: their rows, or counts of them where rows can stay in the database.

Counts are enough where owners have whole rows, nobody's identifiers are compared, and the mechanism asks for tables of
counts alone. All of that is in the agreement, so which of the two is read tells nothing. The database counts rows by
cell, and every row is one record. An agreement that names an identifier needs the identifiers themselves, to compare
them and to find a person's rows, and those are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from copublish.agreement.axis import Axis, n_cells
from copublish.agreement.model import Agreement
from copublish.errors import EngineError, FragmentError, NotCountedThereError, SourceError
from copublish.kernel.records.fragment import Fragment
from copublish.rows.cell_expressions import ListedTexts
from copublish.rows.coded_columns import CHANGED, ROWS, CodedColumn, learn_column
from copublish.rows.database import DatabaseTable
from copublish.rows.overview import Overview, Tallies
from copublish.rows.reading import (
    empty_fragment,
    read_and_look,
    refuse_other_columns,
    refuse_other_mapping,
    refuse_unagreed_source,
    subject_of,
)
from copublish.rows.sources import (
    OpenSource,
    Source,
    events_of,
    is_ibis_table,
    mapping_of,
    open_source,
    plain,
    sheet_of,
    streams_rows,
)
from copublish.types import Codes, IntArray

CELL = "cell"

MOST_CELLS_AT_ONCE = 2**22
"""Up to so many combinations of codes, a public number, the table of all columns is counted once, before anybody is
called: 32 MiB. With more, each table is counted when it is asked for."""


class _RowsThatStayed(Mapping[str, Codes]):
    """In the place of codes: whoever asks for rows is told that there are none, and never that there are zero."""

    def _refuse(self) -> NoReturn:
        raise EngineError("The rows of this party stay in its database, and something else than counts was asked for.")

    def __getitem__(self, name: str) -> NoReturn:
        self._refuse()

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __len__(self) -> NoReturn:
        self._refuse()

    def __contains__(self, name: object) -> NoReturn:
        self._refuse()


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What was counted so far, and where to count more.

    Attributes:
        source: Where the rows are.
        subject: How an error calls them.
        columns: What is known of every column, the class among them.
        class_name: The class; none if the agreement has no class.
        joint: How many rows have each combination of codes, an axis for every column in their order, the code of null
            rows included; none if there are too many combinations.
    """

    source: Source
    subject: str
    columns: Mapping[str, CodedColumn]
    class_name: str | None
    joint: IntArray | None = None

    def by_cell(self, axes: Sequence[Axis]) -> IntArray:
        """The rows by cell, shape (n_cells of each axis); null rows are not counted."""
        classes = [axis for axis in axes if axis.column == self.class_name]
        # Which rows are null has to be known, so the class is always counted; at last its cells are added up.
        whole = [*axes] if classes or self.class_name is None else [*axes, self._one_cell_of(self.class_name)]
        cells = [np.append(axis.cell_of_code, axis.n_cells) for axis in whole]  # the last code: null rows
        counts = self._query(whole, cells) if self.joint is None else self._from_joint(self.joint, whole, cells)
        if self.class_name is None:
            return counts  # no row is null
        place = next(number for number, axis in enumerate(whole) if axis.column == self.class_name)
        kept = np.take(counts, range(whole[place].n_cells), axis=place)
        return kept if classes else kept.sum(axis=place)

    def _one_cell_of(self, column: str) -> Axis:
        """The axis on which all values of a column are one cell."""
        return Axis(column, np.zeros(self.columns[column].rule.domain.size, dtype=np.int64), 1)

    def _width(self, axis: Axis) -> int:
        return axis.n_cells + (axis.column == self.class_name)

    def _from_joint(self, joint: IntArray, axes: Sequence[Axis], cells: Sequence[IntArray]) -> IntArray:
        names = list(self.columns)
        places = [names.index(axis.column) for axis in axes]
        others = tuple(number for number in range(len(names)) if number not in places)
        counts: IntArray = joint.sum(axis=others).transpose(np.argsort(np.argsort(places)))
        for number, (axis, cell_of_code) in enumerate(zip(axes, cells, strict=True)):
            by_cell = np.zeros((self._width(axis), *np.delete(counts.shape, number)), dtype=np.int64)
            np.add.at(by_cell, cell_of_code[: counts.shape[number]], np.moveaxis(counts, number, 0))
            counts = np.moveaxis(by_cell, 0, number)
        return counts

    def _query(self, axes: Sequence[Axis], cells: Sequence[IntArray]) -> IntArray:
        with open_source(self.source, self.subject) as opened:
            return self.count_there(opened, axes, cells)

    def count_there(self, opened: OpenSource, axes: Sequence[Axis], cells: Sequence[IntArray]) -> IntArray:
        """Have the database count, and check that the rows are those of the first count.

        Raises:
            SourceError: If a column's counts are others than before.
        """
        import ibis

        shape = tuple(self._width(axis) for axis in axes)
        number: Any = ibis.literal(0, "int64")
        for axis, cell_of_code, width in zip(axes, cells, shape, strict=True):
            own = self.columns[axis.column].cells.expression(opened.table, cell_of_code)
            number = number * ibis.literal(width, "int64") + own
        selected = opened.table.select(number.name(CELL))
        found = opened.connection.to_pyarrow(selected.group_by(CELL).aggregate(selected.count().name(ROWS)))
        counts = np.zeros(int(np.prod(shape, dtype=object)), dtype=np.int64)
        counts[found.column(CELL).to_numpy().astype(np.int64)] = found.column(ROWS).to_numpy().astype(np.int64)
        counts = counts.reshape(shape)
        for place, (axis, cell_of_code) in enumerate(zip(axes, cells, strict=True)):
            before = np.zeros(axis.n_cells + 1, dtype=np.int64)
            np.add.at(before, cell_of_code, self.columns[axis.column].private_counts)
            now = counts.sum(axis=tuple(other for other in range(len(axes)) if other != place))
            if not np.array_equal(now, before[: len(now)]):
                raise SourceError(CHANGED.format(subject=self.subject))
        return counts


@dataclass(frozen=True)
class CountedFragment(Fragment):
    """The counts of one party's rows, which stay where they are.

    Attributes:
        counted: What was counted, and where to count more.

    Privacy:
        Stability: 1 for adding or removing a row, 1 for replacing one: `histogram` gives what `local_histogram` gives
            of the same rows, so the proof for tables of counts holds. If a table that is counted more than once
            changes in between without a trace in any column's counts, each count is one of some rows, and one person
            is in one cell of each.
    """

    counted: Counts | None = field(default=None, repr=False)

    def histogram(self, axes: Sequence[Axis]) -> IntArray:
        """Rows by cell, shape (n_cells,), last axis fastest; null rows are not counted."""
        return self._known().by_cell(axes).reshape(n_cells(axes))

    def pair_histograms(self, groups: Mapping[int, Sequence[Axis]]) -> dict[tuple[int, int], IntArray]:
        """For every two groups of columns the rows by their cells: shape (cells of one, cells of the other)."""
        shapes = {key: n_cells(group) for key, group in groups.items()}
        return {
            (a, b): self.histogram([*groups[a], *groups[b]]).reshape(shapes[a], shapes[b])
            for a, b in combinations(groups, 2)
        }

    def known_columns(self) -> Mapping[str, CodedColumn]:
        """What is known of every column, for the owner of the rows."""
        return self._known().columns

    def _known(self) -> Counts:
        if self.counted is None:
            raise EngineError("There are no counts of this party's rows.")
        return self.counted

    def take(self, positions: IntArray) -> Fragment:
        """Not for rows that stayed."""
        raise EngineError("The rows of this party stay in its database, and they were to be put in another order.")


def count_fragment(
    agreement: Agreement, party: str, opened: OpenSource, source: Source, subject: str
) -> CountedFragment:
    """Have a database count one party's rows.

    Args:
        agreement: What is agreed.
        party: Whose rows.
        opened: The source, open.
        source: The same, to open it again.
        subject: How an error calls the rows.

    Raises:
        NotCountedThereError: If counts there could be others than here.
        SourceError: If the table changes meanwhile.
    """
    mapping = mapping_of(source)
    columns = {
        name: learn_column(
            opened.connection, opened.table, mapping.rule(agreement.encoding[name]), mapping.translation(name)
        )
        for name in agreement.columns_of(party)
    }
    totals = {int(column.private_counts.sum()) for column in columns.values()}
    if len(totals) != 1:
        raise SourceError(CHANGED.format(subject=subject))
    counts = Counts(source=source, subject=subject, columns=columns, class_name=agreement.class_name)
    axes = [Axis.of(column.rule.domain) for column in columns.values()]
    cells = [np.append(axis.cell_of_code, axis.n_cells) for axis in axes]
    if n_cells(axes) <= MOST_CELLS_AT_ONCE:
        joint = counts.count_there(opened, axes, cells)
        counts = Counts(**{**vars(counts), "joint": joint})
    else:
        # Texts of cells are in the queries to come. Each is tried here, so that none can end a run that has begun.
        for column, axis, cell_of_code in zip(columns.values(), axes, cells, strict=True):
            if isinstance(column.cells, ListedTexts):
                counts.count_there(opened, [axis], [cell_of_code])
    return CountedFragment(
        party,
        totals.pop(),
        _RowsThatStayed(),
        {name: column.rule.domain.size for name, column in columns.items()},
        class_column=agreement.class_name,
        counted=counts,
    )


NO_ROWS = (
    "Rows cannot be streamed out of {where}, so it can only be asked for counts, and that is not possible here: {why}. "
    "Write the agreed columns to a Parquet file, or to DuckDB, PostgreSQL or Spark."
)


def read_rows_or_counts(agreement: Agreement, party: str, source: Source | None) -> Fragment:
    """As `look_at_rows_or_counts`, for those who do not ask what the rules did."""
    return look_at_rows_or_counts(agreement, party, source)[0]


def look_at_rows_or_counts(
    agreement: Agreement, party: str, source: Source | None, *, with_rows: bool = False
) -> tuple[Fragment, Overview | None]:
    """Read what a run needs of one party's data, and what the rules did to them: that is for their owner alone.

    A party that holds no data by the agreement has no source, and no overview.

    Args:
        agreement: What is agreed.
        party: Whose data.
        source: Where they are.
        with_rows: Whether the numbers of changed rows are kept, too. Counts have none, so rows are read.

    Raises:
        FragmentError: If columns are not as agreed, or row numbers are asked for and there are none. No value raises
            it.
        SourceError: If the source cannot be read at all, or lacks what is needed.

    Privacy:
        Stability: as `read_fragment`, or as `CountedFragment`: both give the same counts.
    """
    if refuse_unagreed_source(agreement, party, source) is None:
        return empty_fragment(agreement, party), None
    if with_rows and not streams_rows(source):
        raise FragmentError(party, ["Rows of these data stay where they are, so they have no numbers. Leave out rows."])
    why = why_rows(agreement)
    if why is None and counts_there(source) and not with_rows:
        try:
            counted = _count(agreement, party, source)
            return counted, _overview(agreement, counted)
        except NotCountedThereError as exc:
            why = str(exc)
    if not all(map(streams_rows, (source, *events_of(source).values()))):
        raise SourceError(NO_ROWS.format(where=f"the data of party '{party}'", why=why))
    return read_and_look(agreement, party, source, with_rows=with_rows)


def why_rows(agreement: Agreement) -> str | None:
    """Why an agreement needs rows, in words; nothing if counts are enough."""
    if agreement.partition != "horizontal":
        return "records of several parties are joined, which takes rows"
    if agreement.records.keys:
        return "the agreement names an identifier, and finding a person's rows takes the identifiers themselves"
    if not agreement.mechanism.counts_alone:
        return f"the mechanism '{agreement.mechanism.name}' asks for more than counts"
    return None


def counts_there(source: Source | None) -> bool:
    """Whether a source is one that counts: a database or a Parquet file. CSV files and data frames are read once."""
    source = None if source is None else plain(source)
    is_parquet = isinstance(source, str | Path) and Path(source).suffix.lower() == ".parquet"
    if source is None or sheet_of(source) is not None:
        return False
    return isinstance(source, DatabaseTable) or is_ibis_table(source) or is_parquet


def _count(agreement: Agreement, party: str, source: Source) -> CountedFragment:
    import ibis.common.exceptions as ibis_errors

    refuse_other_mapping(agreement, party, source)
    with open_source(source, subject_of(party)) as opened:
        refuse_other_columns(agreement, party, opened, mapping_of(source))
        try:
            return count_fragment(agreement, party, opened, source, subject_of(party))
        except (
            ibis_errors.OperationNotDefinedError,
            ibis_errors.UnsupportedOperationError,
            ibis_errors.UnsupportedBackendType,
        ) as exc:
            raise NotCountedThereError(f"this database lacks what counting needs ({type(exc).__name__})") from None


def _overview(agreement: Agreement, fragment: CountedFragment) -> Overview:
    columns = fragment.known_columns()
    tallies = Tallies({name: column.rule for name, column in columns.items()}, agreement.class_name)
    for name, column in columns.items():
        tallies.count(name, column.encoded, column.values, weights=column.weights)
    return tallies.overview(rows=fragment.n_records, records=fragment.n_records)
