"""Counting the shards of a table in several sessions of the secure engine at the same time.

A session is a pair of workers, one at each party, with a link of their own. The main session counts, too; each further
one is a lane. Shards go to sessions in turn, first to last, so that two parties which know how many sessions there are
agree on who counts what without a word. A lane's table leaves it as each node's own summand, which that node's party
puts into the main session as its private input.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from copublish.kernel.secrets.shards import Done

S = TypeVar("S")
T = TypeVar("T")


class Abortable(Protocol):
    """What can be ended at once, from another thread."""

    def abort(self) -> None:
        """End it."""


def turns_of(shards: Sequence[slice], n_sessions: int) -> list[Sequence[slice]]:
    """The shards that each session counts, in this order: the first session has the first one, the next the second."""
    return [shards[number::n_sessions] for number in range(n_sessions)]


@dataclass
class Tally:
    """How many records are counted, over all sessions; told in the thread in which it was made."""

    n_records: int
    done: Done
    _counted: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: int = field(default_factory=threading.get_ident)

    def add(self, n_records: int) -> None:
        """Note that some more are counted."""
        with self._lock:
            self._counted += n_records
        if threading.get_ident() == self._thread:
            self.tell()

    def tell(self) -> None:
        """Say how many are."""
        self.done(self._counted, self.n_records)


def all_at_once(own: Callable[[], S], others: Sequence[Callable[[], T]], whole: Abortable) -> tuple[S, list[T]]:
    """Do work in this thread, and other work in a thread each; return what came of the one and of the others.

    Raises:
        BaseException: What the first of them raised. Everything else is ended then: nobody waits for what is lost.
    """
    failures: list[BaseException] = []

    def attempt(work: Callable[[], Any], results: list[Any]) -> None:
        try:
            results.append(work())
        except BaseException as exc:
            failures.append(exc)
            whole.abort()

    of_own: list[S] = []
    of_others: list[list[T]] = [[] for _ in others]
    threads = [
        threading.Thread(target=attempt, args=pair, name="lane", daemon=True)
        for pair in zip(others, of_others, strict=True)
    ]
    for thread in threads:
        thread.start()
    attempt(own, of_own)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return of_own[0], [results[0] for results in of_others]
