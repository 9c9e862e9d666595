"""Carrying bytes between the other party's channel and our engine's unix socket, until either ends."""

from __future__ import annotations

import contextlib
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
    peer_ended = local_ended = False
    try:
        while not (peer_ended and not to_local) and not (local_ended and not to_peer):
            if channel.pending() and len(to_local) < MAX_BUFFERED:
                readable, writable = {channel.fileno()}, set[int]()
            else:
                readable, writable = _ready(
                    {
                        channel.fileno(): (not peer_ended and len(to_local) < MAX_BUFFERED, bool(to_peer)),
                        local.fileno(): (not local_ended and len(to_peer) < MAX_BUFFERED, bool(to_local)),
                    }
                )
            received = sent = 0
            if channel.fileno() in readable:
                try:
                    data = channel.try_read() or b""
                    to_local += data
                    received = len(data)
                except ChannelClosedError:
                    peer_ended = True
            if local.fileno() in readable:
                try:
                    data = local.recv(CHUNK)
                    local_ended = not data
                    to_peer += data
                except BlockingIOError:
                    pass
            # Written at once where possible: every wait for readiness costs a round of the engine some time.
            if to_local and (received or local.fileno() in writable):
                with contextlib.suppress(BlockingIOError):
                    del to_local[: local.send(to_local)]
            if to_peer and not peer_ended:
                sent = channel.try_write(to_peer)
                del to_peer[:sent]
            yield sent, received
    except (OSError, ChannelClosedError):
        pass  # one side broke: the engine notices, and the party says so
    finally:
        local.close()
        channel.close()


def _ready(wishes: dict[int, tuple[bool, bool]]) -> tuple[set[int], set[int]]:
    poll = select.poll()
    for file, (read, write) in wishes.items():
        if read or write:  # a side that ended would be reported again and again
            poll.register(file, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))
    readable, writable = set[int](), set[int]()
    for file, event in poll.poll():
        if event & (select.POLLIN | select.POLLHUP | select.POLLERR | select.POLLNVAL):
            readable.add(file)
        if event & select.POLLOUT:
            writable.add(file)
    return readable, writable
