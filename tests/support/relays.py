"""Relays in this process: one that does its work, and ones that record, delay, change or end what they pass on."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from copublish.cli.relay_command import _context
from copublish.party.network import relay as passing
from copublish.party.network.dialing import listen_at
from copublish.party.network.relay import Limits, Relay
from support.node import free_port

Meddle = Callable[[bytes, int], Awaitable[bytes | None]]
"""Given what one side said and how many bytes it had said before, what the other side gets; nothing for the end."""


class RunningRelay:
    """A relay on loopback, in a thread of its own.

    Attributes:
        address: As an agreement names it.
        log: What it logged.
    """

    def __init__(self, limits: Limits | None = None, meddle: Meddle | None = None, timeout_seconds: int = 30) -> None:
        port = free_port()
        self.address, self.log = f"127.0.0.1:{port}", list[tuple[str, dict[str, Any]]]()
        listener = listen_at(("127.0.0.1", port), ("127.0.0.1", port), secure=True)
        context, is_up = _context(None), threading.Event()

        async def serve() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            self.relay = Relay(
                context,
                lambda event, **facts: self.log.append((event, facts)),
                limits=limits,
                timeout_seconds=timeout_seconds,
            )
            is_up.set()
            await self.relay.serve(listener)

        def run() -> None:
            meddling = mock.patch.object(passing, "pass_on", _meddling(meddle)) if meddle else contextlib.nullcontext()
            with meddling, listener, contextlib.suppress(asyncio.CancelledError):
                asyncio.run(serve())

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        is_up.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [facts for event, facts in self.log if event == name]


@contextmanager
def running_relay(
    limits: Limits | None = None, meddle: Meddle | None = None, timeout_seconds: int = 30
) -> Iterator[RunningRelay]:
    found = RunningRelay(limits, meddle, timeout_seconds)
    try:
        yield found
    finally:
        found.close()


def _meddling(meddle: Meddle) -> Callable[..., Awaitable[None]]:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: passing.OneWay) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            while data := await reader.read(passing.CHUNK):
                changed = await meddle(data, way.n_bytes)
                way.n_bytes, way.last_heard = way.n_bytes + len(data), time.monotonic()
                if changed is None:
                    return
                writer.write(changed)
                await writer.drain()

    return pass_on
