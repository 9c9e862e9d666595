"""What engines have in common that run nothing at this party and talk to the others through a messenger alone."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

from copublish.engines.messages import Messenger
from copublish.engines.public_values import exchange_public
from copublish.kernel.protocol.message import Exchange

T = TypeVar("T")


class EngineWithoutWorker:
    """An end of a run at a party that computes nothing on secrets. Whoever made the messenger closes it."""

    bytes_sent = 0
    """By an engine that runs here: there is none, and the messenger counts its own."""

    def __init__(self, messenger: Messenger) -> None:
        self.party, self.parties = messenger.party, tuple(messenger.parties)
        self._messenger = messenger

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing runs here."""

    def abort(self) -> None:
        """Nothing runs here that could be ended; the messenger notices who is lost."""

    def exchange(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""
        return exchange_public(self._messenger, message, public)
