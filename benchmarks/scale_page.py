"""The tables of docs/scale.md, from the coefficients that were measured and the model that plans use.

    python benchmarks/scale_page.py

Coefficients come from the file beside `tools/planning/costs.py`, checks from what `cost_model.py` measured last.
Nothing is run but a release on the ideal engine, for the cut that predictions are about.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import fields, replace

import copublish as cp
from copublish.tools.planning.costs import Surroundings, all_coefficients, cost_of, dot, measured_coefficients
from copublish.tools.planning.tuning import Work
from cost_model import Case, work_with
from cost_of_marginals import CHECKS_OF_MARGINALS
from measuring import ROOT, Row, markdown_of, write_between
from run_all import RESULTS

PAGE = ROOT / "docs" / "scale.md"
SHAPE = Case(20_000, attributes=10)
RECORDS = (10_000_000, 100_000_000, 1_000_000_000)
OWNERS = (2, 3, 5, 10)
WORKERS = (1, 16)
NEAR = Surroundings(round_trip_seconds=0.001, bytes_per_second=1e9 / 8)
FAR = Surroundings(round_trip_seconds=0.040, bytes_per_second=100e6 / 8)

UNITS = {
    "starts": "a session of the engine",
    "guests": "an owner that does not compute",
    "rounds": "a selection",
    "biased_bits": "1,000 biased bits of noise",
    "products": "a session with products",
    "product_columns": "a million records times columns sent encrypted",
    "marks": "a million records times marks, ANDed",
    "guest_marks": "a million records times marks of a guest",
}


UNITS_OF_MARGINALS = {
    "guests": "a party without an engine",
    "rounds": "a round",
    "calls": "a product of some records, of one tile",
    "product_cells": "a million records times cells of joined tables",
    "first_marks": "a million records times marks of which the first counts",
    "compared": "1,000 cells compared with the model",
    "guest_words": "1,000 numbers for comparing, shared by a guest",
    "met": "1,000 comparisons of candidates",
    "drawn_noise": "1,000 candidates for Gaussian noise",
    "fitted": "a million cells of models that are fitted",
    "drawn_cells": "a million cells read, and drawn",
    "people": "a million identifiers compared",
    "summed": "1,000 masked counts",
}


def coefficients() -> Iterator[str]:
    """What one unit costs, and when that was measured."""
    known = measured_coefficients()
    rows: list[Row] = [
        {
            "a unit": UNITS[field.name],
            "CPU s of all": getattr(known.cpu_seconds, field.name),
            "MiB sent": getattr(known.mib_sent, field.name),
            "round trips": getattr(known.round_trips, field.name),
        }
        for field in fields(Work)
        if field.name in UNITS
    ]
    about = known.measured
    yield (
        f"Measured {about['date']} on {about['cores']} cores of {about['processor']}, {about['memory']}, a loop of "
        f"{about['loop_seconds']:g} s, load {about['load']:g}; "
        f"copublish {about['versions']['copublish']}, SPU {about['versions']['spu']}.\n"
    )
    yield markdown_of(rows)
    yield (
        f"\nThe largest worker of the engine has {known.worker_mib:,.0f} MiB, whatever the number of records; the "
        f"process of a party has {known.party_mib:,.0f} MiB, and {known.mib_per_million_cells:.1f} MiB "
        "more for every million records and column of one party. On two quiet cores a processor second of what goes "
        f"with records takes {known.record_ratio:.2f} s, and {known.fixed_ratio:.2f} s of everything else."
    )


def checks() -> Iterator[str]:
    """Predictions beside runs that nothing was fitted to."""
    found = json.loads((RESULTS / "cost_model.json").read_text(encoding="utf-8"))["tables"]
    for title in ("Predictions held against other runs", "Runs that coefficients are fitted to"):
        if title in found:
            measured = found[title]["measured"]
            yield f"*{title}* ({measured['date']}, load {measured['load']:g} on {measured['cores']} cores):\n"
            yield markdown_of(found[title]["rows"]) + "\n"


def marginals() -> Iterator[str]:
    """What one unit of the work of marginals costs, on every engine, and when that was measured."""
    ways = {way: known for way, known in all_coefficients().items() if way.startswith("marginals on ")}
    for way, known in ways.items():
        about = known.measured
        yield (
            f"*{way}*, measured {about['date']} on {about['cores']} cores of {about['processor']}, a loop of "
            f"{about['loop_seconds']:g} s, load {about['load']:g}:\n"
        )
        rows: list[Row] = [
            {
                "a unit": UNITS_OF_MARGINALS.get(field.name) or UNITS[field.name],
                "CPU s of all": getattr(known.cpu_seconds, field.name),
                "MiB sent": getattr(known.mib_sent, field.name),
                "round trips": getattr(known.round_trips, field.name),
                "most in a run": getattr(known.largest, field.name),
            }
            for field in fields(Work)
            if field.name not in ("counted", "published") and known.largest and getattr(known.largest, field.name)
        ]
        yield markdown_of(rows) + "\n"


def checks_of_marginals() -> Iterator[str]:
    """Predictions beside runs that nothing was fitted to."""
    found = json.loads((RESULTS / "cost_model.json").read_text(encoding="utf-8"))["tables"][CHECKS_OF_MARGINALS]
    measured = found["measured"]
    yield f"Measured {measured['date']}, load {measured['load']:g} on {measured['cores']} cores.\n"
    yield markdown_of(found["rows"])


def predictions() -> Iterator[str]:
    """Time, traffic and memory of more records and owners."""
    rows: list[Row] = []
    for owners, records, workers in itertools.product(OWNERS, RECORDS, WORKERS):
        agreement, work = work_with(Case(SHAPE.records, attributes=SHAPE.attributes, owners=owners), records)
        rows.append(row_of(agreement, work, records, workers))
    yield markdown_of(rows)


def row_of(agreement: cp.Agreement, work: Work, records: int, workers: int) -> Row:
    cells = records / 1e6 * max(len(agreement.columns_of(party)) for party in agreement.owners)
    near, far = (
        cost_of(
            work,
            cells=cells,
            surroundings=replace(link, workers=workers),
        )
        for link in (NEAR, FAR)
    )
    return {
        "owners": len(agreement.owners),
        "records": records,
        "workers and cores of a node": workers,
        "CPU hours of all": near.cpu_seconds / 3600,
        "GiB sent": near.mib_sent / 1024,
        "round trips": round(dot(measured_coefficients().round_trips, work)),
        "largest process, GiB": near.largest_process_mib / 1024,
        "hours, 1 ms and 1 Gbit/s": near.seconds / 3600,
        "hours, 40 ms and 100 Mbit/s": far.seconds / 3600,
    }


def main() -> None:
    for name, lines in (
        ("marginals", marginals()),
        ("checks of marginals", checks_of_marginals()),
        ("coefficients", coefficients()),
        ("checks", checks()),
        ("predictions", predictions()),
    ):
        write_between(PAGE, (f"<!-- begin {name} -->", f"<!-- end {name} -->"), "\n".join(lines).rstrip())


if __name__ == "__main__":
    main()
