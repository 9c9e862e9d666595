"""Running the two parties of the secure engine in processes of their own, for tests."""

from __future__ import annotations

import multiprocessing
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from copublish.engine.spu import SpuEngine

PARTIES = ("p0", "p1")


def run_parties(job: Callable[..., Any], *arguments: Any, timeout_seconds: int = 120) -> list[Any]:
    """Run `job(engine, *arguments)` at both parties and return both results; an exception comes back as its text."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="copublish-test-") as folder:
        addresses = tuple(f"unix:{folder}/{party}.sock" for party in PARTIES)
        pipes, processes = [], []
        for party in PARTIES:
            here, there = context.Pipe()
            process = context.Process(target=_party, args=(there, party, addresses, job, arguments, timeout_seconds))
            process.start()
            there.close()
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
) -> None:
    try:
        with SpuEngine(party, PARTIES, addresses, timeout_seconds=timeout_seconds) as engine:
            result = job(engine, *arguments)
    except BaseException as exc:
        result = f"{type(exc).__name__}: {exc}\n{traceback.format_exc()}"
    pipe.send(result)
