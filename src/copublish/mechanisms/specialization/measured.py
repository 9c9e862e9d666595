"""The leaf counts with their error bars. Released values only."""

from __future__ import annotations

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.mechanisms.base import MeasuredCounts, Publication
from copublish.mechanisms.specialization.plan import LEAVES


def measured_counts(publication: Publication) -> MeasuredCounts:
    """The leaf counts with the error that the certificate states."""
    (leaves,) = publication.certificate.at(LEAVES)
    counts, within = publication.contents.tables["counts"], float(leaves.noise.within_95_percent or 0)
    noisy = tuple(counts.column(NOISY_COUNT).to_pylist())
    return MeasuredCounts(counts.drop_columns([COUNT, NOISY_COUNT]), noisy, (within,) * len(noisy))
