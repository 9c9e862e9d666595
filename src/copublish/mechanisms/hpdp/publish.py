"""The published table of synthetic records and its details, from what hpdp opened. Released values only.

`replicate` makes such a table once more, from the released sums with fresh noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription, NumericalDomain
from copublish.errors import ReleaseError
from copublish.kernel.accounting.formatting import NORMAL_95
from copublish.kernel.accounting.statements import Noise
from copublish.mechanisms.base import Contents, Details, Publication
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT, Coordinates
from copublish.mechanisms.hpdp.model import HpdpResult, fit_moments
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.records import Drawn, draw_records
from copublish.mechanisms.reading.noisy import deviation_of, excess_of
from copublish.mechanisms.reading.of_cells import CellReading, ColumnCells, NoisyTable, OtherTotal
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.number_cells import mean_and_deviation, numbers_in_cells
from copublish.mechanisms.shared.post_processing import categories, domains_as_published
from copublish.types import TypedJson

COLUMNS_OF_PRODUCTS = ("coordinate", "coordinate", "noisy sum", "weight it was multiplied with")

DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class CategoryDetails(TypedJson):
    """A category and how it is spread.

    Attributes:
        domain: Its public domain.
        shares: Of its values.
        share_within_95_percent: How far a share is off at most in 95 of 100 cases.
    """

    domain: DomainDescription
    kind: Literal["category"] = "category"
    shares: dict[str, float]
    share_within_95_percent: float


@dataclass(frozen=True, kw_only=True)
class NumberDetails(TypedJson):
    """A number and how it is spread.

    Attributes:
        domain: Its public domain.
        mean: Where it is not missing.
        deviation: Its standard deviation there.
        missing_share: How many records miss it; none if no number may be missing.
        cells: How the cells of its grid are named.
        shares: Of those cells among the records that do not miss it.
        share_within_95_percent: How far such a share is off at most in 95 of 100 cases.
    """

    domain: DomainDescription
    kind: Literal["number"] = "number"
    mean: float
    deviation: float
    missing_share: float | None = None
    cells: tuple[str, ...]
    shares: tuple[float, ...]
    share_within_95_percent: float


ColumnDetails = Annotated[CategoryDetails | NumberDetails, Field(discriminator="kind")]


@dataclass(frozen=True, kw_only=True)
class NoisySums(TypedJson):
    """The sums that were opened, each multiplied with its weight.

    Attributes:
        columns_of_products: What the numbers of a product are.
        products: Of every two coordinates.
        coordinates: Of every centered coordinate.
        weights_of_coordinates: What those were multiplied with.
        records: The number of records; nothing if it is public.
    """

    columns_of_products: tuple[str, ...]
    products: tuple[tuple[int, int, int, int], ...]
    coordinates: tuple[int, ...]
    weights_of_coordinates: tuple[int, ...]
    records: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class HpdpDetails(Details):
    """Everything that the records were drawn from.

    Attributes:
        hpdp_format: Number of the format.
        unit: Of the sums.
        coordinates: What each coordinate stands for.
        columns: How every column is spread, in agreed order, the class last.
        noisy_sums: What was opened.
        noise_deviation_in_people: Standard deviation of its noise, where the weight is 1.
        class_weight: What counts, and sums that the class is in, were multiplied with.
        share_within_95_percent: How far a share is off at most in 95 of 100 cases.
        estimated_records: The number of records, public or estimated.
        components: How many principal components stood out of the noise.
        noise_floor: What they had to exceed.
        missing_spellings: Texts that stand for a missing value.
        has_class: False where no column is the class.
    """

    hpdp_format: Literal[1] = 1
    unit: str
    coordinates: tuple[str, ...]
    columns: dict[str, ColumnDetails]
    noisy_sums: NoisySums
    noise_deviation_in_people: float
    class_weight: int
    share_within_95_percent: float
    estimated_records: int
    components: int
    noise_floor: float
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the records with their domains."""
        described = {name: column.domain for name, column in self.columns.items()}
        return PublicColumns.of_release(described, self.missing_spellings, has_class=self.has_class is None)


def coordinates_of(details: HpdpDetails, columns: Mapping[str, Domain]) -> Coordinates:
    """Where columns lie in a release.

    Raises:
        ReleaseError: If its sums are those of other columns.
    """
    released = [(i, j, weight) for i, j, _, weight in details.noisy_sums.products]
    coordinates = Coordinates(columns, has_class=details.has_class is None)
    first, second = coordinates.pairs
    weights = coordinates.weights[first, second]
    if released != list(zip(first.tolist(), second.tolist(), weights.tolist(), strict=True)):
        raise ReleaseError("The sums in hpdp.json are not those of its columns.")
    return coordinates


def contents_of(result: HpdpResult) -> Contents:
    """The synthetic records, and what they were drawn from."""
    return Contents({"records": records_table(result)}, hpdp_details(result))


def records_table(result: HpdpResult) -> pa.Table:
    """The synthetic records: categories as text, numbers as numbers, missing ones as null."""
    return table_of(result.coordinates, draw_records(result.coordinates, result.model, result.n_records, result.key))


def table_of(coordinates: Coordinates, drawn: Drawn) -> pa.Table:
    """Drawn records as a table."""
    return pa.table(
        {
            name: numbers_in_cells(domain, drawn.in_cells[name], drawn.is_missing.get(name))
            if isinstance(domain, NumericalDomain)
            else categories(domain, drawn.codes[name])
            for name, domain in coordinates.columns.items()
        }
    )


def hpdp_details(result: HpdpResult) -> HpdpDetails:
    """Everything that the records were drawn from."""
    model = result.model
    return HpdpDetails(
        unit=f"1/{UNIT**2}",
        coordinates=tuple(_coordinate_names(result)),
        columns={name: _column(result, name) for name in result.columns},
        noisy_sums=_noisy_sums(result),
        noise_deviation_in_people=round(result.deviation, DIGITS),
        class_weight=CLASS_WEIGHT,
        share_within_95_percent=_share_within(result),
        estimated_records=model.total,
        components=model.components,
        noise_floor=round(model.noise_floor, DIGITS),
        missing_spellings=result.agreement.records.missing_spellings,
        has_class=False if result.agreement.class_ is None else None,
    )


def _noisy_sums(result: HpdpResult) -> NoisySums:
    coordinates = result.coordinates
    first, second = (index.tolist() for index in coordinates.pairs)
    weights, noisy = coordinates.weights[coordinates.pairs].tolist(), result.noisy_sums.tolist()
    n_products, n_centered = len(first), coordinates.n_centered
    return NoisySums(
        columns_of_products=COLUMNS_OF_PRODUCTS,
        products=tuple(zip(first, second, noisy[:n_products], weights, strict=True)),
        coordinates=tuple(noisy[n_products : n_products + n_centered]),
        weights_of_coordinates=tuple(coordinates.centered_weights.tolist()),
        records=tuple(noisy[n_products + n_centered :]),
    )


def _share_within(result: HpdpResult, weight: int = 1) -> float:
    """How far a share is off at most in 95 of 100 cases."""
    return round(NORMAL_95 * result.deviation / weight / max(result.model.total, 1), DIGITS)


def _coordinate_names(result: HpdpResult) -> list[str]:
    coordinates = result.coordinates
    names = [""] * coordinates.size
    for name, place in coordinates.centered.items():
        domain = coordinates.columns[name]
        names[place] = name if isinstance(domain, NumericalDomain) else f"{name} = {domain.values[1]}"
    for name, group in coordinates.groups.items():
        domain = coordinates.columns[name]
        for code, place in enumerate(range(group.start, group.stop)):
            names[place] = f"{name} = {domain.label((code, code + 1))}"
    for name, cells in coordinates.cells.items():
        domain = coordinates.columns[name]
        for code, place in enumerate(range(cells.start, cells.stop)):
            is_missing = domain.missing and code == domain.size - 1
            names[place] = f"{name} is missing" if is_missing else f"{name} in {domain.label((code, code + 1))}"
    return names


def _column(result: HpdpResult, name: str) -> CategoryDetails | NumberDetails:
    domain = result.columns[name]
    return _category(result, domain) if isinstance(domain, CategoricalDomain) else _number(result, domain)


def _category(result: HpdpResult, domain: CategoricalDomain) -> CategoryDetails:
    coordinates, means, name = result.coordinates, result.model.means, domain.name
    if name in coordinates.groups:
        shares = means[coordinates.groups[name]].tolist()
    else:
        second = 0.5 + float(means[coordinates.centered[name]])
        shares = [1 - second, second]
    rounded = [round(share, DIGITS) for share in shares]
    return CategoryDetails(
        domain=describe_column(result.agreement, domain.name),
        shares=dict(zip(domain.values, rounded, strict=True)),
        share_within_95_percent=_share_within(result, CLASS_WEIGHT),
    )


def _number(result: HpdpResult, domain: NumericalDomain) -> NumberDetails:
    spread = result.model.spreads[domain.name]
    counts = spread.by_class.sum(axis=0).tolist()
    mean, deviation = mean_and_deviation(domain, counts)
    return NumberDetails(
        domain=describe_column(result.agreement, domain.name),
        mean=round(mean, DIGITS),
        deviation=round(deviation, DIGITS),
        missing_share=round(1 - spread.present_share, DIGITS) if domain.missing else None,
        cells=tuple(domain.label((code, code + 1)) for code in range(domain.number_codes)),
        shares=tuple(round(count / max(sum(counts), 1), DIGITS) for count in counts),
        share_within_95_percent=_share_within(result, CLASS_WEIGHT),
    )


class CountedNumbers(CellReading):
    """Questions to one number's own counts."""

    def __init__(self, details: HpdpDetails, coordinates: Coordinates, noise: Noise) -> None:
        self._details, self._coordinates, self._noise = details, coordinates, noise

    @property
    def columns(self) -> Sequence[str]:
        """The columns of numbers."""
        return tuple(self._coordinates.cells)

    def table(self, columns: Sequence[str]) -> NoisyTable:
        """Counts of one number's cells."""
        if len(columns) != 1:
            raise ReleaseError("This release counted the cells of every number alone.")
        group = self._coordinates.cells[columns[0]]
        counts = {i: (noisy, weight) for i, j, noisy, weight in self._details.noisy_sums.products if i == j}
        own = [counts[place] for place in range(group.start, group.stop)]
        deviation = deviation_of(self._noise, points_per_person=UNIT**2)
        total = self._details.noisy_sums.records
        other = OtherTotal(total[0] / UNIT**2, deviation) if total else OtherTotal(self._details.estimated_records, 0.0)
        return NoisyTable(
            columns=(ColumnCells.of(self._coordinates.columns[columns[0]]),),
            counts=np.array([noisy / weight for noisy, weight in own]) / UNIT**2,
            deviation=deviation / own[0][1],
            excess=excess_of(self._noise),
            other_total=other,
        )


def replicate(publication: Publication, details: HpdpDetails, draws: Draws) -> pa.Table:
    """The records that the sums with fresh noise would give, as many as were published."""
    sums = details.noisy_sums
    opened = [noisy for _, _, noisy, _ in sums.products] + [*sums.coordinates, *sums.records]
    (moments,) = publication.certificate.at(MOMENTS)
    fresh = draws.noise(moments.noise, len(opened), points_per_person=UNIT**2) * UNIT**2
    coordinates = coordinates_of(details, domains_as_published(details.public_columns.domains, publication.records))
    model = fit_moments(
        coordinates,
        np.array(opened, dtype=np.int64) + np.rint(fresh).astype(np.int64),
        deviation=details.noise_deviation_in_people,
        public_total=None if sums.records else details.estimated_records,
    )
    return table_of(coordinates, draw_records(coordinates, model, publication.records.num_rows, draws.next_key()))
