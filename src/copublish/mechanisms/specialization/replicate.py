"""Records with fresh noise on the released counts. Released values only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from copublish.agreement.columns import COUNT, NOISY_COUNT
from copublish.mechanisms.base import Publication
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.post_processing import consistent_counts, consistent_counts_by_class
from copublish.mechanisms.specialization.publish import CutDetails, records_of
from copublish.mechanisms.specialization.values import noise_of_counts


def replicate(publication: Publication, details: CutDetails, draws: Draws) -> pa.Table:
    """The records that these counts with fresh noise would give."""
    counts = publication.contents.tables["counts"]
    noisy = draws.counts(noise_of_counts(publication.certificate), counts.column(NOISY_COUNT).to_numpy())
    public = publication.certificate.public_facts.number_of_records
    total = max(0, int(noisy.sum())) if public is None else public
    if details.score is None:
        consistent = consistent_counts(noisy, total)
    else:
        consistent = consistent_counts_by_class(noisy.reshape(-1, len(details.class_.values)), total).ravel()
    place = counts.column_names.index(COUNT)
    return records_of(counts.set_column(place, COUNT, pa.array(np.asarray(consistent, dtype=np.int64))))
