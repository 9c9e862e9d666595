"""Everything that copula publishes, and the model that measurements give. Released values only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from copublish.errors import ReleaseError
from copublish.kernel.accounting.disclosures import Place
from copublish.mechanisms.copula.model import SCORE_LIMIT, CopulaResult, fit_copula
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.copula.records import CopulaModel, model_of
from copublish.mechanisms.published import Cells, Contents, Measured, NoiseAt, Published, Scores
from copublish.mechanisms.shared.allocation import TABLES, describe_division
from copublish.mechanisms.shared.noise_laws import deviation_of
from copublish.mechanisms.shared.normal import pairs_of
from copublish.mechanisms.shared.number_cells import counts_of_records
from copublish.types import IntArray


def contents_of(result: CopulaResult, noise_at: NoiseAt) -> Contents:
    """Everything that was opened, and the model."""
    counts = {name: tuple(own.tolist()) for name, own in result.counts.items()}
    return Contents(
        measured=tuple(_measurements(result, noise_at)),
        model=CopulaModel(
            records=sum(next(iter(counts.values()))),
            key=result.key.hex(),
            division=describe_division(result.allocation, result.gains),
            counts=counts,
            loadings=_rows(result.loadings),
        ),
    )


def _measurements(result: CopulaResult, noise_at: NoiseAt) -> Iterator[Measured]:
    """Yield what was opened, in order."""
    if result.gains is not None:
        label = Cells(column=result.allocation.label)
        for name, noisy in result.gains.noisy_tables.items():
            place = Place(TABLES, column=name)
            by_label = (Cells(column=name), label)
            yield Measured(place=place, axes=by_label, values=noisy.ravel(), noise=noise_at(place), steered=True)
    for name, noisy in result.noisy_counts.items():
        place = Place(MARGINALS, column=name)
        yield Measured(place=place, axes=(Cells(column=name),), values=noisy, noise=noise_at(place))
    scores = [Scores(column=name, scores=tuple(own.tolist())) for name, own in result.scores.items()]
    place = Place(PRODUCTS)
    for (i, j), noisy in zip(pairs_of(len(scores)), result.noisy_products[:, None], strict=True):
        both = (scores[i], scores[j])
        yield Measured(place=place, axes=both, values=noisy, noise=noise_at(place), points=SCORE_LIMIT**2)


def _rows(matrix: IntArray) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))


def fit(published: Published, public_total: int | None) -> CopulaModel:
    """The model of measurements, by the scores that were summed."""
    released, domains = model_of(published), published.columns.domains
    counted = {table.columns[0]: table for table in published.measured if table.place.step == MARGINALS}
    products = [table for table in published.measured if table.place.step == PRODUCTS]
    names = list(domains)
    pairs = [(names[i], names[j]) for i, j in pairs_of(len(names))]
    if list(counted) != names or [table.columns for table in products] != pairs:
        raise ReleaseError("The measurements of this release are not a count of every column and a sum of every two.")
    total = _estimated_total(list(counted.values())) if public_total is None else public_total
    counts = [
        counts_of_records(domains[name], table.values, total, noise=deviation_of(table.noise))
        for name, table in counted.items()
    ]
    scores = {axis.column: axis.scores for table in products for axis in table.axes if isinstance(axis, Scores)}
    sums = np.array([int(table.values[0]) for table in products], dtype=np.int64)
    loadings = fit_copula(counts, [np.array(scores[name], dtype=np.int64) for name in names], sums)
    made = {name: tuple(own.tolist()) for name, own in zip(names, counts, strict=True)}
    return replace(released, records=total, counts=made, loadings=_rows(loadings))


def _estimated_total(counted: Sequence[Measured]) -> int:
    """The number of records from the counts of all columns, each weighted by how exact its sum is."""
    weights = [1 / (deviation_of(table.noise) ** 2 * len(table.values)) for table in counted]
    weighted = sum(weight * int(table.values.sum()) for weight, table in zip(weights, counted, strict=True))
    return max(0, round(weighted / sum(weights)))
