"""Columns derived from a table of events, made up: by DuckDB from Parquet, and by Spark, of the same rows.

    make benchmark-derived_columns

An owner reads its people with a column for every function that an agreement may name, in a process of its own, as a run
does before anybody is called. Spark runs in a Java process of its own, to which the owner connects (Spark Connect); it
groups equal rows. Both end in the same codes. Linux alone.

- *derived*: what reading took, and what the owner's process had at most
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

import copublish as cp
from copublish.rows.reading import read_fragment
from copublish.rows.sources import Source
from measuring import Measuring, Row, run
from process_numbers import cpu_seconds, peak_mib

SHORT = ("--events", "3000", "--people", "300")

EVENTS = """
SELECT 'P-' || (hash(row) % {listed}) AS person,
       'E' || (10 + hash(row, 1) % 80) || '.' || (hash(row, 2) % 9) AS icd10,
       'w' || (hash(row, 3) % 12) AS ward,
       DATE '2020-01-01' + CAST(hash(row, 4) % 2000 AS INTEGER) AS admitted,
       round(20 * exp((hash(row, 5) % 1000) / 150.0), 2) AS cost
FROM range({events}) made(row)
"""
"""About a tenth of the people in the table are not listed."""

PEOPLE = "SELECT 'p-' || row AS person, CAST(row % 90 AS INTEGER) AS age FROM range({people}) made(row)"


def _number(**derived: Any) -> dict[str, Any]:
    return {"kind": "numerical", "bounds": [0, 20_000], "held_by": "hospital", "derived": {"from": "visits", **derived}}


def _ward(**derived: Any) -> dict[str, Any]:
    values, derived = [f"w{number}" for number in range(12)], {"from": "visits", "column": "ward", **derived}
    return {"kind": "categorical", "values": values, "held_by": "hospital", "derived": derived}


DIABETES = {"column": "icd10", "starts_with": ["E10", "E11"]}

AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "visits",
    "dataset": "visits",
    "partition": "vertical",
    "parties": {"hospital": {}, "registry": {}},
    "records": {"identifier": "person", "identifier_rules": ["ignore-case"], "expected": 1_000_000},
    "attributes": {
        "age": {"kind": "numerical", "bounds": [0, 110], "held_by": "hospital"},
        "region": {"kind": "categorical", "values": ["n", "s"], "held_by": "registry"},
        "visits": _number(**{"as": "count"}),
        "diabetes": {
            "kind": "categorical",
            "values": ["no", "yes"],
            "held_by": "hospital",
            "derived": {"from": "visits", "as": "any", "where": DIABETES},
        },
        "cost": _number(**{"as": "sum", "column": "cost"}),
        "mean_cost": _number(**{"as": "mean", "column": "cost"}),
        "least": _number(**{"as": "min", "column": "cost"}),
        "most": _number(**{"as": "max", "column": "cost"}),
        "first_ward": _ward(**{"as": "first", "by": "admitted"}),
        "last_ward": _ward(**{"as": "last", "by": "admitted"}),
        "usual_ward": _ward(**{"as": "most-frequent"}),
        "diagnoses": _number(**{"as": "distinct", "column": "icd10"}),
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "marginals"},
}


@dataclass(frozen=True)
class Reading:
    """What reading took, and a digest of all codes."""

    seconds: float
    cpu_seconds: float
    mib: float
    digest: str


def read_in_a_process(people: Path, events: Source) -> Reading:
    """Read what the hospital has, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as another:
        return another.submit(_read, people, events).result()


def _read(people: Path, events: Source) -> Reading:
    began, used = time.perf_counter(), cpu_seconds()
    agreement = cp.agreement_from_mapping(AGREEMENT)
    fragment = read_fragment(agreement, "hospital", cp.runs.PartyData(people, {"visits": events}))
    digest = hashlib.sha256()
    for name, codes in fragment.private_codes.items():
        digest.update(name.encode() + codes.tobytes())
    return Reading(time.perf_counter() - began, cpu_seconds() - used, peak_mib(), digest.hexdigest())


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--sources", nargs="+", choices=["duckdb", "spark"], default=["duckdb", "spark"])


def measure(given: argparse.Namespace) -> Measuring:
    from where_they_lie import FEW_ROWS, spark_table  # here, since the owner's process needs nothing of it

    first = None
    with tempfile.TemporaryDirectory() as scratch:
        people, events = Path(scratch, "people.parquet"), Path(scratch, "visits.parquet")
        listed = given.people * 10 // 9
        for query, file in (
            (PEOPLE.format(people=given.people), people),
            (EVENTS.format(events=given.events, listed=listed), events),
        ):
            duckdb.sql(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
        for source in given.sources:
            if source == "duckdb":
                reading = read_in_a_process(people, events)
            else:
                with spark_table(Path(scratch), events, for_many_rows=given.events > FEW_ROWS) as (table, _):
                    reading = read_in_a_process(people, table)
            first = first or reading.digest
            row: Row = {
                "events": source,
                "rows": given.events,
                "people": given.people,
                "columns": len(cp.agreement_from_mapping(AGREEMENT).derived_at("hospital")),
                "seconds": reading.seconds,
                "CPU s of copublish": reading.cpu_seconds,
                "MiB, owner's process": reading.mib,
                "same codes": reading.digest == first,
            }
            yield "derived", row


if __name__ == "__main__":
    run(sys.modules[__name__])
