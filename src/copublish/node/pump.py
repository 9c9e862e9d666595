"""Carrying bytes between the other party's channel and our engine's unix socket, until either ends."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator

from copublish.node.channel import CHUNK, Channel, ChannelClosedError

MAX_BUFFERED = 4 * CHUNK
"""Beyond this the faster side waits: memory does not grow with what is carried."""


def carry(channel: Channel, local: socket.socket) -> Iterator[tuple[int, int]]:
    """Carry bytes both ways; yield how many were sent to and received from the other party, step by step.

    Ends, with both sides closed, when one side has ended and what it sent before has been passed on.
    """
    local.setblocking(False)
    to_peer, to_local = bytearray(), bytearray()
    peer_is_there = local_is_there = True
    try:
        while (peer_is_there or to_local) and (local_is_there or to_peer):
            may_take, may_give = len(to_local) < MAX_BUFFERED, len(to_peer) < MAX_BUFFERED
            if not (channel.pending() and may_take):
                _wait(
                    {
                        channel.fileno(): (peer_is_there and may_take, peer_is_there and bool(to_peer)),
                        local.fileno(): (local_is_there and may_give, local_is_there and bool(to_local)),
                    }
                )
            received = sent = 0
            if peer_is_there and may_take:
                try:
                    data = channel.try_read() or b""
                    to_local += data
                    received = len(data)
                except ChannelClosedError:
                    peer_is_there = False
            if local_is_there and may_give:
                data, local_is_there = _read(local)
                to_peer += data
            if to_local and local_is_there:
                local_is_there = _write(local, to_local)
            try:
                while peer_is_there and to_peer and (step := channel.try_write(to_peer)):
                    del to_peer[:step]
                    sent += step
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


def _wait(wishes: dict[int, tuple[bool, bool]]) -> None:
    poll = select.poll()
    for file, (read, write) in wishes.items():
        if read or write:  # a side that ended would be reported again and again
            poll.register(file, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))
    poll.poll()
