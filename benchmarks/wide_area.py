"""A secure release of Adult between two hosts a wide-area link apart, beside the same release on one host.

    make benchmark-wide_area ADULT=folder-with-adult.data

The hosts are two network namespaces of this machine; the link takes 40 ms there and back and carries 100 Mbit/s each
way. Needs root and Linux. The parties run as `copublish run` does, over mutual TLS. Records are aligned by identifier,
coins are fixed, and start-up and reading of data are included. Each party keeps its compiled programs in a folder of
its own: the first release compiles all of them, the others find them there. Rounds are half the longest chain of
messages on the link, each sent after the one before had come: rounds times 40 ms is what no faster machine would save.
Without --data the table is made up.
"""

from __future__ import annotations

import argparse
import compileall
import os
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
from adult import adult_agreement, read_adult, split_columns
from copublish.agreement.parties import Party as AgreedParty
from copublish.files.home import PROGRAMS_VARIABLE
from copublish.party.keys.identity import new_identity
from measuring import NOT_THERE, Measuring, run
from one_party import Party
from process_numbers import MIB
from secure_release import made_up_table
from support.hosts import TwoHosts, WideArea

PORTS = (7701, 7702)
FIRST, LOOPBACK, WIDE_AREA = "first on loopback", "loopback", "wide-area"
IDENTIFIER = "person"
SHORT = ("--records", "300", "--splits", "2", "--round-trip", "0.002", "--no-first")


@dataclass
class Phase:
    """What the first party waited for: how many times, how long, and what went over the link meanwhile."""

    times: int = 0
    seconds: float = 0.0
    mib: float = 0.0
    rounds: float = 0.0


@dataclass(frozen=True)
class Measured:
    """One release, its processor time, and the memory of the largest process of a party."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_mib: float
    phases: dict[str, Phase]
    files: dict[str, bytes]
    release: cp.Release

    @property
    def total(self) -> Phase:
        """All phases together."""
        phases = self.phases.values()
        return Phase(
            sum(phase.times for phase in phases),
            self.seconds,
            sum(phase.mib for phase in phases),
            sum(phase.rounds for phase in phases),
        )


def measure_release(
    name: str, agreement: cp.Agreement, frames: dict[str, Any], link: WideArea | None, programs: Path | None = None
) -> Measured:
    """Run both parties to the end: at two hosts if there is a link, otherwise at one.

    Args:
        name: What is measured.
        agreement: Without addresses.
        frames: What each party holds.
        link: Between them.
        programs: Where each one's folder of compiled programs is; None for one that both share, the usual one.
    """
    compileall.compile_dir(Path(cp.__file__).parent, quiet=2)  # as installing does
    with TwoHosts(link) as hosts, tempfile.TemporaryDirectory() as folder:
        at = (0, 1) if link else (0, 0)
        agreed = {}
        for party, host, port in zip(agreement.party_names, at, PORTS, strict=True):
            identity = new_identity(party, Path(folder, party), days=1)
            address = f"{hosts.addresses[host]}:{port}"
            agreed[party] = AgreedParty(host=address, certificate=identity.fingerprint)
        agreement = agreement.model_copy(update={"parties": agreed})
        parties = []
        for party in agreement.party_names:
            data = Path(folder, f"{party}.parquet")
            frames[party].to_parquet(data, index=False)
            parties.append(Party(agreement, party, data, Path(folder, party), Path(folder, f"{party}-release")))
        start = time.perf_counter()
        started = [
            hosts.start(
                host,
                party.command(),
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | ({PROGRAMS_VARIABLE: str(programs / party.name)} if programs else {}),
            )
            for host, party in zip(at, parties, strict=True)
        ]
        phases = follow(started[0], hosts if link else None)
        if any(process.wait() for process in started):
            raise SystemExit(f"{name}: a party failed; its own message is above.")
        seconds = time.perf_counter() - start
        cpu = sum(float(party.data.with_suffix(".cpu").read_text()) for party in parties)
        peak = max(float(party.data.with_suffix(".peak").read_text()) for party in parties)
        loaded = [cp.load_release(party.release) for party in parties]
        releases = [release.files() for release in loaded]
    if releases[0] != releases[1]:
        raise SystemExit(f"{name}: the parties hold different releases.")
    return Measured(name, seconds, cpu, peak, phases, releases[0], loaded[0])


def follow(process: subprocess.Popen[str], hosts: TwoHosts | None) -> dict[str, Phase]:
    """Read from a party's output when each phase is done, and put time and traffic down to it."""
    phases: dict[str, Phase] = {}
    before, at = hosts.traffic() if hosts else None, time.perf_counter()
    for line in process.stdout or ():
        name, now = line.strip(), time.perf_counter()
        phase = phases.setdefault(name, Phase())
        phase.times, phase.seconds, at = phase.times + 1, phase.seconds + now - at, now
        if hosts is not None and before is not None:
            traffic = hosts.traffic()
            added, before = traffic.since(before), traffic
            phase.mib += sum(added.bytes) / MIB
            phase.rounds += added.chain / 2
    return phases


def release_to_measure(given: argparse.Namespace) -> tuple[cp.Agreement, dict[str, pd.DataFrame]]:
    """The agreement and what each party holds, in an order of its own."""
    if given.data is not None:
        agreement = adult_agreement(given.data, "1", n=30_000, identifier=IDENTIFIER)
        frames = split_columns(read_adult(given.data)[0])
    else:
        made_up = made_up_table(given.records, given.splits)
        content = made_up.agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
        content["records"] = {"identifier": IDENTIFIER, "expected": given.records}
        agreement, frames = cp.agreement_from_mapping(content), made_up.frames
    persons = np.random.default_rng(0).permutation(len(next(iter(frames.values())))).astype(str)
    return agreement, {
        party: frame.assign(**{IDENTIFIER: persons}).sample(frac=1, random_state=number)
        for number, (party, frame) in enumerate(frames.items())
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", type=int, default=30_000, help="of the made-up table")
    parser.add_argument("--splits", type=int, default=8, help="of the made-up table")
    parser.add_argument("--links", nargs="+", choices=[LOOPBACK, WIDE_AREA], default=[LOOPBACK, WIDE_AREA])
    parser.add_argument(
        "--first", action=argparse.BooleanOptionalAction, default=True, help="begin with one that compiles everything"
    )
    parser.add_argument("--round-trip", type=float, default=0.040, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=100e6, metavar="BITS_PER_SECOND")


def measure(given: argparse.Namespace) -> Measuring:
    agreement, frames = release_to_measure(given)
    wide_area = WideArea(given.round_trip, given.rate)
    if os.geteuid() != 0:
        print("The link between two hosts needs root: loopback alone.", file=sys.stderr)
        given.links = [LOOPBACK]
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder) if given.first else None
        releases = [
            measure_release(name, agreement, frames, wide_area if name == WIDE_AREA else None, programs)
            for name in ([FIRST] if given.first else []) + given.links
        ]
    measured = [
        {name: release.files[name] for name in release.files if name.startswith("measured/")} for release in releases
    ]
    if any(tables != measured[0] for tables in measured):
        raise AssertionError("the releases differ although their coins are the same")
    for release in releases:
        is_linked = release.name == WIDE_AREA
        for name, phase in [*release.phases.items(), ("whole", release.total)]:
            yield (
                f"{release.name}: {1000 * given.round_trip:g} ms, {given.rate / 1e6:g} Mbit/s"
                if is_linked
                else release.name,
                {
                    "phase": name,
                    "times": phase.times,
                    "seconds": phase.seconds,
                    # Phases in which nothing is sent have none; of the whole they must not be 0.
                    "MiB": phase.mib or (None if name == "whole" and is_linked else NOT_THERE),
                    "rounds": phase.rounds or (None if name == "whole" and is_linked else NOT_THERE),
                },
            )
        yield "All releases", {"link": release.name, "seconds": release.seconds, "CPU s": release.cpu_seconds}


if __name__ == "__main__":
    run(sys.modules[__name__])
