"""Settings of sockets between parties, heartbeats, and limits on the number of connections.

Heartbeats notice a dead link and keep an idle one open. Limits hold in all, for one address and for one party.
"""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable
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


MAX_STRANGERS, MAX_OF_ONE_ADDRESS = 64, 16
MAX_OF_ONE_PARTY = 16
"""A run needs one connection for the engine and one for messages; a few more come while broken ones are replaced. Every
shard that is agreed on may have one more."""

MAX_REFUSALS_LOGGED = 50
"""Then only their number: a stranger must not fill the disk that holds the ledger."""


class Places:
    """Counts connections by whose they are, so that nobody uses up threads and files.

    Args:
        of_one: How many one of them may have at once.
        in_all: How many all of them may have, if that is limited.
    """

    def __init__(self, of_one: int, in_all: int | None = None) -> None:
        self._of_one, self._in_all = of_one, in_all
        self._lock, self._taken = threading.Lock(), Counter[str]()

    def enter(self, whose: str) -> bool:
        """Whether there is a place; then it is taken until they leave."""
        with self._lock:
            is_full = self._in_all is not None and self._taken.total() >= self._in_all
            if is_full or self._taken[whose] >= self._of_one:
                return False
            self._taken[whose] += 1
            return True

    def leave(self, whose: str) -> None:
        """Give a place back."""
        with self._lock:
            self._taken[whose] -= 1
            if not self._taken[whose]:
                del self._taken[whose]


class ConnectionLimits(Places):
    """Where strangers, counted by address, are until they have proved who they are; they cannot fill the log either."""

    def __init__(self, log: Callable[..., None]) -> None:
        super().__init__(MAX_OF_ONE_ADDRESS, MAX_STRANGERS)
        self._log, self._refused = log, 0

    def refused(self, address: str, reason: str) -> None:
        """Log why somebody was turned away; after many, count them."""
        with self._lock:
            self._refused += 1
            many = self._refused > MAX_REFUSALS_LOGGED
        if not many:
            self._log("refused", address=address, reason=reason)

    def sum_up(self) -> None:
        """Log how many were turned away, if not each was logged."""
        if self._refused > MAX_REFUSALS_LOGGED:
            self._log("refused in all", times=self._refused)
