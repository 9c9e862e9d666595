"""Whole runs on records that are not as agreed: does anything but what is charged tell that one is there?

A run ends with a release or with an error, and tells every party values on the way. With the answers of the gate given,
all of that must be the same on both tables: how it ends, what each party is told, what is published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import numpy as np

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.message import Exchange
from copublish.agreement.protocol.table import PERTURBED
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import CopublishError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.engine import Comparer, Opener, PublicExchange
from copublish.kernel.secrets.secret import Secret
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.tools.auditing.game import fair_coins
from copublish.tools.auditing.tables import Pair
from copublish.types import IntArray

T = TypeVar("T")

PUBLIC, RELEASED = "public", "released"
RUNS = 24
"""Of a pair whose ends differ, to bound what that tells."""

ROWS_OF_THE_TABLE = "rows of the table"
"""What the engine tells where membership is hidden."""

Heard = tuple[Any, ...]
"""What one party was told, in order."""


@dataclass(frozen=True)
class Ending:
    """The end of a whole run.

    Attributes:
        outcome: `released`, or the error's kind and words.
        heard: What each party was told; the public hears the outcome alone.
        files: What was published.
        opened: What was opened, in order, as the engine has it.
    """

    outcome: str
    heard: dict[str, Heard]
    files: dict[str, bytes]
    opened: Sequence[Any]

    @property
    def answers(self) -> Sequence[Any]:
        """Values to open in another run; none if this one ended before all were opened."""
        return self.opened if self.outcome == RELEASED else ()


@dataclass
class ReplayingEngine:
    """An engine at one party that opens the values of another run first, and notes everything that is opened.

    Checks of inputs are opened as they are: otherwise a run would not see who cheats in it.

    Attributes:
        engine: The engine of the run.
        given: Values of another run.
        opened: What was opened so far, given values included.
    """

    engine: IdealEngine
    given: Sequence[Any]
    opened: list[Any] = field(default_factory=list)

    @property
    def party(self) -> str:
        """This party."""
        return self.engine.party

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in agreed order."""
        return self.engine.parties

    @property
    def computer(self) -> Computer:
        """The part for mechanisms."""
        return self.engine.computer

    @property
    def comparer(self) -> Comparer:
        """The part that compares people."""
        return self.engine.comparer

    @property
    def exchange(self) -> PublicExchange:
        """The part that sends public values."""
        return self.engine.exchange

    @property
    def opener(self) -> Opener:
        """The part for the reveal gate, which notes and replays."""
        real = self.engine.opener
        checks: list[Secret] = []

        def take_checks() -> Secret | None:
            secret = real.take_checks()
            if secret is not None:
                checks.append(secret)
            return secret

        def open_secret(secret: Secret) -> IntArray:
            if any(secret is check for check in checks):
                return real.open(secret)
            return cast(IntArray, self._given_or(lambda: real.open(secret)))

        def send_columns(message: Exchange[T], public: T) -> tuple[T, ...]:
            return cast(tuple[T, ...], self._given_or(lambda: real.exchange(message, public)))

        return Opener(open_secret, take_checks, send_columns)

    def _given_or(self, make: Callable[[], Any]) -> Any:
        place = len(self.opened)
        value = self.given[place] if place < len(self.given) else make()
        self.opened.append(value)
        return value


def whole_run(
    agreement: Agreement, pair: Pair, table: int, given: Sequence[Any] = (), *, ledger: bytes | None = None
) -> Ending:
    """Run the main path at every party, on the ideal engine.

    Args:
        agreement: What is audited.
        pair: Two tables.
        table: Which of them.
        given: Opened values of another run, which are opened again.
        ledger: File of the ledger that every party begins with; by default one with a fresh key.
    """
    plan, first = plan_of(agreement), agreement.party_names[0]
    heard: dict[str, list[Any]] = {party: [] for party in agreement.party_names}
    replaying: dict[str, ReplayingEngine] = {}

    def listen(party: str, topic: str, value: object) -> None:
        # Opened values are compared as such, and the noisy number of common people is audited by itself.
        if topic != PERTURBED.topic and not (topic == ROWS_OF_THE_TABLE and agreement.membership_epsilon):
            heard[party].append((topic, _plain(value)))

    files: dict[str, bytes] = {}
    try:
        fragments: dict[str, Fragment] = read_fragments(agreement, pair.frames(agreement, table))
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            ledgers = {}
            for number, party in enumerate(agreement.parties):
                file = folder / f"{number}.db"
                file.write_bytes(ledger or ledger_with_key(plan))
                ledgers[party] = stack.enter_context(closing(Ledger(file)))

            def job(engine: IdealEngine) -> dict[str, bytes]:
                party = engine.party
                replaying[party] = ReplayingEngine(engine, given)
                release = publish_release(plan, fragments[party], replaying[party], ledgers[party], no_progress)
                return release.files()

            files = Room(agreement.party_names, listen=listen).run(job)[first]
        outcome = RELEASED
    except CopublishError as exc:
        outcome = f"{type(exc).__name__}: {exc}"
    opened = replaying[first].opened if first in replaying else ()
    return Ending(outcome, {PUBLIC: (), **{party: tuple(values) for party, values in heard.items()}}, files, opened)


def ledger_with_key(plan: Plan[Any]) -> bytes:
    """The file of a ledger that has a key for lists, so that commitments differ between runs only if the lists do."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        with closing(throwaway_ledger(plan, file=file)) as ledger:
            ledger.key_of_lists(plan.agreement.dataset)
        return file.read_bytes()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, dict):
        return tuple((key, _plain(item)) for key, item in sorted(value.items()))
    return value


@dataclass(frozen=True)
class Symbol:
    """Whether the two tables of a pair could be told apart by anything but what is charged.

    Attributes:
        pair: The tables.
        view: Who would see it.
        outcomes: How runs ended on either table.
        differs: What was not the same.
        runs, right: If something was not, how many runs with fresh coins there were, and right guesses.
    """

    pair: Pair
    view: str
    outcomes: tuple[str, str]
    differs: str | None = None
    runs: int = 0
    right: int = 0


def symbols_of(agreement: Agreement, pair: Pair, views: Sequence[str]) -> list[Symbol]:
    """Compare whole runs on both tables, along the same course, for each view."""
    ledger = ledger_with_key(plan_of(agreement))
    first = whole_run(agreement, pair, 0, ledger=ledger)
    second = whole_run(agreement, pair, 1, first.answers, ledger=ledger)
    found = []
    for view in views:
        differs = _difference(first, second, view)
        right = _right_guesses(agreement, pair, view) if differs else 0
        runs = RUNS if differs else 0
        found.append(Symbol(pair, view, (first.outcome, second.outcome), differs, runs, right))
    return found


def _difference(first: Ending, second: Ending, view: str) -> str | None:
    if first.outcome != second.outcome:
        return "how the run ends"
    if first.heard[view] != second.heard[view]:
        topics = [a[0] for a, b in zip(first.heard[view], second.heard[view], strict=False) if a != b]
        return f"what it is told: {topics[0]}" if topics else "how much it is told"
    shapes = [[_shape(value) for value in ending.opened] for ending in (first, second)]
    if shapes[0] != shapes[1]:
        return "what is opened"
    return "what is published" if first.files != second.files else None


def _shape(opened: object) -> tuple[Any, ...]:
    """The shape of an opened value; owners of whole rows tell columns of different lengths."""
    return tuple(map(_shape, opened)) if isinstance(opened, list | tuple) else np.shape(cast(Any, opened))


def _right_guesses(agreement: Agreement, pair: Pair, view: str) -> int:
    """Play with fresh coins and guess the table whose course the run fits."""
    right, ledger = 0, ledger_with_key(plan_of(agreement))
    for coin in fair_coins(RUNS):
        played = whole_run(agreement, pair, int(coin), ledger=ledger)
        replayed = [whole_run(agreement, pair, table, played.answers, ledger=ledger) for table in (0, 1)]
        fits = [_difference(played, ending, view) is None for ending in replayed]
        right += int(fits[1] != fits[0] and fits[1] == coin)
    return right
