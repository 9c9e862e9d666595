"""Room for those who have connected: not too many, and not too many of one address or of one party."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

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


class WaitingRoom(Places):
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
