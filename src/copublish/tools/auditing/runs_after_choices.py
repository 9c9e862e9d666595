"""Runs that begin with choices: what follows a choice is measured once for all runs that made it.

Which winners there were is all that a run has learned before its next step. So what is measured then, on either table,
is the same for every run with the same winners, and it is kept in a tree that grows as runs reach new places of it. A
run on known ground draws noise alone, by the sampler of a release; the first one at a new place plays the
mechanism from there. A guesser stops to look at a run that can no longer say as much as is asked for: that is decided
by outputs alone, so every bound holds as before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copublish.kernel.accounting.disclosures import Measure, Select
from copublish.tools.auditing.bounds import best_threshold, evidence
from copublish.tools.auditing.game import Game, evidence_of_course, fair_coins
from copublish.tools.auditing.openings import ALPHA, MOST_RUNS, Play
from copublish.tools.auditing.single_disclosures import Part
from copublish.tools.auditing.statistics import STRUCTURES, Claim, structures
from copublish.types import IntArray

FIRST_TRIED, MOST_TRIED, SHARE_OF_TIME = 50, 20_000, 0.01
"""Runs that are played to see what more of them would show: few at first, then twice as many, while time is left."""

MOST_STEPS = 10_000
"""That are remembered; a tree of which more are reached has no place that many runs come to."""

Floats = NDArray[np.float64]
Winners = tuple[int, ...]


def begins_with_choices(game: Game) -> bool:
    """Whether runs are choices and then one measurement."""
    planned = game.plan.disclosures()
    if any(made.kind == "divided" for made in planned):  # then more may be opened than is planned
        return False
    *choices, last = planned
    return bool(choices) and all(isinstance(made, Select) for made in choices) and isinstance(last, Measure)


@dataclass(frozen=True)
class ChoiceNode:
    """A node of the tree of choices: all runs with the same winners.

    Attributes:
        evidence: What the winners say by the stated laws.
        to_come: How much more all that is opened after them could say.
    """

    evidence: float
    to_come: float


class Choices:
    """The tree of what runs of a pair choose, and what is measured at its places.

    Args:
        game: The pair.
        epsilon: How much whole runs may say, for all people of the pair together.
        least: How much a run has to be able to say to be played on.
    """

    def __init__(self, game: Game, epsilon: float, least: float) -> None:
        self._game, self._least = game, least
        self._places: dict[Winners, ChoiceNode] = {(): ChoiceNode(0.0, epsilon)}
        self._steps: dict[Winners, Part] = {}

    def play(self, coins: NDArray[np.bool_]) -> tuple[Floats, dict[str, Floats]]:
        """Play a run for each coin.

        Returns:
            The evidence of all that was opened of each run by the stated laws, and other numbers.

        Raises:
            RuntimeError: If a run measures something else than runs with the same winners before it.
        """
        if len(self._steps) > MOST_STEPS:
            self._steps.clear()
        law = np.zeros(len(coins))
        others = {name: np.zeros(len(coins)) for name in STRUCTURES}
        waiting: list[tuple[Winners, IntArray]] = [((), np.arange(len(coins), dtype=np.int64))]
        while waiting:
            winners, runs = waiting.pop()
            place, step = self._places[winners], self._steps.get(winners)
            law[runs] = place.evidence
            if abs(place.evidence) + place.to_come < self._least:
                continue
            if step is None:
                first, rest = runs[0], runs[1:]
                law[first], other = self._explore(winners, bool(coins[first]))
                for name, value in other.items():
                    others[name][first] = value
                waiting += [(winners, rest)] * bool(len(rest))
            elif isinstance(step.disclosure, Select):
                waiting += self._chosen(winners, step, coins, runs)
            else:
                moved = step.of_entries(step.is_moved)
                answers = moved.opened_together(np.where(coins[runs, None], *moved.measured[::-1]))
                law[runs] += moved.evidence_of(answers)
                for name, values in structures(answers, moved.measured).items():
                    others[name][runs] = values
        return law, others

    def _chosen(
        self, winners: Winners, step: Part, coins: NDArray[np.bool_], runs: IntArray
    ) -> list[tuple[Winners, IntArray]]:
        """Let runs choose; those with the same winner stay together."""
        chosen = step.opened_together(np.where(coins[runs, None], *step.measured[::-1]))[:, 0]
        found, before = [], self._places[winners]
        for winner in np.unique(chosen):
            after = (*winners, int(winner))
            if after not in self._places:
                said = evidence(step.disclosure, np.array([winner]), step.measured)
                spent = step.claim.epsilon * step.people
                self._places[after] = ChoiceNode(before.evidence + said, before.to_come - spent)
            found.append((after, runs[chosen == winner]))
        return found

    def _explore(self, winners: Winners, coin: bool) -> tuple[float, dict[str, float]]:
        """Play a run from a new place to its end, and keep what was measured on its way."""
        game, relation = self._game, self._game.pair.relation
        course, both = game.played(coin, winners)
        for number, (made, first, second) in enumerate(zip(course.disclosures, *both, strict=True)):
            before = tuple(int(answer) for answer in course.answers[:number])
            step = Part(made, (first, second), game.agreement.party_names, relation, game.pair.people)  # type: ignore[arg-type]
            known = self._steps.setdefault(before, step)
            if known.disclosure != made or not all(map(np.array_equal, known.measured, (first, second))):
                raise RuntimeError("A run measured something else than a run with the same winners before it.")
        return evidence_of_course(course, both)


def best_choices(game: Game, claim: Claim, seconds: float) -> Play:
    """What runs of so long would show, by the sizes of the evidence of a few, and what is worth guessing at then.

    The last of them take as long as runs to come, since by then the tree has the places that most runs reach.
    """
    tree = Choices(game, claim.epsilon * claim.people, 0.0)
    begin, runs, found = time.process_time(), FIRST_TRIED, []
    while True:
        start = time.process_time()
        found.append(tree.play(fair_coins(runs))[0])
        end = time.process_time()
        if 2 * runs > MOST_TRIED or end - begin > SHARE_OF_TIME * seconds:
            break
        runs *= 2
    sizes = np.abs(np.concatenate(found))
    to_come = min(MOST_RUNS, seconds * runs / (end - start))
    threshold, shown = best_threshold(sizes, ALPHA, runs_each=to_come / len(sizes))
    return Play(shown / claim.people, threshold)
