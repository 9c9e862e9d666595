"""Room for those who have connected and not proved yet who they are: not too many, and not too many of one address."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

MAX_STRANGERS, MAX_OF_ONE_ADDRESS = 64, 16
MAX_REFUSALS_LOGGED = 50
"""Then only their number: a stranger must not fill the disk that holds the ledger."""


class WaitingRoom:
    """Counts strangers, so that they use up neither threads nor files, nor the log."""

    def __init__(self, log: Callable[..., None]) -> None:
        self._log, self._lock = log, threading.Lock()
        self._inside: Counter[str] = Counter()
        self._refused = 0

    def enter(self, address: str) -> bool:
        """Whether there is room for somebody from an address; then they are inside until they leave."""
        with self._lock:
            if self._inside.total() >= MAX_STRANGERS or self._inside[address] >= MAX_OF_ONE_ADDRESS:
                return False
            self._inside[address] += 1
            return True

    def leave(self, address: str) -> None:
        """They have been recognized, or turned away."""
        with self._lock:
            self._inside[address] -= 1
            if not self._inside[address]:
                del self._inside[address]

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
