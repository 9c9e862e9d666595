"""Coefficients of the cost model in src/copublish/planning/costs.py, fitted to secure runs of different shapes.

    python benchmarks/cost_model.py

Runs made-up tables on the secure engine, both parties on this machine, and prints for each what was measured and what
the present coefficients predict; then coefficients that fit these runs (non-negative least squares on relative errors).
Traffic is the same on every machine; take seconds on a quiet one. Takes several minutes.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import astuple, fields
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

import copublish as cp
from copublish.mechanisms.shared.work import Work
from copublish.mechanisms.specialization.costs import work_of
from copublish.planning.costs import MEASURED, dot
from secure_release import cut_of, secure

CASES: tuple[tuple[int, int, int, int, str, str, int], ...] = (
    (4, 20, 2, 4, "1", "vertical", 4_000),
    (6, 50, 2, 8, "1", "vertical", 4_000),
    (6, 50, 2, 8, "0.1", "vertical", 4_000),
    (8, 100, 2, 8, "1", "vertical", 20_000),
    (6, 50, 2, 11, "1", "vertical", 40_000),
    (6, 50, 4, 9, "1", "vertical", 100_000),
    (6, 50, 2, 8, "1", "vertical", 200_000),
    (4, 20, 2, 6, "1", "arbitrary", 8_000),
    (6, 50, 2, 9, "1", "arbitrary", 40_000),
)
"""Attributes, grid cells of each, classes, specializations, epsilon, partition, records."""


def agreement_of(case: tuple[int, int, int, int, str, str, int]) -> cp.Agreement:
    attributes, grid, classes, specializations, epsilon, partition, _ = case
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "cost",
            "dataset": "cost",
            "partition": partition,
            "parties": {"a": {}, "b": {}},
            "records": {"alignment": "row-order", "expected": 100_000},
            "class": {"name": "y", "values": [str(number) for number in range(classes)]},
            "attributes": {
                f"x{i}": {
                    "kind": "numerical",
                    "bounds": [0, 1000],
                    "grid": {"count": grid},
                    "held_by": "ab"[i % 2] if partition == "vertical" else ["a", "b"],
                }
                for i in range(attributes)
            },
            "privacy": {"epsilon": epsilon},
            "mechanism": {"name": "specialization", "specializations": specializations, "max_cells": 20_000},
        }
    )


def frames_of(agreement: cp.Agreement, n: int) -> dict[str, pd.DataFrame]:
    """Return both parties' parts of a table whose class depends on all attributes."""
    generator, names = np.random.default_rng(0), list(agreement.attributes)
    table = pd.DataFrame({name: generator.integers(0, 1001, n) for name in names})
    weight = sum(table[name] * (len(names) - i) for i, name in enumerate(names))
    table["y"] = (np.argsort(np.argsort(weight)) * len(agreement.class_.values) // n).astype(str)
    if agreement.partition == "vertical":
        return {party: table[list(agreement.columns_of(party))] for party in agreement.parties}
    holder_of = generator.integers(2, size=(n, len(names)))
    cells = table[names].convert_dtypes()
    return {p: cells.where(holder_of == i).assign(y=table["y"]) for i, p in enumerate(agreement.parties)}


def fitted(work: np.ndarray[Any, Any], measured: np.ndarray[Any, Any]) -> Work:
    """Return the coefficients of least relative error."""
    coefficients, _ = nnls(work / measured[:, None], np.ones(len(measured)))
    return Work(*coefficients)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="+", default=range(len(CASES)), help="numbers of cases to run")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    rows = []
    for number in arguments.cases:
        agreement = agreement_of(CASES[number])
        run, release, _ = secure(" ".join(map(str, CASES[number])), agreement, frames_of(agreement, CASES[number][-1]))
        work = work_of(agreement, cut_of(release), CASES[number][-1])
        rows.append({"case": run.name, "seconds": run.seconds, "mib_sent": run.mib_sent, "work": astuple(work)})
        if arguments.format == "text":
            predicted = [dot(getattr(MEASURED, what), work) for what in ("seconds", "mib_sent")]
            print(
                f"{run.name:<36} {run.seconds:6.1f} s (predicted {predicted[0]:6.1f}) "
                f"{run.mib_sent:7.1f} MiB (predicted {predicted[1]:7.1f})",
                flush=True,
            )
    work = np.array([row["work"] for row in rows])
    fits = {what: fitted(work, np.array([row[what] for row in rows])) for what in ("seconds", "mib_sent")}
    if arguments.format == "json":
        print(json.dumps({"runs": rows, "fitted": {what: astuple(fit) for what, fit in fits.items()}}, indent=2))
        return
    for what, fit in fits.items():
        values = ", ".join(f"{field.name}={value:.4g}" for field, value in zip(fields(Work), astuple(fit), strict=True))
        print(f"    {what}=Work({values}),")


if __name__ == "__main__":
    main()
