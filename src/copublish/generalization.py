"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.taxonomy import flat_taxonomy, parse_taxonomy
from copublish.errors import CopublishError, FragmentError, SourceError
from copublish.fragments.encoding import column_expressions, encode_batch
from copublish.fragments.fragment import Codes
from copublish.fragments.reading import ambiguous_columns
from copublish.fragments.sources import ROWS_PER_BATCH, Source, open_source

__all__ = ["Source", "domain_of", "generalize", "read_values"]


def generalize(cut: Mapping[str, Any], source: Source) -> pa.Table:
    """Return data with every value replaced by the generalized value that the release uses for it.

    Args:
        cut: The `cut` of a release, or the content of its `cut.json`.
        source: A CSV or Parquet file or a data frame with the attributes, and the class if it is known.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """
    labels = {name: _label_of_code(entry["values"]) for name, entry in cut["attributes"].items()}
    labels[cut["class"]["name"]] = np.array(cut["class"]["values"], dtype=object)

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        return pa.array(labels[domain.name][codes], pa.string())

    return _read(cut, source, convert, number_type=pa.string())


def read_values(cut: Mapping[str, Any], source: Source) -> pa.Table:
    """Return the same columns as `generalize`, checked in the same way, with their own values.

    Categories are text without surrounding space, or the label of the missing category; numbers are float64, null
    where they are missing.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """

    def convert(domain: Domain, codes: Codes, batch: pa.RecordBatch) -> pa.Array:
        if isinstance(domain, CategoricalDomain):
            return pa.array(np.array(domain.values, dtype=object)[codes], pa.string())
        numbers = batch.column(f"{domain.name}/value").cast(pa.float64())
        return pc.if_else(pa.array(codes < domain.number_codes), numbers, None)

    return _read(cut, source, convert, number_type=pa.float64())


Convert = Callable[[Domain, Codes, pa.RecordBatch], pa.Array]
"""What a column of a batch becomes, from its domain, its codes and its values."""


def _read(cut: Mapping[str, Any], source: Source, convert: Convert, number_type: pa.DataType) -> pa.Table:
    connection = ibis.duckdb.connect()
    try:
        table = open_source(source, connection)
        return _convert_table(cut, table, connection, convert, number_type)
    except CopublishError:
        raise
    except Exception as exc:  # the source's messages can quote rows
        raise SourceError(f"The data cannot be read ({type(exc).__name__}).") from None
    finally:
        connection.disconnect()


def _convert_table(
    cut: Mapping[str, Any], table: Any, connection: Any, convert: Convert, number_type: pa.DataType
) -> pa.Table:
    domains = {name: domain_of(name, entry["domain"]) for name, entry in cut["attributes"].items()}
    class_name = cut["class"]["name"]
    if ambiguous := ambiguous_columns(list(domains), list(table.columns)):
        raise FragmentError(None, ambiguous)
    absent = [name for name in domains if name not in table.columns]
    if absent:
        raise FragmentError(None, [f"Column '{name}' is in the release but not in the data." for name in absent])
    if class_name in table.columns:
        domains[class_name] = CategoricalDomain(class_name, flat_taxonomy(tuple(cut["class"]["values"])))
    spellings = tuple(cut["missing_spellings"])
    expressions = [e for name, domain in domains.items() for e in column_expressions(table[name], domain)]
    columns: dict[str, list[pa.Array]] = {name: [] for name in domains}
    problems: set[str] = set()
    for batch in connection.to_pyarrow_batches(table.select(expressions), chunk_size=ROWS_PER_BATCH):
        for name, domain in domains.items():
            codes, broken = encode_batch(domain, batch, spellings, null_is_elsewhere=False)
            problems.update(f"Column '{name}' has {rule}." for rule in broken)
            if not broken:
                columns[name].append(convert(domain, codes, batch))
    if problems:
        raise FragmentError(None, sorted(problems))
    types = {name: number_type if isinstance(domains[name], NumericalDomain) else pa.string() for name in domains}
    return pa.table({name: pa.chunked_array(parts, types[name]) for name, parts in columns.items()})


def domain_of(name: str, described: Mapping[str, Any]) -> Domain:
    """Rebuild a public domain from its description in `cut.json`."""
    if described["kind"] == "categorical":
        return CategoricalDomain(name, parse_taxonomy(described["taxonomy"]), missing=described["missing"])
    lower, upper = (Decimal(bound) for bound in described["bounds"])
    thresholds = tuple(Decimal(threshold) for threshold in described["thresholds"])
    return NumericalDomain(name, lower, upper, thresholds, missing=described["missing"])


def _label_of_code(values: list[dict[str, Any]]) -> np.ndarray[Any, Any]:
    labels = np.array([value["label"] for value in values], dtype=object)
    return np.repeat(labels, [value["codes"][1] - value["codes"][0] for value in values])
