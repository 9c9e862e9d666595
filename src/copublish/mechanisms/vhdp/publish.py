"""From what the owners published to the table of a vhdp release. Released values only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, describe_domain
from copublish.mechanisms.shared.allocation import describe_division
from copublish.mechanisms.shared.label_information import describe_information
from copublish.mechanisms.vhdp.run import VhdpResult
from copublish.privacy.described import describe_noise
from copublish.types import IntArray

VHDP_FORMAT = 1


def perturbed_table(result: VhdpResult) -> pa.Table:
    """Return the perturbed records: categories as text, numbers as numbers, missing ones as null."""
    return pa.table({name: _values(domain, result.values[name]) for name, domain in result.columns.items()})


def describe_vhdp(result: VhdpResult) -> dict[str, Any]:
    """Return how the records were perturbed and what they still tell, as plain JSON values."""
    allocation, cells = result.allocation, result.cells
    label = allocation.agreement.budget_label
    return {
        "vhdp_format": VHDP_FORMAT,
        "columns": {
            name: {
                "domain": describe_domain(domain),
                "noise": describe_noise(result.disclosures[name]),
                "cells": [domain.label((code, code + 1)) for code in range(domain.size)],
                "counts": np.bincount(cells[name], minlength=domain.size).tolist(),
            }
            for name, domain in result.columns.items()
        },
        "allocation": describe_division(allocation, result.gains),
        "label_information": describe_information(result.columns, cells, label, allocation.budgets(result.gains)),
    }


def _values(domain: Domain, values: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        labels = pa.array(domain.values, pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), labels)
    decimals = domain.decimals_of_numbers
    numbers = values + int(domain.lower.scaleb(decimals))
    return pa.array(numbers if decimals == 0 else numbers / float(10**decimals), mask=values > domain.steps)
