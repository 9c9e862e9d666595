"""Many runs of one pair of tables: one after the other, or in processes that each have one thread."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.auditing.game import Game, fair_coins
from copublish.auditing.parts import Part
from copublish.auditing.records import PEOPLE, RecordGame, tells_records
from copublish.auditing.statistics import structure
from copublish.auditing.tables import Pair
from copublish.files.interrupts import deaf_children, end_quietly_when_interrupted
from copublish.mechanisms.registry import plan_of
from copublish.privacy.disclosures import GaussianMeasure, Measure, Select

MOST_RUNS = 1_000_000
"""Of a view; more hardly find more."""

SECONDS_AT_ONCE = 3.0
"""After so long a process tells what it has."""

OPENED_AT_ONCE = 100

Floats = NDArray[np.float64]
Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class Runs:
    """What runs of one pair showed; a run has one coin, or one for everybody whose record it tells.

    Attributes:
        coins: Which table it was, or which record.
        law: Evidence for 1 by the stated laws.
        others: Other numbers that are larger if 1 is more likely.
        told: Records as they were told, if they are: shape (coins, columns).
        coins_per_run: How many coins one run has.
    """

    coins: NDArray[np.bool_]
    law: Floats
    others: dict[str, Floats]
    told: NDArray[np.int64]
    coins_per_run: int = 1

    @staticmethod
    def joined(found: Sequence[Runs]) -> Runs:
        """All of them as one."""
        others = {name: np.concatenate([runs.others[name] for runs in found]) for name in found[0].others}
        return Runs(
            np.concatenate([runs.coins for runs in found]),
            np.concatenate([runs.law for runs in found]),
            others,
            np.concatenate([runs.told for runs in found]),
            found[0].coins_per_run,
        )

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return len(self.coins) // self.coins_per_run


def play_runs(agreement: Agreement, pair: Pair, n: int, seconds: float = math.inf) -> Runs:
    """Play so many runs with fresh coins, or as many as there is time for, at least one."""
    begin, found, done = time.monotonic(), [], 0
    play, at_once = _player(agreement, pair)
    while done < n and (not done or time.monotonic() - begin < seconds):
        found.append(play(min(at_once, n - done)))
        done += found[-1].runs
    return Runs.joined(found)


def _player(agreement: Agreement, pair: Pair) -> tuple[Callable[[int], Runs], int]:
    """What plays a number of runs, and how many of them at once."""
    if tells_records(agreement):
        records = RecordGame(agreement, pair)
        return lambda n: _tell_records(records, n), 1
    game = Game(agreement, pair)
    if is_one_measurement(agreement):
        (part,) = parts_of(game)
        return lambda n: _open_alone(part, n), OPENED_AT_ONCE
    return lambda n: _play_games(game, n), 1


def is_one_measurement(agreement: Agreement) -> bool:
    """Whether all that a run opens is one measurement: then nothing that is measured depends on answers."""
    planned = plan_of(agreement).disclosures()
    return len(planned) == 1 and isinstance(planned[0], Measure | GaussianMeasure)


def parts_of(game: Game) -> Iterator[Part]:
    """What one run discloses, along a course of table 0, each with what is measured on both tables."""
    course = game.play(0)
    other = game.measured_on(1, course)
    for made, first, second in zip(course.disclosures, course.measured, other, strict=True):
        if isinstance(made, Select | Measure | GaussianMeasure):
            yield Part(made, (first, second), game.agreement.party_names, game.pair.relation, game.pair.people)


def _tell_records(game: RecordGame, n: int) -> Runs:
    coins = fair_coins(n * PEOPLE)
    runs = [game.run(coins[start : start + PEOPLE]) for start in range(0, len(coins), PEOPLE)]
    told, law = (np.concatenate([run[i] for run in runs]) for i in (0, 1))
    return Runs(coins, law, {}, told, PEOPLE)


def _open_alone(part: Part, n: int) -> Runs:
    """Open the one measurement that a run is; nothing before it depends on answers, so it is not computed anew."""
    coins = fair_coins(n)
    opened = part.opened([part.measured[int(coin)] for coin in coins])
    each = [structure(answer, part.measured) for answer in opened]
    others = {name: np.array([one[name] for one in each]) for name in each[0]}
    law = np.array([part.evidence_of(answer) for answer in opened])
    return Runs(coins, law, others, np.empty((n, 0), dtype=np.int64))


def _play_games(game: Game, n: int) -> Runs:
    coins = fair_coins(n)
    found = [game.run(bool(coin)) for coin in coins]
    others = {name: np.array([other[name] for _, other in found]) for name in found[0][1]}
    return Runs(coins, np.array([law for law, _ in found]), others, np.empty((n, 0), dtype=np.int64))


class Players:
    """Processes that play; numeric libraries take one thread in each.

    Args:
        agreement: What they play.
        workers: How many there are; by default one for each core. 0 plays in this process.
    """

    def __init__(self, agreement: Agreement, workers: int | None) -> None:
        self._agreement = agreement
        self._workers = (os.cpu_count() or 1) if workers is None else workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Players:
        if self._workers > 0:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, mp_context=context, initializer=_one_thread)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def play(self, pair: Pair, runs: int | None, seconds: float, tell: Tell) -> Runs:
        """Play one pair, so often or for so long."""
        begin = time.monotonic()
        if self._pool is None:
            found = [play_runs(self._agreement, pair, runs or MOST_RUNS, math.inf if runs else seconds)]
            tell(found[0].runs, found[0].runs)
            return found[0]
        found, done = [], 0
        waiting = {self._start(self._pool, pair, runs) for _ in range(self._workers)}
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                found.append(future.result())
                done += found[-1].runs
                spent = time.monotonic() - begin
                tell(*((done, runs) if runs else (int(min(spent, seconds)), max(1, int(seconds)))))
                if done < (runs or MOST_RUNS) and (runs is not None or spent < seconds - SECONDS_AT_ONCE / 2):
                    waiting.add(self._start(self._pool, pair, runs))
        return Runs.joined(found)

    def _start(self, pool: ProcessPoolExecutor, pair: Pair, runs: int | None) -> Future[Runs]:
        n = MOST_RUNS if runs is None else max(1, runs // (2 * self._workers))
        with deaf_children():  # the first call starts the processes
            return pool.submit(play_runs, self._agreement, pair, n, SECONDS_AT_ONCE)


def _one_thread() -> None:
    end_quietly_when_interrupted()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
