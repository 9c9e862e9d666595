"""Time, processor time and memory of joint counts in shards: made-up records by columns between two processes.

    python benchmarks/shards.py --records 1000000 --shards 4 --workers 1 2

Each number of workers is a whole release with the secure engine, of the same files and the same agreement. Time of the
products is from the first request for one to the answer to the last one, over all sessions; on a machine whose cores
are busy, processor time is the figure to compare.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import pickle
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import copublish as cp
from copublish.engine.spu.requests import OwnedMatrix, Run
from copublish.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.release.workers import Workers
from release_speed import MEMORY_AGREEMENT, write_parquet
from secure_release import FixedCoins, cpu_seconds, peak_mib


@dataclass
class ShardRecord:
    """When one party's sessions multiplied, and what each of its processes used; a file takes it to whoever asks."""

    file: str
    first: float = float("inf")
    last: float = 0.0
    products: int = 0
    peaks_mib: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """Note when a product began and ended."""
        if isinstance(request, Run) and any(isinstance(step, OwnedMatrix) for step in request.steps):
            now = time.monotonic()
            self.first, self.last = min(self.first, now - seconds), max(self.last, now)
            self.products += 1

    def ends(self, process: int) -> None:
        """Note what a worker used, and the party so far."""
        self.peaks_mib.append(peak_mib(process))
        self.cpu.append(cpu_seconds(process))
        used = {"party_peak_mib": peak_mib(), "party_cpu": cpu_seconds()}
        Path(self.file).write_bytes(pickle.dumps((self, used)))


def measure(folder: Path, agreement: cp.Agreement, workers: int) -> tuple[dict[str, Any], dict[str, bytes]]:
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
    kept = [record for record, _ in found]
    measured = {
        "workers": workers,
        "release_seconds": round(seconds, 1),
        "product_seconds": round(max(record.last for record in kept) - min(record.first for record in kept), 1),
        "products": [record.products for record in kept],
        "worker_cpu_seconds": [[round(own, 1) for own in record.cpu] for record in kept],
        "cpu_seconds": round(sum(sum(record.cpu) + used["party_cpu"] for record, used in found), 1),
        "worker_peaks_mib": [[round(own) for own in record.peaks_mib] for record in kept],
        "party_peaks_mib": [round(used["party_peak_mib"]) for _, used in found],
        "load": round(os.getloadavg()[0], 1),
    }
    return measured, {name: release.files()[name] for name in release.data_files()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    mapping = copy.deepcopy(MEMORY_AGREEMENT)
    mapping["records"]["expected"] = given.records
    mapping["engine"] = {"shards": given.shards}
    agreement = cp.agreement_from_mapping(mapping)
    print(f"{given.records} records, {given.shards} shards, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        write_parquet(Path(scratch), given.records)
        first: dict[str, bytes] | None = None
        for workers in given.workers:
            measured, files = measure(Path(scratch), agreement, workers)
            first = first or files
            print(json.dumps({**measured, "same_bytes": files == first}), flush=True)


if __name__ == "__main__":
    main()
