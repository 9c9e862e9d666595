"""Everything that hpdp publishes, the model that measurements give, and records. Released values only."""

from __future__ import annotations

import pyarrow as pa

from copublish.agreement.domain import NumericalDomain
from copublish.errors import ReleaseError
from copublish.kernel.accounting.disclosures import Place
from copublish.mechanisms.hpdp.blocks import blocks_of, opened_sums
from copublish.mechanisms.hpdp.coordinates import UNIT, Coordinates
from copublish.mechanisms.hpdp.model import HpdpResult, fit_moments
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.records import Drawn, draw_records
from copublish.mechanisms.hpdp.released_model import HpdpModel, model_of
from copublish.mechanisms.published import Contents, Measured, NoiseAt, Published
from copublish.mechanisms.shared.number_cells import numbers_in_cells
from copublish.mechanisms.shared.post_processing import categories


def contents_of(result: HpdpResult, noise_at: NoiseAt) -> Contents:
    """Everything that was opened, and the model."""
    place = Place(MOMENTS)
    noise = noise_at(place)
    measured = [
        Measured(
            place=place,
            axes=block.axes,
            values=result.noisy_sums[block.places],
            noise=noise,
            points=UNIT**2,
            times=block.times,
        )
        for block in blocks_of(result.coordinates, total_is_public=result.total_is_public)
    ]
    model = model_of(result.model, n_records=result.n_records, key=result.key.hex(), deviation=result.deviation)
    return Contents(measured=tuple(measured), model=model)


def fit(published: Published, public_total: int | None) -> HpdpModel:
    """The model of measurements, with as many records as were published."""
    released, coordinates = _model_and_coordinates(published)
    blocks = blocks_of(coordinates, total_is_public=public_total is not None)
    noisy_sums, deviation = opened_sums(blocks, published.measured), released.noise_deviation
    fitted = fit_moments(coordinates, noisy_sums, deviation=deviation, public_total=public_total)
    return model_of(fitted, n_records=released.records, key=released.key, deviation=deviation)


def sample(published: Published, key: bytes) -> pa.Table:
    """Records drawn from the model."""
    model, coordinates = _model_and_coordinates(published)
    return table_of(coordinates, draw_records(coordinates, model.moments(coordinates), model.records, key))


def _model_and_coordinates(published: Published) -> tuple[HpdpModel, Coordinates]:
    if not isinstance(published.model, HpdpModel):
        raise ReleaseError("The model of this release is not one of moments.")
    return published.model, Coordinates(published.columns.domains, has_class=published.columns.has_class)


def table_of(coordinates: Coordinates, drawn: Drawn) -> pa.Table:
    """Drawn records as a table: categories as text, numbers as numbers, missing ones as null."""
    return pa.table(
        {
            name: numbers_in_cells(domain, drawn.in_cells[name], drawn.is_missing.get(name))
            if isinstance(domain, NumericalDomain)
            else categories(domain, drawn.codes[name])
            for name, domain in coordinates.columns.items()
        }
    )
