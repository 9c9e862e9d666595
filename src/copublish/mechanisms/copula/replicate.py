"""Records from the released counts and sums with fresh noise. Released values only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from copublish.mechanisms.base import Publication
from copublish.mechanisms.copula.model import SCORE_LIMIT, fit_copula
from copublish.mechanisms.copula.plan import MARGINALS, PRODUCTS
from copublish.mechanisms.copula.publish import CopulaDetails, values_of
from copublish.mechanisms.copula.records import draw_columns
from copublish.mechanisms.reading.noisy import deviation_of
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.arrow import domains_as_published
from copublish.mechanisms.shared.number_cells import InCells, counts_of_records


def replicate(publication: Publication, details: CopulaDetails, draws: Draws) -> pa.Table:
    """The records that everything opened, with fresh noise, would give; scores are those that were summed with."""
    certificate = publication.certificate
    laws = {marginal.place.column: marginal.noise for marginal in certificate.at(MARGINALS)}
    (products,) = certificate.at(PRODUCTS)
    noisy = {
        name: draws.counts(laws[name], np.array(column.noisy_counts, dtype=np.int64))
        for name, column in details.columns.items()
    }
    total = certificate.public_facts.number_of_records
    if total is None:
        weights = {name: 1 / (deviation_of(laws[name]) ** 2 * len(own)) for name, own in noisy.items()}
        weighted = sum(weights[name] * int(own.sum()) for name, own in noisy.items())
        total = max(0, round(weighted / sum(weights.values())))
    domains = domains_as_published(details.public_columns.domains, publication.records)
    counts = [
        counts_of_records(domains[name], own, total, noise=deviation_of(laws[name])) for name, own in noisy.items()
    ]
    scores = [np.array(column.scores, dtype=np.int64) for column in details.columns.values()]
    points = SCORE_LIMIT**2
    fresh = np.rint(draws.noise(products.noise, len(details.pairs), points_per_person=points) * points)
    sums = np.array([pair.noisy_sum_of_products for pair in details.pairs], dtype=np.int64) + fresh.astype(np.int64)
    model = fit_copula(counts, scores, sums)
    drawn = draw_columns(model.loadings, counts, draws.next_key())
    return pa.table(
        {
            name: values_of(domains[name], InCells(cells=cells, places=places, counts=own[cells]))
            for name, own, (cells, places) in zip(details.columns, counts, drawn, strict=True)
        }
    )
