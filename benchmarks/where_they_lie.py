"""A release of whole rows that stay where they are, counted by DuckDB in Parquet and by Spark, beside the prediction.

    make benchmark-where_they_lie

Two owners of whole rows, made up: one has nearly all of them, the other a thousand. Each source is a whole release with
the secure engine, both parties on this machine; the same rows give the same counts, so that all end in the same bytes.
Spark runs in a Java process of its own, to which the owner connects (Spark Connect), so the owner's memory is
copublish's alone; DuckDB is a part of the owner's process. The prediction is `plan`'s. Linux alone.

- *counted*: what the release took, written to disk, and what the process of the owner of nearly all rows had at most
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from pyspark import SparkContext

import copublish as cp
from copublish.engines.spu.products import records_of_products
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.rows.sources import Source
from copublish.tools.planning.costs import CountedBy, Surroundings, predict
from copublish.tools.planning.tunings import tuning_of
from measuring import NOT_THERE, Measuring, Row, run
from process_numbers import cpu_seconds, peak_mib
from secure_runs import FixedCoins
from support.spark import start

SHORT = ("--rows", "3000", "--few", "100")
FEW_ROWS = 10_000
"""Up to so many rows Spark takes longer to compile queries well than to run them."""

AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "visits",
    "dataset": "visits",
    "partition": "horizontal",
    "parties": {"large": {}, "small": {}},
    "records": {"expected": 0},
    "class": {"name": "returned", "values": ["no", "yes"]},
    "attributes": {
        "ward": {"kind": "categorical", "values": [f"w{number}" for number in range(12)]},
        "referral": {"kind": "categorical", "values": ["emergency", "doctor", "self"]},
        "age": {"kind": "numerical", "bounds": [0, 110], "grid": {"count": 11}},
        "days": {"kind": "numerical", "bounds": [0, 60], "grid": {"edges": [1, 2, 4, 7, 14, 28]}},
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 8},
}

ROWS = """
SELECT 'w' || (hash(row) % 12) AS ward,
       CASE hash(row, 1) % 4 WHEN 0 THEN 'emergency' WHEN 1 THEN 'self' ELSE 'doctor' END AS referral,
       (hash(row, 2) % 1101) / 10.0 AS age,
       CAST((hash(row, 3) % 61) * (hash(row, 4) % 61) // 60 AS DOUBLE) AS days,
       CASE WHEN hash(row, 5) % 100 < 10 + 5 * (hash(row) % 12) THEN 'yes' ELSE 'no' END AS returned
FROM range({first}, {last}) made(row)
"""


@dataclass
class PartyRecord:
    """What one party's processes used, which a file takes to whoever asks."""

    file: str

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """Nothing: the whole is what counts."""

    def ends(self, process: int) -> None:
        """Note what the worker and the party used."""
        used = (cpu_seconds() + cpu_seconds(process), peak_mib())
        Path(self.file).write_bytes(pickle.dumps(used))


def write_rows(folder: Path, rows: int, few: int) -> dict[str, Path]:
    """Both owners' files."""
    files = {"large": (0, rows - few), "small": (rows - few, rows)}
    for party, (first, last) in files.items():
        query = ROWS.format(first=first, last=last)
        duckdb.sql(f"COPY ({query}) TO '{folder / party}.parquet' (FORMAT parquet)")
    return {party: folder / f"{party}.parquet" for party in files}


@dataclass(frozen=True)
class Written:
    """What writing a release took, in a process of its own."""

    seconds: float
    mib: float


def written_in_a_process(release: cp.Release, folder: Path) -> Written:
    """Write a release as its parties do at the end of a run, each on its own machine."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as another:
        return another.submit(_write, release, folder).result()


def _write(release: cp.Release, folder: Path) -> Written:
    began = time.perf_counter()
    release.write(folder, overwrite=True)
    return Written(time.perf_counter() - began, peak_mib())


def one_release(
    folder: Path, agreement: cp.Agreement, data: dict[str, Source], counted_by: CountedBy
) -> tuple[cp.Release, Row]:
    """A release, and what it took."""
    records = {party: PartyRecord(str(folder / f"{party}.used")) for party in agreement.parties}
    began = time.perf_counter()
    release = simulate_in_processes(
        agreement,
        data,
        progress=no_progress,
        recorders=records,
        coins={party: FixedCoins(number) for number, party in enumerate(agreement.parties)},
        timeout_seconds=3600,
    )
    counted = time.perf_counter() - began
    written = written_in_a_process(release, folder / "release")
    seconds = counted + written.seconds
    used = {party: pickle.loads(Path(record.file).read_bytes()) for party, record in records.items()}
    tuning = tuning_of(agreement)
    assert tuning is not None
    work = tuning.work(agreement, release, agreement.records.expected, records_of_products)
    predicted = predict(agreement, work, Surroundings(counted_by=counted_by)).seconds
    return release, {
        "seconds": seconds,
        "seconds, writing": written.seconds,
        "predicted on quiet cores, s": predicted,
        "seconds / predicted": seconds / predicted,
        "CPU s of copublish": sum(cpu for cpu, _ in used.values()),
        "MiB, owner's process": max(used["large"][1], written.mib),
    }


@contextmanager
def stdout_for_tables_alone() -> Iterator[None]:
    """Let what is started print where messages go: Spark's Java says something now and then."""
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


@contextmanager
def spark_table(folder: Path, file: Path, *, for_many_rows: bool) -> Iterator[tuple[cp.DatabaseTable, int]]:
    """A table of a Spark server over the file, and the number of its Java process."""
    with stdout_for_tables_alone():
        session, address = start(folder, for_many_rows=for_many_rows)
    session.sql(f"CREATE TABLE visits USING parquet LOCATION '{file}'")
    try:
        yield cp.DatabaseTable(address, "default.visits"), SparkContext._gateway.proc.pid
    finally:
        session.stop()


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--few", type=int, default=1_000, help="rows of the other owner")
    parser.add_argument("--sources", nargs="+", choices=["duckdb", "spark"], default=["duckdb", "spark"])


def measure(given: argparse.Namespace) -> Measuring:
    mapping = copy.deepcopy(AGREEMENT)
    mapping["records"]["expected"] = given.rows
    agreement, first = cp.agreement_from_mapping(mapping), {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = write_rows(folder, given.rows, given.few)
        for source in given.sources:
            java: Any = NOT_THERE
            if source == "duckdb":
                release, row = one_release(folder, agreement, dict(files), source)
            else:
                with spark_table(folder, files["large"], for_many_rows=given.rows > FEW_ROWS) as (table, process):
                    before = cpu_seconds(process)
                    release, row = one_release(folder, agreement, {**files, "large": table}, source)
                    java = cpu_seconds(process) - before
            data = {name: release.files()[name] for name in release.data_files()}
            first = first or data
            yield (
                "counted",
                {"counted by": source, "rows": given.rows, **row, "CPU s of Spark": java, "same bytes": data == first},
            )


if __name__ == "__main__":
    run(sys.modules[__name__])
