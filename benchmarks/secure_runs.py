"""Secure releases that are measured: by the recorder that the engine offers, with coins that are fixed.

Every release runs both parties on this machine: a coordinator, two parties and their two engines' workers, start-up and
compilation included. `bare` makes the same engine calls again, with made-up data and nothing around them. Linux alone.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.engines.spu.compiling import text_of
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.requests import CONNECT, Call, ComputeSteps, FirstUses, Gather, Intersect, Kept, OwnedMatrix
from copublish.party.local import processes
from copublish.progress import no_progress
from copublish.release.folder import generalization_of
from copublish.release.generalization import Generalization
from measuring import NOT_THERE, Cell, Row
from one_party import FixedCoins
from process_numbers import MIB, cpu_seconds, forget_peak, peak_mib


@dataclass(frozen=True)
class Blank:
    """An array without its data."""

    shape: tuple[int, ...]


def hollow(request: Any) -> Any:
    """Return a request without the data in it: a blank for every array that goes into a run."""
    if isinstance(request, np.ndarray):
        return Blank(request.shape)
    if isinstance(request, tuple):
        return tuple(hollow(part) for part in request)
    if is_dataclass(request) and not isinstance(request, Call | Gather | Intersect):
        return replace(request, **{part.name: hollow(getattr(request, part.name)) for part in fields(request)})
    return request


def filled(request: Any, generator: np.random.Generator) -> Any:
    """Return a request with made-up data of the same shapes."""
    if isinstance(request, Blank):
        return generator.integers(-(2**63), 2**63, size=request.shape, dtype=np.int64)
    if isinstance(request, tuple):
        return tuple(filled(part, generator) for part in request)
    if isinstance(request, OwnedMatrix) and request.entries is not None:
        n = request.entries[0].shape
        rows, columns = (generator.integers(0, length, n) for length in request.shape)
        return replace(request, entries=(rows, columns, np.ones(n, dtype=np.int64)))
    if is_dataclass(request) and not isinstance(request, Call | Gather | Intersect):
        return replace(request, **{p.name: filled(getattr(request, p.name), generator) for p in fields(request)})
    return request


@dataclass
class PartyRecord:
    """What one party's processes did: their memory and traffic, and every request to the engine's worker, hollow."""

    file: str
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    peak_mib: dict[str, float] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        """Note a request without the data in it."""
        self.requests.append(hollow(request))
        self.seconds.append(seconds)
        self.sent.append(bytes_sent)

    def ends(self, process: int) -> None:
        """Note memory and processor time of the worker while it is still there, and leave the record in a file."""
        self.peak_mib |= {"worker": peak_mib(process), "party": peak_mib()}
        self.cpu_seconds |= {"worker": cpu_seconds(process), "party": cpu_seconds()}
        Path(self.file).write_bytes(pickle.dumps(self))


def recorders(folder: str, parties: Sequence[str]) -> dict[str, PartyRecord]:
    """A recorder for each party, which leaves its record in a folder."""
    return {party: PartyRecord(str(Path(folder, party))) for party in parties}


def kind_of(request: object) -> str:
    """What a request is for."""
    if request == CONNECT:
        return "start-up"
    if isinstance(request, ComputeSteps):
        return "openings" if request.opens else "products"
    return "exchanges"


def program_of(request: ComputeSteps) -> str:
    """Return what a compiled program has to depend on: its steps and the shapes of its inputs, and no names."""
    shapes = [step for step in request.steps if not isinstance(step, Call | Kept)]
    shapes += [step.shape for step in request.steps if isinstance(step, Kept)]
    without_data = [replace(s, entries=None) if isinstance(s, OwnedMatrix) else s for s in shapes]
    return repr((text_of(request.steps), without_data, request.opens))


def bare_party(folder: str, party: str, parties: tuple[str, ...], requests: list[Any]) -> None:
    """Put requests to a party's engine and do nothing else."""
    addresses = tuple(f"unix:{folder}/{number}.sock" for number in range(len(parties)))
    # What a release by columns has set up as soon as its workers have met.
    with SpuEngine(party, parties, addresses, first_uses=FirstUses(coins=True, products=True)) as engine:
        engine.recorder = recorders(folder, parties)[party]
        for request in requests:
            engine._ask(request)


@dataclass(frozen=True)
class Measured:
    """One run of all processes.

    Attributes:
        cpu_seconds: Processor time of all parties and workers: less disturbed by others on the machine than `seconds`.
        peak_mib: Largest memory of each process.
        calls: By kind of engine call, how many there were and how long the first party waited for them.
        programs: Different programs among them: other steps or shapes.
        leaves: Number of leaves of the release and of attributes that are split in it.
    """

    name: str
    records: int
    seconds: float
    cpu_seconds: float = 0
    mib_sent: float = 0
    peak_mib: dict[str, float] = field(default_factory=dict)
    calls: dict[str, tuple[int, float]] = field(default_factory=dict)
    programs: int = 0
    leaves: tuple[int, int] = (0, 0)


def summary(
    name: str, n: int, seconds: float, found: Mapping[str, PartyRecord], kind: Callable[[object], str] = kind_of
) -> Measured:
    peaks = {"coordinator": peak_mib()}
    for party, record in found.items():
        peaks |= {f"{what} {party}": mib for what, mib in record.peak_mib.items()}
    first = next(iter(found.values()))
    by_kind: dict[str, list[float]] = defaultdict(list)
    for request, taken in zip(first.requests, first.seconds, strict=True):
        by_kind[kind(request)].append(taken)
    calls = {kind: (len(taken), sum(taken)) for kind, taken in by_kind.items()}
    sent = sum(sum(record.sent) for record in found.values()) / MIB
    cpu = sum(sum(record.cpu_seconds.values()) for record in found.values())
    programs = {program_of(request) for request in first.requests if isinstance(request, ComputeSteps)}
    return whole(Measured(name, n, seconds, cpu, sent, peaks, calls, len(programs)))


def whole(measured: Measured) -> Measured:
    """Refuse a measurement of a secure release with a counter that did not count."""
    counted = {what: value for what, value in asdict(measured).items() if what not in ("leaves", "name")}
    if empty := [what for what, value in counted.items() if not value]:
        raise AssertionError(f"{measured.name}: nothing was counted of {', '.join(empty)}")
    return measured


def read_records(folder: str, parties: Sequence[str]) -> dict[str, PartyRecord]:
    return {party: pickle.loads(Path(folder, party).read_bytes()) for party in parties}


def cut_of(release: cp.Release) -> Generalization:
    """Return what a release generalized values to."""
    return generalization_of(release, "it has no leaves")


def sizes_of(release: cp.Release) -> dict[str, int]:
    """Return how many values each attribute has in a release."""
    return {name: len(runs) for name, runs in cut_of(release).runs.items()}


def leaves_of(release: cp.Release) -> tuple[int, int]:
    """Return the number of leaves of a release and of attributes that are split in it."""
    sizes = sizes_of(release).values()
    return math.prod(sizes), sum(size > 1 for size in sizes)


def secure(
    name: str,
    agreement: cp.Agreement,
    frames: dict[str, pd.DataFrame],
    kind: Callable[[object], str] = kind_of,
) -> tuple[Measured, cp.Release, dict[str, PartyRecord]]:
    """Run a whole release on the secure engine and measure it."""
    coins = {party: FixedCoins(number) for number, party in enumerate(agreement.parties)}
    forget_peak()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        release = processes.simulate_in_processes(
            agreement,
            frames,
            progress=no_progress,
            coins=coins,
            recorders=recorders(folder, agreement.compute_nodes),
        )
        seconds = time.perf_counter() - start
        found = read_records(folder, agreement.compute_nodes)
    n = len(next(iter(frames.values())))
    measured = summary(name, n, seconds, found, kind)
    has_leaves = agreement.mechanism.name == "specialization"
    return replace(measured, leaves=leaves_of(release)) if has_leaves else measured, release, found


def bare(name: str, n: int, recorded: Mapping[str, PartyRecord]) -> Measured:
    """Make the engine calls of a release again, with the same shapes, made-up data and nothing around them."""
    generator = np.random.default_rng(0)
    parties = tuple(recorded)
    requests = {
        party: [filled(request, generator) for request in recorded[party].requests if not isinstance(request, str)]
        for party in parties
    }
    context = multiprocessing.get_context("spawn")
    forget_peak()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        started = []
        for party in parties:
            started.append(context.Process(target=bare_party, args=(folder, party, parties, requests[party])))
            started[-1].start()
        for process in started:
            process.join()
        seconds = time.perf_counter() - start
        if any(process.exitcode for process in started):
            raise RuntimeError("A party of the bare engine calls failed; its own message is above.")
        return summary(name, n, seconds, read_records(folder, parties))


SCALING_AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "scaling",
    "dataset": "scaling",
    "partition": "vertical",
    "parties": {"a": {}, "b": {}},
    "records": {"alignment": "row-order", "expected": 100_000},
    "class": {"name": "y", "values": ["0", "1"]},
    "attributes": {
        f"x{i}": {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 50}, "held_by": "ab"[i % 2], "missing": 0}
        for i in range(6)
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 8},
}


def made_up(n: int) -> dict[str, pd.DataFrame]:
    """Return both parties' parts of a table whose class depends on all attributes, so that all sizes cut alike."""
    generator = np.random.default_rng(0)
    table = pd.DataFrame({name: generator.integers(0, 1001, n) for name in SCALING_AGREEMENT["attributes"]})
    weight = sum(table[f"x{i}"] * (6 - i) for i in range(6))
    table["y"] = (weight > 21 * 500).astype(int).astype(str)
    return {party: table[[f"x{i}" for i in range(6) if "ab"[i % 2] == party] + ["y"]] for party in "ab"}


def spread_cells(
    agreement: cp.Agreement, frames: Mapping[str, pd.DataFrame]
) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Return the same table with every cell at a random one of its parties, empty at the others; all hold the class."""
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True) | {"partition": "arbitrary"}
    for attribute in content["attributes"].values():
        attribute.pop("held_by", None)
    names, label = list(content["attributes"]), content["class"]["name"]
    whole = pd.concat([frame.drop(columns=label) for frame in frames.values()], axis=1)[names]
    cells = whole.convert_dtypes()  # numbers stay whole numbers beside empty cells
    holder_of = np.random.default_rng(0).integers(len(frames), size=cells.shape)
    classes = next(iter(frames.values()))[label]
    spread = {party: cells.where(holder_of == number).assign(**{label: classes}) for number, party in enumerate(frames)}
    return cp.agreement_from_mapping(content), spread


def row_of(run: Measured, **more: Cell) -> Row:
    """What a table says of a run."""
    return {
        "run": run.name,
        "records": run.records,
        "seconds": run.seconds,
        "CPU s": run.cpu_seconds,
        "MiB sent": run.mib_sent if run.calls or run.mib_sent else NOT_THERE,
        "largest process, MiB": max(run.peak_mib.values()) if run.calls or run.peak_mib else NOT_THERE,
        **more,
    }
