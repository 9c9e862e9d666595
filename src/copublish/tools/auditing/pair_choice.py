"""Which pairs of tables are played: those of which runs should show most, by the stated laws.

Nothing here looks at a coin, so nothing that is chosen here makes a bound less valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.concentrated import ConcentratedRounds
from copublish.kernel.accounting.disclosures import Disclosure, Divided, GaussianMeasure, Measure, Select
from copublish.kernel.noise.geometric import SystemCoins
from copublish.mechanisms.registry import plan_of
from copublish.progress import Progress
from copublish.tools.auditing.game import Game
from copublish.tools.auditing.records import tells_records
from copublish.tools.auditing.single_disclosures import Part, parts_of
from copublish.tools.auditing.statistics import Claim, claim_of
from copublish.tools.auditing.tables import Pair, valid_pairs
from copublish.tools.auditing.workers import WALL, Clock, play_in_time, play_runs

SECOND_LOOK, MOST_PROMISING = 50, 5
"""Runs of pairs whose records are told one by one, and how many pairs are looked at again."""

COURSES = 3
"""That are looked at then, where nobody abstains."""

RUNS_TO_COME = 10_000
"""For which pairs are compared at first."""

STEPS_OF_EPSILON, STEPS_OF_MU = (2.0, 4.0, 6.0), (1.0, 2.0, 3.0)
"""How far apart tables are that show most, with few and with many changed values: their people times epsilon or mu."""

PARTS_OF_THE_BUDGET = (1, 4, 16, 64)
"""A disclosure has a part of the budget: one of so many, about. So many more people show most of it."""

LEAST_TRIED = 8
"""Pairs of tables that are looked at for disclosures alone, however little time there is."""

ALPHA = 0.025

GOLDEN = (5**0.5 - 1) / 2

Floats = NDArray[np.float64]


def numbers_of_people(claim: Claim) -> list[int]:
    """In how many people tables should differ: few, some, many."""
    if claim.rho is not None:
        mu = (2 * claim.rho) ** 0.5
        return sorted({max(1, round(steps / mu)) for steps in STEPS_OF_MU})
    return sorted({max(1, round(steps / claim.epsilon)) for steps in STEPS_OF_EPSILON})


def worst_pair(
    agreement: Agreement,
    pairs: Sequence[Pair],
    seconds: float,
    playing: float,
    tell: Callable[[int, int], None],
    clock: Clock = WALL,
) -> Pair:
    """The pair of which runs should show most, of those there is time for.

    A first look takes the laws of what one course discloses. Those that look best, with few, some and many people, are
    compared by what they would show in the time that is left to play, each with as many runs as it allows.

    Args:
        agreement: What is audited.
        pairs: To choose from.
        seconds: How long that may take.
        playing: Seconds of processors for which the pair is played afterwards.
        tell: Told how far it is.
        clock: What seconds are.
    """
    begin = clock()
    people = [1] if tells_records(agreement) else numbers_of_people(claim_of(plan_of(agreement), pairs[0]))
    some = people[len(people) // 2]
    of = len(pairs) + MOST_PROMISING * len(people)
    looked: list[tuple[float, Pair]] = []
    for number, place in enumerate(spread_out(len(pairs))):
        if looked and clock() - begin > seconds / 2:
            break
        shown = (
            _by_law(agreement, pairs[place].of_people(some)) if people != [1] else _by_runs(agreement, pairs[place], 1)
        )
        looked.append((shown, pairs[place]))
        tell(number, of)
    promising = [pair for _, pair in sorted(looked, key=lambda one: -one[0])[:MOST_PROMISING]]
    found = [(0.0, promising[0].of_people(some))]
    in_order = sorted(people, key=lambda k: k != some)  # if time is short, the others are left out
    for number, pair in enumerate(pair.of_people(k) for pair in promising for k in in_order):
        if clock() - begin > seconds:
            break
        found.append((_in_time(agreement, pair, playing), pair))
        tell(len(pairs) + number, of)
    tell(of, of)
    return max(found, key=lambda one: one[0])[1]


def _in_time(agreement: Agreement, pair: Pair, playing: float) -> float:
    """What runs would show that are played for so long."""
    if tells_records(agreement):
        return _by_runs(agreement, pair)
    claim = claim_of(plan_of(agreement), pair)
    if claim.rho is not None:  # nobody abstains, so no run is too rare to be among a few thousand
        return _by_law(agreement, pair, COURSES)
    return play_in_time(Game(agreement, pair), claim, playing).shown


def _by_law(agreement: Agreement, pair: Pair, courses: int = 1) -> float:
    """What runs would show of what so many courses disclose, by the stated laws."""
    game = Game(agreement, pair)
    law = [np.sum([part.trials() for part in parts_of(game)], axis=0) for _ in range(courses)]
    return _expected(agreement, pair, np.concatenate(law))


def _by_runs(agreement: Agreement, pair: Pair, runs: int = SECOND_LOOK) -> float:
    """What runs would show, by the evidence of a few of them."""
    return _expected(agreement, pair, play_runs(agreement, pair, runs).law)


def _expected(agreement: Agreement, pair: Pair, law: Floats) -> float:
    claim = claim_of(plan_of(agreement), pair)
    return claim.expected(np.abs(law), ALPHA, runs_each=max(1.0, RUNS_TO_COME / law.size))


def spread_out(n: int) -> list[int]:
    """Numbers below n so that the first of them are far apart: pairs of the same base stand side by side."""
    return sorted(range(n), key=lambda number: number * GOLDEN % 1)


def telling_parts(
    agreement: Agreement, seconds: float, progress: Progress, clock: Clock = WALL
) -> tuple[list[tuple[Part, Pair]], list[tuple[Part, Pair]], list[str]]:
    """Every kind of disclosure of a run, each with the tables that it tells apart best, of those there is time for.

    Returns:
        Those that tell some tables apart; those that tell none; and a sentence for each of these and for each that no
        run opened. About the latter an audit finds nothing, whatever their noise is.
    """
    begin, plan = clock(), plan_of(agreement)
    best: dict[tuple[str, str, str | None], tuple[float, Part, Pair]] = {}
    pairs = list(valid_pairs(agreement, agreement.privacy.neighbors, SystemCoins()))
    usual = numbers_of_people(claim_of(plan, pairs[0]))
    some = usual[len(usual) // 2]
    # Every pair once, with numbers of people in turn, before any of them comes again with another number.
    tried = [
        pairs[number].of_people(PARTS_OF_THE_BUDGET[(place + turn) % len(PARTS_OF_THE_BUDGET)] * some)
        for turn in range(len(PARTS_OF_THE_BUDGET))
        for place, number in enumerate(spread_out(len(pairs)))
    ]
    for place, pair in enumerate(tried):
        progress("choosing tables for disclosures", place, len(tried))
        if place >= LEAST_TRIED and clock() - begin > seconds:
            break
        for part in parts_of(Game(agreement, pair)):
            made = part.disclosure
            key, shown = (made.place.step, made.kind, made.place.column), part.expected(RUNS_TO_COME)
            if key not in best or shown > best[key][0]:
                best[key] = (shown, part, pair)
    progress("choosing tables for disclosures", len(tried), len(tried))
    found = [(part, pair, part.can_tell) for _, part, pair in best.values()]
    moved, unmoved = ([(part, pair) for part, pair, tells in found if tells == wanted] for wanted in (True, False))
    opened = {(step, column) for step, _, column in best}
    planned = {(made.place.step, made.place.column): made for made in _single(plan.disclosures())}
    unopened = [made.place.common or made.label for key, made in planned.items() if key not in opened]
    why = [*(f"{part.disclosure.label}: {UNMOVED}" for part, _ in unmoved), *(f"{it}: {UNOPENED}" for it in unopened)]
    return moved, unmoved, why


UNMOVED = "no pair of made-up tables moves it"
UNOPENED = "no run on made-up tables opened it"


def _single(disclosures: Iterable[Disclosure]) -> Iterator[Select | Measure | GaussianMeasure]:
    """Planned disclosures of noise that is drawn jointly, those that share a budget one by one."""
    for made in disclosures:
        if isinstance(made, Divided):
            yield from _single(least for least, _ in made.parts)
        elif isinstance(made, ConcentratedRounds):
            yield made.usual
        elif isinstance(made, Select | Measure | GaussianMeasure):
            yield made
