"""Generalizing other data the way a release did: new records, a test set, next year's table."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.taxonomy import flat_taxonomy, parse_taxonomy
from copublish.errors import FragmentError
from copublish.fragments.encoding import column_expression, encode_batch
from copublish.fragments.reading import ambiguous_columns
from copublish.fragments.sources import OpenSource, Source, open_source


def generalize(cut: Mapping[str, Any], source: Source) -> pa.Table:
    """Return data with every value replaced by the generalized value that the release uses for it.

    Args:
        cut: The `cut` of a release, or the content of its `cut.json`.
        source: A file, a table in a database or a data frame with the attributes, and the class if it is known.

    Raises:
        FragmentError: If a column is missing or has values outside the release's public domain.
    """
    with open_source(source) as opened:
        return _generalize_table(cut, opened)


def _generalize_table(cut: Mapping[str, Any], opened: OpenSource) -> pa.Table:
    table = opened.table
    domains = {name: domain_of(name, entry["domain"]) for name, entry in cut["attributes"].items()}
    labels = {name: _label_of_code(entry["values"]) for name, entry in cut["attributes"].items()}
    class_name = cut["class"]["name"]
    if ambiguous := ambiguous_columns(list(domains), list(table.columns)):
        raise FragmentError(None, ambiguous)
    absent = [name for name in domains if name not in table.columns]
    if absent:
        raise FragmentError(None, [f"Column '{name}' is in the release but not in the data." for name in absent])
    if class_name in table.columns:
        domains[class_name] = CategoricalDomain(class_name, flat_taxonomy(tuple(cut["class"]["values"])))
        labels[class_name] = np.array(cut["class"]["values"], dtype=object)
    spellings = tuple(cut["missing_spellings"])
    expressions = [column_expression(table[name], domain) for name, domain in domains.items()]
    columns: dict[str, list[pa.Array]] = {name: [] for name in domains}
    problems: set[str] = set()
    for batch in opened.batches(expressions):
        for name, domain in domains.items():
            codes, broken = encode_batch(domain, batch, spellings, null_is_elsewhere=False)
            problems.update(f"Column '{name}' has {rule}." for rule in broken)
            columns[name].append(
                pa.array(labels[name][codes], pa.string()) if not broken else pa.array([], pa.string())
            )
    if problems:
        raise FragmentError(None, sorted(problems))
    return pa.table({name: pa.chunked_array(parts, pa.string()) for name, parts in columns.items()})


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
