"""Settings of sockets, and signs of life: how a dead link is noticed, and an idle one is kept by what is in between."""

from __future__ import annotations

import socket
from dataclasses import dataclass

SIGN_OF_LIFE_SECONDS = 20.0
"""How often something is said on connections that are idle. The system's own signs of life end at a proxy, which
terminates TCP, and proxies and firewalls forget what is idle: the strictest of the usual limits is 30 s or 60 s."""

PROBES = 4
"""How many signs of life in a row have to be lost before a silent link counts as dead."""

LONGEST_IDLE_SECONDS, LONGEST_INTERVAL_SECONDS = 10, 5


@dataclass(frozen=True)
class Keepalive:
    """When the system asks whether a silent peer is still there.

    Attributes:
        idle: Seconds of silence before it asks.
        interval: Seconds before it asks again, if there was no answer.
        probes: How often it asks before the link counts as dead, where no timeout says that.
    """

    idle: int
    interval: int
    probes: int

    @staticmethod
    def within(timeout_seconds: int) -> Keepalive:
        """Settings with which a link is given up after the timeout, and not for one packet that was lost.

        Linux ends a connection at the first look after the timeout at which a probe was not answered. So the timeout
        has room for several of them: the first after a third of it, the others in what is left.
        """
        idle = min(LONGEST_IDLE_SECONDS, max(1, timeout_seconds // 3))
        interval = min(LONGEST_INTERVAL_SECONDS, max(1, (timeout_seconds - idle) // PROBES))
        return Keepalive(idle, interval, min(MAX_KEEPCNT, max(PROBES, (timeout_seconds - idle) // interval)))


MAX_KEEPCNT = 127
"""Linux takes no more."""


def tune(sock: socket.socket, timeout_seconds: int) -> None:
    """Send at once, and notice a dead link even if nothing is sent."""
    keepalive = Keepalive.within(timeout_seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_USER_TIMEOUT", 1000 * timeout_seconds),
        ("TCP_KEEPIDLE", keepalive.idle),
        ("TCP_KEEPINTVL", keepalive.interval),
        ("TCP_KEEPCNT", keepalive.probes),
    ):
        if hasattr(socket, option):  # Linux
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
