"""Time, traffic and memory of putting people into rows so that no owner learns who is common.

    make benchmark-hidden_join

Every party is a process of its own; messages go over sockets of this machine. Half of each owner's identifiers are
common, and lists are as long as their public lengths. Where parties share cores they wait for each other, so the table
has processor time too: with the stated cores for each owner and a fast network the whole takes about the busiest
owner's processor time divided by its cores. Processor time and memory are of a party with the processes that multiply
for it; memory is the sum of their peaks. Linux alone.

owners  `TwoOwnersJoin.place`: two owners by points of a curve, with noise on the number of common people
helper  `PseudonymJoin.place`: a party without data draws rows for pseudonyms
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path

from copublish.agreement.model import MEMBERSHIP_DELTA
from copublish.engines.comparing.comparison import comparison_by
from copublish.files.cores import available_cores
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.party.local.messenger import Ends, PipeMessenger, pipes_between
from measuring import Measuring, run
from process_numbers import MIB, cpu_seconds, memory_mib

OWNERS, HELPER = ("a", "b"), "helper"
SHORT = ("--identifiers", "60", "--epsilon", "1")
OPTIONAL = ("CPU s of a party",)
"""What takes less than a hundredth of a second is not counted."""

LOOK_SECONDS = 0.05


def identifiers(owner: int, n: int) -> Iterator[str]:
    """Yield an owner's identifiers: half are at both, half its own."""
    for number in range(n):
        yield f"customer-{number:09d}" if number < n // 2 else f"customer-{owner}-{number:09d}"


class Children:
    """The largest memory of each process that this one starts while something runs, all of them together."""

    def __enter__(self) -> Children:
        self._peaks: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def mib(self) -> float:
        return sum(self._peaks.values())

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            # Those of the thread that started them.
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                with suppress(OSError, StopIteration):  # it may have ended meanwhile
                    self._peaks[child] = memory_mib(child, "VmHWM")


def party(pipe: Connection, name: str, parties: tuple[str, ...], ends: Ends, join: HiddenJoin, n: int) -> None:
    """Place people as a release does."""
    own = list(identifiers(OWNERS.index(name), n)) if name in OWNERS else []
    messenger = PipeMessenger(name, parties, ends, timeout_seconds=3600)
    comparison = comparison_by(messenger, OWNERS, HELPER if join.size is None else None)
    pipe.send("ready")
    pipe.recv()
    before, start = cpu_seconds(with_children=True), time.perf_counter()
    with Children() as children:
        placement = comparison.place(own, join)
    pipe.send(
        {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": cpu_seconds(with_children=True) - before,
            "mib": memory_mib("self", "VmHWM") + children.mib,
            "mib_sent": messenger.bytes_sent / MIB,
            "rows": placement.n_rows,
        }
    )
    pipe.recv()


def measure_join(join: HiddenJoin, n: int) -> dict[str, dict[str, float]]:
    """Let the parties place people, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    parties = OWNERS if join.size is not None else (*OWNERS, HELPER)
    ends, pipes, processes = pipes_between(parties), {}, []
    for name in parties:
        pipes[name], there = context.Pipe()
        processes.append(context.Process(target=party, args=(there, name, parties, ends[name], join, n)))
        processes[-1].start()
        there.close()
        for end in ends[name].values():
            end.close()
    for word in ("ready", None):
        for pipe in pipes.values():
            pipe.recv() if word else pipe.send("go")
    results = {name: pipe.recv() for name, pipe in pipes.items()}
    for pipe in pipes.values():
        pipe.send("done")
    for process in processes:
        process.join()
    if len({result["rows"] for result in results.values()}) > 1:
        raise RuntimeError("The parties have different tables.")
    return results


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--identifiers", type=int, default=100_000, help="of each owner")
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1, 10), help="of the number of common people")


def measure(given: argparse.Namespace) -> Measuring:
    n = given.identifiers
    lengths = dict.fromkeys(OWNERS, n)
    for way, size in (("owners", HiddenSize(given.epsilon, MEMBERSHIP_DELTA)), ("helper", None)):
        results = measure_join(HiddenJoin(lengths, size), n)
        for name, result in results.items():
            yield (
                f"{n:,} and {n:,} identifiers, {available_cores()} cores",
                {
                    "way": way,
                    "party": name,
                    "rows": result["rows"],
                    "seconds of all": max(other["seconds"] for other in results.values()),
                    "CPU s of a party": result["cpu_seconds"],
                    "MiB sent": result["mib_sent"],
                    "peak, MiB": result["mib"],
                },
            )


if __name__ == "__main__":
    run(sys.modules[__name__])
