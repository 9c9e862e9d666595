"""Auditing one disclosure alone, against its own budget, through the gate that opens it in a release.

What came before it is given, drawn on table 0 whatever the coin is. So nothing but this disclosure tells the coin. In
a table of counts every cell has a coin and a record of its own: one opening makes as many guesses as it has cells. A
guess uses outputs and the coins of cells before it alone; given those, each is right with probability at most
1 / (1 + e^-epsilon) for the record of that cell, so their number is at most binomial as well.

The noise is made of the operating system's own words, as in a release. Views take stretched ones, which are faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.accounting.concentrated import ConcentratedMeasure, ConcentratedSelect
from copublish.kernel.accounting.disclosures import (
    HISTOGRAM_L1,
    NEIGHBORS,
    Disclosure,
    GaussianMeasure,
    Measure,
    Neighbors,
    Select,
)
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.secret import SecretCounts
from copublish.tools.auditing.bounds import StretchedCoins, evidence, evidence_of_sums, log_chance, stretched_coins
from copublish.tools.auditing.coalitions import SharesOfOne, engine_with_known_shares
from copublish.tools.auditing.game import Game, fair_coins, free_gate, reveal_selections
from copublish.tools.auditing.statistics import Claim, Tested, judged, learned, structures
from copublish.types import IntArray

TRIALS = 4000
"""Of the law of a disclosure, to compare tables."""

ROUNDING = 1e-9
"""Evidence of two equal chances, each a sum."""

ENTRIES_AT_ONCE = 4096
"""Whose noise is drawn together: as many as fit the processor's memory."""

DRAWN_AT_ONCE = 500
"""Selections whose noise is in memory together."""

EVIDENCE_OF_A_CELL = 2.0
"""Epsilon of all people who are behind the coin of a cell: with more, a guess is hardly ever wrong and tells less."""

MOST_EARLIER = 32
"""Cells before a cell that its residual is compared with, so that large tables do not take the square of their size."""


@dataclass(frozen=True)
class Part:
    """A disclosure and what it measures on two neighboring tables.

    Attributes:
        parties: Who opens it.
        relation: How the tables are neighbors.
        people: In how many people they differ.
        coalition: Owners whose shares of the noise are known and taken off what is opened.
    """

    disclosure: Select | Measure | GaussianMeasure
    measured: tuple[IntArray, IntArray]
    parties: tuple[str, ...]
    relation: Neighbors
    people: int = 1
    coalition: tuple[str, ...] = ()

    @property
    def has_coin_for_each_cell(self) -> bool:
        """Whether records may be added cell by cell: a table of counts with pure epsilon."""
        made = self.disclosure
        return isinstance(made, Measure) and made.l1_sensitivity == HISTOGRAM_L1 and made.largest_weight == 1

    @property
    def is_moved(self) -> NDArray[np.bool_]:
        """In which entries the tables differ."""
        return np.asarray(self.measured[0] != self.measured[1])

    @property
    def can_tell(self) -> bool:
        """Whether some answer is more likely on one table; scores that all move alike are not told apart.

        Where every cell has a coin, records are added to cells, whatever the tables are.
        """
        return self.has_coin_for_each_cell or bool((np.abs(self.trials()) > ROUNDING).any())

    def of_entries(self, chosen: NDArray[np.bool_]) -> Part:
        """Some entries of a measurement alone; their noise is the same."""
        made, (first, second) = self.disclosure, self.measured
        if not isinstance(made, Measure):
            raise TypeError(f"{type(made).__name__} has no entries with noises of their own")
        return replace(
            self, disclosure=replace(made, entries=int(chosen.sum())), measured=(first[chosen], second[chosen])
        )

    @property
    def claim(self) -> Claim:
        """What is stated of it."""
        made = self.disclosure
        if isinstance(made, GaussianMeasure):
            delta = made.whole.delta_without_sampler if hasattr(made, "whole") else made.agreed_delta * Fraction(63, 64)
            rho = float(made.rho(self.relation))
            return Claim(float(made.epsilon(self.relation)), float(delta), rho, is_gaussian=True, people=self.people)
        epsilon, slack = float(made.epsilon(self.relation)), float(made.delta(self.relation))
        # Where every cell has a coin, so many people are behind each that one guess tells most of one person.
        people = max(1, round(EVIDENCE_OF_A_CELL / epsilon)) if self.has_coin_for_each_cell else self.people
        return Claim(epsilon, slack=slack, people=people)

    def coins_per_run(self) -> int:
        """How many coins one opening guesses."""
        return len(self.measured[0]) // HISTOGRAM_L1[self.relation] if self.has_coin_for_each_cell else 1

    def evidence_of(self, answers: Sequence[IntArray] | IntArray) -> NDArray[np.float64]:
        """How much more likely each answer is on table 1, as a logarithm."""
        if isinstance(self.disclosure, Select):
            return np.array([evidence(self.disclosure, answer, self.measured) for answer in answers])
        return evidence_of_sums(self.disclosure, np.asarray(answers), self.measured)

    def trials(self, times: int = TRIALS) -> NDArray[np.float64]:
        """Evidence of so many answers on table 1 by the stated law. Nothing is opened, so pairs can be compared."""
        made, (first, second) = self.disclosure, self.measured
        if np.array_equal(first, second):
            return np.zeros(times)
        if isinstance(made, Select):
            rate = float(made.noise.rate)
            logs = np.array([[log_chance(own, i, rate) for i in range(made.candidates)] for own in (first, second)])
            places = np.searchsorted(np.cumsum(np.exp(logs[1])), uniform_trials(1, times)[0])
            return np.asarray((logs[1] - logs[0])[np.minimum(places, made.candidates - 1)])
        if isinstance(made, GaussianMeasure):
            mu = float(np.linalg.norm((second - first).astype(np.float64)) / math.sqrt(made.noise.variance))
            return np.asarray(mu * norm.ppf(uniform_trials(1, times)[0]) + mu**2 / 2)
        steps = float(made.noise.rate) * np.abs(second - first)
        found = np.zeros(times)
        for step in steps[steps > 0]:
            noise = laplace_trials(times)
            found += np.abs(noise + step) - np.abs(noise)
        return found

    def expected(self, runs: int, alpha: float = 0.05) -> float:
        """What so many runs would show if the stated law holds."""
        if self.has_coin_for_each_cell:
            return float(self.coins_per_run())  # its tables do not matter
        return self.claim.expected(np.abs(self.trials()), alpha / 2, runs_each=runs / TRIALS)

    def audit(self, runs: int, *, alpha: float = 0.05) -> Tested:
        """Open it so many times, each time with fresh coins, and guess them."""
        if self.has_coin_for_each_cell and self.coins_per_run():
            return self._by_cells(runs, alpha)
        coins = fair_coins(runs)
        opened = self.opened([self.measured[int(coin)] for coin in coins])
        law = self.evidence_of(opened)
        others: dict[str, NDArray[np.float64]] = {}
        if not isinstance(self.disclosure, Select):
            answers = np.array(opened)
            others = structures(answers, self.measured)
            others["learned law"] = learned(coins, (answers - self.measured[0], answers - self.measured[1]))
        return judged(coins, law, self.claim, others, alpha=alpha)

    def _by_cells(self, runs: int, alpha: float) -> Tested:
        made, width = self.disclosure, HISTOGRAM_L1[self.relation]
        n = self.coins_per_run()
        coins = fair_coins(runs * n).reshape(runs, n)
        base = np.broadcast_to(self.measured[0][: n * width], (runs, n * width)).reshape(runs, n, width)
        # Adding: records in the cell or none. Replacing: they are in the first or in the second cell of two.
        steps = [np.zeros(width, np.int64), np.ones(width, np.int64)] if width == 1 else [[1, 0], [0, 1]]
        on = [base + self.claim.people * np.array(step) for step in steps]
        tables = np.where(coins[:, :, None], on[1], on[0]).reshape(runs, -1)
        rest = np.broadcast_to(self.measured[0][n * width :], (runs, len(self.measured[0]) - n * width))
        answers = np.array(self.opened(list(np.concatenate([tables, rest], axis=1))))[:, : n * width]
        off = [answers.reshape(runs, n, width) - own for own in on]
        rate = float(made.noise.rate)  # type: ignore[union-attr]
        law = rate * (np.abs(off[0]).sum(axis=2) - np.abs(off[1]).sum(axis=2))
        zeros = (off[1] == 0).sum(axis=2) - (off[0] == 0).sum(axis=2)
        true = np.where(coins[:, :, None], off[1], off[0])
        flat = coins.reshape(-1)
        others = {
            "residuals of zero": zeros.astype(np.float64).reshape(-1),
            "equal residuals": _equal_to_earlier(true, off).reshape(-1),
            "learned law": learned(flat, (off[0].reshape(-1, width), off[1].reshape(-1, width))),
            "largest residual": (np.abs(off[0]).max(axis=2) - np.abs(off[1]).max(axis=2)).astype(float).reshape(-1),
        }
        others |= {f"residuals equal at distance {d}": _equal_at(d, true, off).reshape(-1) for d in _distances(n)}
        return judged(flat, law.reshape(-1), self.claim, others, alpha=alpha)

    def opened_together(self, measured: IntArray) -> IntArray:
        """What the gate opens of each row, the noise of many rows drawn at once: shape (runs, entries), or 1 for each.

        One opening has as many entries as several runs have, each with a noise of its own; so their law is that of
        openings one after the other. What hangs on a single opening, noise that it shares or reuses, `audit` looks for.
        """
        made = self.disclosure
        if isinstance(made, GaussianMeasure):
            raise TypeError("Gaussian noise is drawn run by run")
        found = np.empty_like(measured) if isinstance(made, Measure) else np.empty((len(measured), 1), dtype=np.int64)
        if not measured.size:
            return found
        rows = max(1, ENTRIES_AT_ONCE // measured.shape[1])

        def job(engine: IdealEngine) -> None:
            gate = free_gate(engine)
            for start in range(0, len(measured), rows):
                values = measured[start : start + rows]
                own = values if engine.party == self.parties[0] else np.zeros_like(values)
                if isinstance(made, Select):
                    answer = reveal_selections(engine, engine.share(own), made)
                else:
                    answer = _reveal(gate, engine, replace(made, entries=values.size), own.reshape(-1))
                gate.opened.clear()
                if engine.party == self.parties[0]:
                    found[start : start + rows] = answer.reshape(len(values), -1)

        Room(self.parties, stretched_coins(self.parties)).run(job)
        return found

    def opened(self, measured: Sequence[IntArray], coins: Mapping[str, Coins] | None = None) -> list[IntArray]:
        """What the gate opens of each of these, one after the other, with fresh noise.

        Args:
            measured: What is measured each time.
            coins: Of every party. By default those of a release: an audit that took none of them would not notice that
                they repeat.
        """
        found: list[IntArray] = []
        known = {party: SharesOfOne() for party in self.coalition}
        made, first = self.disclosure, self.parties[0]
        times = min(DRAWN_AT_ONCE, times_within_budget(made))

        def job(engine: IdealEngine) -> None:
            for place, values in enumerate(measured):
                if place % times == 0:
                    gate = free_gate(engine)
                if isinstance(made, Select) and place % times == 0:
                    gate.draw_selection_noise(made, len(self.measured[0]), times=min(times, len(measured) - place))
                own = values if engine.party == first else np.zeros_like(values)
                answer = _reveal(gate, engine, made, own)
                gate.opened.clear()
                if engine.party == first:
                    found.append(answer)

        engine = engine_with_known_shares(known) if known else None
        Room(self.parties, coins, engine).run(job)
        return [answer - sum(own.shares[place] for own in known.values()) for place, answer in enumerate(found)]


def times_within_budget(disclosure: Disclosure) -> int:
    """How many disclosures like this one a gate lets pass, if it is a part of a budget; else as many as one likes."""
    if not isinstance(disclosure, ConcentratedSelect | ConcentratedMeasure):
        return DRAWN_AT_ONCE
    return int(min(disclosure.whole.rho(relation) / disclosure.rho(relation) for relation in NEIGHBORS))


def parts_of(game: Game) -> Iterator[Part]:
    """What one run discloses, along a course of table 0, each with what is measured on both tables."""
    course = game.play(0)
    other = game.measured_on(1, course)
    for made, first, second in zip(course.disclosures, course.measured, other, strict=True):
        if isinstance(made, Select | Measure | GaussianMeasure):
            yield Part(made, (first, second), game.agreement.party_names, game.pair.relation, game.pair.people)


def uniform_trials(entries: int, times: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1 to compare pairs of tables with: shape (entries, times)."""
    words = StretchedCoins().words((entries, times)).view(np.uint64)
    return (words.astype(np.float64) + 0.5) / 2.0**64


def laplace_trials(times: int) -> NDArray[np.float64]:
    """Noises of scale 1; only their sums' sizes matter, so ends are cut."""
    centered = (uniform_trials(1, times)[0] - 0.5).clip(-0.4999999, 0.4999999)
    return np.asarray(-np.sign(centered) * np.log1p(-2 * np.abs(centered)))


def _reveal(gate: Gate, engine: IdealEngine, disclosure: Disclosure, own: IntArray) -> IntArray:
    if isinstance(disclosure, Select):
        return np.array([gate.reveal_selection(engine.share(own), disclosure)])
    secret = engine.share(own.reshape(-1, 1))
    if isinstance(disclosure, GaussianMeasure):
        return gate.reveal_gaussian_measurement(secret, disclosure)
    if isinstance(disclosure, Measure):
        return gate.reveal_measurement(SecretCounts(secret, Packing(1)), disclosure)
    raise TypeError(f"{type(disclosure).__name__} is not opened by the gate alone")


def _equal_to_earlier(true: NDArray[Any], off: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """How many residuals of earlier cells equal those of a cell, if its coin is 1 less if it is 0."""
    runs, n, width = true.shape
    found = np.zeros((runs, n))
    for cell in range(1, n):
        earlier = true[:, max(0, cell - MOST_EARLIER) : cell].reshape(runs, -1)
        for place in range(width):
            one, zero = (own[:, cell, place][:, None] == earlier for own in (off[1], off[0]))
            found[:, cell] += one.sum(axis=1) - zero.sum(axis=1)
    return found


def _distances(n: int) -> list[int]:
    """How far apart cells may be that share noise: a period of the noise, or halves and thirds of the table."""
    return sorted({*range(1, min(n, 5)), *(n // part for part in (2, 3, 4))} - {0})


def _equal_at(distance: int, true: NDArray[Any], off: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Whether a cell's residuals equal those of the cell so many before it, if its coin is 1 less if it is 0."""
    found = np.zeros(true.shape[:2])
    one, zero = ((own[:, distance:] == true[:, :-distance]).all(axis=2) for own in (off[1], off[0]))
    found[:, distance:] = one.astype(np.float64) - zero
    return found
