"""Time of iDP-IR: one release of Adult, the whole grid of its figure 2, and growth with the number of records.

    make microaggregation-benchmark ADULT=folder-with-adult.data

Times on shared machines are noisy, so each part also gives a ratio to NumPy's bare sort in the same run: sorting is
the only step that takes more than a constant number of operations for each value.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from copublish_reproduction.grid_figures import EPSILONS, KS
from copublish_reproduction.idp_ir import IdpIr, release_central
from copublish_reproduction.loss_grids import Experiment, Setting
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.microdata_sets import load_microdata

K, EPSILON = 50, 1.0


def best_of(work: Callable[[], Any], times: int) -> tuple[float, float]:
    """Return the shortest wall time and processor time in seconds: those least disturbed by others on the machine."""
    walls, processors = [], []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return min(walls), min(processors)


def bare_sort(data: Microdata) -> None:
    """Sort every column, as a release has to, and nothing else."""
    for place in range(len(data.attributes)):
        np.argsort(data.values[:, place], kind="stable")


def time_release(data: Microdata, times: int) -> dict[str, float]:
    """Compare one release with the sorts in it."""
    generator = np.random.default_rng(0)
    wall, processor = best_of(lambda: release_central(IdpIr(EPSILON, K), data, generator), times)
    _, sort = best_of(lambda: bare_sort(data), times)
    n, n_attributes = data.values.shape
    return {
        "records": n,
        "attributes": n_attributes,
        "seconds": wall,
        "processor_seconds": processor,
        "times_bare_sort": processor / sort,
        "nanoseconds_by_n_log_n": processor / n_attributes / (n * math.log2(n)) * 1e9,
    }


def made_up(n: int, n_attributes: int = 4) -> Microdata:
    """Return continuous values: no two equal, the hardest to sort."""
    values = np.random.default_rng(1).random((n_attributes, n)).T
    return Microdata(tuple(Attribute(f"x{i}", 0.0, 1.0) for i in range(n_attributes)), values)


def time_grid(folder: Path, runs: int) -> dict[str, float]:
    """Time the data of figure 2 as published: every k and epsilon."""
    start, processor = time.perf_counter(), time.process_time()
    Experiment.load(Setting("adult"), folder).run(runs, KS["adult"], EPSILONS)
    seconds, busy = time.perf_counter() - start, time.process_time() - processor
    return {"runs": runs, "cells": len(KS["adult"]) * len(EPSILONS), "seconds": seconds, "processor_seconds": busy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data, adult.test, taxonomies/")
    parser.add_argument("--records", type=int, nargs="*", default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"release": None, "grid": None}
    if arguments.data and (arguments.data / "adult.data").exists():
        found["release"] = time_release(load_microdata("adult", arguments.data), 7)
        found["grid"] = time_grid(arguments.data, arguments.runs)
    found["growth"] = [time_release(made_up(n), 3 if n <= 1_000_000 else 1) for n in arguments.records]
    if arguments.format == "json":
        print(json.dumps(found, indent=2))
        return
    if found["release"] is None:
        print("No adult.data in --data: the first two parts are left out.")
    else:
        release, grid = found["release"], found["grid"]
        print(
            f"Adult, {release['records']:,} x {release['attributes']}, k = {K}: {release['seconds'] * 1000:.0f} ms "
            f"({release['processor_seconds'] * 1000:.0f} ms of processor time), {release['times_bare_sort']:.1f} times "
            "its bare sorts"
        )
        print(
            f"Figure 2, {grid['cells']} cells x {grid['runs']} runs: {grid['seconds']:.0f} s "
            f"({grid['processor_seconds']:.0f} s of processor time)"
        )
    print(f"{'records':>12} {'seconds':>8} {'processor':>10} {'by bare sorts':>14} {'ns / (n log2 n)':>16}")
    for row in found["growth"]:
        print(
            f"{row['records']:12,} {row['seconds']:8.2f} {row['processor_seconds']:10.2f} "
            f"{row['times_bare_sort']:14.2f} {row['nanoseconds_by_n_log_n']:16.2f}"
        )


if __name__ == "__main__":
    main()
