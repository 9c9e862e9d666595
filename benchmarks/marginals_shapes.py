"""Runs of marginals of different shapes, for `cost_model.py`: agreements, made-up tables, and what one run took."""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import pandas as pd

import copublish as cp
from copublish.files.home import PROGRAMS_VARIABLE
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from marginals_release import phase_of
from one_party import FixedCoins
from process_numbers import MIB
from secure_runs import read_records, recorders

PERSON = "person"

Chosen = list[list[str]]
"""The columns of each round's table; none of a round in which no table was worth its noise."""


@dataclass(frozen=True)
class Shape:
    """The shape of a release.

    Attributes:
        records: How many there are, as the agreement expects.
        columns: How many there are, the class included.
        cells: Of every column but the class.
        class_values: None without a class.
        rounds: How many tables are chosen at most.
        listed: How many pairs are measured without a choice.
        delta: Whether there is one, and the noise is Gaussian.
        related: Which columns depend on each other: each on the one before, or all on something that is no column.
        by_identifier: Whether records are joined by an identifier.
    """

    records: int
    columns: int = 6
    cells: int = 6
    class_values: int | None = 2
    rounds: int | None = None
    listed: int = 0
    delta: bool = True
    partition: str = "vertical"
    owners: int = 2
    engine: Literal["cheetah", "aby3", "masked-sum"] = "cheetah"
    related: Literal["chain", "all"] = "chain"
    by_identifier: bool = False

    @property
    def name(self) -> str:
        """The shape in words."""
        tables = f"{self.listed} listed pairs" if self.listed else "no choice" if self.rounds == 0 else ""
        tables = tables or ("" if self.rounds is None else f"at most {self.rounds} rounds")
        parts = [
            f"{self.records:,} records",
            f"{self.columns} columns of {self.cells} cells",
            "no class" if self.class_values is None else f"{self.class_values} classes",
            tables,
            "" if self.delta else "no delta",
            f"{self.partition}, {self.owners} owners",
            "by identifier" if self.by_identifier else "",
            "all columns related" if self.related == "all" else "",
        ]
        return ", ".join(part for part in parts if part)


FITTED = (
    Shape(5_000),
    Shape(30_000, columns=10, cells=8),
    Shape(30_000, columns=10, cells=8, delta=False),
    Shape(20_000, columns=20, cells=5),
    Shape(10_000, columns=8, cells=20, class_values=None, rounds=10, related="all"),
    Shape(150_000, columns=6, cells=8, class_values=3),
    Shape(5_000, columns=6, cells=10, partition="horizontal"),
    Shape(20_000, columns=12, cells=6, partition="horizontal", owners=3),
    Shape(20_000, columns=6, cells=5, partition="arbitrary"),
    Shape(10_000, columns=8, cells=5, owners=3),
    Shape(20_000, columns=5, cells=4, partition="arbitrary", owners=4, delta=False),
    Shape(10_000, columns=8, rounds=0),
    Shape(40_000, columns=6, by_identifier=True, rounds=6),
    Shape(10_000, columns=16, cells=12, related="all"),
    Shape(10_000, columns=8, cells=8, listed=3),
    Shape(30_000, columns=6, cells=40, related="all", rounds=12),
    Shape(60_000, columns=6, cells=4, partition="arbitrary", owners=3, rounds=8),
    Shape(10_000, columns=6, engine="aby3", owners=3),
    Shape(40_000, columns=6, cells=5, engine="aby3", owners=3, rounds=10),
    Shape(10_000, columns=10, cells=5, engine="aby3", owners=4),
    Shape(5_000, columns=8, cells=8, engine="aby3", owners=3, partition="horizontal"),
    Shape(20_000, columns=6, cells=6, engine="aby3", owners=3, partition="arbitrary", delta=False),
    Shape(5_000, columns=6, engine="masked-sum", partition="horizontal", delta=False, listed=2),
    Shape(100_000, columns=10, cells=8, engine="masked-sum", partition="horizontal", delta=False, listed=4, owners=3),
    Shape(20_000, columns=8, cells=20, engine="masked-sum", partition="horizontal", delta=False, listed=6, owners=5),
)
"""What coefficients are fitted to."""

CHECKED = (
    Shape(60_000, columns=12, cells=7, related="all"),
    Shape(15_000, columns=9, cells=15, class_values=None, rounds=20),
    Shape(8_000, columns=7, cells=9, partition="horizontal", related="all"),
    Shape(12_000, columns=7, cells=6, owners=4),
    Shape(30_000, columns=7, cells=5, partition="arbitrary", delta=False, class_values=3),
    Shape(100_000, columns=8, cells=10, by_identifier=True, rounds=12),
    Shape(15_000, columns=8, cells=6, engine="aby3", owners=3, rounds=15),
    Shape(50_000, columns=8, cells=10, engine="masked-sum", partition="horizontal", delta=False, listed=3, owners=4),
)
"""What predictions are held against."""

SMALLEST = (Shape(300, columns=3, cells=3, rounds=2), Shape(400, columns=4, cells=3, rounds=3))
"""To try this out: the first is fitted, the second is checked."""

LINKED = (
    Shape(1_000, columns=4, cells=4, rounds=0),
    Shape(20_000, columns=6, cells=4, rounds=4),
    Shape(20_000, columns=8, cells=4),
    Shape(150_000, columns=6, cells=8, rounds=2),
)
"""Runs between two hosts, for round trips alone."""


@dataclass(frozen=True)
class ShapeRun:
    """What one run took.

    Attributes:
        chosen: The columns of the table that every round chose; none where it chose none.
        sent: MiB that the engine's workers sent, by phase.
    """

    shape: Shape
    chosen: Chosen
    seconds: float
    cpu_seconds: float
    mib_sent: float
    worker_mib: float
    party_mib: float
    sent: dict[str, float]

    @property
    def million_cells(self) -> float:
        """Records times columns of the party that holds most."""
        agreement = agreement_of(self.shape)
        return self.shape.records / 1e6 * max(len(agreement.columns_of(party)) for party in agreement.owners)


def agreement_of(shape: Shape) -> cp.Agreement:
    """The agreement on a release of this shape."""
    owners, is_vertical = [f"p{number}" for number in range(shape.owners)], shape.partition == "vertical"
    names = [f"x{number}" for number in range(shape.columns - (shape.class_values is not None))]
    alignment = {"identifier": PERSON} if shape.by_identifier else {"alignment": "row-order"}
    mechanism: dict[str, Any] = {"name": "marginals"}
    if shape.rounds is not None:
        mechanism["rounds"] = shape.rounds
    if shape.listed:
        mechanism["tables"] = [[names[number], names[number + 1]] for number in range(shape.listed)]
    holders = {name: [owners[number % shape.owners]] if is_vertical else owners for number, name in enumerate(names)}
    content: dict[str, Any] = {
        "format": 1,
        "name": "cost",
        "dataset": "cost",
        "partition": shape.partition,
        "parties": {owner: {} for owner in owners},
        "records": {"expected": shape.records} | ({} if shape.partition == "horizontal" else alignment),
        "attributes": {
            name: {"kind": "categorical", "values": [*map(str, range(shape.cells))], "missing": "0", "unlisted": "0"}
            | ({} if shape.partition == "horizontal" else {"held_by": holders[name]})
            for name in names
        },
        "privacy": {"epsilon": "1"} | ({"delta": "1e-6"} if shape.delta else {}),
        "mechanism": mechanism,
        "engine": {"name": "masked-sum"} if shape.engine == "masked-sum" else {"protocol": shape.engine},
    }
    if shape.class_values is not None:
        content["class"] = {"name": "y", "values": [str(number) for number in range(shape.class_values)]}
        if is_vertical:
            content["class"]["held_by"] = owners[-1:]
    return cp.agreement_from_mapping(content)


def made_up(agreement: cp.Agreement, shape: Shape) -> dict[str, pd.DataFrame]:
    """Every owner's part of a made-up table."""
    generator, names = np.random.default_rng(shape.columns), list(agreement.columns)
    hidden = generator.integers(0, shape.cells, shape.records)
    columns: list[np.ndarray[Any, Any]] = []
    for _ in names:
        before = hidden if shape.related == "all" or not columns else columns[-1]
        moves = generator.random(shape.records) < 0.5
        columns.append(np.where(moves, before, generator.integers(0, shape.cells, shape.records)))
    if shape.class_values is not None:
        columns[-1] = columns[-1] % shape.class_values
    table = pd.DataFrame(dict(zip(names, columns, strict=True))).astype(str)
    if shape.partition == "horizontal":
        return {p: table.iloc[i :: shape.owners] for i, p in enumerate(agreement.parties)}
    if shape.partition == "vertical":
        parts = {party: table[list(agreement.columns_of(party))] for party in agreement.parties}
    else:
        holder = generator.integers(shape.owners, size=table.shape)
        spread = list(agreement.attributes)
        parts = {
            party: table.assign(**table[spread].where(holder[:, : len(spread)] == number))
            for number, party in enumerate(agreement.parties)
        }
    if shape.by_identifier:
        parts = {party: part.assign(**{PERSON: np.arange(shape.records).astype(str)}) for party, part in parts.items()}
    return parts


def children_seconds() -> float:
    """Processor time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_shape(shape: Shape) -> ShapeRun:
    """Release once, every party in a process of its own; programs are compiled, as in a first run."""
    agreement = agreement_of(shape)
    computing = agreement.compute_nodes if shape.engine != "masked-sum" else ()
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, {PROGRAMS_VARIABLE: f"{name}/programs"}):
        data, bytes_sent = {}, {}
        for party, part in made_up(agreement, shape).items():
            data[party] = Path(name, f"{party}.parquet")
            part.to_parquet(data[party], index=False)
        start, used = time.perf_counter(), children_seconds()
        release = simulate_in_processes(
            agreement,
            data,
            progress=no_progress,
            timeout_seconds=3600,
            coins={party: FixedCoins(number) for number, party in enumerate(agreement.parties)},
            recorders=recorders(name, computing),
            bytes_sent=bytes_sent,
        )
        seconds, used = time.perf_counter() - start, children_seconds() - used
        records = read_records(name, computing)
    sent: Counter[str] = Counter()
    for record in records.values():
        for request, n_bytes in zip(record.requests, record.sent, strict=True):
            sent[phase_of(request)] += n_bytes
    worker, party_mib = (
        max((record.peak_mib[what] for record in records.values()), default=0.0) for what in ("worker", "party")
    )
    by_phase = {phase: n_bytes / MIB for phase, n_bytes in sent.items()}
    mib = sum(bytes_sent.values()) / MIB
    return ShapeRun(shape, chosen_in(release), seconds, used, mib, worker, party_mib, by_phase)


def measure_link(shape: Shape) -> tuple[Chosen, float]:
    """The tables that a run between two hosts chose, and how often the parties waited for each other."""
    from support.hosts import WideArea
    from wide_area import measure_release

    agreement = agreement_of(shape)
    found = measure_release("wide-area", agreement, made_up(agreement, shape), WideArea(0.010, 1e9))
    return chosen_in(found.release), found.total.rounds


def chosen_in(release: cp.Release) -> Chosen:
    """The tables that the rounds of a release chose."""
    found: Chosen = json.loads(release.files()["model.json"])["rounds"]
    return found
