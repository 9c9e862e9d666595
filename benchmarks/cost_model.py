"""What one unit of work of a secure run costs, fitted to runs of different shapes, and predictions held against others.

    make benchmark-cost_model

Made-up tables on the secure engine, every party in processes of this machine; then the same between two hosts (as root)
for the number of round trips. Coefficients are fitted to these by non-negative least squares on relative errors, of
processor time and traffic, and written beside `tools/planning/costs.py`, whose model `copublish plan` and
`docs/scale.md` use. Predictions are then held against runs that nothing was fitted to: of specialization with more
records, of marginals of other shapes, predicted from their agreements alone. Traffic and rounds are the same on every
machine; a busy one takes somewhat more processor time.

    make benchmark-cost_model BENCHMARKS="-- --mechanisms marginals --times 1 --kept runs.json"

measures one mechanism alone. What was measured is kept in the file, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import copublish as cp
from copublish.engines.spu.products import records_of_products
from copublish.party.local.processes import simulate_in_processes
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.progress import no_progress
from copublish.tools.planning.costs import (
    COEFFICIENTS,
    Coefficients,
    all_coefficients,
    cost_of,
    measured_coefficients,
)
from copublish.tools.planning.specialization_tuning import work_of
from copublish.tools.planning.tuning import Work
from cost_of_marginals import measure_marginals
from fitting import fitted, memory, ratios
from machine import described_machine
from marginals_shapes import children_seconds
from measuring import ROOT, Measuring, Row, run
from one_party import FixedCoins
from process_numbers import MIB
from secure_runs import read_records, recorders, sizes_of

SHORT = ("--cases", "0", "--links", "--checks", "--times", "1", "--smallest")
MECHANISMS = ("specialization", "marginals")
SPECIALIZATION = "specialization on cheetah"
"""The name of its coefficients: a mechanism, and the protocol of the secure engine."""
FILE = ROOT / "src" / "copublish" / "tools" / "planning" / COEFFICIENTS
CHUNK = 200_000
IDENTIFIER = "person"


@dataclass(frozen=True)
class Case:
    """The shape of a run."""

    records: int
    attributes: int = 6
    grid: int = 50
    classes: int = 2
    splits: int = 8
    epsilon: str = "1"
    partition: str = "vertical"
    owners: int = 2

    @property
    def name(self) -> str:
        return (
            f"{self.records:,} records, {self.attributes} attributes, {self.classes} classes, {self.splits} splits, "
            f"epsilon {self.epsilon}, {self.partition}, {self.owners} owners"
        )


CASES = (
    Case(4_000, attributes=4, grid=20, splits=4),
    Case(4_000),
    Case(4_000, epsilon="0.1"),
    Case(20_000, attributes=8, grid=100),
    Case(40_000, splits=11),
    Case(100_000, classes=4, splits=9),
    Case(300_000),
    Case(8_000, attributes=4, grid=20, splits=6, partition="arbitrary"),
    Case(40_000, splits=9, partition="arbitrary"),
    Case(20_000, owners=3),
    Case(60_000, owners=5),
    Case(4_000, partition="horizontal"),  # without a product: what a start costs alone
)
LINKED = (Case(2_000, splits=2), Case(2_000, splits=8), Case(400_000, splits=8))
"""Runs between two hosts, for round trips alone."""

CHECKED = Case(1_000_000)

WAITS = ("starts", "rounds", "products", "product_columns")
"""Parties wait for each other once for some, and for every selection and every part of a product."""


def agreement_of(case: Case) -> cp.Agreement:
    owners = [f"p{number}" for number in range(case.owners)]
    is_horizontal, is_vertical = case.partition == "horizontal", case.partition == "vertical"
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "cost",
            "dataset": "cost",
            "partition": case.partition,
            "parties": {owner: {} for owner in owners},
            "records": {"expected": 100_000} | ({} if is_horizontal else {"alignment": "row-order"}),
            "class": {"name": "y", "values": [str(number) for number in range(case.classes)]},
            "attributes": {
                f"x{i}": {
                    "kind": "numerical",
                    "bounds": [0, 1000],
                    "grid": {"count": case.grid},
                    "missing": 0,
                }
                | ({} if is_horizontal else {"held_by": owners[i % case.owners] if is_vertical else owners})
                for i in range(case.attributes)
            },
            "privacy": {"epsilon": case.epsilon},
            "mechanism": {"name": "specialization", "specializations": case.splits, "max_cells": 20_000},
        }
    )


def chunks(agreement: cp.Agreement, n: int) -> Iterable[dict[str, pd.DataFrame]]:
    """Every party's part of a table whose class depends on all attributes, some rows at a time."""
    generator, names = np.random.default_rng(0), list(agreement.attributes)
    weights, edges = np.arange(len(names), 0, -1), None
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        table = pd.DataFrame({name: generator.integers(0, 1001, size) for name in names})
        weight = table.to_numpy() @ weights
        if edges is None:
            edges = np.quantile(weight, np.linspace(0, 1, len(agreement.class_.values) + 1)[1:-1])
        table["y"] = np.searchsorted(edges, weight).astype(str)
        if agreement.partition == "vertical":
            yield {party: table[list(agreement.columns_of(party))] for party in agreement.parties}
            continue
        if agreement.partition == "horizontal":
            yield {p: table.iloc[i :: len(agreement.parties)] for i, p in enumerate(agreement.parties)}
            continue
        holder = generator.integers(len(agreement.parties), size=(size, len(names)))
        cells = table[names].astype("Int64")
        yield {p: cells.where(holder == i).assign(y=table["y"]) for i, p in enumerate(agreement.parties)}


def write_parts(folder: Path, agreement: cp.Agreement, n: int) -> dict[str, Path]:
    """Every party's file, written in pieces, so that making them takes no memory."""
    found = {party: folder / f"{party}.parquet" for party in agreement.parties}
    writers: dict[str, pq.ParquetWriter] = {}
    for parts in chunks(agreement, n):
        for party, part in parts.items():
            table = pa.Table.from_pandas(part, preserve_index=False)
            if party not in writers:
                writers[party] = pq.ParquetWriter(found[party], table.schema)
            writers[party].write_table(table)
    for writer in writers.values():
        writer.close()
    return found


@dataclass(frozen=True)
class Measured:
    """One run."""

    case: Case
    work: Work
    seconds: float
    cpu_seconds: float
    mib_sent: float
    worker_mib: float
    party_mib: float

    @property
    def million_cells(self) -> float:
        """Records times columns of the party that holds most."""
        agreement = agreement_of(self.case)
        return self.case.records / 1e6 * max(len(agreement.columns_of(party)) for party in agreement.parties)


def measure_run(case: Case) -> Measured:
    """Release once, every party in a process of its own."""
    agreement = agreement_of(case)
    with tempfile.TemporaryDirectory() as name:
        data, sent = write_parts(Path(name), agreement, case.records), {}
        start, used = time.perf_counter(), children_seconds()
        release = simulate_in_processes(
            agreement,
            data,
            progress=no_progress,
            timeout_seconds=3600,
            coins=coins_of(agreement),
            recorders=recorders(name, agreement.compute_nodes),
            bytes_sent=sent,
        )
        seconds, used = time.perf_counter() - start, children_seconds() - used
        records = read_records(name, agreement.compute_nodes)
    worker, party = (max(record.peak_mib[what] for record in records.values()) for what in ("worker", "party"))
    work = work_of(agreement, sizes_of(release), case.records, records_of_products)
    return Measured(case, work, seconds, used, sum(sent.values()) / MIB, worker, party)


def round_trips(case: Case) -> tuple[Work, float]:
    """The work of a run between two hosts, and how often the parties waited for each other."""
    from support.hosts import WideArea
    from wide_area import measure_release

    agreement = agreement_of(case)
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    content["records"] = {"identifier": IDENTIFIER, "expected": 100_000}
    parts = [
        pd.concat(found) for found in zip(*(part.values() for part in chunks(agreement, case.records)), strict=True)
    ]
    people = np.arange(case.records).astype(str)
    frames = {p: part.assign(**{IDENTIFIER: people}) for p, part in zip(agreement.parties, parts, strict=True)}
    found = measure_release("wide-area", cp.agreement_from_mapping(content), frames, WideArea(0.010, 1e9))
    return work_of(agreement, sizes_of(found.release), case.records, records_of_products), found.total.rounds


def work_with(case: Case, records: int) -> tuple[cp.Agreement, Work]:
    """The work of a release of so many records, whose cut is that of a smaller one with the same coins."""
    agreement = agreement_of(case)
    (parts,) = chunks(agreement, min(case.records, CHUNK))
    release = simulate_fragments(agreement, read_fragments(agreement, parts), coins_of(agreement))
    return agreement, work_of(agreement, sizes_of(release), records, records_of_products)


def coins_of(agreement: cp.Agreement) -> dict[str, FixedCoins]:
    """The same coins in every run, so that all cut alike."""
    return {party: FixedCoins(number) for number, party in enumerate(agreement.parties)}


def fit(runs: Sequence[Measured], checks: Sequence[Measured], links: Sequence[tuple[Work, float]]) -> Coefficients:
    """All coefficients; those of round trips stay as they were if no link was measured.

    Args:
        runs: What processor time, traffic and seconds are fitted to.
        checks: Runs with more records, for memory alone.
        links: Work and round trips of runs between two hosts.
    """
    works, known = [found.work for found in runs], described_machine()
    cpu = fitted(works, [found.cpu_seconds for found in runs])
    fixed, record = ratios(cpu, ((found.work, found.seconds) for found in runs))
    return Coefficients(
        cpu_seconds=cpu,
        mib_sent=fitted(works, [found.mib_sent for found in runs]),
        round_trips=fitted(*zip(*links, strict=True), WAITS) if links else measured_coefficients().round_trips,
        fixed_ratio=fixed,
        record_ratio=record,
        **memory([*runs, *checks]),
        measured=known,
    )


def row_of(found: Measured, by: Coefficients) -> Row:
    """What was measured, beside what is predicted."""
    cost = cost_of(found.work, cells=found.million_cells, by=by)
    return {
        "run": found.case.name,
        "CPU s": found.cpu_seconds,
        "predicted, CPU s": cost.cpu_seconds,
        "CPU s / predicted": found.cpu_seconds / cost.cpu_seconds,
        "MiB sent": found.mib_sent,
        "predicted, MiB": cost.mib_sent,
        "MiB / predicted": found.mib_sent / cost.mib_sent,
        "largest process, MiB": max(found.worker_mib, found.party_mib),
        "predicted, largest, MiB": cost.largest_process_mib,
        "seconds": found.seconds,
        "predicted on quiet cores, s": cost.seconds,
    }


def _plain(work: Work, rounds: float) -> list[Any]:
    return [asdict(work), rounds]


class Kept:
    """Runs that were measured, by their case; in a file, if one is given, so that what was stopped goes on."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, Any] = {}
        if file is not None and file.exists():
            self._known = json.loads(file.read_text(encoding="utf-8"))

    def run(self, case: Case, *, times: int = 1) -> Measured:
        """A run on this machine, measured now or before: of several the one that took least, as others only add."""
        found = self.of(
            f"here: {case.name}",
            lambda: asdict(min((measure_run(case) for _ in range(times)), key=lambda run: run.cpu_seconds)),
        )
        return Measured(**{**found, "case": Case(**found["case"]), "work": Work(**found["work"])})

    def link(self, case: Case) -> tuple[Work, float]:
        """The work and round trips of a run between two hosts, measured now or before."""
        work, rounds = self.of(f"linked: {case.name}", lambda: _plain(*round_trips(case)))
        return Work(**work), rounds

    def of(self, name: str, measured: Callable[[], Any]) -> Any:
        """Something under a name, measured now or before."""
        if name not in self._known:
            self._known[name] = measured()
            print(f"{name}: {self._known[name]}", file=sys.stderr, flush=True)
            if self._file is not None:
                self._file.write_text(json.dumps(self._known, indent=1) + "\n", encoding="utf-8")
        return self._known[name]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, nargs="*", default=range(len(CASES)), help="numbers of cases to run")
    parser.add_argument("--links", type=int, nargs="*", default=range(len(LINKED)), help="numbers of linked cases")
    parser.add_argument("--checks", type=int, nargs="*", default=[1_000_000], help="records of runs that are predicted")
    parser.add_argument("--times", type=int, default=3, help="how often each case is run")
    parser.add_argument("--kept", type=Path, help="where runs are kept as they come; what it has is not run again")
    parser.add_argument("--mechanisms", nargs="+", choices=MECHANISMS, default=MECHANISMS)
    parser.add_argument("--smallest", action="store_true", help="of marginals: tiny shapes alone, to try this out")
    parser.add_argument("--busy", action="store_true", help="others use the machine: keep what seconds were to CPU s")
    parser.add_argument("--write", action="store_true", help="keep the coefficients beside tools/planning/costs.py")


def measure(given: argparse.Namespace) -> Measuring:
    kept = Kept(given.kept)
    if "specialization" in given.mechanisms:
        yield from measure_specialization(kept, given)
    if "marginals" in given.mechanisms:
        yield from measure_marginals(kept.of, given, write)


def write(coefficients: Mapping[str, Coefficients]) -> None:
    """Put new coefficients in the place of old ones; those of other mechanisms and engines stay."""
    content = {way: asdict(found) for way, found in {**all_coefficients(), **coefficients}.items()}
    FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def measure_specialization(kept: Kept, given: argparse.Namespace) -> Measuring:
    """The runs of specialization."""
    by = measured_coefficients()
    runs = [kept.run(CASES[number], times=given.times) for number in given.cases]
    checks = [kept.run(replace(CHECKED, records=records)) for records in given.checks]
    if len(runs) > 1:
        links = [kept.link(LINKED[number]) for number in given.links] if os.geteuid() == 0 else []
        by = fit(runs, checks, links)
        if given.write:
            write({SPECIALIZATION: by})
        for work, rounds in links:
            shape: Row = {"selections": work.rounds, "product columns, millions": work.product_columns}
            yield "Round trips", {**shape, "round trips": rounds}
    for found in runs:
        yield "Runs that coefficients are fitted to", row_of(found, by)
    for found in checks:
        yield "Predictions held against other runs", row_of(found, by)


if __name__ == "__main__":
    run(sys.modules[__name__])
