"""Time and memory of a simulated release, beside the bare NumPy work it contains.

    make benchmark-release_speed ADULT=folder-with-adult.data

Times on shared machines are noisy, so ratios within one run stand beside them, and times are the shortest of several.
The first table is of Adult; the second has the peak memory of releases of made-up Parquet files of growing size, each
in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import copublish as cp
from adult import ATTRIBUTES, CLASS, adult_agreement, read_adult, split_columns
from copublish.agreement.domain import CategoricalDomain
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.folder import generalization_of
from measuring import Measuring, needed, run, shortest_of

SHORT = ("--data", "made-up", "--times", "1", "--records", "2000")


def numpy_codes(agreement: cp.Agreement, table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Encode a joined table in plain NumPy, as the release has to."""
    codes = {}
    for name, domain in agreement.domains.items():
        values = table[name].to_numpy()
        if isinstance(domain, CategoricalDomain):
            present, positions = np.unique(values, return_inverse=True)
            code_of = {value: code for code, value in enumerate(domain.values)}
            codes[name] = np.array([code_of[value] for value in present])[positions]
        else:
            codes[name] = np.searchsorted([float(t) for t in domain.thresholds], values, side="right")
    codes[CLASS] = np.unique(table[CLASS].to_numpy(), return_inverse=True)[1]
    return codes


def numpy_group_by(release: cp.Release, codes: dict[str, np.ndarray]) -> None:
    """Count every attribute by class and the release's leaves by class in plain NumPy."""
    cut = generalization_of(release, "its leaves cannot be counted")
    n_classes = cut.columns.domains[CLASS].size
    classes, cells = codes[CLASS].astype(np.int64), np.zeros(len(codes[CLASS]), dtype=np.int64)
    for name, runs in cut.runs.items():
        np.bincount(codes[name] * np.int64(n_classes) + classes)
        sizes = [stop - start for start, stop in runs]
        cells = cells * len(sizes) + np.repeat(np.arange(len(sizes)), sizes)[codes[name]]
    np.bincount(cells * n_classes + classes)


def time_release(folder: Path, times: int) -> Measuring:
    """Compare one Adult release with the NumPy work it contains, from data frames and from codes."""
    train, _ = read_adult(folder)
    agreement, frames = adult_agreement(folder, "1", n=30_000), split_columns(train)
    release = cp.simulate(agreement, frames)
    fragments, codes = read_fragments(agreement, frames), numpy_codes(agreement, train)
    beginnings = {
        "data frames": (
            lambda: cp.simulate(agreement, frames),
            lambda: numpy_group_by(release, numpy_codes(agreement, train)),
        ),
        "codes": (lambda: simulate_fragments(agreement, fragments), lambda: numpy_group_by(release, codes)),
    }
    for beginning, (publish, count) in beginnings.items():
        (_, own), (_, bare) = shortest_of(publish, times), shortest_of(count, times)
        yield (
            f"Adult, {len(train):,} records, {len(ATTRIBUTES)} attributes, 10 specializations",
            {
                "from": beginning,
                "release, CPU ms": 1000 * own,
                "bare NumPy, CPU ms": 1000 * bare,
                "release / NumPy": own / bare,
            },
        )


MEMORY_AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "memory",
    "dataset": "memory",
    "partition": "vertical",
    "parties": {"a": {}, "b": {}},
    "records": {"alignment": "row-order", "expected": 100_000},
    "class": {"name": "y", "values": ["0", "1"]},
    "attributes": {
        f"x{i}": {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 50}, "held_by": "ab"[i % 2], "missing": 0}
        for i in range(10)
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 8},
}


def write_parquet(folder: Path, n: int) -> None:
    """Write both parties' files in chunks, so that making them takes no memory either."""
    generator = np.random.default_rng(0)
    writers: dict[str, pq.ParquetWriter] = {}
    for start in range(0, n, 100_000):
        size = min(100_000, n - start)
        classes = pa.array(generator.integers(0, 2, size).astype(str))
        for party in "ab":
            names = [name for name, a in MEMORY_AGREEMENT["attributes"].items() if a["held_by"] == party]
            chunk = pa.table({**{name: generator.integers(0, 1001, size) for name in names}, "y": classes})
            if party not in writers:
                writers[party] = pq.ParquetWriter(folder / f"{party}.parquet", chunk.schema)
            writers[party].write_table(chunk)
    for writer in writers.values():
        writer.close()


def measure_memory(n: int) -> dict[str, float]:
    """Release n records in a fresh process; return peak memory with and without the codes, in MiB."""
    with tempfile.TemporaryDirectory() as scratch:
        write_parquet(Path(scratch), n)
        command = [sys.executable, __file__, "--child", scratch]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(run.stdout)
    return {"records": n, **measured, "without_codes_mib": measured["peak_mib"] - measured["codes_mib"]}


def child(folder: Path) -> None:
    """Run one release and report this process's peak memory."""
    agreement = cp.agreement_from_mapping(MEMORY_AGREEMENT)
    start = time.perf_counter()
    fragments = read_fragments(agreement, {party: folder / f"{party}.parquet" for party in agreement.parties})
    codes = sum(array.nbytes for f in fragments.values() for array in f.private_codes.values())
    simulate_fragments(agreement, fragments)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak_mib": peak, "codes_mib": codes / 2**20, "seconds": time.perf_counter() - start}))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--times", type=int, default=7, help="repetitions of the first table")
    parser.add_argument("--records", type=int, nargs="*", default=[100_000, 1_000_000, 5_000_000])
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)


def measure(given: argparse.Namespace) -> Measuring:
    if given.child:
        raise SystemExit(child(given.child))
    yield from time_release(needed(given), given.times)
    for n in given.records:
        found = measure_memory(n)
        yield (
            "Peak memory of one process with both parties",
            {
                "records": n,
                "seconds": found["seconds"],
                "peak, MiB": found["peak_mib"],
                "codes, MiB": found["codes_mib"],
                "without codes, MiB": found["without_codes_mib"],
            },
        )


if __name__ == "__main__":
    run(sys.modules[__name__])
