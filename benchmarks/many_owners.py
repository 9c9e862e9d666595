"""Secure releases of one table that more and more owners hold, beside two owners.

    make benchmark-many_owners ADULT=folder-with-adult.data

Every owner runs in a process of its own on this machine, as `copublish run` does, over mutual TLS on loopback.
Start-up, compilation and reading are included. Columns are dealt out one by one, or every cell goes to a random owner;
all know the class. Two owners compute, or three with ABY3; the others are guests. Coins are fixed, so that all releases
by the same nodes open the same. Times on shared machines are noisy: ratios within one run, processor time and traffic
stand beside them. Without --data the table is made up. Linux alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from adult import adult_agreement, read_adult
from copublish.party.keys.identity import load_identity, new_identity
from copublish.party.local.processes import throwaway_ledger
from copublish.party.session import RunSettings, ready_party, run_party
from copublish.progress import no_progress
from copublish.release.prepare import prepare
from measuring import NOT_THERE, Measuring, run
from one_party import FixedCoins
from process_numbers import MIB
from secure_release import made_up_table

WAYS = ("columns", "cells")
NODES = {"cheetah": 2, "aby3": 3}
SHORT = ("--records", "300", "--splits", "2", "--owners", "3")


@dataclass(frozen=True)
class Owner:
    """What one owner needs to take part in a release."""

    agreement: cp.Agreement
    name: str
    folder: Path

    def start(self) -> subprocess.Popen[str]:
        """Run this owner in a process of its own; it prints what it sent."""
        file = self.folder / f"{self.name}.owner"
        file.write_bytes(pickle.dumps(self))
        return subprocess.Popen([sys.executable, __file__, "--run", str(file)], stdout=subprocess.PIPE, text=True)

    def run(self) -> None:
        """Run this owner in this process."""
        settings = RunSettings(self.folder / f"{self.name}-release")
        file = self.folder / f"{self.name}.db"
        file.unlink(missing_ok=True)  # of a release before
        ledger, identity = throwaway_ledger(prepare(self.agreement), file=file), load_identity(self.folder / self.name)
        data = self.folder / f"{self.name}.parquet"
        result = run_party(
            ready_party(self.agreement, self.name, data, identity, ledger, settings),
            progress=no_progress,
            waiting=lambda what: None,
            log=lambda event, **facts: None,
            coins=FixedCoins(self.agreement.party_names.index(self.name)),
        )
        print(json.dumps({"sent": result.bytes_sent / MIB, "received": result.bytes_received / MIB}))


@dataclass(frozen=True)
class Measured:
    """One release.

    Attributes:
        mib_sent: By owner; nodes come first.
        peak_mib: The largest process of each owner.
    """

    way: str
    protocol: str
    owners: int
    records: int
    seconds: float
    cpu_seconds: float
    mib_sent: dict[str, float]
    peak_mib: dict[str, float]


def dealt(
    agreement: cp.Agreement, table: pd.DataFrame, owners: int, way: str, protocol: str
) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """Return the same release between so many owners, and what each of them holds."""
    content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    names, label = [f"p{number}" for number in range(owners)], content["class"]["name"]
    content["parties"] = {name: {} for name in names}
    content["partition"] = "vertical" if way == "columns" else "arbitrary"
    content["records"] |= {"alignment": "row-order"}
    content["class"].pop("held_by", None)
    content["engine"] = {"protocol": protocol}
    whole = table[[*content["attributes"], label]]
    frames = {name: whole[[label]].copy() for name in names}
    generator = np.random.default_rng(0)
    for number, (column, attribute) in enumerate(content["attributes"].items()):
        attribute.pop("held_by", None)
        if way == "columns":
            attribute["held_by"] = names[number % owners]
            frames[names[number % owners]][column] = whole[column]
            continue
        holder = generator.integers(0, owners, len(whole))
        for place, name in enumerate(names):
            frames[name][column] = whole[column].astype(object).where(holder == place, None)
            if pd.api.types.is_numeric_dtype(whole[column]):
                frames[name][column] = frames[name][column].astype(float)
    return cp.agreement_from_mapping(content), frames


def measure_release(
    agreement: cp.Agreement, frames: dict[str, pd.DataFrame], way: str, protocol: str
) -> tuple[Measured, dict[str, bytes]]:
    """Run all owners to the end; return what it took and the data that they all published."""
    with tempfile.TemporaryDirectory() as name:
        folder, agreed = Path(name), {}
        ports = free_ports(len(frames))
        for number, party in enumerate(agreement.party_names):
            identity = new_identity(party, folder / party, days=1)
            agreed[party] = {"host": f"127.0.0.1:{ports[number]}", "certificate": identity.fingerprint}
            frames[party].to_parquet(folder / f"{party}.parquet", index=False)
        content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True) | {"parties": agreed}
        agreement = cp.agreement_from_mapping(content)
        start = time.perf_counter()
        started = {party: Owner(agreement, party, folder).start() for party in agreement.party_names}
        used = {party: ended(process) for party, process in started.items()}
        seconds = time.perf_counter() - start
        releases = [cp.load_release(folder / f"{party}-release") for party in agreement.party_names]
    if any(release.files() != releases[0].files() for release in releases):
        raise SystemExit("The owners hold different releases.")
    found = Measured(
        way,
        protocol,
        len(frames),
        len(next(iter(frames.values()))),
        seconds,
        sum(spent.ru_utime + spent.ru_stime for _, spent in used.values()),
        {party: json.loads(output)["sent"] for party, (output, _) in used.items()},
        {party: spent.ru_maxrss / 1024 for party, (_, spent) in used.items()},
    )
    return found, {name: releases[0].files()[name] for name in releases[0].data_files()}


def free_ports(how_many: int) -> list[int]:
    """Return ports that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(how_many)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports


def ended(process: subprocess.Popen[str]) -> tuple[str, Any]:
    """Wait for an owner; return what it printed and what it and its worker used."""
    output = process.stdout.read() if process.stdout else ""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("An owner failed; its own message is above.")
    return output, usage


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=20_000, help="of the made-up table")
    parser.add_argument("--splits", type=int, default=8, help="of the made-up table")
    parser.add_argument("--owners", type=int, nargs="+", default=[2, 3, 5, 10])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--protocols", nargs="+", choices=NODES, default=["cheetah"])
    parser.add_argument("--mechanism", choices=["specialization", "marginals", "copula"], default="specialization")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)


def measure(given: argparse.Namespace) -> Measuring:
    if given.run:
        raise SystemExit(pickle.loads(given.run.read_bytes()).run())
    if given.data is not None:
        agreement, table = adult_agreement(given.data, "1", n=30_000), read_adult(given.data)[0]
    else:
        made_up = made_up_table(given.records, given.splits)
        agreement, parts = made_up.agreement, made_up.frames
        table = pd.concat([part.drop(columns="y", errors="ignore") for part in parts.values()], axis=1)
        table["y"] = parts["a"]["y"]
    if given.mechanism != "specialization":
        content = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
        agreement = cp.agreement_from_mapping(content | {"mechanism": {"name": given.mechanism}})
    first: dict[str, Measured] = {}
    published: dict[str, dict[str, bytes]] = {}
    for way, protocol, owners in itertools.product(given.ways, given.protocols, given.owners):
        if owners < NODES[protocol]:
            continue
        found, files = measure_release(*dealt(agreement, table, owners, way, protocol), way, protocol)
        if files != published.setdefault(protocol, files):
            raise AssertionError(f"{way}, {protocol}, {owners} owners: another release, although coins are the same")
        beside, sent = first.setdefault(way, found), list(found.mib_sent.values())
        guests = sent[NODES[protocol] :]
        yield (
            f"{found.records:,} records",
            {
                "spread": way,
                "protocol": protocol,
                "owners": owners,
                "seconds": found.seconds,
                "CPU s of all": found.cpu_seconds,
                "CPU s, beside the first": found.cpu_seconds / beside.cpu_seconds,
                "MiB a node sends": max(sent[: NODES[protocol]]),
                "MiB a guest sends": max(guests) if guests else NOT_THERE,
                "largest process, MiB": max(found.peak_mib.values()),
            },
        )


if __name__ == "__main__":
    run(sys.modules[__name__])
