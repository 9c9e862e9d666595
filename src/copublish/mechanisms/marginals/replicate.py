"""Records from the measured tables with fresh noise: the model is fitted again. Released values only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.columns import NOISY_COUNT
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.base import Publication
from copublish.mechanisms.marginals.model import TABLE_BITS, FittingProblem, MeasuredTable, from_units
from copublish.mechanisms.marginals.publish import MarginalsDetails, records_table
from copublish.mechanisms.marginals.reading import law_of_tables
from copublish.mechanisms.marginals.records import draw_codes
from copublish.mechanisms.marginals.tables import TABLES
from copublish.mechanisms.reading.replicates import Draws
from copublish.mechanisms.shared.arrow import domains_as_published


def replicate(publication: Publication, details: MarginalsDetails, draws: Draws) -> pa.Table:
    """The records that the measured tables with fresh noise would give; which were measured is not chosen again."""
    domains = domains_as_published(details.public_columns.domains, publication.records)
    names = list(domains)
    is_gaussian = law_of_tables(publication.certificate) is Law.GAUSSIAN
    published = publication.contents.tables[TABLES]
    tables = []
    for number, table in enumerate(details.tables, start=1):
        values = published.filter(pc.equal(published.column("table"), number)).column(NOISY_COUNT).to_numpy()
        deviation = table.noise_deviation_in_people
        # Of Laplace noise that is not tiny the deviation is the root of 2 times the scale.
        scale = deviation if is_gaussian else deviation / float(np.sqrt(2))
        law = Noise(law=Law.GAUSSIAN if is_gaussian else Law.LAPLACE, scale_in_people=scale)
        columns = tuple(names.index(name) for name in table.columns)
        tables.append(MeasuredTable(columns, draws.counts(law, values), deviation, table.within_95_percent))
    sizes = tuple(domain.size for domain in domains.values())
    total = publication.certificate.public_facts.number_of_records
    if total is None:
        weights = np.array([1 / (table.deviation**2 * len(table.values)) for table in tables])
        total = round(float(weights @ [float(table.values.sum()) for table in tables] / weights.sum()))
    problem = FittingProblem(sizes, tuple(tables), max(1, total))
    factors = np.concatenate([np.array(table.factors, dtype=np.int64) for table in details.tables])
    state = problem.fit(from_units(factors))
    cliques = tuple(np.rint(belief * 2.0**TABLE_BITS).astype(np.int64) for belief in state.beliefs)
    key = draws.next_key()
    codes = draw_codes(problem.tree, cliques, publication.records.num_rows, key)
    return records_table(domains, codes, key)
