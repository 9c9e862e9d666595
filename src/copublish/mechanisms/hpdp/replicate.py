"""Records from the released sums with fresh noise. Released values only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from copublish.mechanisms.base import Publication
from copublish.mechanisms.hpdp.coordinates import UNIT
from copublish.mechanisms.hpdp.model import fit_moments
from copublish.mechanisms.hpdp.plan import MOMENTS
from copublish.mechanisms.hpdp.publish import HpdpDetails, coordinates_of, table_of
from copublish.mechanisms.hpdp.records import draw_records
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.arrow import domains_as_published


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
