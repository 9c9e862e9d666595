"""Time, traffic and memory of a secure release, beside the engine calls it contains and beside Paillier.

    python benchmarks/secure_release.py --data folder-with-adult.data

Times on shared machines are noisy, so each table gives ratios within one run. Every release runs both parties on
this machine: a coordinator, two parties and their two engines' workers, start-up and compilation included. Coins are
fixed, so that the vertical and the arbitrary release choose the same cut and are comparable. Linux alone.

adult      the secure release of Adult, the ideal one, and the same engine calls with made-up data and nothing else
arbitrary  the same table with every cell at a random one of the two parties
scaling    made-up tables of growing size
paillier   the leaf counts of that release by Paillier encryption, measured on a slice and scaled up
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import multiprocessing
import os
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
from adult import PARTIES, adult_agreement, read_adult, scatter_cells, split_columns
from copublish.engine.spu.compiling import text_of
from copublish.engine.spu.engine import SpuEngine
from copublish.engine.spu.recording import CONNECT
from copublish.engine.spu.requests import Call, Exchange, Intersect, Kept, OwnedMatrix, Run
from copublish.fragments.fragment import Fragment
from copublish.local import processes
from copublish.local.simulation import read_fragments
from copublish.mechanisms.shared.generalization import Generalization
from copublish.progress import no_progress
from copublish.release.folder import generalization_of
from copublish_reproduction.hpdp_paillier import paillier_library
from paillier_moments import KEY_BITS, MIB, ciphertext_mib

PARTS = ("adult", "arbitrary", "scaling", "paillier")
SLICE_RECORDS, SLICE_CELLS = 200, 2


def peak_mib(process: int | str = "self") -> float:
    """Return the largest memory that a process has had so far."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def cpu_seconds(process: int | str = "self") -> float:
    """Return the processor time that a process has used so far, all threads, user and system."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def forget_peak() -> None:
    """Start this process's own peak anew."""
    Path("/proc/self/clear_refs").write_text("5")


class FixedCoins:
    """The same coins in every run. Never for a release that anyone sees."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the next words."""
        return self._generator.integers(-(2**63), 2**63, size=shape, dtype=np.int64)


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
    if is_dataclass(request) and not isinstance(request, Call | Exchange | Intersect):
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
    if is_dataclass(request) and not isinstance(request, Call | Exchange | Intersect):
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
    if isinstance(request, Run):
        return "openings" if request.opens else "products"
    return "exchanges"


def program_of(request: Run) -> str:
    """Return what a compiled program has to depend on: its steps and the shapes of its inputs, and no names."""
    shapes = [step for step in request.steps if not isinstance(step, Call | Kept)]
    shapes += [step.shape for step in request.steps if isinstance(step, Kept)]
    without_data = [replace(s, entries=None) if isinstance(s, OwnedMatrix) else s for s in shapes]
    return repr((text_of(request.steps), without_data, request.opens))


def bare_party(folder: str, party: str, parties: tuple[str, ...], requests: list[Any]) -> None:
    """Put requests to a party's engine and do nothing else."""
    addresses = tuple(f"unix:{folder}/{number}.sock" for number in range(len(parties)))
    with SpuEngine(party, parties, addresses) as engine:
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
    programs = {program_of(request) for request in first.requests if isinstance(request, Run)}
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


def leaves_of(release: cp.Release) -> tuple[int, int]:
    """Return the number of leaves of a release and of attributes that are split in it."""
    sizes = [len(attribute.values) for attribute in cut_of(release).attributes.values()]
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


def ideal(name: str, agreement: cp.Agreement, frames: dict[str, pd.DataFrame]) -> Measured:
    """Run a whole release on the ideal engine, in this process."""
    forget_peak()
    start, cpu_start = time.perf_counter(), cpu_seconds()
    release = cp.simulate(agreement, frames)
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu_start
    n = len(next(iter(frames.values())))
    return Measured(name, n, seconds, cpu, peak_mib={"coordinator": peak_mib()}, leaves=leaves_of(release))


class Adult:
    """The Adult table and its vertical secure release, which several parts compare with."""

    def __init__(self, folder: Path, limit: int | None) -> None:
        self.folder, self.table = folder, read_adult(folder)[0].head(limit)
        self.frames = split_columns(self.table)
        self.agreement = adult_agreement(folder, "1", n=30_000)

    @functools.cached_property
    def vertical(self) -> tuple[Measured, cp.Release, dict[str, PartyRecord]]:
        """The secure release, run once."""
        return secure("secure release, vertical", self.agreement, self.frames)


def adult_part(adult: Adult) -> dict[str, Any]:
    whole, _, recorded = adult.vertical
    runs = [
        whole,
        bare("bare engine calls", whole.records, recorded),
        ideal("ideal release, in the clear", adult.agreement, adult.frames),
    ]
    ratios = {
        "secure release / bare engine calls": whole.seconds / runs[1].seconds,
        "secure release / bare engine calls, CPU seconds": whole.cpu_seconds / runs[1].cpu_seconds,
        "secure release / its own waiting for the engine": whole.seconds / sum(s for _, s in whole.calls.values()),
        "secure release / ideal release": whole.seconds / runs[2].seconds,
    }
    return {"title": "Adult, 14 attributes split 7/7, h = 10, epsilon 1", "runs": runs, "ratios": ratios}


def arbitrary_part(adult: Adult) -> dict[str, Any]:
    agreement = adult_agreement(adult.folder, "1", n=30_000, partition="arbitrary")
    vertical, release, _ = adult.vertical
    spread, other, _ = secure("secure release, arbitrary", agreement, scatter_cells(adult.table))
    ratios = {
        "arbitrary / vertical, seconds": spread.seconds / vertical.seconds,
        "arbitrary / vertical, CPU seconds": spread.cpu_seconds / vertical.cpu_seconds,
        "arbitrary / vertical, MiB sent": spread.mib_sent / vertical.mib_sent,
    }
    same = "the same" if release.table("counts").equals(other.table("counts")) else "ANOTHER"
    title = f"Adult, every cell at a random one of two parties; {same} counts as the vertical release"
    return {"title": title, "runs": [vertical, spread], "ratios": ratios}


SCALING_AGREEMENT: dict[str, Any] = {
    "format": 1,
    "name": "scaling",
    "dataset": "scaling",
    "partition": "vertical",
    "parties": {"a": {}, "b": {}},
    "records": {"alignment": "row-order", "expected": 100_000},
    "class": {"name": "y", "values": ["0", "1"]},
    "attributes": {
        f"x{i}": {"kind": "numerical", "bounds": [0, 1000], "grid": {"count": 50}, "held_by": "ab"[i % 2]}
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


def scaling_part(sizes: Sequence[int]) -> dict[str, Any]:
    agreement = cp.agreement_from_mapping(SCALING_AGREEMENT)
    runs = [secure("secure release, vertical", agreement, made_up(n))[0] for n in sizes]
    ratios = {}
    for smaller, larger in itertools.pairwise(runs):
        more = larger.records / smaller.records
        pair = f"{larger.records:,} / {smaller.records:,} records"
        ratios[f"{pair}, seconds per record"] = larger.seconds / smaller.seconds / more
        ratios[f"{pair}, CPU seconds per record"] = larger.cpu_seconds / smaller.cpu_seconds / more
        ratios[f"{pair}, MiB sent per record"] = larger.mib_sent / smaller.mib_sent / more
        ratios[f"{pair}, largest process"] = max(larger.peak_mib.values()) / max(smaller.peak_mib.values())
    return {"title": "Made-up tables, 6 attributes split 3/3, h = 8, epsilon 1", "runs": runs, "ratios": ratios}


def cells_of(fragment: Fragment, cut: Generalization, attributes: Sequence[str]) -> tuple[np.ndarray, int]:
    """Return each record's cell among one party's generalized attributes, and the number of such cells."""
    cells, number = np.zeros(fragment.n_records, dtype=np.int64), 1
    for name in attributes:
        attribute = cut.attributes[name]
        size = len(attribute.values)
        cells, number = cells * size + attribute.part_of_code()[fragment.private_codes[name]], number * size
    return cells, number


def paillier_part(adult: Adult) -> dict[str, Any]:
    """Count the fullest cells of a slice by secure scalar products, and scale the time up to the whole table."""
    phe = paillier_library()
    secure_release, release, _ = adult.vertical
    fragments = read_fragments(adult.agreement, {p: frame.head(SLICE_RECORDS) for p, frame in adult.frames.items()})
    (first, first_names), (second, second_names) = PARTIES.items()
    cut = cut_of(release)
    rows, n_rows = cells_of(fragments[first], cut, first_names)
    columns, n_columns = cells_of(fragments[second], cut, second_names)
    classes = fragments[second].private_codes[adult.agreement.class_.name]
    n_classes = len(adult.agreement.class_.values)
    n_sliced, n, n_cells = len(rows), len(adult.table), n_rows * n_columns * n_classes

    public, private = phe.generate_paillier_keypair(n_length=KEY_BITS)
    found, counts = np.unique(np.stack([rows, columns, classes]), axis=1, return_counts=True)
    fullest = found.T[np.argsort(-counts)[:SLICE_CELLS]]
    spent, done = dict.fromkeys(("encrypting", "multiplying", "cell"), 0.0), 0
    for row, column, class_ in fullest:
        start = time.perf_counter()
        encrypted = [public.encrypt(int(match)) for match in rows == row]
        spent["encrypting"] += time.perf_counter() - start
        start = time.perf_counter()
        matching = np.flatnonzero((columns == column) & (classes == class_))
        product = encrypted[matching[0]]
        for record in matching[1:]:
            product = product + encrypted[record]  # adding plaintexts is multiplying ciphertexts
        spent["multiplying"] += time.perf_counter() - start
        done += len(matching)
        start = time.perf_counter()
        product.obfuscate()
        count = private.decrypt(product)
        spent["cell"] += time.perf_counter() - start
        if count != ((rows == row) & (columns == column) & (classes == class_)).sum():
            raise AssertionError("Paillier counted wrongly")
    measured = sum(spent.values())
    encrypting, multiplying = spent["encrypting"] / (SLICE_CELLS * n_sliced), spent["multiplying"] / done
    per_cell = spent["cell"] / SLICE_CELLS
    # Every record matches one column and class for each row, so there are n products for each of the rows.
    shared = n * n_rows * multiplying + n_cells * per_cell
    mib = ciphertext_mib(KEY_BITS)
    scaled = {
        "papers: match vector encrypted anew for every leaf and class": (
            n * n_cells * encrypting + shared,
            (n * n_cells + n_cells) * mib,
        ),
        "kinder: each match vector encrypted once": (
            n * n_rows * encrypting + shared,
            (n * n_rows + n_cells) * mib,
        ),
    }
    return {
        "title": f"Paillier with {KEY_BITS} bits, one party and one core at a time",
        "measured": {
            "records": n_sliced,
            "cells": SLICE_CELLS,
            "seconds": measured,
            "milliseconds_per_encryption": 1000 * encrypting,
            "milliseconds_per_product": 1000 * multiplying,
            "milliseconds_per_cell": 1000 * per_cell,
        },
        "scaled_to": {"records": n, "leaves": n_rows * n_columns, "classes": n_classes, "rows": n_rows},
        "scaled_up": {way: {"seconds": s, "mib_sent": sent} for way, (s, sent) in scaled.items()},
        "ratios": {
            f"{way.split(':')[0]} / secure release": s / secure_release.seconds for way, (s, _) in scaled.items()
        },
    }


def print_runs(runs: Sequence[Measured]) -> None:
    heads = f"{'records':>9}{'seconds':>9}{'CPU s':>8}{'MiB sent':>9}{'leaves':>8}{'split':>6}"
    print(f"  {'':<28}{heads}   peak MiB of each process")
    for run in runs:
        numbers = f"{run.records:9,}{run.seconds:9.2f}{run.cpu_seconds:8.1f}{run.mib_sent:9.1f}"
        leaves = "".join(f"{number or '-':>{width}}" for number, width in zip(run.leaves, (8, 6), strict=True))
        peaks = ", ".join(f"{what} {mib:.0f}" for what, mib in run.peak_mib.items())
        print(f"  {run.name:<28}{numbers}{leaves}   {peaks}")
    for run in runs:
        if run.calls:
            calls = ", ".join(f"{number} {kind} {seconds:.2f} s" for kind, (number, seconds) in run.calls.items())
            print(f"  {run.name} of {run.records:,}: {calls}; {run.programs} different programs")


def print_paillier(part: dict[str, Any]) -> None:
    done, target = part["measured"], part["scaled_to"]
    print(
        f"  measured: {done['records']} records, {done['cells']} cells, {done['seconds']:.2f} s; encryption "
        f"{done['milliseconds_per_encryption']:.2f} ms, product {1000 * done['milliseconds_per_product']:.1f} us, "
        f"re-randomizing and decrypting {done['milliseconds_per_cell']:.1f} ms"
    )
    print(
        f"  SCALED UP from there, not run: {target['records']:,} records, {target['leaves']:,} leaves, "
        f"{target['classes']} classes"
    )
    for way, cost in part["scaled_up"].items():
        print(f"  {way:<62}{cost['seconds'] / 3600:10.1f} h {cost['mib_sent']:12,.0f} MiB")


def print_part(part: dict[str, Any]) -> None:
    print(part["title"])
    if "runs" in part:
        print_runs(part["runs"])
    else:
        print_paillier(part)
    for what, ratio in part["ratios"].items():
        print(f"  {what:<58}{ratio:12,.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with adult.data, adult.test, taxonomies/")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 500_000], help="sizes for 'scaling'")
    parser.add_argument("--limit", type=int, help="take the first rows of Adult alone, to try this out")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    arguments = parser.parse_args()
    has_adult = arguments.data is not None and (arguments.data / "adult.data").exists()
    adult = Adult(arguments.data, arguments.limit) if has_adult else None
    parts = {}
    for name in arguments.parts:
        if name == "scaling":
            parts[name] = scaling_part(arguments.records)
        elif adult is not None:
            parts[name] = {"adult": adult_part, "arbitrary": arbitrary_part, "paillier": paillier_part}[name](adult)
        elif arguments.format == "text":
            print(f"No adult.data in --data: the part '{name}' is left out.")
        if arguments.format == "text" and name in parts:
            print_part(parts[name])
    if arguments.format == "json":
        print(json.dumps(parts, indent=2, default=asdict))


if __name__ == "__main__":
    main()
