"""Time, traffic and memory of comparing the people of more than two owners, by a helper and among the owners.

    make benchmark-alignment_of_many

Every owner, and the helper, is a process of its own; messages go over sockets of this machine. Half of each owner's
identifiers are common to all. On fewer cores than owners they wait for each other, so the table has processor time
too: with a core for every owner and a fast network the whole takes about as long as the busiest owner and, along the
chain, the others' turns. Memory is the peak of each process while it compares, with what it had before in brackets.
Linux alone.

helper  `PseudonymJoin.common`: a party without data compares keyed digests
chain   `PaddedChain.common`: each owner finds its part of what is common to those before it
search  `any_shared` in both ways, with lists padded to a public length: whether any person is at two owners
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from copublish.engines.comparing.comparison import comparison_by
from copublish.party.local.messenger import Ends, PipeMessenger, pipes_between
from measuring import NOT_THERE, Measuring, run
from process_numbers import MIB, Watch

HELPER = "helper"
SHORT = ("--owners", "3", "--identifiers", "60", "--length", "40")
OPTIONAL = ("found", "CPU s of a party")
"""Nobody is at two owners of a search; and what takes less than a hundredth of a second is not counted."""


@dataclass(frozen=True)
class Measured:
    """One comparison.

    Attributes:
        name: In which way.
        owners: How many.
        identifiers: Of each owner.
        length: What lists are padded to, if to a public length.
        found: How many are common; or, in a search, whether any person is at two owners.
        seconds: Of the slowest.
        cpu_seconds: Processor time of each party.
        mib_sent: By each party.
        peak_mib: Of each party while it compared.
        before_mib: What it had before.
    """

    name: str
    owners: int
    identifiers: int
    length: int | None
    found: int
    seconds: float
    cpu_seconds: dict[str, float]
    mib_sent: dict[str, float]
    peak_mib: dict[str, float]
    before_mib: dict[str, float]


def identifiers(owner: int, n: int) -> Iterator[str]:
    """Yield an owner's identifiers in an order that tells nothing: half are everybody's, half its own."""
    step = 7_368_787  # a prime, so that the numbers below go round the list
    for i in range(n):
        number = i * step % n
        yield f"customer-{number:09d}" if number < n // 2 else f"customer-{owner}-{number:09d}"


def party(
    pipe: Connection, name: str, parties: tuple[str, ...], ends: Ends, helped: bool, n: int, length: int | None
) -> None:
    """Compare as a release does."""
    owners = tuple(other for other in parties if other != HELPER)
    is_owner = name in owners
    own = list(identifiers(owners.index(name), n)) if is_owner else []
    if length is not None:  # where every owner has other people
        own = [identifier for identifier in own if identifier.count("-") > 1]
    messenger = PipeMessenger(name, parties, ends, timeout_seconds=3600)
    comparison = comparison_by(messenger, owners, HELPER if helped else None)
    pipe.send("ready")
    pipe.recv()
    with Watch(own=os.getpid()) as watch:
        found = len(comparison.common(own)) if length is None else int(comparison.any_shared(own, length))
    pipe.send({**watch.result(found), "mib_sent": messenger.bytes_sent / MIB})
    pipe.recv()


def measure_comparison(owners: int, n: int, *, helped: bool, length: int | None = None) -> Measured:
    """Let owners compare, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    names = tuple(f"owner-{number}" for number in range(owners))
    parties = (*names, HELPER) if helped else names
    ends, pipes, processes = pipes_between(parties), {}, []
    for name in parties:
        pipes[name], there = context.Pipe()
        process = context.Process(target=party, args=(there, name, parties, ends[name], helped, n, length))
        process.start()
        processes.append(process)
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
    found = {results[name]["common"] for name in names}
    if len(found) > 1:
        raise RuntimeError("The owners found different numbers of people.")
    way = ("helper" if helped else "owners") if length is not None else ("helper" if helped else "chain")
    return Measured(
        name=way if length is None else f"search, {way}",
        owners=owners,
        identifiers=n if length is None else n - n // 2,
        length=length,
        found=found.pop(),
        seconds=max(result["seconds"] for result in results.values()),
        cpu_seconds={name: result["cpu_seconds"] for name, result in results.items()},
        mib_sent={name: result["mib_sent"] for name, result in results.items()},
        peak_mib={name: result["peak_mib"]["own"] for name, result in results.items()},
        before_mib={name: result["before_mib"]["own"] for name, result in results.items()},
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--owners", type=int, default=5)
    parser.add_argument("--identifiers", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=100_000, help="of padded lists in a search")


def measure(given: argparse.Namespace) -> Measuring:
    for length in (None, given.length):
        for helped in (True, False):
            found = measure_comparison(given.owners, given.identifiers, helped=helped, length=length)
            padded = NOT_THERE if length is None else length
            for name in found.mib_sent:
                yield (
                    f"{found.owners} owners",
                    {
                        "way": found.name,
                        "party": name,
                        "identifiers": found.identifiers,
                        "padded to": padded,
                        "found": found.found,
                        "seconds of all": found.seconds,
                        "CPU s of a party": found.cpu_seconds[name],
                        "MiB sent": found.mib_sent[name],
                        "peak, MiB": found.peak_mib[name],
                        "it had before, MiB": found.before_mib[name],
                    },
                )


if __name__ == "__main__":
    run(sys.modules[__name__])
