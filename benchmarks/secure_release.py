"""Time, traffic and memory of a secure release, beside the engine calls it contains and beside Paillier.

    make benchmark-secure_release ADULT=folder-with-adult.data

Times on shared machines are noisy, so ratios within one run stand beside them. Every release runs both parties on this
machine, start-up and compilation included. Coins are fixed, so that the vertical and the arbitrary release choose the
same cut and are comparable. Without --data the table is made up. Linux alone.

releases   one table by columns and with every cell at a random party, beside the ideal release and the same engine
           calls with made-up data and nothing else
scaling    made-up tables of growing size
paillier   the leaf counts of that release by Paillier encryption, measured on a slice and scaled up, not run
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import copublish as cp
from adult import adult_agreement, read_adult, split_columns
from measuring import NOT_THERE, Measuring, run
from paillier_counts import SLICE_RECORDS, measure_paillier_counts
from paillier_moments import KEY_BITS
from process_numbers import cpu_seconds, forget_peak, peak_mib
from secure_runs import (
    SCALING_AGREEMENT,
    Measured,
    PartyRecord,
    bare,
    cut_of,
    leaves_of,
    made_up,
    row_of,
    secure,
    spread_cells,
)

PARTS = ("releases", "scaling", "paillier")
SHORT = ("--records", "300", "--splits", "2", "--key-bits", "512", "--slice", "20")


class Table:
    """One table by columns, and its secure releases, which several parts compare with."""

    def __init__(self, agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> None:
        self.agreement, self.frames = agreement, frames

    @functools.cached_property
    def cells(self) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
        """The same table with every cell at a random party."""
        return spread_cells(self.agreement, self.frames)

    @functools.cached_property
    def vertical(self) -> tuple[Measured, cp.Release, dict[str, PartyRecord]]:
        """The secure release, run once."""
        return secure("secure, by columns", self.agreement, self.frames)

    @functools.cached_property
    def arbitrary(self) -> tuple[Measured, cp.Release, dict[str, PartyRecord]]:
        """The same of spread cells."""
        return secure("secure, cells at random parties", *self.cells)


@functools.cache
def made_up_table(records: int, splits: int) -> Table:
    """A made-up table; several benchmarks of one process look at the same releases of it."""
    mechanism = {"name": "specialization", "specializations": splits}
    return Table(cp.agreement_from_mapping({**SCALING_AGREEMENT, "mechanism": mechanism}), made_up(records))


def table_of(folder: Path | None, records: int, splits: int) -> Table:
    """Adult if there is a folder with it, else a made-up one."""
    if folder is None:
        return made_up_table(records, splits)
    return Table(adult_agreement(folder, "1", n=30_000), split_columns(read_adult(folder)[0]))


def ideal(agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> Measured:
    """Run a whole release on the ideal engine, in this process."""
    forget_peak()
    start, cpu_start = time.perf_counter(), cpu_seconds()
    release = cp.simulate(agreement, frames)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
    n = len(next(iter(frames.values())))
    peaks = {"coordinator": peak_mib()}
    return Measured("ideal, in the clear", n, seconds, cpu, peak_mib=peaks, leaves=leaves_of(release))


def releases(table: Table) -> Measuring:
    """The release beside one of spread cells, its bare engine calls and the ideal one."""
    (whole, release, recorded), (spread, other, _) = table.vertical, table.arbitrary
    if release.data_files() != other.data_files():
        raise AssertionError("the release of spread cells has other counts although its coins are the same")
    for found in (
        whole,
        spread,
        bare("bare engine calls", whole.records, recorded),
        ideal(table.agreement, table.frames),
    ):
        ratios = {
            "engine calls, s": sum(seconds for _, seconds in found.calls.values()) or NOT_THERE,
            "seconds, by columns / this": whole.seconds / found.seconds,
            "CPU s, by columns / this": whole.cpu_seconds / found.cpu_seconds,
        }
        yield "Releases", row_of(found, **ratios)


def scaling(sizes: Sequence[int], splits: int) -> Measuring:
    """Made-up tables of growing size, each beside the first."""
    first = made_up_table(sizes[0], splits).vertical[0]
    for n in sizes:
        found = made_up_table(n, splits).vertical[0]
        more = found.records / first.records
        yield (
            "Made-up tables of 6 attributes split 3/3",
            row_of(
                found,
                **{
                    "CPU s per record, beside the first": found.cpu_seconds / first.cpu_seconds / more,
                    "MiB per record, beside the first": found.mib_sent / first.mib_sent / more,
                },
            ),
        )


def paillier(table: Table, key_bits: int, sliced: int) -> Measuring:
    """The papers' way for the same leaves."""
    secure_run, release, _ = table.vertical
    found = measure_paillier_counts(
        table.agreement, table.frames, cut_of(release), key_bits=key_bits, sliced_records=sliced
    )
    for way, (hours, mib) in found.scaled_up.items():
        yield (
            f"Paillier with {key_bits} bits, scaled up from {found.sliced_records} records and 2 cells; not run",
            {
                "way": way,
                "encryption, ms": found.milliseconds_per_encryption,
                "product, ms": found.milliseconds_per_product,
                "cell, ms": found.milliseconds_per_cell,
                "records": len(next(iter(table.frames.values()))),
                "hours": hours,
                "MiB": mib,
                "beside the secure release": 3600 * hours / secure_run.seconds,
            },
        )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000], help="sizes for 'scaling'")
    parser.add_argument("--splits", type=int, default=8, help="of made-up tables")
    parser.add_argument("--key-bits", type=int, default=KEY_BITS, help="of Paillier's key")
    parser.add_argument("--slice", type=int, default=SLICE_RECORDS, help="records that Paillier counts")


def measure(given: argparse.Namespace) -> Measuring:
    table = table_of(given.data, given.records[0], given.splits)
    if "releases" in given.parts:
        yield from releases(table)
    if "scaling" in given.parts:
        yield from scaling(given.records, given.splits)
    if "paillier" in given.parts:
        yield from paillier(table, given.key_bits, given.slice)


if __name__ == "__main__":
    run(sys.modules[__name__])
