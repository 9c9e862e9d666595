"""Passing bytes between two connections at a relay, until either ends, both are silent, or their time is up."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from dataclasses import dataclass, field

CHUNK = 64 * 1024


@dataclass
class OneWay:
    """What one side has said to the other so far.

    Attributes:
        n_bytes: How much.
        last_heard: When it last said something.
        is_held_up: Whether the other side has not taken yet what was said.
    """

    n_bytes: int = 0
    last_heard: float = field(default_factory=time.monotonic)
    is_held_up: bool = False

    def silent_seconds(self) -> float:
        """How long it has said nothing, though it could have been passed on."""
        return 0.0 if self.is_held_up else time.monotonic() - self.last_heard


@dataclass(frozen=True)
class Side:
    """One of two connections."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def pass_both_ways(
    sides: tuple[Side, Side], ways: tuple[OneWay, OneWay], *, silent_seconds: float, most_seconds: float
) -> str:
    """Pass on what two sides say to each other; return why it ended.

    Args:
        sides: The connections.
        ways: What the first and what the second one says, which is counted there.
        silent_seconds: How long both may say nothing. Parties give signs of life.
        most_seconds: How long it may last in all.
    """
    one, other = sides
    passing = {
        asyncio.create_task(pass_on(one.reader, other.writer, ways[0])),
        asyncio.create_task(pass_on(other.reader, one.writer, ways[1])),
    }
    deadline = time.monotonic() + most_seconds
    try:
        while True:
            silent = min(way.silent_seconds() for way in ways)
            left = min(silent_seconds - silent, deadline - time.monotonic())
            if left <= 0:
                return "too long" if silent < silent_seconds else "silent"
            done, _ = await asyncio.wait(passing, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return "closed"
    finally:
        for task in passing:
            task.cancel()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: OneWay) -> None:
    """Pass on what one side says until it ends. A side that takes nothing keeps the other one waiting, not memory."""
    with contextlib.suppress(OSError, ssl.SSLError):
        while data := await reader.read(CHUNK):
            way.n_bytes, way.last_heard, way.is_held_up = way.n_bytes + len(data), time.monotonic(), True
            writer.write(data)
            await writer.drain()
            way.last_heard, way.is_held_up = time.monotonic(), False
