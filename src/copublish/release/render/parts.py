"""The parts of a release that pages and terminals show: values, cells, tables, laws and correlations, each with errors.

Which parts a release has follows from the types of what it published. Released values only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copublish.agreement.domain import CategoricalDomain
from copublish.errors import ReleaseError
from copublish.mechanisms.base import counted_table
from copublish.mechanisms.published import Measured, Published
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.release.evidence.completeness import FOLDER
from copublish.release.measurements import table_files
from copublish.release.publication import Publication
from copublish.release.questions.build import CorrelatedPair, correlations
from copublish.release.questions.estimate import CONFIDENCE, CellSummary, ColumnSummary, Estimate, Reading
from copublish.release.render.privacy_words import epsilon_decimal, noise_words


def reading_if_told(publication: Publication) -> Reading | None:
    """Questions to a release; nothing where it states no law of noise."""
    try:
        return publication.reading
    except ReleaseError:
        return None


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One measured table.

    Attributes:
        names: Its columns.
        when: The round that chose it, or why it was measured.
        cells: How many counts it has.
        within: How far a count is off at most in 95 of 100 cases.
        file: The file that holds its counts.
        is_chosen: Whether a round chose it.
    """

    names: str
    when: str
    cells: int
    within: str
    file: str
    is_chosen: bool


FOR_SURE, STEERED = "for sure", "to plan the rest"


def table_rows(published: Published) -> list[TableRow]:
    """Every measured table, in order of measurement."""
    return [
        TableRow(
            names=names_of(table),
            when=when_measured(table),
            cells=table.values.size,
            within=people(table.within_95_percent),
            file=f"{FOLDER}/{stem}.csv",
            is_chosen=table.chosen is not None,
        )
        for stem, table in table_files(published)
    ]


def when_measured(table: Measured) -> str:
    """The round that chose a table, or why it was measured."""
    if table.chosen is not None:
        return f"round {table.chosen}"
    return STEERED if table.steered else FOR_SURE


def names_of(measured: Measured) -> str:
    """The columns of a measurement."""
    return " by ".join(measured.columns)


def people(number: float) -> str:
    """A number of people in words."""
    return f"{number:,.5g}"


def deviation_in_people(measured: Measured) -> float:
    """Standard deviation of one value's noise, after division by `times`."""
    return deviation_of(measured.noise, points_per_person=measured.points) * measured.points / measured.times


def least_and_most_cells(published: Published) -> tuple[Measured, Measured] | None:
    """The smallest and the largest table; nothing if no table was counted for readers."""
    tables = [table for table in published.tables if not table.steered]
    if not tables:
        return None
    return min(tables, key=lambda table: table.values.size), max(tables, key=lambda table: table.values.size)


def sums_of(published: Published) -> list[Measured]:
    """The measurements that count nobody: sums of scores and of positions."""
    return [measured for measured in published.measured if measured.cells is None and measured.axes]


@dataclass(frozen=True, kw_only=True)
class ValueRow:
    """One generalized value.

    Attributes:
        label: Its name.
        members: Of a category, what it stands for.
        people: How many people have it.
        of_all: Their share of all people.
        in_class: The share of the shown class among them; none without a class.
    """

    label: str
    members: tuple[str, ...]
    people: Estimate
    of_all: Estimate
    in_class: Estimate | None


def shown_class(publication: Publication) -> tuple[str, str] | None:
    """The class and the one of its values whose share is shown, the last one; nothing without a class."""
    columns = publication.published.columns
    domain = None if columns.class_name is None else columns.domains[columns.class_name]
    return (domain.name, domain.values[-1]) if isinstance(domain, CategoricalDomain) else None


def generalized_values(publication: Publication) -> dict[str, list[ValueRow]]:
    """The values of every column that was generalized to more than one value."""
    found, shown = {}, shown_class(publication)
    generalization = publication.generalization
    for name, values in ({} if generalization is None else generalization.values).items():
        if len(values) > 1:
            cells = publication.reading.summary(name).cells
            found[name] = [
                ValueRow(
                    label=value.label,
                    members=value.members or (),
                    people=cell.people,
                    of_all=cell.share,
                    in_class=None if shown is None else _share_among(publication.reading, shown, name, value.label),
                )
                for value, cell in zip(values, cells, strict=True)
            ]
    return found


def _share_among(reading: Reading, shown: tuple[str, str], column: str, value: str) -> Estimate:
    return reading.share(shown[0], shown[1], {column: value}, CONFIDENCE)


@dataclass(frozen=True, kw_only=True)
class LargestCells:
    """The largest cells of the table that records were made from.

    Attributes:
        columns: The columns that have more than one value.
        rows: The values of each cell, and the people in it.
        cells: How many cells the table has.
        told_apart: How many counts an empty cell would not have, in 95 of 100 cases.
        within: How far a count is off at most in 95 of 100 cases.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], Estimate], ...]
    cells: int
    told_apart: int
    within: str


def largest_cells(publication: Publication, number: int) -> LargestCells:
    """The cells with the largest noisy counts."""
    published = publication.published
    table = counted_table(published)
    labels = [axis.labels(published.columns.domains[axis.column]) for axis in table.cells or ()]
    split = [place for place, own in enumerate(labels) if len(own) > 1]
    order = np.argsort(-table.values, kind="stable")[:number]
    places = np.stack(np.unravel_index(order, [len(own) for own in labels]), axis=1).tolist()
    rows = []
    for cell in places:
        values = {table.columns[at]: labels[at][cell[at]] for at in split or range(len(labels))}
        rows.append((tuple(values.values()), publication.reading.count(values, CONFIDENCE)))
    return LargestCells(
        columns=tuple(table.columns[at] for at in split or range(len(labels))),
        rows=tuple(rows),
        cells=table.values.size,
        told_apart=int(np.sum(np.abs(table.values) > table.within_95_percent * table.times)),
        within=people(table.within_95_percent),
    )


@dataclass(frozen=True)
class CountedCell:
    """One value of a column, and how many published records have it; none where records are not shown beside it."""

    told: CellSummary
    records: int | None


@dataclass(frozen=True)
class CountedColumn:
    """One column, value by value."""

    name: str
    cells: tuple[CountedCell, ...]


def columns_with_counts(publication: Publication) -> list[CountedColumn]:
    """Every column whose values can be told, value by value, beside published records that no person stands behind."""
    has_records = publication.published.rows is None and publication.generalization is None
    found = []
    for summary in publication.reading.summaries():
        counts: Sequence[int | None] = [None] * len(summary.cells)
        if has_records:
            codes = publication.codes_of_records[summary.name]
            counts = np.bincount(codes, minlength=len(summary.cells)).tolist()
        cells = (CountedCell(cell, count) for cell, count in zip(summary.cells, counts, strict=True))
        found.append(CountedColumn(summary.name, tuple(cells)))
    return [column for column in found if column.cells]


def told_apart(summaries: Sequence[ColumnSummary]) -> tuple[int, int]:
    """How many of all counts an empty cell would not have, in 95 of 100 cases; and how many counts there are."""
    cells = [cell.people for summary in summaries for cell in summary.cells]
    return sum(1 for people in cells if abs(people.value or 0.0) > (people.within or 0.0)), len(cells)


def told_correlations(publication: Publication) -> list[CorrelatedPair]:
    """The correlations that were measured, by tables or by sums, strongest first. Perturbed rows measured none."""
    if publication.published.rows is not None:
        return []
    return correlations(publication.reading, publication.reading.columns)


@dataclass(frozen=True)
class LawRow:
    """One column of perturbed rows: its part of epsilon, and the noise of each of its values."""

    column: str
    epsilon: str
    noise: str


def laws(publication: Publication) -> list[LawRow]:
    """The noise of every column of perturbed rows; none of other releases, or where the mechanism states none."""
    certificate, rows = publication.certificate, publication.published.rows
    relation = certificate.epsilon.calibrated_to
    epsilon = {d.place.column: d.epsilon[relation] for d in certificate.disclosures if d.kind == "perturb"}
    stated = {} if rows is None else rows.noise
    return [LawRow(name, epsilon_decimal(epsilon[name]), noise_words(noise)) for name, noise in stated.items()]
