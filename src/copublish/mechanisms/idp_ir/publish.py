"""From what the mechanism idp-ir told to the published table of records. Released values only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, describe_domain
from copublish.mechanisms.idp_ir.run import IdpIrResult
from copublish.privacy.no_promise import WARNING
from copublish.types import IntArray

IDP_IR_FORMAT = 1


def microaggregated_table(result: IdpIrResult) -> pa.Table:
    """Return the records, categories as text and numbers as numbers; the table itself says that it is not private."""
    domains = result.plan.agreement.columns
    table = pa.table({name: _values(domains[name], places) for name, places in result.values.items()})
    return table.replace_schema_metadata({"warning": WARNING})


def describe_idp_ir(result: IdpIrResult) -> dict[str, Any]:
    """Return how the records were made, as plain JSON values; nothing in it comes from data."""
    plan = result.plan
    return {
        "warning": WARNING,
        "acknowledged": plan.agreement.mechanism.acknowledge,
        "idp_ir_format": IDP_IR_FORMAT,
        **plan.describe(),
        "columns": {name: describe_domain(domain) for name, domain in plan.agreement.columns.items()},
    }


def _values(domain: Domain, places: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        labels = pa.array(domain.values, pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), labels)
    decimals = domain.decimals_of_numbers
    units = int(domain.lower.scaleb(decimals)) + places
    return pa.array(units if decimals == 0 else units / float(10**decimals))
