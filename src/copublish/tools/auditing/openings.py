"""What every run opens first, and which runs are worth playing to their end.

Some measurements come before any answer can matter: tables of counts of every column, say. What they measure is
known for both tables of a pair, so many runs are begun at once, and only noise is drawn: first that of entries in which
the tables differ, for the others' noises are independent of those and of the table. A guesser may stop to look at a run
whose beginning says little: that is a choice by outputs alone, so every bound holds as before. The few runs that are
played to their end are those whose beginning says much already, and their evidence is the largest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copublish.kernel.accounting.disclosures import Measure
from copublish.tools.auditing.game import Course, Game, fair_coins
from copublish.tools.auditing.single_disclosures import TRIALS, Part, parts_of
from copublish.tools.auditing.statistics import Claim, structures
from copublish.types import IntArray

Floats = NDArray[np.float64]

COURSES = 4
"""That are played to see what all have in common."""

BEGUN_TO_TIME, PLAYED_TO_TIME = 2000, 4
"""Runs that are begun, and played to their end, to see how long that takes."""

MOST_TRIALS, TRIALS_EACH_SECOND = 400_000, 4000

SHARES_PLAYED = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""Of all runs, those that may be played to their end; besides all of them."""

WORTH_IT = 1.005
"""By how much more has to show for fewer runs to be played on: those are seen whole, by other statistics as well."""

ROUNDED_DOWN = 1 - 1e-9
"""Sums of the same numbers differ by less than that, in whatever order they were added."""

MOST_RUNS = 3_000_000
"""Of a view; more hardly find more, and would not fit small memories."""

ALPHA = 0.025


@dataclass(frozen=True)
class Opening:
    """The measurements that every run opens first, whatever it is answered.

    Attributes:
        parts: What is measured on both tables.
        is_all: Whether nothing is opened after them.
    """

    parts: tuple[Part, ...]
    is_all: bool

    @property
    def measured(self) -> tuple[IntArray, IntArray]:
        """All of it, one after the other, on both tables."""
        first, second = (np.concatenate([part.measured[table] for part in self.parts]) for table in (0, 1))
        return first, second

    def begun(self, coins: NDArray[np.bool_]) -> Begun:
        """Runs on the tables that coins name, of which the entries are open in which the tables differ."""
        moved = [part.of_entries(part.is_moved) for part in self.parts]
        answers = [part.opened_together(np.where(coins[:, None], *part.measured[::-1])) for part in moved]
        law = np.sum([part.evidence_of(answer) for part, answer in zip(moved, answers, strict=True)], axis=0)
        return Begun(answers, law, structures(np.concatenate(answers, axis=1), Opening(tuple(moved), True).measured))

    def completed(self, begun: Begun, runs: IntArray) -> list[IntArray]:
        """The same of some of the runs with all entries: for each part shape (runs, entries)."""
        found = []
        for part, seen in zip(self.parts, begun.answers, strict=True):
            answers = np.empty((len(runs), part.disclosure.entries), dtype=np.int64)  # type: ignore[union-attr]
            answers[:, part.is_moved] = seen[runs]
            same = part.of_entries(~part.is_moved)
            answers[:, ~part.is_moved] = same.opened_together(np.tile(same.measured[0], (len(runs), 1)))
            found.append(answers)
        return found


@dataclass(frozen=True)
class Begun:
    """Runs that are begun.

    Attributes:
        answers: For each part what was opened where the tables differ, shape (runs, entries).
        law: Evidence of it by the stated laws.
        others: Other numbers.
    """

    answers: list[IntArray]
    law: Floats
    others: dict[str, Floats]


@dataclass(frozen=True)
class Play:
    """How runs of a pair are played in the time there is.

    Attributes:
        shown: What they would show by the stated laws.
        least: How much the beginning of a run has to say for it to be played on.
    """

    shown: float
    least: float


def opening_of(game: Game) -> Opening:
    """What all of a few courses have in common at their beginning, on both tables."""
    courses = [(course := game.play(0), game.measured_on(1, course)) for _ in range(COURSES)]
    (first, second), parts = courses[0], []
    for place, made in enumerate(first.disclosures):
        both = first.measured[place], second[place]
        if not isinstance(made, Measure) or not all(_is_at(place, made, both, *other) for other in courses[1:]):
            break
        parts.append(Part(made, both, game.agreement.party_names, game.pair.relation, game.pair.people))
    return Opening(tuple(parts), all(len(course.disclosures) == len(parts) for course, _ in courses))


def _is_at(
    place: int, made: Measure, both: tuple[IntArray, IntArray], course: Course, second: Sequence[IntArray]
) -> bool:
    """Whether another course has the same measurement of the same values at this place."""
    if len(course.disclosures) <= place or course.disclosures[place] != made:
        return False
    return np.array_equal(course.measured[place], both[0]) and np.array_equal(second[place], both[1])


def play_promising(
    game: Game, opening: Opening, least: float, coins: NDArray[np.bool_]
) -> tuple[Floats, dict[str, Floats]]:
    """Begin a run for each coin, and play those to their end whose beginning has so much evidence at least.

    Returns:
        The evidence of all that was opened of each run by the stated laws, and other numbers.

    Raises:
        RuntimeError: If a run measures something else than all runs before it.
    """
    begun = opening.begun(coins)
    law, others = begun.law, begun.others
    if opening.is_all:
        return law, others
    runs = np.flatnonzero(np.abs(law) >= least)
    answers = opening.completed(begun, runs)
    for place, run in enumerate(runs):
        law[run], other = game.run(bool(coins[run]), [answer[place] for answer in answers], opening.measured)
        for name, value in other.items():
            others[name][run] = value
    return law, others


def best_play(game: Game, claim: Claim, seconds: float) -> Play:
    """How much the beginning of a run has to say to be played on, so that all runs of so long show most.

    It is computed from the stated laws and from how long runs take, before there is any coin.
    """
    opening = opening_of(game)
    times = int(np.clip(TRIALS_EACH_SECOND * seconds, TRIALS, MOST_TRIALS))
    beginnings, rest = _trials(opening.parts, times), np.zeros(times)
    for own in [] if opening.is_all else np.array_split(np.arange(times), COURSES):
        rest[own] = _trials(list(parts_of(game))[len(opening.parts) :], len(own))
    begin, play = _seconds_of(game, opening)
    best = Play(0.0, 0.0)
    may_stop = bool(opening.parts) and not opening.is_all
    for share in (1.0, *(SHARES_PLAYED if may_stop else ())):
        # Many beginnings say all that they can, so the largest size must not be missed by rounding.
        least = 0.0 if share == 1 else float(np.quantile(np.abs(beginnings), 1 - share)) * ROUNDED_DOWN
        is_played = np.abs(beginnings) >= least
        runs = min(MOST_RUNS, seconds / (begin + is_played.mean() * play))
        sizes = np.abs(np.where(is_played, beginnings + rest, beginnings))
        shown = claim.expected(sizes, ALPHA, runs_each=runs / times)
        if shown > best.shown * WORTH_IT:
            best = Play(shown, least)
    return best


def _trials(parts: Iterable[Part], times: int) -> Floats:
    return sum((part.trials(times) for part in parts), np.zeros(times))


def _seconds_of(game: Game, opening: Opening) -> tuple[float, float]:
    """How long it takes to begin a run, and to play one from there to its end."""
    coins = fair_coins(BEGUN_TO_TIME)
    start = time.process_time()
    begun = opening.begun(coins) if opening.parts else None
    middle = time.process_time()
    if opening.is_all:
        return (middle - start) / BEGUN_TO_TIME, 0.0
    answers = opening.completed(begun, np.arange(PLAYED_TO_TIME, dtype=np.int64)) if begun else []
    for run in range(PLAYED_TO_TIME):
        known = opening.measured if begun else None
        game.run(bool(coins[run]), [answer[run] for answer in answers], known)
    return (middle - start) / BEGUN_TO_TIME, (time.process_time() - middle) / PLAYED_TO_TIME
