"""Time, traffic and memory of a secure release of synthetic records from chosen tables.

    make benchmark-marginals_release ADULT=folder-with-the-data-sets

Whole releases between two owners of columns, start-up, compilation, reading and fitting included, with delta 1e-6 and
epsilon 1. Times on shared machines are noisy: CPU seconds of all processes and ratios within one run stand beside them.
Linux alone; the link needs root.

adult    Adult by columns, both owners on this machine, beside the ideal release
link     the same between two hosts 40 ms apart with 100 Mbit/s, over mutual TLS
columns  made-up tables with 10, 20 and 40 columns of 8 cells
records  made-up tables of the first of these numbers of columns, with growing numbers of records
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.engines.spu.requests import Call, ComputeSteps, OwnedMatrix
from copublish.kernel.programs.gaussian_noise import add_chosen_noise, gaussian_candidates
from copublish.kernel.programs.noise import handicaps, noisy_argmax
from divisions import EXPECTED, adult, agreement_for
from measuring import NOT_THERE, Measuring, run
from process_numbers import cpu_seconds, forget_peak, peak_mib
from secure_runs import Measured, kind_of, row_of, secure

PARTS = ("adult", "link", "columns", "records")
SHORT = ("--data", "made-up", "--attributes", "3", "--columns", "3", "--rows", "1500", "--records", "1500")

PHASES = {
    handicaps: "noise of choices",
    noisy_argmax: "choices",
    gaussian_candidates: "noise of tables",
    add_chosen_noise: "tables opened",
}


def phase_of(request: object) -> str:
    """Return the phase of a release that a request belongs to."""
    if not isinstance(request, ComputeSteps):
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


def adult_by_columns(folder: Path, attributes: int | None) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Return a release of Adult, or of its first attributes, with Gaussian noise."""
    found = adult(folder, 0)
    found = replace(found, attributes=dict(list(found.attributes.items())[:attributes]))
    return by_columns(agreement_for(found, "adult", "1", "1e-6", records=EXPECTED["adult"]), found.train)


def measured(name: str, agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what one secure release took, by phase; what no engine call took is reading, fitting and writing."""
    found, release, _ = secure(name, agreement, frames, phase_of)
    phases = {kind: seconds for kind, (_, seconds) in found.calls.items()}
    phases["fitting, reading, writing"] = found.seconds - sum(phases.values())
    tables = release.certificate.to_json()["disclosures"]
    return {"run": found, "phases": phases, "disclosures": len(tables)}


def adult_part(folder: Path, attributes: int | None) -> list[dict[str, Any]]:
    agreement, frames = adult_by_columns(folder, attributes)
    secure_run = measured("Adult by columns", agreement, frames)
    forget_peak()
    start, cpu = time.perf_counter(), cpu_seconds()
    cp.simulate(agreement, frames)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    peaks = {"coordinator": peak_mib()}
    ideal = Measured("ideal, in the clear", len(frames["p0"]), seconds, cpu, peak_mib=peaks)
    return [secure_run, {"run": ideal, "phases": {}, "disclosures": secure_run["disclosures"]}]


def link_part(folder: Path, attributes: int | None) -> list[dict[str, Any]]:
    from support.hosts import WideArea
    from wide_area import measure_release

    agreement, frames = adult_by_columns(folder, attributes)
    found = measure_release("Adult by columns, 40 ms and 100 Mbit/s", agreement, frames, WideArea())
    run = Measured(found.name, len(frames["p0"]), found.seconds, found.cpu_seconds, found.total.mib)
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
                name: {"kind": "categorical", "values": [*"01234567"], "missing": "0", "unlisted": "0"}
                for name in table
                if name != "y"
            },
            "privacy": {"epsilon": "1", "delta": "1e-6"},
            "mechanism": {"name": "marginals", "records": min(n_records, 30_000)},
        }
    )
    return by_columns(agreement, table)


@functools.cache
def measured_once(n_columns: int, n_records: int) -> dict[str, Any]:
    """What a release of a made-up table took; two parts look at the first of them."""
    return measured("", *made_up(n_columns, n_records))


def made_up_part(name: str, n_columns: int, n_records: int) -> dict[str, Any]:
    """The same under a name."""
    found = measured_once(n_columns, n_records)
    return found | {"run": replace(found["run"], name=name)}


def rows_of(part: str, found: list[dict[str, Any]]) -> Measuring:
    """One row for each run, and one for each of its phases."""
    for one in found:
        yield part, row_of(one["run"], disclosures=one["disclosures"] or NOT_THERE)
    for one in found:
        for phase, seconds in one["phases"].items():
            yield f"{part}, by phase", {"run": one["run"].name, "phase": phase, "seconds": seconds}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--attributes", type=int, help="the first ones of Adult alone, to try this out")
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--rows", type=int, default=30_000, help="records of the tables of 'columns'")
    parser.add_argument("--records", type=int, nargs="+", default=[30_000, 200_000, 1_000_000])


def measure(given: argparse.Namespace) -> Measuring:
    if given.data is not None and "adult" in given.parts:
        yield from rows_of("Adult by columns", adult_part(given.data, given.attributes))
    if given.data is not None and "link" in given.parts and os.geteuid() == 0:
        yield from rows_of("Adult by columns, over a link", link_part(given.data, given.attributes))
    if "columns" in given.parts:
        found = [made_up_part(f"{columns} columns", columns, given.rows) for columns in given.columns]
        yield from rows_of("Made-up columns", found)
    if "records" in given.parts:
        found = [made_up_part(f"{records:,} records", given.columns[0], records) for records in given.records]
        yield from rows_of("Made-up records", found)


if __name__ == "__main__":
    run(sys.modules[__name__])
