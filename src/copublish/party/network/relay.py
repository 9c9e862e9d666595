"""A relay: joins two outgoing connections of parties that cannot be dialed, and passes bytes that it cannot read.

It passes them until either end closes, both are silent, or their time is up.

It has no data and no keys of anybody, and knows no agreement: a place is a number that two parties know
(`relay_talk.py`). What it sees is what any network sees: from which addresses, when and how much. Everything about it
is bounded, because anybody can connect: connections that wait and that are joined, of one address and in all, what they
may say before, how long they may stay, and what is logged about them.

Privacy:
    Reveals: to whoever runs it, addresses, times and amounts. Content has TLS of its own, end to end, and a relay that
    changes, delays or ends it can keep parties from publishing, and no more.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from copublish.agreement.protocol.message import Word, WrongWordError, read_word
from copublish.agreement.protocol.table import ALIVE, JOINED, NOBODY_WAITS, REFUSED, RELAY_GREETING, RELAY_PROTOCOL
from copublish.errors import plain_text
from copublish.party.log import RationedLog
from copublish.party.network.channel import LENGTH
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS, Places, tune

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


SPARE_FILES = 64


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What strangers may take.

    Attributes:
        waiting: Connections in all that are not joined.
        of_one_address: The same, of one address; a whole organization may be behind one. A party keeps two connections
            for each other party that dials out.
        at_one_place: Those that wait at one place. A party keeps two there; an older one makes room for a newer one.
        pairs: Connections that are joined, in pairs.
        joined_of_one_address: Connections of one address that are joined, or call. Two parties of a run have six pairs
            at most times.
        hello_seconds: How long a connection may take to say what it is for.
        wait_seconds: How long one may wait to be called. Parties come again.
        call_seconds: How long a call waits for somebody.
        sign_seconds: How often who waits is asked for a sign of life, and how long it may take.
        silent_seconds: How long a pair may say nothing. Parties say a word every 20 seconds.
        pair_seconds: How long a pair may last.
        log_lines: How many events of a kind are logged in a minute; the others are counted.
    """

    waiting: int = 512
    of_one_address: int = 128
    at_one_place: int = 4
    pairs: int = 1024
    joined_of_one_address: int = 512
    hello_seconds: float = 10.0
    wait_seconds: float = 900.0
    call_seconds: float = 4.0
    sign_seconds: float = SIGN_OF_LIFE_SECONDS
    silent_seconds: float = 9 * SIGN_OF_LIFE_SECONDS
    pair_seconds: float = 7 * 24 * 3600.0
    log_lines: int = 60

    @staticmethod
    def of(*, waiting: int, pairs: int) -> Limits:
        """Limits of a larger or smaller relay: one address may have a quarter, or as many as at a usual one."""
        return Limits(
            waiting=waiting,
            of_one_address=max(Limits.of_one_address, waiting // 4),
            pairs=pairs,
            joined_of_one_address=max(Limits.joined_of_one_address, 2 * pairs // 4),
        )

    @property
    def files(self) -> int:
        """How many files a relay needs that is as full as it may be."""
        return self.waiting + 2 * self.pairs + SPARE_FILES


class _RefusedError(Exception):
    """A connection that is turned away, and why."""


@dataclass(eq=False)
class _Guest:
    """One connection.

    Attributes:
        called: Who calls it where it waits; none if it has to leave.
        accepted: Where it calls, whether it was joined with who waits there.
    """

    address: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    has_place: bool = True
    called: asyncio.Future[_Guest | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    accepted: asyncio.Future[bool] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def say(self, word: Word, content: object = True) -> None:
        body = word.spelled(content)
        self.writer.write(LENGTH.pack(len(body)) + body)
        await self.writer.drain()

    async def hear(self, expected: Word) -> Any:
        (length,) = LENGTH.unpack(await self.reader.readexactly(LENGTH.size))
        if length > expected.max_bytes:  # before a byte of it is read
            raise _RefusedError("it does not speak as parties do")
        try:
            _, content = read_word(await self.reader.readexactly(length), (expected,), "It")
        except WrongWordError:
            raise _RefusedError("it does not speak as parties do") from None
        return content


class Relay:
    """Places where connections wait for each other.

    Args:
        context: TLS with a certificate that nobody has to trust.
        log: Told who came, when, and how much was passed on.
        limits: What strangers may take.
        timeout_seconds: How long a connection may be dead before it counts as broken.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        log: Callable[..., None],
        *,
        limits: Limits | None = None,
        timeout_seconds: int = 600,
    ) -> None:
        self._context, self._timeout = context, timeout_seconds
        self._limits = limits or Limits()
        self._log = RationedLog(log, self._limits.log_lines)
        self._room = Places(self._limits.of_one_address, self._limits.waiting)
        self._places: dict[str, list[_Guest]] = {}
        self._arrived = asyncio.Condition()
        self._joined = Places(self._limits.joined_of_one_address, 2 * self._limits.pairs)

    async def serve(self, listener: socket.socket) -> None:
        """Accept connections for ever."""
        listener.setblocking(False)
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        while True:
            try:
                sock, address = await loop.sock_accept(listener)
            except OSError:  # out of files for a moment, say
                await asyncio.sleep(0.05)
                continue
            came_from = str(address[0])
            # Before the handshake, which costs us more than whoever asks for it.
            if not self._room.enter(came_from):
                self._refused(came_from, "too many connections wait")
                sock.close()
                continue
            task = asyncio.create_task(self._attend(sock, came_from))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _attend(self, sock: socket.socket, came_from: str) -> None:
        guest: _Guest | None = None
        try:
            tune(sock, self._timeout)
            async with asyncio.timeout(self._limits.hello_seconds):
                guest = await self._welcome(sock, came_from)
                role, place = _understand(await guest.hear(RELAY_GREETING))
            await (self._wait(guest, place) if role == "wait" else self._call(guest, place))
        except _RefusedError as exc:
            self._refused(came_from, str(exc))
            if guest is not None:
                with contextlib.suppress(OSError):
                    await guest.say(REFUSED, str(exc))
        except TimeoutError:
            self._refused(came_from, "it said nothing in time")
        except (OSError, EOFError, ssl.SSLError) as exc:
            self._log("left", address=came_from, reason=type(exc).__name__)
        finally:
            if guest is None:
                sock.close()
                self._room.leave(came_from)
            else:
                self._leave_room(guest)
                guest.writer.close()

    async def _welcome(self, sock: socket.socket, came_from: str) -> _Guest:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, sock, ssl=self._context, ssl_handshake_timeout=self._limits.hello_seconds
        )
        return _Guest(came_from, reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    def _leave_room(self, guest: _Guest) -> None:
        if guest.has_place:
            guest.has_place = False
            self._room.leave(guest.address)

    async def _wait(self, guest: _Guest, place: str) -> None:
        """Wait at a place until somebody calls, then pass on what both say."""
        async with self._arrived:
            waiting = self._places.setdefault(place, [])
            waiting.append(guest)
            if len(waiting) > self._limits.at_one_place:
                waiting.pop(0).called.set_result(None)
            self._arrived.notify_all()
        caller = None
        try:
            if await self._is_called(guest):
                caller = guest.called.result()
                if caller is not None:
                    await self._join(caller, guest, place)
        finally:
            if guest in (here := self._places.get(place, [])):
                here.remove(guest)
            if not here:
                self._places.pop(place, None)
            if guest.called.done() and (late := guest.called.result()) is not None and not late.accepted.done():
                late.accepted.set_result(False)  # it looks for another one that waits

    async def _is_called(self, guest: _Guest) -> bool:
        """Whether somebody calls in time; meanwhile a word is exchanged now and then."""
        deadline = time.monotonic() + self._limits.wait_seconds
        while time.monotonic() < deadline:
            await asyncio.wait({guest.called}, timeout=self._limits.sign_seconds)
            if guest.called.done():
                return True
            async with asyncio.timeout(self._limits.sign_seconds):
                await guest.say(ALIVE)
                await guest.hear(ALIVE)
        return guest.called.done()

    async def _call(self, guest: _Guest, place: str) -> None:
        """Find somebody who waits at a place; the one that waits does the rest."""
        deadline = time.monotonic() + self._limits.call_seconds
        # Before anybody is called: who has too many must not use up those that wait.
        with self._place_to_be_joined(guest):
            while (waiting := await self._one_that_waits(place, deadline)) is not None:
                guest.accepted = asyncio.get_running_loop().create_future()
                waiting.called.set_result(guest)
                if await guest.accepted:
                    return
        raise _RefusedError(NOBODY_WAITS)

    @contextlib.contextmanager
    def _place_to_be_joined(self, guest: _Guest) -> Iterator[None]:
        if not self._joined.enter(guest.address):
            raise _RefusedError("too many connections are joined")
        try:
            yield
        finally:
            self._joined.leave(guest.address)

    async def _one_that_waits(self, place: str, deadline: float) -> _Guest | None:
        """The newest connection that waits at a place; none if none comes in time."""
        while True:
            async with self._arrived:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                        await self._arrived.wait_for(lambda: bool(self._places.get(place)))
                if not self._places.get(place):
                    return None
                newest = self._places[place].pop()
            if not newest.reader.at_eof() and not newest.called.done():
                return newest
            if not newest.called.done():
                newest.called.set_result(None)

    async def _join(self, caller: _Guest, guest: _Guest, place: str) -> None:
        """Pass on what two connections say until either ends, or they are silent or there for too long."""
        with self._place_to_be_joined(guest):
            start, why = time.monotonic(), "closed"
            from_caller, from_called = OneWay(), OneWay()
            facts = {"place": place[:8], "caller": caller.address, "called": guest.address}
            try:
                for one in (guest, caller):
                    self._leave_room(one)
                    await one.say(JOINED)
                self._log("joined", **facts)
                why = await pass_both_ways(
                    (Side(caller.reader, caller.writer), Side(guest.reader, guest.writer)),
                    (from_caller, from_called),
                    silent_seconds=self._limits.silent_seconds,
                    most_seconds=self._limits.pair_seconds,
                )
            finally:
                counts = {"from_caller": from_caller.n_bytes, "from_called": from_called.n_bytes}
                self._log("ended", **facts, seconds=round(time.monotonic() - start, 1), why=why, **counts)
                caller.writer.close()  # what was written is sent before
                if not caller.accepted.done():
                    caller.accepted.set_result(True)

    def _refused(self, address: str, reason: str) -> None:
        self._log("refused", address=address, reason=plain_text(reason))


def _understand(word: dict[str, Any]) -> tuple[str, str]:
    if word["protocol"] != RELAY_PROTOCOL:
        raise _RefusedError("another version of the relay's protocol")
    return word["role"], word["place"]
