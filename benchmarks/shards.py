"""Time, processor time and memory of joint counts in shards: made-up records by columns between two processes.

    make benchmark-shards
    python benchmarks/shards.py --records 10000000 --shards 16 --workers 2

Each number of workers is a whole release with the secure engine, of the same files, agreement and coins. Time of the
products is from the first request for one to the answer to the last one, over all sessions; on a machine whose cores
are busy, processor time is the figure to compare.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import copublish as cp
from copublish.engines.spu.parallel_sessions import Workers
from copublish.engines.spu.requests import ComputeSteps, OwnedMatrix
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from measuring import Measuring, Row, run
from one_party import FixedCoins
from process_numbers import cpu_seconds, peak_mib
from release_speed import MEMORY_AGREEMENT, write_parquet

SHORT = ("--records", "3000", "--shards", "2", "--workers", "2")


@dataclass
class ShardRecord:
    """When one party's sessions multiplied, and what each of its processes used; a file takes it to whoever asks."""

    file: str
    first: float = float("inf")
    last: float = 0.0
    products: int = 0
    peaks_mib: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    party_peak_mib: float = 0.0
    party_cpu: float = 0.0

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """Note when a product began and ended."""
        if isinstance(request, ComputeSteps) and any(isinstance(step, OwnedMatrix) for step in request.steps):
            now = time.monotonic()
            self.first, self.last = min(self.first, now - seconds), max(self.last, now)
            self.products += 1

    def ends(self, process: int) -> None:
        """Note what a worker used, and the party so far."""
        self.peaks_mib.append(peak_mib(process))
        self.cpu.append(cpu_seconds(process))
        self.party_peak_mib, self.party_cpu = peak_mib(), cpu_seconds()
        Path(self.file).write_bytes(pickle.dumps(self))


def one_release(folder: Path, agreement: cp.Agreement, workers: int) -> tuple[Row, dict[str, bytes]]:
    """One release with so many workers at each party: what it took, and its data files."""
    records = {party: ShardRecord(str(folder / f"{party}.record")) for party in agreement.parties}
    start = time.monotonic()
    release = simulate_in_processes(
        agreement,
        {party: folder / f"{party}.parquet" for party in agreement.parties},
        progress=no_progress,
        recorders=records,
        coins={party: FixedCoins(number) for number, party in enumerate(agreement.parties)},
        timeout_seconds=3600,
        workers=Workers(workers),
    )
    seconds = time.monotonic() - start
    found = [pickle.loads(Path(record.file).read_bytes()) for record in records.values()]
    row: Row = {
        "workers of each party": workers,
        "seconds": seconds,
        "seconds, products": max(record.last for record in found) - min(record.first for record in found),
        "products": found[0].products,
        "CPU s": sum(sum(record.cpu) + record.party_cpu for record in found),
        "CPU s, largest worker": max(max(record.cpu) for record in found),
        "MiB, largest worker": max(max(record.peaks_mib) for record in found),
        "MiB, party": max(record.party_peak_mib for record in found),
    }
    return row, {name: release.files()[name] for name in release.data_files()}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])


def measure(given: argparse.Namespace) -> Measuring:
    mapping = copy.deepcopy(MEMORY_AGREEMENT)
    mapping["records"]["expected"] = given.records
    mapping["engine"] = {"shards": given.shards}
    agreement = cp.agreement_from_mapping(mapping)
    first: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as scratch:
        write_parquet(Path(scratch), given.records)
        for workers in given.workers:
            row, files = one_release(Path(scratch), agreement, workers)
            first = first or files
            yield f"{given.records:,} records in {given.shards} shards", {**row, "same bytes": files == first}


if __name__ == "__main__":
    run(sys.modules[__name__])
