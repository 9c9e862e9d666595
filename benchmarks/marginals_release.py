"""Time, traffic and memory of a secure release of synthetic records from chosen tables.

    make marginals-benchmark ADULT=folder-with-the-data-sets

Whole releases between two owners of columns, start-up, compilation, reading and fitting included, with delta 1e-6 and
epsilon 1. Times on shared machines are noisy: CPU seconds of all processes and ratios within one run stand beside them.
Linux alone; the link needs root.

adult    Adult by columns, both owners on this machine, beside the ideal release
link     the same between two hosts 40 ms apart with 100 Mbit/s, over mutual TLS
columns  made-up tables with 10, 20 and 40 columns of 8 cells
records  made-up tables with 10 columns and growing numbers of records
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.engine.programs.gaussian_noise import add_chosen_noise, gaussian_candidates
from copublish.engine.programs.noise import handicaps, noisy_argmax
from copublish.engine.spu.requests import Call, OwnedMatrix, Run
from marginals_accuracy import adult, agreement_for
from secure_release import Measured, cpu_seconds, kind_of, print_runs, secure

PARTS = ("adult", "link", "columns", "records")

PHASES = {
    handicaps: "noise of choices",
    noisy_argmax: "choices",
    gaussian_candidates: "noise of tables",
    add_chosen_noise: "tables opened",
}


def phase_of(request: object) -> str:
    """Return the phase of a release that a request belongs to."""
    if not isinstance(request, Run):
        return kind_of(request)
    if any(isinstance(step, OwnedMatrix) for step in request.steps):
        return "products"
    programs = {step.program for step in request.steps if isinstance(step, Call)}
    return next((phase for program, phase in PHASES.items() if program in programs), "other programs")


def by_columns(agreement: cp.Agreement, table: pd.DataFrame) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Return a release by columns of two owners, who hold every other one; the class is the second one's."""
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    owners = {name: f"p{number % 2}" for number, name in enumerate(content["attributes"])}
    for name, owner in owners.items():
        content["attributes"][name]["held_by"] = owner
    content |= {"partition": "vertical"}
    content["records"] |= {"alignment": "row-order"}
    content["class"]["held_by"] = "p1"
    columns = {party: [name for name, owner in owners.items() if owner == party] for party in ("p0", "p1")}
    columns["p1"].append(content["class"]["name"])
    return cp.agreement_from_mapping(content), {party: table[names] for party, names in columns.items()}


def measured(name: str, agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what one secure release took, by phase; what no engine call took is reading, fitting and writing."""
    found, release, _ = secure(name, agreement, frames, phase_of)
    phases = {kind: seconds for kind, (_, seconds) in found.calls.items()}
    phases["fitting, reading, writing"] = found.seconds - sum(phases.values())
    tables = release.certificate.to_json()["disclosures"]
    return {"run": found, "phases": phases, "disclosures": len(tables)}


def adult_part(folder: Path) -> list[dict[str, Any]]:
    division = adult(folder, 0)
    agreement, frames = by_columns(agreement_for(division, "adult", "1", "gaussian"), division.train)
    secure_run = measured("Adult by columns", agreement, frames)
    start, cpu = time.perf_counter(), cpu_seconds()
    cp.simulate(agreement, frames)
    ideal = Measured("ideal, in the clear", len(division.train), time.perf_counter() - start, cpu_seconds() - cpu)
    return [secure_run, {"run": ideal, "phases": {}, "disclosures": secure_run["disclosures"]}]


def link_part(folder: Path) -> list[dict[str, Any]]:
    from support.hosts import WideArea
    from wide_area import measure

    division = adult(folder, 0)
    agreement, frames = by_columns(agreement_for(division, "adult", "1", "gaussian"), division.train)
    found = measure("Adult by columns, 40 ms and 100 Mbit/s", agreement, frames, WideArea())
    run = Measured(found.name, len(division.train), found.seconds, found.cpu_seconds, found.total.mib)
    return [{"run": run, "phases": {name: phase.seconds for name, phase in found.phases.items()}, "disclosures": 0}]


def made_up(n_columns: int, n_records: int) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Return columns of 8 cells, each of which depends on the one before, and a class that depends on the first."""
    generator = np.random.default_rng(n_columns)
    columns = [generator.integers(0, 8, n_records)]
    for _ in range(n_columns - 2):
        moved = np.where(generator.random(n_records) < 0.5, columns[-1], generator.integers(0, 8, n_records))
        columns.append(moved)
    table = pd.DataFrame({f"x{number}": column for number, column in enumerate(columns)}).astype(str)
    table["y"] = np.where(columns[0] + generator.integers(0, 8, n_records) > 7, "yes", "no")
    agreement = cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "made-up",
            "dataset": "made-up",
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": n_records},
            "class": {"name": "y", "values": ["no", "yes"]},
            "attributes": {
                name: {"kind": "categorical", "values": [str(value) for value in range(8)]}
                for name in table
                if name != "y"
            },
            "privacy": {"epsilon": "1", "delta": "1e-6"},
            "mechanism": {"name": "marginals", "records": min(n_records, 30_000)},
        }
    )
    return by_columns(agreement, table)


def print_part(name: str, rows: Sequence[dict[str, Any]]) -> None:
    print(name)
    print_runs([row["run"] for row in rows])
    for row in rows:
        phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in row["phases"].items())
        print(f"  {row['run'].name}: {row['disclosures']} disclosures; {phases}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--rows", type=int, default=30_000, help="records of the tables of 'columns'")
    parser.add_argument("--records", type=int, nargs="+", default=[30_000, 200_000, 1_000_000])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    parts: dict[str, list[dict[str, Any]]] = {}
    for part in arguments.parts:
        if part in ("adult", "link"):
            if arguments.data is None:
                print(f"{part}: left out, it needs --data")
                continue
            parts[part] = (adult_part if part == "adult" else link_part)(arguments.data)
        elif part == "columns":
            sizes = [(columns, arguments.rows) for columns in arguments.columns]
            parts[part] = [measured(f"{columns} columns", *made_up(columns, n)) for columns, n in sizes]
        else:
            parts[part] = [measured(f"{n:,} records", *made_up(10, n)) for n in arguments.records]
        if arguments.format == "text":
            print_part(part, parts[part])
    if arguments.format == "json":
        print(json.dumps(parts, indent=2, default=lambda run: asdict(run)))


if __name__ == "__main__":
    main()
