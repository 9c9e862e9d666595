"""Data to plan with: a public file or made-up values, and how the agreement's parties would hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import MISSING_LABEL, CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.encoding_rules import quantize
from copublish.agreement.model import Agreement
from copublish.errors import EvaluationError
from copublish.kernel.records.fragment import Fragment
from copublish.rows.changes import Change
from copublish.rows.identifiers import IdentifierColumn
from copublish.rows.sources import Source
from copublish.tools.evaluation.generalize import read_values
from copublish.tools.evaluation.values import codes_of
from copublish.types import Codes, IntArray

MISSING_SHARE = 0.03
CLASS_SPREAD = 0.6
"""How much of the made-up class is chance, in standard deviations of what the attributes say about it."""


def read_like(agreement: Agreement, source: Source, *, strict: bool = False) -> tuple[pd.DataFrame, tuple[Change, ...]]:
    """A public table with all agreed columns as a run would read it, and what had to be changed for it.

    Records without a listed class are left out: a run counts them nowhere.

    Raises:
        EvaluationError: If the class or all rows are missing.
        FragmentError: If another column is missing or, with `strict`, has values outside its domain.
    """
    told, class_name = read_values(PublicColumns.of_agreement(agreement), source, strict=strict), agreement.class_name
    if class_name is not None and class_name not in told.table.column_names:
        raise EvaluationError(f"The data to plan with have no column '{class_name}', the agreed class.")
    frame = told.counted_records(class_name)
    if len(frame) < 3:
        which = "" if class_name is None else " with a listed class"
        raise EvaluationError(
            f"The data to plan with need at least 3 rows{which}, to train on some and test on others."
        )
    return frame, told.changes


def made_up_table(agreement: Agreement, n: int, generator: np.random.Generator) -> pd.DataFrame:
    """Made-up records: values spread evenly over the domains, a class that depends on them, and chance.

    Without a class the last attribute depends on the others.
    """
    columns: dict[str, Any] = {}
    strength = np.zeros(n)
    independent = list(agreement.domains.items())
    if agreement.class_ is None:
        last = independent.pop()[1]
    for number, (name, domain) in enumerate(independent):
        codes = generator.integers(0, domain.size - domain.missing, n)
        # Attributes tell less and less, as in most tables; every second one in the other direction.
        strength += (-1) ** number * 0.7**number * (codes - codes.mean()) / (codes.std() or 1)
        columns[name] = _values(domain, codes, generator)
        if domain.missing:
            columns[name][generator.random(n) < MISSING_SHARE] = (
                MISSING_LABEL if isinstance(domain, CategoricalDomain) else np.nan
            )
    strength += CLASS_SPREAD * strength.std() * generator.normal(size=n)
    if agreement.class_ is None:
        places = np.argsort(np.argsort(strength)) * (last.size - last.missing) // max(n, 1)
        columns[last.name] = _values(last, places, generator)
        return pd.DataFrame(columns)
    classes = np.array(agreement.class_.values, dtype=object)
    # The first class is the largest: half of the records, and the others share the rest.
    edges = np.quantile(strength, np.linspace(0.5, 1, len(classes))[:-1]) if n else np.zeros(len(classes) - 1)
    columns[agreement.class_.name] = classes[np.searchsorted(edges, strength, side="right")]
    return pd.DataFrame(columns)


def _values(domain: Domain, codes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[Any]:
    if isinstance(domain, CategoricalDomain):
        return np.array(domain.values, dtype=object)[codes]
    edges = np.array([float(edge) for edge in (domain.lower, *domain.thresholds, domain.upper)])
    return np.asarray(edges[codes] + generator.random(len(codes)) * (edges[codes + 1] - edges[codes]))


def as_fragments(
    agreement: Agreement, table: pd.DataFrame, generator: np.random.Generator, *, with_numbers: bool = False
) -> dict[str, Fragment]:
    """The table as the agreement's parties would hold it: by people, by columns, or cell by cell at random.

    Args:
        agreement: Who holds what.
        table: Values of all columns.
        generator: Decides what the agreement leaves open.
        with_numbers: Whether numbers are kept as such, too, for mechanisms that need them.
    """
    n, codes = len(table), codes_of(agreement.columns, table)
    identifiers = IdentifierColumn([pa.array([str(number) for number in range(n)], pa.string())])
    rows = generator.integers(0, len(agreement.owners), n) if agreement.partition == "horizontal" else None
    holder_of = {
        name: generator.integers(0, len(agreement.holders(name)), n)
        for name in agreement.attributes
        if agreement.partition != "horizontal" and len(agreement.holders(name)) > 1
    }
    found = {}
    number_of = {party: number for number, party in enumerate(agreement.owners)}
    for party in agreement.party_names:
        kept = np.arange(n) if rows is None else np.flatnonzero(rows == number_of.get(party, -1))
        private_codes: dict[str, Codes] = {}
        private_numbers: dict[str, IntArray] = {}
        sizes = {name: agreement.columns[name].size for name in agreement.columns_of(party)}
        for name, size in sizes.items():
            column = codes[name].to_numpy()
            if name in holder_of:
                column = np.where(holder_of[name] == agreement.holders(name).index(party), column, size)
            private_codes[name] = column[kept].astype(np.min_scalar_type(size))
            domain = agreement.columns[name]
            if with_numbers and isinstance(domain, NumericalDomain):
                numbers = table[name].to_numpy(dtype=float)[kept]
                private_numbers[name] = quantize(domain, numbers, private_codes[name])
        own = identifiers.take(kept) if agreement.records.keys else None
        found[party] = Fragment(party, len(kept), private_codes, sizes, own, private_numbers)
    return found
