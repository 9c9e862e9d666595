"""Time, traffic and memory of private set intersection between two processes, beside the bare call and plain sets.

    make benchmark-alignment

The parties are connected as by `copublish run`, over mutual TLS. Half of each party's identifiers are common.
Times on shared machines are noisy, so the table gives ratios within one run. Start-up (loading SPU, connecting) is not
in the times. Memory is the peak of each process while it aligns, with what it had before in brackets. Linux alone.

engine  what a release does: `SpuEngine.align`, from identifiers to positions in a common order
bare    `spu.psi.psi_execute` on files that lie there already, identifiers in the clear, and no more
plain   Python's set intersection in one process that sees both lists
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from copublish.agreement.protocol.table import CAN_PAY
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.intersection import remove_traces
from copublish.engines.spu.requests import LinkSettings
from copublish.engines.spu.worker import Worker
from measuring import NOT_THERE, Measuring, run
from process_numbers import MIB, Watch

PARTIES = ("a", "b")
SHORT = ("--sizes", "2000")
TIMEOUT_SECONDS = 600


@dataclass
class Meeting:
    """Where the parties meet.

    Attributes:
        addresses: For each party the addresses of all parties as it sees them; it listens at its own.
        bytes_sent: Bytes that went between the parties so far, both directions.
    """

    addresses: tuple[tuple[str, ...], ...]
    bytes_sent: Callable[[], int]


Meet = Callable[[], AbstractContextManager[Meeting]]
"""How the parties are connected: any function like `mutual_tls`."""


@contextmanager
def mutual_tls() -> Iterator[Meeting]:
    """Connect the parties as `copublish run` does: through a port each, over mutual TLS."""
    from copublish.agreement.loading import load_agreement
    from copublish.agreement.parties import Party
    from copublish.party.keys.identity import new_identity
    from copublish.party.network.port import Port
    from copublish.tools.drafting.demo import example_agreement

    with tempfile.TemporaryDirectory(prefix="copublish-benchmark-") as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "agreement.toml").write_text(example_agreement())
        identities = {party: new_identity(party, folder / f"identity-{party}", days=1) for party in PARTIES}
        agreed = {}
        for party, identity in identities.items():
            with socket.create_server(("127.0.0.1", 0)) as free:
                host = f"127.0.0.1:{free.getsockname()[1]}"
            agreed[party] = Party(host=host, certificate=identity.fingerprint)
        agreement = load_agreement(folder / "agreement.toml").model_copy(update={"parties": agreed})
        ports = {party: stack.enter_context(Port(agreement, party, identities[party])) for party in PARTIES}
        for party, other in (PARTIES, PARTIES[::-1]):
            ports[party].carry_engine("0" * 64, folder / party, folder / f"from-{party}", other)
        seen_by = tuple(
            tuple(f"unix:{folder / (party if party == own else f'from-{own}')}" for party in PARTIES) for own in PARTIES
        )
        yield Meeting(seen_by, lambda: sum(port.bytes_sent for port in ports.values()))


def identifiers(party: int, n: int) -> Iterator[str]:
    """Yield a party's identifiers, half of them common, in an order that tells nothing."""
    step = 7_368_787  # a prime, so that the numbers below go round the list
    for i in range(n):
        yield f"customer-{(i * step % n) + party * (n // 2):09d}"


def engine_party(pipe: Connection, number: int, addresses: tuple[str, ...], n: int) -> None:
    """Align as a release does."""
    import pyarrow as pa  # here, because the engine's worker loads what stands at the top of this file, too

    from copublish.rows.identifiers import IdentifierColumn

    people = iter(identifiers(number, n))
    batches = [pa.array([next(people) for _ in range(min(65_536, n - start))]) for start in range(0, n, 65_536)]
    column = IdentifierColumn(batches)
    with SpuEngine(PARTIES[number], PARTIES, addresses, timeout_seconds=TIMEOUT_SECONDS) as engine:
        engine.exchange(CAN_PAY, "can pay")
        pipe.send("ready")
        pipe.recv()
        with Watch(party=os.getpid(), worker=engine._worker.process.pid or 0) as watch:
            common = len(engine.align(column))
        pipe.send(watch.result(common))


def bare_party(pipe: Connection, number: int, addresses: tuple[str, ...], n: int) -> None:
    """Call SPU's private set intersection on a file and do nothing else."""
    with tempfile.TemporaryDirectory(prefix="copublish-benchmark-") as folder:
        os.chdir(folder)
        os.environ["TMPDIR"] = folder
        for terminal in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), terminal)
        import spu.psi as psi

        with Path(folder, "own.csv").open("w") as lines:
            lines.write("id\n")
            lines.writelines(f"{identifier}\n" for identifier in identifiers(number, n))
        link = Worker(LinkSettings(number, addresses, TIMEOUT_SECONDS, folder))._link
        link.all_gather("ready")
        pipe.send("ready")
        pipe.recv()
        config = psi.PsiExecuteConfig(
            protocol_conf=psi.PsiProtocolConfig(
                protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=0, broadcast_result=True
            ),
            input_params=psi.InputParams(path=f"{folder}/own.csv", selected_keys=["id"], keys_unique=True),
            output_params=psi.OutputParams(path=f"{folder}/common.csv", disable_alignment=False),
        )
        with Watch(party=os.getpid()) as watch:
            common = psi.psi_execute(config, link).intersection_count
        remove_traces()
        link.stop_link()
        pipe.send(watch.result(common))
    os._exit(0)  # SPU's threads would otherwise be torn down in an order that can crash


@dataclass(frozen=True)
class Measured:
    """One intersection.

    Attributes:
        cpu_seconds: Processor time of all processes: less disturbed by others on the machine than `seconds`.
        peak_mib: Peak of each process while it aligned.
        before_mib: What it had before.
    """

    name: str
    identifiers: int
    common: int
    seconds: float
    cpu_seconds: float = 0
    mib_sent: float = 0
    peak_mib: dict[str, float] = field(default_factory=dict)
    before_mib: dict[str, float] = field(default_factory=dict)


def measure_parties(name: str, party: Callable[..., None], n: int, meet: Meet) -> Measured:
    """Run two parties and let them align at the same time."""
    context = multiprocessing.get_context("spawn")
    with meet() as meeting:
        pipes, processes = [], []
        for number in range(len(PARTIES)):
            here, there = context.Pipe()
            processes.append(context.Process(target=party, args=(there, number, meeting.addresses[number], n)))
            processes[-1].start()
            there.close()
            pipes.append(here)
        for pipe in pipes:
            pipe.recv()
        before = meeting.bytes_sent()
        for pipe in pipes:
            pipe.send("go")
        results = [pipe.recv() for pipe in pipes]
        sent = meeting.bytes_sent() - before
        for process in processes:
            process.join()
    if results[0]["common"] != results[1]["common"]:
        raise RuntimeError("The parties found different numbers of common identifiers.")
    return Measured(
        name,
        n,
        results[0]["common"],
        max(result["seconds"] for result in results),
        sum(result["cpu_seconds"] for result in results),
        sent / MIB,
        _by_process(results, "peak_mib"),
        _by_process(results, "before_mib"),
    )


def _by_process(results: list[dict[str, Any]], what: str) -> dict[str, float]:
    return {
        f"{process} {party}": mib
        for party, result in zip(PARTIES, results, strict=True)
        for process, mib in result[what].items()
    }


def plain(n: int) -> Measured:
    """Intersect both lists in the clear, in this process."""
    lists = [list(identifiers(number, n)) for number in range(len(PARTIES))]
    start = time.perf_counter()
    common = len(set(lists[0]) & set(lists[1]))
    seconds = time.perf_counter() - start
    return Measured("plain sets, in the clear", n, common, seconds, seconds)


def compare(n: int, meet: Meet) -> list[Measured]:
    """Measure all three for one size."""
    runs = [
        measure_parties("engine", engine_party, n, meet),
        measure_parties("bare spu.psi", bare_party, n, meet),
        plain(n),
    ]
    if len({run.common for run in runs}) > 1:
        raise RuntimeError("The intersections differ.")
    return runs


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])


def measure(given: argparse.Namespace) -> Measuring:
    for n in given.sizes:
        runs = compare(n, mutual_tls)
        for found in runs:
            is_plain = not found.peak_mib
            yield (
                f"{n:,} against {n:,} identifiers",
                {
                    "way": found.name,
                    "common": found.common,
                    "seconds": found.seconds,
                    "engine / this, seconds": runs[0].seconds / found.seconds,
                    "CPU s": found.cpu_seconds,
                    "MiB sent": NOT_THERE if is_plain else found.mib_sent,
                    "largest process, MiB": NOT_THERE if is_plain else max(found.peak_mib.values()),
                    "it had before, MiB": NOT_THERE if is_plain else max(found.before_mib.values()),
                },
            )


if __name__ == "__main__":
    run(sys.modules[__name__])
