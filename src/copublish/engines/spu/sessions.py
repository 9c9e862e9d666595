"""A runtime of SPU with a link and a thread of its own, so that what two of them do need not wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Session:
    """One runtime. Whatever is asked of it happens in its thread, in the order in which it was asked for.

    Args:
        link: Its link to the other nodes, which nothing else uses. All of them make theirs in the same order.
        start: Makes the runtime, which takes messages to and fro.
    """

    def __init__(self, link: Any, start: Callable[[Any], Any]) -> None:
        self.link = link
        self._thread = ThreadPoolExecutor(1)
        self._start = start
        self._runtime: Any = None
        self._begun: list[Future[object]] = []

    @property
    def runtime(self) -> Any:
        """SPU's runtime, made when it is first used. For what runs in this session's thread."""
        if self._runtime is None:
            self._runtime = self._start(self.link)
        return self._runtime

    def begin(self, work: Callable[[], object]) -> None:
        """Do something while the caller goes on. If it fails, whoever asks this session next hears of it."""
        self._begun.append(self._thread.submit(work))

    def do(self, work: Callable[[], T]) -> T:
        """Do something after all that was begun, and wait for it."""
        self.wait()
        return self._thread.submit(work).result()

    def wait(self) -> None:
        """Wait for all that was begun.

        Raises:
            Exception: Whatever ended it.
        """
        while self._begun:
            self._begun[0].result()
            self._begun.pop(0)
