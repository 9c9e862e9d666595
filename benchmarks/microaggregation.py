"""Time of iDP-IR: one release of Adult, the whole grid of its figure 2, and growth with the number of records.

    make benchmark-microaggregation ADULT=folder-with-adult.data

Times on shared machines are noisy, so each part also gives a ratio to NumPy's bare sort in the same run: sorting is
the only step that takes more than a constant number of operations for each value.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from copublish_reproduction.grid_figures import EPSILONS, KS
from copublish_reproduction.idp_ir import IdpIr, release_central
from copublish_reproduction.loss_grids import Experiment, Setting
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.microdata_sets import load_microdata
from measuring import Measuring, Row, needed, run, shortest_of

K, EPSILON = 50, 1.0
SHORT = ("--data", "made-up", "--runs", "1", "--cells", "2", "--records", "5000")


def bare_sort(data: Microdata) -> None:
    """Sort every column, as a release has to, and nothing else."""
    for place in range(len(data.attributes)):
        np.argsort(data.values[:, place], kind="stable")


def time_release(name: str, data: Microdata, times: int) -> Row:
    """Compare one release with the sorts in it."""
    generator = np.random.default_rng(0)
    wall, processor = shortest_of(lambda: release_central(IdpIr(EPSILON, K), data, generator), times)
    _, sort = shortest_of(lambda: bare_sort(data), times)
    n, n_attributes = data.values.shape
    return {
        "table": name,
        "records": n,
        "attributes": n_attributes,
        "seconds": wall,
        "CPU s": processor,
        "CPU s / bare sorts": processor / sort,
        "CPU ns / (n log2 n)": processor / n_attributes / (n * math.log2(n)) * 1e9,
    }


def made_up(n: int, n_attributes: int = 4) -> Microdata:
    """Return continuous values: no two equal, the hardest to sort."""
    values = np.random.default_rng(1).random((n_attributes, n)).T
    return Microdata(tuple(Attribute(f"x{i}", 0.0, 1.0) for i in range(n_attributes)), values)


def time_grid(folder: Path, runs: int, cells: int | None) -> Row:
    """Time the data of figure 2 as published: every k and epsilon."""
    start, processor = time.perf_counter(), time.process_time()
    ks = KS["adult"][:cells]
    Experiment.load(Setting("adult"), folder).run(runs, ks, EPSILONS)
    seconds, busy = time.perf_counter() - start, time.process_time() - processor
    return {"runs": runs, "values of k and epsilon": len(ks) * len(EPSILONS), "seconds": seconds, "CPU s": busy}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, nargs="*", default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--cells", type=int, help="the first values of k alone, to try this out")


def measure(given: argparse.Namespace) -> Measuring:
    folder = needed(given)
    yield f"One release, k = {K}", time_release("Adult", load_microdata("adult", folder), 7)
    for n in given.records:
        yield f"One release, k = {K}", time_release("made-up", made_up(n), 3 if n <= 1_000_000 else 1)
    yield "The grid of figure 2, on Adult", time_grid(folder, given.runs, given.cells)


if __name__ == "__main__":
    run(sys.modules[__name__])
