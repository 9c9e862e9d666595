"""The audit of an agreement, from the choice of tables to the verdict.

A verdict is another test than the numbers: a sound mechanism that uses its budget up is above it in up to one of twenty
audits at 95 %, so an accusation takes a level of 0.001, divided by how many numbers there are.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.auditing.bounds import best_threshold, share_right
from copublish.auditing.game import Game, fair_coins
from copublish.auditing.laws import log_chance
from copublish.auditing.parts import Part
from copublish.auditing.result import CONFIDENCE, VERDICT_LEVEL, Audit, Number
from copublish.auditing.statistics import Claim, judged, learned_columns
from copublish.auditing.symbols import PUBLIC, Symbol, symbols_of
from copublish.auditing.tables import Pair, invalid_pairs, pairs_against, valid_pairs
from copublish.errors import AgreementError
from copublish.files.interrupts import deaf_children, end_quietly_when_interrupted
from copublish.mechanisms.base import Plan
from copublish.privacy.coins import SystemCoins
from copublish.privacy.disclosures import GaussianMeasure, Measure, Neighbors, Select
from copublish.progress import Progress, no_progress
from copublish.release.preflight import prepare, software_versions

FIRST_LOOK, SECOND_LOOK, MOST_PROMISING = 6, 60, 12
"""Runs of every pair to choose from, runs of those that look best, and how many these are."""

MOST_RUNS = 40_000
"""Of a view; more hardly find more."""

VIEWS, CHOOSING = 0.65, 0.15
"""Shares of the time for playing views and for choosing tables; the rest is for disclosures and whole runs."""

RUNS_OF_A_PART = {"selection": 12_000, "sums": 8_000}
COINS_OF_A_PART, FEWEST_RUNS = 40_000, 200
"""Of a table that has a coin for each cell; and how often everything is opened at least."""

CHUNK = 250

Runs = tuple[NDArray[np.bool_], NDArray[np.float64], dict[str, NDArray[np.float64]], NDArray[np.int64]]
"""Coins, evidence by the stated law, other numbers, and records as they were told."""


def audit(
    agreement: Agreement | str | Path,
    *,
    minutes: float = 10,
    runs: int | None = None,
    views: Sequence[str] | None = None,
    workers: int | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Play an agreed mechanism against worst-case neighbors, and tell how much of its epsilon shows in each view.

    Args:
        agreement: The agreement, or the path of its file. No data are read and nothing is charged.
        minutes: How long it may take, about.
        runs: How many runs each view gets; by default as many as the time allows.
        views: `public` and names of parties; by default all.
        workers: How many processes play; by default one for each core. 0 plays in this one.
        progress: Told about every step.

    Raises:
        AgreementError: If the agreement cannot be run, or promises nothing that could be audited.
    """
    agreement = agreement if isinstance(agreement, Agreement) else load_agreement(agreement)
    begin = time.monotonic()
    plan = prepare(agreement)
    _refuse_without_promise(agreement, plan)
    wanted = tuple(views or (PUBLIC, *agreement.owners))
    if unknown := [view for view in wanted if view not in (PUBLIC, *agreement.party_names)]:
        raise AgreementError(f"The audit of '{agreement.name}'", [f"there is no view '{unknown[0]}'"])
    symbols = list(_symbols(agreement, wanted, progress))
    with _Players(agreement, workers) as players:
        seconds = CHOOSING * 60 * minutes / len(wanted)
        groups = _groups(agreement, wanted, runs or MOST_RUNS, seconds, progress)
        numbers: list[Number] = []
        for pair, seeing in groups:
            left = VIEWS * 60 * minutes / len(groups)
            phase, claim = f"views of {' and '.join(seeing)}", _claim(plan, pair.relation)
            coins, law, others, told = players.play(
                pair, runs, left, lambda done, of, phase=phase: progress(phase, done, of)
            )
            if told.size:
                others = others | {"learned from records": learned_columns(coins, told)}
            tested = judged(coins, law, claim, others, alpha=1 - CONFIDENCE)
            for view in seeing:
                name = view if view == PUBLIC else f"party '{view}'"
                numbers.append(_number(name, "view", claim, tested, len(coins), 1, pair))
        parts = list(_parts(agreement, seconds, progress))
        for place, (part, pair) in enumerate(parts):
            progress("disclosures", place, len(parts))
            n = _runs_of(part, minutes)
            tested = part.audit(n, alpha=1 - CONFIDENCE)
            made = part.disclosure
            numbers.append(_number(made.label, "disclosure", part.claim, tested, n, part.coins_per_run(), pair))
        progress("disclosures", len(parts), len(parts))
    level = VERDICT_LEVEL / max(1, len(numbers))
    numbers = [replace(n, verdict="refuted" if n.tested.p_value < level else "consistent") for n in numbers]
    return Audit(
        agreement.name,
        agreement.hash,
        software_versions(),
        datetime.now(UTC).date().isoformat(),
        agreement.privacy.neighbors,
        tuple(n for n in numbers if n.kind == "view"),
        tuple(n for n in numbers if n.kind == "disclosure"),
        tuple(symbols),
        tuple(_skipped(agreement)),
        time.monotonic() - begin,
    )


def _refuse_without_promise(agreement: Agreement, plan: Plan[Any]) -> None:
    reason = agreement.mechanism.no_promise(agreement)
    if reason is not None or plan.cost().under(agreement.privacy.neighbors) is None:
        said = "it promises no epsilon under the agreed relation, so there is nothing to find out"
        raise AgreementError(f"The audit of '{agreement.name}'", [said if reason is None else f"{said}: {reason}"])


def _skipped(agreement: Agreement) -> Iterator[str]:
    if agreement.partition != "horizontal":
        yield "who is in the table, which the parties know; for their views another party's values are replaced"
    if agreement.records.public:
        yield "the number of records, which is public"


def _claim(plan: Plan[Any], relation: Neighbors) -> Claim:
    cost = plan.cost()
    epsilon, rho = cost.under(relation), cost.in_rho().under(relation)
    if epsilon is None:
        raise ValueError("nothing is promised under this relation")
    if not cost.gaussian.has_noise or rho is None:
        return Claim(float(epsilon), slack=float(cost.delta))
    delta = plan.agreement.privacy.delta
    has_choices = any(made.kind == "divided" for made in plan.disclosures())
    return Claim(float(epsilon), float(delta or 0) * 63 / 64, float(rho), is_gaussian=not has_choices)


def _number(name: str, kind: Any, claim: Claim, tested: Any, runs: int, coins: int, pair: Pair) -> Number:
    return Number(name, kind, claim, tested, runs, coins, pair.base, pair.record, pair.relation, "consistent")


def _symbols(agreement: Agreement, views: Sequence[str], progress: Progress) -> Iterator[Symbol]:
    """Compare whole runs; who knows its own rows is shown pairs that differ elsewhere."""
    relation = agreement.privacy.neighbors
    cases: list[tuple[Pair, list[str]]] = []
    others = [view for view in views if view != PUBLIC]
    for pair in invalid_pairs(agreement, relation):
        seeing = [PUBLIC] * (PUBLIC in views)
        if agreement.partition == "horizontal":
            seeing += [view for view in others if view != pair.where]
        cases.append((pair, seeing))
    if agreement.partition != "horizontal":
        for view in others:
            own = set(agreement.columns_of(view)) if view in agreement.owners else set()
            for pair in invalid_pairs(agreement, "replace"):
                *common, old = pair.tables[0]
                new = {name: old[name] if name in own else value for name, value in pair.tables[1][-1].items()}
                if new != old and new.keys() == old.keys():
                    cases.append((replace(pair, tables=((*common, old), (*common, new)), relation="replace"), [view]))
    for place, (pair, seeing) in enumerate(cases):
        progress("whole runs", place, len(cases))
        if seeing:
            yield from symbols_of(agreement, pair, seeing)
    progress("whole runs", len(cases), len(cases))


def _groups(
    agreement: Agreement, views: Sequence[str], runs: int, seconds: float, progress: Progress
) -> list[tuple[Pair, list[str]]]:
    """Pairs of tables to play, each with the views that its runs serve.

    Who does not hold the record of horizontal data sees of it what the public sees. Owners of columns know who is in
    the table, so each has pairs of its own, of which another one's values differ.
    """
    found: list[tuple[Pair, list[str]]] = []
    if PUBLIC in views or agreement.partition == "horizontal":
        pairs = list(valid_pairs(agreement, agreement.privacy.neighbors, SystemCoins()))
        worst = _worst(agreement, pairs, runs, seconds, lambda done, of: progress("choosing tables", done, of))
        found.append((worst, [PUBLIC] * (PUBLIC in views)))
    for view in (view for view in views if view != PUBLIC):
        if agreement.partition == "horizontal":
            pair = found[0][0]
            if view == pair.where:
                other = next(owner for owner in agreement.owners if owner != view)
                found.append((replace(pair, where=other), [view]))
            else:
                found[0][1].append(view)
        elif pairs := list(pairs_against(agreement, view, SystemCoins())):
            worst = _worst(
                agreement, pairs, runs, seconds, lambda done, of, v=view: progress(f"tables for {v}", done, of)
            )
            found.append((worst, [view]))
    return [(pair, seeing) for pair, seeing in found if seeing]


def _worst(agreement: Agreement, pairs: Sequence[Pair], runs: int, seconds: float, tell: Any) -> Pair:
    """The pair of which runs should show most, of those there is time for; coins of the pilot are not looked at."""
    sizes: dict[int, NDArray[np.float64]] = {}
    begin = time.monotonic()

    def shown(place: int) -> float:
        many = np.tile(sizes[place], max(1, min(runs, 10_000) // len(sizes[place])))
        return best_threshold(many, 0.025)[1]

    order = _spread_out(len(pairs))
    done, of = 0, len(pairs) + MOST_PROMISING
    for how_many, how_often, share in ((len(pairs), FIRST_LOOK, 0.5), (MOST_PROMISING, SECOND_LOOK, 1)):
        for place in order[:how_many]:
            if time.monotonic() - begin > share * seconds and place != order[0]:
                break
            game = Game(agreement, pairs[place])
            more = np.abs([game.run(bool(coin))[0] for coin in fair_coins(how_often)])
            sizes[place] = np.concatenate([sizes.get(place, more[:0]), more])
            done += 1
            tell(done, of)
        order = sorted(sizes, key=shown, reverse=True)
    return pairs[order[0]]


def _spread_out(n: int) -> list[int]:
    """Numbers below n so that the first of them are far apart: pairs of the same base stand side by side."""
    return sorted(range(n), key=lambda number: (number % 8, number))


def _parts(agreement: Agreement, seconds: float, progress: Progress) -> Iterator[tuple[Part, Pair]]:
    """Every kind of disclosure of a run, each with the tables that it tells apart best, of those there is time for."""
    begin = time.monotonic()
    relation = agreement.privacy.neighbors
    best: dict[tuple[str, str, str | None], tuple[float, Part, Pair]] = {}
    pairs = list(valid_pairs(agreement, relation, SystemCoins()))
    for place, pair in enumerate(pairs[number] for number in _spread_out(len(pairs))):
        progress("choosing tables for disclosures", place, len(pairs))
        if place and time.monotonic() - begin > seconds:
            break
        game = Game(agreement, pair)
        course = game.play(0)
        other = game.measured_on(1, course)
        for made, first, second in zip(course.disclosures, course.measured, other, strict=True):
            if not isinstance(made, Select | Measure | GaussianMeasure):
                continue
            key, size = (made.place.step, made.kind, made.place.column), _telling(made, first, second)
            if key not in best or size > best[key][0]:
                best[key] = (size, Part(made, (first, second), agreement.party_names, relation), pair)
    progress("choosing tables for disclosures", len(pairs), len(pairs))
    yield from ((part, pair) for _, part, pair in best.values())


def _telling(made: Select | Measure | GaussianMeasure, first: Any, second: Any) -> float:
    """How well the best guess tells two tables apart by a disclosure, or something that grows with it."""
    if not isinstance(made, Select):
        return float(np.abs(second - first).sum())
    if np.array_equal(first, second):
        return 0.0
    rate = float(made.noise.rate)
    logs = [[log_chance(scores, place, rate) for place in range(made.candidates)] for scores in (first, second)]
    chances = np.exp(logs)
    return float((chances.mean(axis=0) * share_right(np.abs(np.subtract(logs[0], logs[1])))).sum())


def _runs_of(part: Part, minutes: float) -> int:
    if part.has_coin_for_each_cell:
        most = COINS_OF_A_PART // max(1, part.coins_per_run())
    else:
        most = RUNS_OF_A_PART["selection" if isinstance(part.disclosure, Select) else "sums"]
    return max(FEWEST_RUNS, int(most * min(1.0, minutes / 5)))


def play_runs(agreement: Agreement, pair: Pair, n: int) -> Runs:
    """Play so many runs with fresh coins; in a process of its own, as a rule."""
    game, coins = Game(agreement, pair), fair_coins(n)
    found = [game.run(bool(coin)) for coin in coins]
    others = {name: np.array([other[name] for _, other, _ in found]) for name in (found[0][1] if found else {})}
    told = np.array([record for *_, record in found], dtype=np.int64)
    return coins, np.array([law for law, *_ in found]), others, told


class _Players:
    """Processes that play; numeric libraries take one thread in each."""

    def __init__(self, agreement: Agreement, workers: int | None) -> None:
        self._agreement = agreement
        self._workers = (os.cpu_count() or 1) if workers is None else workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> _Players:
        if self._workers > 0:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers, mp_context=context, initializer=_one_thread)
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def play(self, pair: Pair, runs: int | None, seconds: float, tell: Any) -> Runs:
        """Play one pair, so often or for so long."""
        most, start, done = runs or MOST_RUNS, time.monotonic(), 0
        found: list[Runs] = []
        if self._pool is None:
            while done < most and (runs is not None or time.monotonic() - start < seconds):
                found.append(play_runs(self._agreement, pair, min(CHUNK, most - done)))
                done += len(found[-1][0])
                tell(done, most)
            return _joined(found)
        waiting = {self._submit(pair, min(CHUNK, most)) for _ in range(self._workers)}
        asked = CHUNK * len(waiting)
        while waiting:
            ready = next(as_completed(waiting))
            waiting.discard(ready)
            found.append(ready.result())
            done += len(found[-1][0])
            tell(done, most)
            if asked < most and (runs is not None or time.monotonic() - start < seconds):
                waiting.add(self._submit(pair, min(CHUNK, most - asked)))
                asked += CHUNK
        return _joined(found)

    def _submit(self, pair: Pair, n: int) -> Any:
        if self._pool is None:
            raise RuntimeError("there are no processes")
        with deaf_children():  # the first call starts the processes
            return self._pool.submit(play_runs, self._agreement, pair, n)


def _joined(found: Sequence[Runs]) -> Runs:
    names = found[0][2]
    others = {name: np.concatenate([runs[2][name] for runs in found]) for name in names}
    coins, law, told = (np.concatenate([runs[i] for runs in found]) for i in (0, 1, 3))
    return coins, law, others, told


def _one_thread() -> None:
    end_quietly_when_interrupted()
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
