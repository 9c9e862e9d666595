"""From what the copula mechanism opened to the published table of synthetic records. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, describe_domain
from copublish.mechanisms.copula.records import draw_columns
from copublish.mechanisms.copula.run import CopulaResult
from copublish.mechanisms.shared.allocation import describe_division
from copublish.mechanisms.shared.eigen import pairs_of
from copublish.mechanisms.shared.label_information import describe_information
from copublish.types import Codes, IntArray

COPULA_FORMAT = 1

CORRELATION_DIGITS, WITHIN_DIGITS = 6, 3

FINER_DECIMALS = 3
"""How many more decimals than the grid synthetic numbers have, where nothing is agreed."""

LARGEST_EXACT = 2**53
"""Whole numbers up to this size are floating-point numbers, too."""


def synthetic_records(result: CopulaResult) -> tuple[pa.Table, dict[str, Codes]]:
    """Return the synthetic records: categories as text, numbers as numbers, missing ones as null; and their cells."""
    counts = list(result.counts.values())
    drawn = draw_columns(result.model.loadings, counts, result.key)
    table, found = {}, {}
    for (name, domain), own, (cells, places) in zip(result.columns.items(), counts, drawn, strict=True):
        table[name] = _values(domain, cells, places, own)
        found[name] = cells.astype(np.min_scalar_type(domain.size))
    return pa.table(table), found


def describe_copula(result: CopulaResult, cells: Mapping[str, Codes]) -> dict[str, Any]:
    """Return everything that the records were drawn from, and what they tell, as plain JSON values."""
    names, allocation = list(result.columns), result.allocation
    correlations = result.model.correlations
    budgets, label = allocation.budgets(result.gains), allocation.agreement.budget_label
    return {
        "copula_format": COPULA_FORMAT,
        "columns": {
            name: {
                "domain": describe_domain(domain),
                "cells": [domain.label((code, code + 1)) for code in range(domain.size)],
                "counts": result.counts[name].tolist(),
                "noisy_counts": result.noisy_counts[name].tolist(),
                "scores": result.scores[name].tolist(),
            }
            for name, domain in result.columns.items()
        },
        "pairs": [
            {
                "columns": [names[i], names[j]],
                "noisy_sum_of_products": noisy,
                "correlation": round(float(correlations[i, j]), CORRELATION_DIGITS),
                "correlation_within_95_percent": _within(result, i, j),
            }
            for (i, j), noisy in zip(pairs_of(len(names)), result.noisy_products.tolist(), strict=True)
        ],
        "allocation": describe_division(allocation, result.gains),
        "label_information": describe_information(result.columns, cells, label, budgets),
    }


def _within(result: CopulaResult, i: int, j: int) -> float | None:
    """Return how far noise moves a correlation at most in 95 of 100 cases; nothing where it could be anything."""
    slope = result.model.slopes[i] * result.model.slopes[j] * int(next(iter(result.counts.values())).sum())
    within = result.products_within / slope if slope > 0 else 1.0
    return round(within, WITHIN_DIGITS) if within < 1 else None


def _values(domain: Domain, cells: IntArray, places: IntArray, counts: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        labels = pa.array(domain.values, pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(cells.astype(np.int32)), labels)
    is_missing = cells >= domain.number_codes
    edges, decimals = grid_in_units(domain)
    # The records of a cell are spread evenly over it, in the order of the variable behind the column.
    start, parts = edges[:-1][cells.clip(max=domain.number_codes - 1)], 2 * counts[cells]
    width, odd = np.diff(edges)[cells.clip(max=domain.number_codes - 1)], 2 * places + 1
    whole, rest = np.divmod(width, np.maximum(parts, 1))
    units = start + odd * whole + odd * rest // np.maximum(parts, 1)  # start + width * odd / parts, without overflow
    values = units if decimals == 0 else units / float(10**decimals)
    return pa.array(values, mask=is_missing)


def grid_in_units(domain: NumericalDomain) -> tuple[IntArray, int]:
    """Return a grid's edges as whole numbers of the unit that synthetic numbers are written in, and its decimals.

    Without agreed decimals the unit is a thousandth of the grid's own. The last cell includes the upper bound.
    """
    edges = [domain.lower, *domain.thresholds, domain.upper]
    decimals = domain.decimals_of_grid + FINER_DECIMALS if domain.decimals is None else domain.decimals
    while decimals > 0 and max(abs(edge) for edge in edges) * 10**decimals >= LARGEST_EXACT:
        decimals -= 1
    units = [int((edge * Decimal(10) ** decimals).to_integral_value("ROUND_CEILING")) for edge in edges]
    return np.array([*units[:-1], units[-1] + 1], dtype=np.int64), decimals
