"""Multiplying lists of points: in several processes where a list is long and there are cores, else in this one.

The library that multiplies holds Python's lock, so threads gain nothing. A process gets one factor with each chunk of
a list, over a pipe, and ends when the pipe is closed.
"""

from __future__ import annotations

import json
import queue
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Self, cast

import numpy as np

from copublish.engines.comparing.curve import POINT_BYTES, Factor, Points, from_bytes
from copublish.errors import OwnEngineError
from copublish.files.cores import available_cores
from copublish.files.interrupts import deaf_children, forbid_core_dumps
from copublish.progress import Progress, no_progress

CHUNK = 2048
"""Points that are multiplied at once: about a tenth of a second of a core."""

WORTH_A_PROCESS = 10_000
"""Entries of a list for each process: fewer are multiplied sooner than another process has started."""

BEGIN = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from copublish.engines.comparing.multiplying import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""

_HEAD = struct.Struct(f">?{POINT_BYTES}sI")
"""Before a chunk: whether it has digests and no points yet, the factor, and the number of entries."""

_NO_POINT = b"\0"
"""The answer to a chunk that has something else than points; before all others stands another byte."""

Chunk = tuple[bool, Factor, Points]


class Multiplier:
    """Multiplies lists of points, to be used in a `with` statement.

    Args:
        longest: The public length of the longest list.
        progress: Called after each chunk with the number of entries that are done.
        most: The largest number of entries that all lists together have.
        cores: The number of processes that may work at the same time; by default that of available cores.
    """

    def __init__(
        self, longest: int, progress: Progress = no_progress, most: int = 0, *, cores: int | None = None
    ) -> None:
        self._progress, self._most, self._done = progress, most, 0
        number = min(cores or available_cores(), longest // WORTH_A_PROCESS)
        self._workers = [_Worker() for _ in range(number)] if number > 1 else []
        self._threads = ThreadPoolExecutor(len(self._workers)) if self._workers else None
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def times(self, factor: Factor, points: Points) -> Points:
        """Every point multiplied, in the same order.

        Raises:
            ValueError: If one is no point of the curve.
        """
        return self._in_chunks(factor, points, are_digests=False)

    def times_points_of(self, factor: Factor, digests: Points) -> Points:
        """The points of digests, each multiplied, in the same order."""
        return self._in_chunks(factor, digests, are_digests=True)

    def _in_chunks(self, factor: Factor, entries: Points, *, are_digests: bool) -> Points:
        chunks = [(are_digests, factor, entries[start : start + CHUNK]) for start in range(0, len(entries), CHUNK)]
        found = [entries[:0]]
        for multiples in self._each(chunks):
            found.append(multiples)
            self._done += len(multiples)
            self._progress("alignment", self._done, self._most + 1)  # the last step is somebody else's
        return np.concatenate(found)

    def _each(self, chunks: Iterable[Chunk]) -> Iterator[Points]:
        return map(multiplied_chunk, chunks) if self._threads is None else self._threads.map(self._elsewhere, chunks)

    def _elsewhere(self, chunk: Chunk) -> Points:
        worker = self._idle.get()
        try:
            return worker.ask(chunk)
        finally:
            self._idle.put(worker)


def multiplied_chunk(chunk: Chunk) -> Points:
    """One chunk, multiplied in this process.

    Raises:
        ValueError: If it has something else than points.
    """
    are_digests, factor, entries = chunk
    return factor.times_points_of(entries) if are_digests else factor.times(entries)


class _Worker:
    """Another process of this party that multiplies."""

    def __init__(self) -> None:
        with deaf_children():
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and a fixed program
                [sys.executable, "-P", "-c", BEGIN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._to, self._from = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        self._send(json.dumps(sys.path).encode() + b"\n")

    def ask(self, chunk: Chunk) -> Points:
        """One chunk, multiplied there.

        Raises:
            ValueError: If it has something else than points.
            OwnEngineError: If the process has ended.
        """
        are_digests, factor, entries = chunk
        self._send(_HEAD.pack(are_digests, factor.number.to_bytes(POINT_BYTES, "big"), len(entries)), entries.tobytes())
        try:
            if self._from.read(1) == _NO_POINT:
                raise ValueError("no point of the curve")
            multiples = self._from.read(POINT_BYTES * len(entries))
        except OSError:
            raise _lost() from None
        if len(multiples) != POINT_BYTES * len(entries):
            raise _lost()
        return from_bytes(multiples)

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for end in (self._to, self._from):
            with suppress(OSError):  # what was not sent yet
                end.close()

    def _send(self, *parts: bytes) -> None:
        try:
            self._to.write(b"".join(parts))
            self._to.flush()
        except OSError:
            raise _lost() from None


def _lost() -> OwnEngineError:
    return OwnEngineError(
        "A process of this party that compares people was killed. Mostly that is the system, because memory ran out: "
        "look at its log. Nothing is published."
    )


def serve(inward: IO[bytes], outward: IO[bytes]) -> None:
    """Multiply what comes until nothing comes any more: the other end of a `_Worker`."""
    forbid_core_dumps()
    while head := inward.read(_HEAD.size):
        are_digests, number, n = _HEAD.unpack(head)
        factor, entries = Factor.of(int.from_bytes(number, "big")), from_bytes(inward.read(POINT_BYTES * n))
        try:
            outward.write(b"\1" + multiplied_chunk((are_digests, factor, entries)).tobytes())
        except ValueError:
            outward.write(_NO_POINT)
        outward.flush()
