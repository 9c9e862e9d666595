"""From what the hpdp mechanism opened to the published table of synthetic records. Released values only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from copublish.agreement.domain import CategoricalDomain, NumericalDomain, describe_domain
from copublish.mechanisms.hpdp.coordinates import CLASS_WEIGHT, UNIT
from copublish.mechanisms.hpdp.records import Drawn, draw_records
from copublish.mechanisms.hpdp.run import HpdpResult
from copublish.privacy.described import NORMAL_95

HPDP_FORMAT = 2

DIGITS = 6


def records_table(result: HpdpResult) -> pa.Table:
    """Return the synthetic records: categories as text, numbers as numbers, missing ones as null."""
    drawn = draw_records(result.coordinates, result.model, result.n_records, result.key)
    return pa.table(
        {
            name: _numbers(domain, name, drawn)
            if isinstance(domain, NumericalDomain)
            else pa.DictionaryArray.from_arrays(
                pa.array(drawn.codes[name].astype(np.int32)), pa.array(domain.values, pa.string())
            )
            for name, domain in result.columns.items()
        }
    )


def _numbers(domain: NumericalDomain, name: str, drawn: Drawn) -> pa.Array:
    decimals = domain.decimals_of_numbers
    lowest = int(domain.lower.scaleb(decimals))
    units = np.rint(drawn.places[name] * domain.steps).astype(np.int64) + lowest
    values = units if decimals == 0 else units / float(10**decimals)
    return pa.array(values, mask=drawn.is_missing.get(name))


def describe_hpdp(result: HpdpResult) -> dict[str, Any]:
    """Return everything that the records were drawn from, as plain JSON values."""
    coordinates, model = result.coordinates, result.model
    first, second = (index.tolist() for index in coordinates.pairs)
    weights, noisy = coordinates.weights[coordinates.pairs].tolist(), result.noisy_sums.tolist()
    return {
        "hpdp_format": HPDP_FORMAT,
        "unit": f"1/{UNIT**2}",
        "coordinates": _coordinate_names(result),
        "columns": {name: _describe_column(result, name) for name in result.columns},
        "noisy_sums": {
            "columns_of_products": ["coordinate", "coordinate", "noisy sum", "weight it was multiplied with"],
            "products": [list(row) for row in zip(first, second, noisy[: len(first)], weights, strict=True)],
            "coordinates": noisy[len(first) : len(first) + coordinates.n_centred],
            "weights_of_coordinates": coordinates.centred_weights.tolist(),
            "records": noisy[len(first) + coordinates.n_centred :],
        },
        "noise_deviation_in_people": round(result.deviation, DIGITS),
        "class_weight": CLASS_WEIGHT,
        "share_within_95_percent": _share_within(result),
        "estimated_records": model.total,
        "components": model.components,
        "noise_floor": round(model.noise_floor, DIGITS),
    }


def _share_within(result: HpdpResult, weight: int = 1) -> float:
    """Return how far a share is off at most in 95 of 100 cases."""
    return round(NORMAL_95 * result.deviation / weight / max(result.model.total, 1), DIGITS)


def _coordinate_names(result: HpdpResult) -> list[str]:
    coordinates = result.coordinates
    names = [""] * coordinates.size
    for name, place in coordinates.centred.items():
        domain = coordinates.columns[name]
        names[place] = name if isinstance(domain, NumericalDomain) else f"{name} = {domain.values[1]}"
    for name, place in coordinates.missing.items():
        names[place] = f"{name} is missing"
    for name, group in coordinates.groups.items():
        domain = coordinates.columns[name]
        for code, place in enumerate(range(group.start, group.stop)):
            names[place] = f"{name} = {domain.label((code, code + 1))}"
    return names


def _describe_column(result: HpdpResult, name: str) -> dict[str, Any]:
    coordinates, model, domain = result.coordinates, result.model, result.columns[name]
    described: dict[str, Any] = {"domain": describe_domain(domain)}
    if isinstance(domain, CategoricalDomain):
        if name in coordinates.groups:
            shares = model.means[coordinates.groups[name]].tolist()
        else:
            second = 0.5 + float(model.means[coordinates.centred[name]])
            shares = [1 - second, second]
        rounded = [round(share, DIGITS) for share in shares]
        within = _share_within(result, CLASS_WEIGHT if name == coordinates.class_name else 1)
        described |= {"kind": "category", "shares": dict(zip(domain.values, rounded, strict=True))}
        return {**described, "share_within_95_percent": within}
    place, width = coordinates.centred[name], float(domain.upper - domain.lower)
    described |= {
        "kind": "number",
        "mean": round(float(domain.lower) + width * (0.5 + float(model.means[place])), DIGITS),
        "deviation": round(width * math.sqrt(float(model.variances[place])), DIGITS),
    }
    if name in coordinates.missing:
        described["missing_share"] = round(0.5 + float(model.means[coordinates.missing[name]]), DIGITS)
    return described
