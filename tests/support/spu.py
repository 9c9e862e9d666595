"""Running the two parties of the secure engine in processes of their own, for tests."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import copublish as cp
from copublish.engines.comparing.comparison import comparison_by
from copublish.engines.spu.engine import SpuEngine
from copublish.kernel.certificate.comparing import way_of
from copublish.mechanisms.registry import plan_of
from copublish.party.local.messenger import Ends, PipeMessenger, pipes_between
from copublish.party.local.processes import throwaway_ledger
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows.reading import read_fragment
from support.processes import context

PARTIES = ("p0", "p1")


def run_parties(job: Callable[..., Any], *arguments: Any, timeout_seconds: int = 120) -> list[Any]:
    """Run `job(engine, *arguments)` at both parties and return both results; an exception comes back as its text."""
    with tempfile.TemporaryDirectory(prefix="copublish-test-") as folder:
        addresses = tuple(f"unix:{folder}/{party}.sock" for party in PARTIES)
        pipes, processes, ends = [], [], pipes_between(PARTIES)
        for party in PARTIES:
            here, there = context().Pipe()
            given = (there, party, addresses, job, arguments, timeout_seconds, ends[party])
            process = context().Process(target=_party, args=given)
            process.start()
            _close(there, ends[party])
            pipes.append(here)
            processes.append(process)
        results = []
        for pipe in pipes:
            try:
                results.append(pipe.recv() if pipe.poll(timeout_seconds + 60) else "no answer")
            except EOFError:
                results.append("died")
        for process in processes:
            process.join(timeout=5)
            if process.is_alive():
                process.kill()
    return results


def _party(
    pipe: Connection,
    party: str,
    addresses: tuple[str, ...],
    job: Callable[..., Any],
    arguments: tuple[Any, ...],
    timeout_seconds: int,
    ends: Ends,
    **sessions: Any,
) -> None:
    try:
        with SpuEngine(party, PARTIES, addresses, timeout_seconds=timeout_seconds, **sessions) as engine:
            engine._messenger_of_tests = PipeMessenger(party, PARTIES, ends, timeout_seconds)
            result = job(engine, *arguments)
    except BaseException as exc:
        result = f"{type(exc).__name__}: {exc}\n{traceback.format_exc()}"
    pipe.send(result)


def _close(there: Connection, ends: Ends) -> None:
    """Close what a process that was started has of its own now."""
    there.close()
    for end in ends.values():
        end.close()


class Pair:
    """Two parties that stay and do one job after another, because starting them takes seconds.

    Jobs are functions of a module that a new process can import; they get the party's engine and its own argument.
    """

    def __init__(self, timeout_seconds: int = 120, *, shards: int = 1, lanes: int = 0) -> None:
        self._timeout = timeout_seconds
        self._folder = tempfile.TemporaryDirectory(prefix="copublish-test-")
        addresses = tuple(f"unix:{self._folder.name}/{party}.sock" for party in PARTIES)
        further = [tuple(f"{address}{lane}" for address in addresses) for lane in range(lanes)]
        self.pipes, self.processes, ends = [], [], pipes_between(PARTIES)
        for party in PARTIES:
            here, there = context().Pipe()
            arguments = (there, party, addresses, _do_jobs, (there,), timeout_seconds, ends[party])
            sessions = {"shards": shards, "lanes": further}
            self.processes.append(context().Process(target=_party, args=arguments, kwargs=sessions))
            self.processes[-1].start()
            _close(there, ends[party])
            self.pipes.append(here)

    def do(self, job: Callable[..., Any], one: Any, other: Any) -> list[Any]:
        """Run `job(engine, argument)` at both parties; return both results, or an exception's text for one."""
        self.start(job, one, other)
        return [self.answer(number) for number in range(2)]

    def publish(self, agreement: cp.Agreement, frames: Mapping[str, Any], coins: Mapping[str, Any]) -> list[cp.Release]:
        """Run one release between the two under these coins; return it as each of them has it."""
        released = self.do(publish, *((agreement, frames[party], coins[party]) for party in PARTIES))
        assert not any(isinstance(release, str) for release in released), released
        return released

    def start(self, job: Callable[..., Any], one: Any, other: Any) -> None:
        for pipe, argument in zip(self.pipes, (one, other), strict=True):
            pipe.send((job, argument))

    def answer(self, number: int) -> Any:
        try:
            return self.pipes[number].recv() if self.pipes[number].poll(self._timeout + 60) else "no answer"
        except EOFError:
            return "died"

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(timeout=10)
            if process.is_alive():
                process.kill()
                process.join()
        self._folder.cleanup()


def publish(engine: SpuEngine, argument: tuple[cp.Agreement, Any, Any]) -> cp.Release:
    """Run the main path at one party."""
    agreement, frame, engine.own_coins = argument
    fragment = read_fragment(agreement, engine.party, frame)
    plan = plan_of(agreement)
    if way_of(agreement) in ("rounds", "hidden"):
        engine.comparison = comparison_by(engine._messenger_of_tests, agreement.owners, agreement.helper)
    return publish_release(plan, fragment, engine, throwaway_ledger(plan), no_progress)


def _do_jobs(engine: SpuEngine, pipe: Connection) -> None:
    while True:
        try:
            job, argument = pipe.recv()
        except EOFError:
            return
        pipe.send(job(engine, argument))


def publish_and_count(engine: SpuEngine, argument: tuple[cp.Agreement, Any, Any]) -> tuple[str, int]:
    """Run the main path at one party; return how it ended, and how many bytes its engine sent."""
    before = engine.bytes_sent
    try:
        ended = type(publish(engine, argument)).__name__
    except cp.CopublishError as exc:
        ended = type(exc).__name__
    return ended, engine.bytes_sent - before
