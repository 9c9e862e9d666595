"""Whole runs on records that are not as agreed: does anything but what is charged tell that one is there?

A run ends with a release or with an error, and tells every party values on the way. With the answers of the gate given,
all of that must be the same on both tables: how it ends, what each party is told, what is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import CopublishError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.main_path import publish_release
from copublish.kernel.protocol.message import Exchange
from copublish.kernel.records.fragment import Fragment
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.progress import no_progress
from copublish.tools.auditing.game import Course, ListeningGate, fair_coins
from copublish.tools.auditing.tables import Pair
from copublish.types import IntArray

PUBLIC, RELEASED = "public", "released"
RUNS = 24
"""Of a pair whose ends differ, to bound what that tells."""

Heard = tuple[Any, ...]
"""What one party was told, in order."""


@dataclass(frozen=True)
class Ending:
    """How a whole run ended.

    Attributes:
        outcome: `released`, or the error's kind and words.
        heard: What each party was told; the public hears the outcome alone.
        files: What was published.
        course: What happened at the gate.
    """

    outcome: str
    heard: dict[str, Heard]
    files: dict[str, bytes]
    course: Course

    @property
    def answers(self) -> Sequence[Any] | None:
        """Answers to give to another run; none if this one ended before all were given."""
        return self.course.answers if self.outcome == RELEASED else None


class KeptKeys(Ledger):
    """A ledger that has the same key in every run, as one has that is kept: commitments change only if lists do."""

    def key_of_lists(self, dataset: str) -> bytes:
        """The key."""
        return bytes(32)


def whole_run(agreement: Agreement, pair: Pair, table: int, given: Sequence[Any] | None = None) -> Ending:
    """Run the main path at every party, on the ideal engine."""
    plan, course, first = plan_of(agreement), Course(), agreement.party_names[0]
    heard: dict[str, list[Any]] = {party: [] for party in agreement.party_names}

    class Told(IdealEngine):
        """Notes what a party is told beside what is opened."""

        def exchange(self, message: Exchange[Any], public: Any) -> tuple[Any, ...]:
            told = super().exchange(message, public)
            heard[self.party].append((message.topic, _plain(told)))
            return told

        def align(self, identifiers: Sequence[str] | None) -> IntArray:
            found = super().align(identifiers)
            heard[self.party].append(("common records", _plain(found)))
            return found

        def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
            found = super().have_common(identifiers, padded_to=padded_to)
            heard[self.party].append(("people at two parties", found))
            return found

    def gate(engine: IdealEngine, *rest: Any) -> ListeningGate:
        made = ListeningGate(engine, *rest)
        made.given, made.course = given or (), course if engine.party == first else None
        return made

    files: dict[str, bytes] = {}
    try:
        fragments: dict[str, Fragment] = read_fragments(agreement, pair.frames(agreement, table))
        with ExitStack() as stack:
            ledgers = {
                party: stack.enter_context(closing(throwaway_ledger(plan, KeptKeys))) for party in agreement.parties
            }

            def job(engine: IdealEngine) -> dict[str, bytes]:
                party = engine.party
                release = publish_release(plan, fragments[party], engine, ledgers[party], no_progress, gate_for=gate)
                return release.files()

            files = Room(agreement.party_names, engine=Told).run(job)[first]
        outcome = RELEASED
    except CopublishError as exc:
        outcome = f"{type(exc).__name__}: {exc}"
    told = {party: tuple(values) for party, values in heard.items()}
    return Ending(outcome, {PUBLIC: (), **told}, files, course)


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
    first = whole_run(agreement, pair, 0)
    second = whole_run(agreement, pair, 1, first.answers)
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
    made = [course.disclosures for course in (first.course, second.course)]
    if made[0] != made[1]:
        return "what is opened"
    return "what is published" if first.files != second.files else None


def _right_guesses(agreement: Agreement, pair: Pair, view: str) -> int:
    """Play with fresh coins and guess the table whose course the run fits."""
    right = 0
    for coin in fair_coins(RUNS):
        played = whole_run(agreement, pair, int(coin))
        fits = [
            _difference(played, whole_run(agreement, pair, table, played.answers), view) is None for table in (0, 1)
        ]
        right += int(fits[1] != fits[0] and fits[1] == coin)
    return right
