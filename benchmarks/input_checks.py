"""What checking every owner's inputs costs a secure release: the same releases with and without, in one run.

    make benchmark-input_checks ADULT=folder-with-adult.data

Whole releases between two parties on this machine, start-up and compilation included, as in `secure_release.py`.
Without the checks products do not look at what they multiply, and marks of spread cells are not repaired. Coins are
fixed, so that both open the same. Each is run several times in turn; times are those of the fastest run. Programs
without checks are this file's own, so they are compiled in every run, some two CPU seconds, and those with checks are
found on disk from the second run on: traffic and memory can be compared, times less so. Without --data the table is
made up. Linux alone.

vertical   one product of private matrices; what is checked stays with its owner
arbitrary  an AND of marks, their repair, and a product of shares
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any, cast
from unittest import mock

import numpy as np

import copublish as cp
from copublish.engines import choice as engines
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.one_hot import WORD_BITS
from copublish.engines.spu.products import Lines, assemble, tiles, tiles_per_row
from copublish.engines.spu.requests import Call, Kept
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import Marks
from copublish.kernel.secrets.secret import Secret
from copublish.party.local import processes
from copublish.types import IntArray, Program
from measuring import Measuring, run
from secure_release import table_of
from secure_runs import Measured, row_of, secure

SHORT = ("--records", "300", "--splits", "2", "--repetitions", "1")


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

    def _checked_table(self, down: Lines, across: Lines, n_records: int) -> Secret:
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


def compared(name: str, agreement: cp.Agreement, frames: Any, repetitions: int, known: Any = None) -> Measuring:
    """The same release with and without checks, in turn; a run with checks may be known already."""
    found: dict[str, list[Measured]] = {"with checks": [], "without": []}
    releases = []
    for _ in range(repetitions):
        for kind, release_once in (("with checks", secure), ("without", without_checks)):
            is_known, words = known is not None and kind == "with checks", f"{name}, {kind}"
            measured, release, _ = known if is_known else release_once(words, agreement, frames)
            found[kind].append(replace(measured, name=words))
            releases.append(release)
    if any(release.data_files() != releases[0].data_files() for release in releases):
        raise AssertionError("checks changed what was released")
    with_checks, without = (runs[0].calls["openings"][0] for runs in found.values())
    if with_checks - without != (name == "vertical"):
        raise AssertionError("what was wrong with products' inputs is opened once, and of repaired marks nothing is")
    for runs in found.values():

        def ratio(value: Callable[[Measured], float], runs: list[Measured] = runs) -> float:
            return min(map(value, runs)) / min(map(value, found["without"]))

        ratios = {
            "seconds, / without": ratio(lambda run: run.seconds),
            "CPU s, / without": ratio(lambda run: run.cpu_seconds),
            "MiB, / without": ratio(lambda run: run.mib_sent),
            "largest process, / without": ratio(lambda run: max(run.peak_mib.values())),
        }
        yield name, row_of(min(runs, key=lambda run: run.cpu_seconds), **ratios)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=20_000, help="of the made-up table")
    parser.add_argument("--splits", type=int, default=8, help="of the made-up table")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=["vertical", "arbitrary"], default=["vertical", "arbitrary"])


def measure(given: argparse.Namespace) -> Measuring:
    table = table_of(given.data, given.records, given.splits)
    for name in given.parts:
        release = (table.agreement, table.frames) if name == "vertical" else table.cells
        known = getattr(table, name) if given.repetitions == 1 else None
        yield from compared(name, *release, given.repetitions, known)


if __name__ == "__main__":
    run(sys.modules[__name__])
