"""What checking every owner's inputs costs a secure release: the same releases with and without, in one run.

    python benchmarks/input_checks.py --data folder-with-adult.data

Whole releases between two parties on this machine, start-up and compilation included, as in `secure_release.py`.
Without the checks products do not look at what they multiply, and marks of spread cells are not repaired. Coins are
fixed, so that both open the same. Each is run several times in turn; times are those of the fastest run. Linux alone.

vertical   one product of private matrices; what is checked stays with its owner
arbitrary  an AND of marks, their repair, and a product of shares
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from unittest import mock

import numpy as np

import copublish as cp
from adult import adult_agreement, read_adult, scatter_cells, split_columns
from copublish.engine.interface import Marks
from copublish.engine.programs.packing import Packing
from copublish.engine.secret import Secret
from copublish.engine.spu.engine import SpuEngine
from copublish.engine.spu.marks import WORD_BITS
from copublish.engine.spu.products import Lines, assemble, tiles, tiles_per_row
from copublish.engine.spu.requests import Call, Kept
from copublish.local import processes
from copublish.release import engines
from copublish.types import IntArray, Program
from secure_release import SCALING_AGREEMENT, Measured, made_up, print_runs, secure


def product(xp: ModuleType, x: IntArray, y: IntArray) -> IntArray:
    """Multiply two matrices, whatever they hold."""
    return cast(IntArray, xp.matmul(x, y))


def any_cells(xp: ModuleType, *given: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """The cells that all parties marked, however many they are: as `one_cell_each` without the repair."""
    words = given[0] & given[1]
    lanes = np.arange(WORD_BITS, dtype=np.int64)
    return cast(IntArray, -((words[:, :, None] >> lanes) & 1).reshape(words.shape[0], -1))


def any_places(xp: ModuleType, *given: IntArray, packing: Packing) -> IntArray:
    """As `places_of_each` without the repair."""
    return packing.pack(xp, any_cells(xp, *given, sizes=(given[0].shape[0],)).T)


WITHOUT_REPAIR = {"one_cell_each": any_cells, "places_of_each": any_places}


class UncheckedEngine(SpuEngine):
    """The secure engine as it would be without checks. Never for a release that anyone sees."""

    def _checked_table(self, down: Lines, across: Lines, n_records: int, packing: Packing) -> Secret:
        parts = [
            self._keep_parts((tile.x, tile.y, Call(product, (0, 1), {})), [(tile.x.shape[0], tile.y.shape[1])])[0]
            for tile in tiles(self._rank, down, across, n_records)
        ]
        shape = (down.number, across.number)
        return self.compute(assemble, *parts, per_row=tiles_per_row(across.number), shape=shape)

    def _marks(self, marks: Marks, program: Program, shape: tuple[int, ...], **public: Any) -> Kept:
        return super()._marks(marks, WITHOUT_REPAIR[program.__name__], shape, **public)


def unchecked_party(*arguments: Any) -> None:
    """Run a party as `simulate_in_processes` does, without checks."""
    with mock.patch.object(engines, "SpuEngine", UncheckedEngine):
        run_party(*arguments)


run_party = processes._party
"""What a party's process runs."""


def without_checks(*arguments: Any) -> tuple[Measured, cp.Release, Any]:
    """As `secure`, without checks."""
    with mock.patch.object(processes, "_party", unchecked_party):
        return secure(*arguments)


def compared(name: str, agreement: cp.Agreement, frames: Any, repetitions: int) -> dict[str, Any]:
    """The same release with and without checks, in turn."""
    found: dict[str, list[Measured]] = {"with checks": [], "without": []}
    releases = []
    for _ in range(repetitions):
        for kind, run in (("with checks", secure), ("without", without_checks)):
            measured, release, _ = run(f"{name}, {kind}", agreement, frames)
            found[kind].append(measured)
            releases.append(release)
    if any(not release.table("counts").equals(releases[0].table("counts")) for release in releases):
        raise AssertionError("checks changed what was released")
    with_checks, without = (runs[0].calls["openings"][0] for runs in found.values())
    if with_checks != without + 1:
        raise AssertionError("what was wrong with inputs is opened once, unless checks are left out")
    best = {kind: min(runs, key=lambda run: run.seconds) for kind, runs in found.items()}

    def ratio(value: Callable[[Measured], float]) -> float:
        with_checks, without = (min(value(run) for run in runs) for runs in found.values())
        return with_checks / without

    return {
        "runs": list(best.values()),
        "ratios": {
            "with / without, seconds": ratio(lambda run: run.seconds),
            "with / without, CPU seconds": ratio(lambda run: run.cpu_seconds),
            "with / without, MiB sent": ratio(lambda run: run.mib_sent),
            "with / without, largest process": ratio(lambda run: max(run.peak_mib.values())),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data; a made-up table without it")
    parser.add_argument("--records", type=int, default=20_000, help="of the made-up table")
    parser.add_argument("--splits", type=int, default=8, help="of the made-up table")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=["vertical", "arbitrary"], default=["vertical", "arbitrary"])
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    parts = {}
    for name in arguments.parts:
        if arguments.data is not None:
            table = read_adult(arguments.data)[0]
            agreement = adult_agreement(arguments.data, "1", n=30_000, partition=name)
            frames = split_columns(table) if name == "vertical" else scatter_cells(table)
        else:
            mechanism = {"name": "specialization", "specializations": arguments.splits}
            agreement = cp.agreement_from_mapping({**SCALING_AGREEMENT, "partition": name, "mechanism": mechanism})
            frames = made_up(arguments.records)
            if name == "arbitrary":
                continue  # the made-up table has its columns at one party each
        parts[name] = compared(name, agreement, frames, arguments.repetitions)
        if arguments.format == "text":
            print_runs(parts[name]["runs"])
            for what, ratio in parts[name]["ratios"].items():
                print(f"  {what:<58}{ratio:12,.3f}")
    if arguments.format == "json":
        print(json.dumps(parts, indent=2, default=lambda run: asdict(run)))


if __name__ == "__main__":
    main()
