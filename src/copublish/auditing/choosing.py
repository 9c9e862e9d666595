"""Which pairs of tables are played: those of which runs should show most, by the stated laws.

Nothing here looks at a coin, so nothing that is chosen here makes a bound less valid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.auditing.claims import claim_of
from copublish.auditing.game import Game
from copublish.auditing.parts import Part
from copublish.auditing.players import is_one_measurement, parts_of, play_runs
from copublish.auditing.records import tells_records
from copublish.auditing.statistics import Claim
from copublish.auditing.tables import Pair, valid_pairs
from copublish.mechanisms.registry import plan_of
from copublish.privacy.coins import SystemCoins
from copublish.progress import Progress

FIRST_LOOK, SECOND_LOOK, MOST_PROMISING = 6, 60, 6
"""Runs of every pair to choose from, runs of those that look best, and how many these are."""

RUNS_TO_COME = 10_000
"""For which a pair is chosen."""

STEPS_OF_EPSILON, STEPS_OF_MU = (2.0, 4.0, 6.0), (1.0, 2.0, 3.0)
"""How far apart tables are that show most, with few and with many changed values: their people times epsilon or mu."""

PARTS_OF_THE_BUDGET = (1, 4, 16, 64)
"""A disclosure has a part of the budget: one of so many, about. So many more people show most of it."""

ALPHA = 0.025

GOLDEN = (5**0.5 - 1) / 2

Floats = NDArray[np.float64]


def numbers_of_people(claim: Claim) -> list[int]:
    """In how many people tables should differ: few, some, many."""
    if claim.rho is not None:
        mu = (2 * claim.rho) ** 0.5
        return sorted({max(1, round(steps / mu)) for steps in STEPS_OF_MU})
    return sorted({max(1, round(steps / claim.epsilon)) for steps in STEPS_OF_EPSILON})


def worst_pair(agreement: Agreement, pairs: Sequence[Pair], seconds: float, tell: Callable[[int, int], None]) -> Pair:
    """The pair of which runs should show most, of those there is time for."""
    plan, begin = plan_of(agreement), time.monotonic()
    people = [1] if tells_records(agreement) else numbers_of_people(claim_of(plan, pairs[0]))
    some = people[len(people) // 2]
    order = spread_out(len(pairs))
    is_known = is_one_measurement(agreement)  # then the law says all, and nothing has to be played
    looked: list[tuple[float, int, Pair]] = []

    def look(number: int, pair: Pair, runs: int) -> None:
        if is_known:
            (part,) = parts_of(Game(agreement, pair))
            shown = part.expected(RUNS_TO_COME, 2 * ALPHA)
        else:
            sizes = np.abs(play_runs(agreement, pair, runs).law)
            many = np.resize(sizes, max(RUNS_TO_COME, len(sizes)))
            shown = claim_of(plan, pair).expected(many, ALPHA)
        looked.append((shown, number, pair))
        tell(min(len(looked), of - 1), of)

    of = len(pairs) + MOST_PROMISING * len(people)
    for place in order:
        if looked and time.monotonic() - begin > seconds / 2:
            break
        look(place, pairs[place].of_people(some), FIRST_LOOK)
    promising = [pairs[number] for _, number, _ in sorted(looked, key=lambda one: -one[0])[:MOST_PROMISING]]
    first, looked = looked, []
    in_order = sorted(people, key=lambda k: k != some)  # if time is short, the others are left out
    for number, pair in enumerate(pair.of_people(k) for k in in_order for pair in promising):
        if time.monotonic() - begin > seconds:
            break
        look(number, pair, SECOND_LOOK)
    tell(of, of)
    return max(looked or first, key=lambda one: one[0])[2]


def spread_out(n: int) -> list[int]:
    """Numbers below n so that the first of them are far apart: pairs of the same base stand side by side."""
    return sorted(range(n), key=lambda number: number * GOLDEN % 1)


def telling_parts(agreement: Agreement, seconds: float, progress: Progress) -> Iterator[tuple[Part, Pair]]:
    """Every kind of disclosure of a run, each with the tables that it tells apart best, of those there is time for."""
    begin, plan = time.monotonic(), plan_of(agreement)
    best: dict[tuple[str, str, str | None], tuple[float, Part, Pair]] = {}
    pairs = list(valid_pairs(agreement, agreement.privacy.neighbors, SystemCoins()))
    usual = numbers_of_people(claim_of(plan, pairs[0]))
    some = usual[len(usual) // 2]
    tried = [pairs[number].of_people(k * some) for number in spread_out(len(pairs)) for k in PARTS_OF_THE_BUDGET]
    for place, pair in enumerate(tried):
        progress("choosing tables for disclosures", place, len(tried))
        if place and time.monotonic() - begin > seconds:
            break
        for part in parts_of(Game(agreement, pair)):
            made = part.disclosure
            key, shown = (made.place.step, made.kind, made.place.column), part.expected(RUNS_TO_COME)
            if key not in best or shown > best[key][0]:
                best[key] = (shown, part, pair)
    progress("choosing tables for disclosures", len(tried), len(tried))
    yield from ((part, pair) for _, part, pair in best.values())
