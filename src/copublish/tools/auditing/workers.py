"""Many runs of one pair of tables: one after the other, or in processes that each have one thread."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.files.interrupts import deaf_children, end_quietly_when_interrupted
from copublish.kernel.accounting.disclosures import GaussianMeasure
from copublish.mechanisms.registry import plan_of
from copublish.tools.auditing.bounds import stretched_coins
from copublish.tools.auditing.common_people import NoisySize
from copublish.tools.auditing.game import Game, fair_coins
from copublish.tools.auditing.openings import MOST_RUNS, Play, best_play, opening_of, play_promising
from copublish.tools.auditing.records import PEOPLE, RecordGame, tells_records
from copublish.tools.auditing.runs_after_choices import Choices, begins_with_choices, best_choices
from copublish.tools.auditing.single_disclosures import Part, parts_of
from copublish.tools.auditing.statistics import Claim, Numbers, claim_of, structures
from copublish.tools.auditing.tables import Pair

LOOK_AGAIN = 1.2
"""How many times more runs there are when one looks again whether they are enough."""

SECONDS_AT_ONCE = 3.0
"""After so long a process tells what it has."""

OPENED_AT_ONCE, BEGUN_AT_ONCE = 100, 2000
FIRST_TOGETHER, SECONDS_TOGETHER = 50, 0.25
"""Runs that are begun together: few at first, then more as long as that does not take long."""

SHORT_SECONDS = 5.0
"""In which it is not worth while to find out which runs should be played on."""

Floats = NDArray[np.float64]
Tell = Callable[[int, int], None]
Clock = Callable[[], float]
Enough = Callable[[Floats], bool]
"""Whether runs with evidence of these sizes are enough; it is not told any coin."""

WALL: Clock = time.monotonic


def never(sizes: Floats) -> bool:
    """Whether runs are enough: not before their time is over."""
    return False


@dataclass(frozen=True)
class Runs:
    """What runs of one pair showed; a run has one coin, or one for everybody whose record it tells.

    Attributes:
        coins: Which table it was, or which record.
        law: Evidence for 1 by the stated laws.
        others: Other numbers that are larger if 1 is more likely.
        told: Records as they were told, if they are: shape (coins, columns).
        coins_per_run: How many coins one run has.
        processor_seconds: What they took.
    """

    coins: NDArray[np.bool_]
    law: Floats
    others: dict[str, Numbers]
    told: NDArray[np.int64]
    coins_per_run: int = 1
    processor_seconds: float = 0.0

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
            sum(runs.processor_seconds for runs in found),
        )

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return len(self.coins) // self.coins_per_run


def play_runs(
    agreement: Agreement, pair: Pair, n: int, seconds: float = math.inf, *, least: float = 0.0, clock: Clock = WALL
) -> Runs:
    """Play so many runs with fresh coins, or as many as there is time for, at least one.

    Args:
        agreement: What is audited.
        pair: The tables.
        n: How many runs.
        seconds: How long it may take.
        least: How much the beginning of a run has to say for it to be played on, see `openings.py`.
        clock: What seconds are.
    """
    begin, found, done = clock(), [], 0
    used = time.process_time()
    play, most = _kept_player(agreement, pair, least)
    size = NoisySize.of(agreement, pair)
    together = min(most, FIRST_TOGETHER)
    while done < n and (not done or clock() - begin < seconds):
        start = clock()
        found.append(_beside(size, play(min(together, n - done))))
        done += found[-1].runs
        together = min(most, 2 * together) if clock() - start < SECONDS_TOGETHER else max(1, together // 2)
    return replace(Runs.joined(found), processor_seconds=time.process_time() - used)


def _beside(size: NoisySize | None, runs: Runs) -> Runs:
    """Runs with what is seen beside them of the number of common people."""
    if size is None:
        return runs
    seen = size.seen(runs.coins)
    others = {**runs.others, "number of common people": size.beyond_the_middle(seen)}
    return replace(runs, law=runs.law + size.evidence(seen), others=others)


def _kept_player(agreement: Agreement, pair: Pair, least: float) -> tuple[Callable[[int], Runs], int]:
    """The player of the last call if this one is for the same: aligning tables takes as long as many runs."""
    if not _kept or _kept[0][0] != (agreement.hash, least) or _kept[0][1] != pair:
        _kept[:] = [((agreement.hash, least), pair, _player(agreement, pair, least))]
    return _kept[0][2]


_kept: list[tuple[tuple[str, float], Pair, tuple[Callable[[int], Runs], int]]] = []


def _player(agreement: Agreement, pair: Pair, least: float) -> tuple[Callable[[int], Runs], int]:
    """What plays a number of runs, and how many of them at once."""
    if tells_records(agreement):
        records = RecordGame(agreement, pair)
        return lambda n: _tell_records(records, n), 1
    game = Game(agreement, pair)
    if is_one_gaussian(agreement):
        (part,) = parts_of(game)
        return lambda n: _open_alone(part, n), OPENED_AT_ONCE
    if begins_with_choices(game):
        claim = claim_of(game.plan, pair)
        tree = Choices(game, claim.epsilon * claim.people, least)
        return lambda n: _played(tree.play, n), BEGUN_AT_ONCE
    opening = opening_of(game)
    if opening.is_all or least:
        return lambda n: _played(partial(play_promising, game, opening, least), n), BEGUN_AT_ONCE
    return lambda n: _play_games(game, n), 1


def is_one_gaussian(agreement: Agreement) -> bool:
    """Whether all that a run opens is one measurement with Gaussian noise."""
    planned = plan_of(agreement).disclosures()
    return len(planned) == 1 and isinstance(planned[0], GaussianMeasure)


def least_to_play_on(agreement: Agreement, pair: Pair, seconds: float) -> float:
    """How much the beginning of a run has to say for it to be played on, if all of them take so long together."""
    if tells_records(agreement) or is_one_gaussian(agreement) or seconds < SHORT_SECONDS:
        return 0.0
    claim = claim_of(plan_of(agreement), pair)
    return 0.0 if claim.rho is not None else play_in_time(Game(agreement, pair), claim, seconds).least


def play_in_time(game: Game, claim: Claim, seconds: float) -> Play:
    """What runs of so long would show of a promise of epsilon, and which of them should be played on for that."""
    return best_choices(game, claim, seconds) if begins_with_choices(game) else best_play(game, claim, seconds)


def _tell_records(game: RecordGame, n: int) -> Runs:
    coins = fair_coins(n * PEOPLE)
    runs = [game.run(coins[start : start + PEOPLE]) for start in range(0, len(coins), PEOPLE)]
    told, law = (np.concatenate([run[i] for run in runs]) for i in (0, 1))
    return Runs(coins, law, {}, told, PEOPLE)


def _open_alone(part: Part, n: int) -> Runs:
    """Open the one measurement that a run is; nothing before it depends on answers, so it is not computed anew."""
    coins = fair_coins(n)
    opened = np.array(part.opened([part.measured[int(coin)] for coin in coins], stretched_coins(part.parties)))
    return Runs(
        coins, part.evidence_of(opened), dict(structures(opened, part.measured)), np.empty((n, 0), dtype=np.int64)
    )


def _played(play: Callable[[NDArray[np.bool_]], tuple[Floats, dict[str, Floats]]], n: int) -> Runs:
    coins = fair_coins(n)
    law, others = play(coins)
    short = {name: values.astype(np.float32) for name, values in others.items()}  # there are millions of them
    return Runs(coins, law, short, np.empty((n, 0), dtype=np.int64))


def _play_games(game: Game, n: int) -> Runs:
    coins = fair_coins(n)
    found = [game.run(bool(coin)) for coin in coins]
    others: dict[str, Numbers] = {name: np.array([other[name] for _, other in found]) for name in found[0][1]}
    return Runs(coins, np.array([law for law, _ in found]), others, np.empty((n, 0), dtype=np.int64))


class Players:
    """Processes that play; numeric libraries take one thread in each.

    Args:
        agreement: What they play.
        workers: How many there are; by default one for each core. 0 plays in this process.
        by_processor: Whether seconds are what processors spend on it, of all processes together.
    """

    def __init__(self, agreement: Agreement, workers: int | None, *, by_processor: bool = False) -> None:
        self._agreement, self.by_processor = agreement, by_processor
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

    def play(self, pair: Pair, runs: int | None, seconds: float, tell: Tell, is_enough: Enough = never) -> Runs:
        """Play one pair, so often or for so long, or until it is enough."""
        # A number of runs that is asked for is played whole.
        least = 0.0 if runs else least_to_play_on(self._agreement, pair, self.processor_seconds(seconds))
        begin, found, done, looked = self._clock(), [], 0, 0
        waiting = {self._start(pair, runs, seconds, least) for _ in range(max(1, self._workers))}
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                found.append(future.result())
                done += found[-1].runs
                spent = self._clock() - begin + sum(one.processor_seconds for one in found if self._counts_workers)
                tell(*((done, runs) if runs else (int(min(spent, seconds)), max(1, int(seconds)))))
                goes_on = done < (runs or MOST_RUNS) and (runs is not None or spent < seconds - SECONDS_AT_ONCE / 2)
                if goes_on and done > LOOK_AGAIN * looked:
                    looked = done
                    goes_on = not is_enough(np.concatenate([np.abs(one.law) for one in found]))
                if goes_on:
                    waiting.add(self._start(pair, runs, seconds, least))
        return Runs.joined(found)

    def processor_seconds(self, seconds: float) -> float:
        """What all processes together have in so many seconds."""
        return seconds if self.by_processor else max(1, self._workers) * seconds

    @property
    def _clock(self) -> Clock:
        return time.process_time if self.by_processor else WALL

    @property
    def _counts_workers(self) -> bool:
        """Whether what other processes use has to be added to this one's."""
        return self.by_processor and self._pool is not None

    def _start(self, pair: Pair, runs: int | None, seconds: float, least: float) -> Future[Runs]:
        n = MOST_RUNS if runs is None else max(1, runs // (2 * max(1, self._workers)))
        if self._pool is None:
            done: Future[Runs] = Future()
            n, at_once = (n, min(seconds, SECONDS_AT_ONCE)) if runs is None else (runs, math.inf)
            done.set_result(play_runs(self._agreement, pair, n, at_once, least=least, clock=self._clock))
            return done
        with deaf_children():  # the first call starts the processes
            return self._pool.submit(play_runs, self._agreement, pair, n, SECONDS_AT_ONCE, least=least)


def _one_thread() -> None:
    end_quietly_when_interrupted()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
