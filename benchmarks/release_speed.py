"""Time and memory of a simulated release, beside the bare NumPy work it contains.

    make benchmark ADULT=folder-with-adult.data

Times on shared machines are noisy, so each table gives ratios within one run. Part 1 runs Adult (or, without the
data, a made-up table of the same size); part 2 measures the peak memory of releases from Parquet files of growing
size, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import copublish as cp
from adult import ATTRIBUTES, CLASS, adult_agreement, read_adult, split_columns
from copublish.agreement.domain import CategoricalDomain
from copublish.local.simulation import read_fragments, simulate_fragments
from copublish.release.folder import generalization_of


def best_of(work: Callable[[], Any], times: int = 7) -> float:
    """Return the shortest wall time in seconds: the one least disturbed by others on the machine."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


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
    n_classes = len(cut.class_.values)
    classes, cells = codes[CLASS].astype(np.int64), np.zeros(len(codes[CLASS]), dtype=np.int64)
    for name, attribute in cut.attributes.items():
        np.bincount(codes[name] * np.int64(n_classes) + classes)
        sizes = [stop - start for start, stop in (value.codes for value in attribute.values)]
        cells = cells * len(sizes) + np.repeat(np.arange(len(sizes)), sizes)[codes[name]]
    np.bincount(cells * n_classes + classes)


def time_release(folder: Path) -> dict[str, Any]:
    """Compare one Adult release with the NumPy work it contains, from data frames and from codes."""
    train, _ = read_adult(folder)
    agreement, frames = adult_agreement(folder, "1", n=30_000), split_columns(train)
    release = cp.simulate(agreement, frames)
    fragments, codes = read_fragments(agreement, frames), numpy_codes(agreement, train)
    seconds = {
        "numpy, from data frames": best_of(lambda: numpy_group_by(release, numpy_codes(agreement, train))),
        "release, from data frames": best_of(lambda: cp.simulate(agreement, frames)),
        "numpy, from codes": best_of(lambda: numpy_group_by(release, codes)),
        "release, from codes": best_of(lambda: simulate_fragments(agreement, fragments)),
    }
    ratios = {
        "from data frames": seconds["release, from data frames"] / seconds["numpy, from data frames"],
        "from codes": seconds["release, from codes"] / seconds["numpy, from codes"],
    }
    return {"records": len(train), "attributes": len(ATTRIBUTES), "seconds": seconds, "ratio": ratios}


MEMORY_AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "memory",
    "dataset": "memory",
    "partition": "vertical",
    "parties": {"a": {}, "b": {}},
    "records": {"alignment": "row-order", "expected": 100_000},
    "class": {"name": "y", "values": ["0", "1"]},
    "attributes": {
        f"x{i}": {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 50}, "held_by": "ab"[i % 2]}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data, adult.test, taxonomies/")
    parser.add_argument("--records", type=int, nargs="*", default=[100_000, 1_000_000, 5_000_000])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    speed = time_release(arguments.data) if arguments.data and (arguments.data / "adult.data").exists() else None
    memory = [measure_memory(n) for n in arguments.records]
    if arguments.format == "json":
        print(json.dumps({"speed": speed, "memory": memory}, indent=2))
        return
    if speed is None:
        print("No adult.data in --data: the speed table is left out.")
    else:
        print(f"Adult, {speed['records']:,} records, {speed['attributes']} attributes, h = 10, epsilon 1")
        for what, seconds in speed["seconds"].items():
            print(f"  {what:<28}{seconds * 1000:9.1f} ms")
        for what, ratio in speed["ratio"].items():
            print(f"  release / numpy, {what:<18}{ratio:6.2f}")
    print(f"{'records':>12} {'seconds':>8} {'peak MiB':>9} {'codes MiB':>10} {'without codes':>14}")
    for row in memory:
        print(
            f"{row['records']:12,} {row['seconds']:8.1f} {row['peak_mib']:9.0f} {row['codes_mib']:10.0f} "
            f"{row['without_codes_mib']:14.0f}"
        )
    if len(memory) > 1 and not math.isclose(memory[0]["without_codes_mib"], 0):
        growth = memory[-1]["without_codes_mib"] / memory[0]["without_codes_mib"]
        print(f"memory without the codes grows by a factor of {growth:.2f}")


if __name__ == "__main__":
    main()
