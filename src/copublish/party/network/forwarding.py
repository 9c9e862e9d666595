"""Carrying bytes between the other party's channel and our engine's unix socket, until either ends."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator

from copublish.party.network.channel import CHUNK, Channel, ChannelClosedError
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

MAX_BUFFERED = 4 * CHUNK
"""Beyond this the faster side waits: memory does not grow with what is carried."""


class Frames:
    """Pieces of content, each after its length: an empty one is a sign of life.

    An engine may think for minutes without a word, and a proxy on the way would end what is idle.
    """

    _LENGTH = struct.Struct(">I")
    SIGN_OF_LIFE = _LENGTH.pack(0)

    def __init__(self) -> None:
        self._header, self._left = bytearray(), 0

    def wrap(self, content: bytes) -> bytes:
        """A piece of content as it is sent; nothing for nothing, which would be a sign of life."""
        return self._LENGTH.pack(len(content)) + content if content else b""

    def unwrap(self, data: bytes) -> bytes:
        """Content in what has come, wherever it was cut."""
        found, position = bytearray(), 0
        while position < len(data):
            if self._left:
                piece = data[position : position + self._left]
                found += piece
                self._left -= len(piece)
                position += len(piece)
                continue
            step = data[position : position + self._LENGTH.size - len(self._header)]
            self._header += step
            position += len(step)
            if len(self._header) == self._LENGTH.size:
                (self._left,) = self._LENGTH.unpack(self._header)
                self._header.clear()
        return bytes(found)


def carry(channel: Channel, local: socket.socket, frames: Frames | None = None) -> Iterator[tuple[int, int]]:
    """Carry bytes both ways; yield how many were sent to and received from the other party, step by step.

    Ends, with both sides closed, when one side has ended and what it sent before has been passed on.

    Args:
        channel: To the other party.
        local: Our end, without encryption.
        frames: How content is cut on the channel, with signs of life in between; none for bytes as they are.
    """
    local.setblocking(False)
    to_peer, to_local = bytearray(), bytearray()
    peer_is_there = local_is_there = True
    last_sent = time.monotonic()
    try:
        while (peer_is_there or to_local) and (local_is_there or to_peer):
            may_take, may_give = len(to_local) < MAX_BUFFERED, len(to_peer) < MAX_BUFFERED
            ready = {channel.fileno()}
            if not (channel.pending() and may_take):
                ready = _wait(
                    {
                        channel.fileno(): (peer_is_there and may_take, peer_is_there and bool(to_peer)),
                        local.fileno(): (local_is_there and may_give, local_is_there and bool(to_local)),
                    },
                    None if frames is None else SIGN_OF_LIFE_SECONDS,
                )
            received = sent = 0
            # Reading where nothing is costs an exception, as much as carrying a short message.
            if peer_is_there and may_take and channel.fileno() in ready:
                try:
                    data = channel.try_read() or b""
                    data = data if frames is None else frames.unwrap(data)
                    to_local += data
                    received = len(data)
                except ChannelClosedError:
                    peer_is_there = False
            if local_is_there and may_give and local.fileno() in ready:
                data, local_is_there = _read(local)
                to_peer += data if frames is None else frames.wrap(data)
                sent = len(data)
            if frames is not None and not to_peer and time.monotonic() - last_sent >= SIGN_OF_LIFE_SECONDS:
                to_peer += Frames.SIGN_OF_LIFE
            if to_local and local_is_there:
                local_is_there = _write(local, to_local)
            try:
                while peer_is_there and to_peer and (step := channel.try_write(to_peer)):
                    del to_peer[:step]
                    last_sent = time.monotonic()
            except ChannelClosedError:
                peer_is_there = False
            if not peer_is_there:
                to_peer.clear()
            if not local_is_there:
                to_local.clear()
            yield sent, received
    finally:
        local.close()
        channel.close()


def _read(local: socket.socket) -> tuple[bytes, bool]:
    """Bytes that are there, and whether the engine still is."""
    try:
        data = local.recv(CHUNK)
    except BlockingIOError:
        return b"", True
    except OSError:
        return b"", False
    return data, bool(data)


def _write(local: socket.socket, waiting: bytearray) -> bool:
    """Write what can be written, take it out of what waits, and return whether the engine is still there."""
    try:
        del waiting[: local.send(waiting)]
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def _wait(wishes: dict[int, tuple[bool, bool]], seconds: float | None) -> set[int]:
    """Wait for what is wished of files, and return those of which something can be read: content, or the end."""
    poll = select.poll()
    for file, (read, write) in wishes.items():
        if read or write:  # a side that ended would be reported again and again
            poll.register(file, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))
    events = poll.poll(None if seconds is None else round(1000 * seconds))
    return {file for file, event in events if event & ~select.POLLOUT}
