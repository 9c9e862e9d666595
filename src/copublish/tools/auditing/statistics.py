"""Tests of an audit's guesses against the claim that an agreement makes about whole runs.

Some guesses go by the stated law of each run. That evidence needs no second half of the runs, since its threshold comes
from outputs alone. Noise that is shared, missing or cut does not have the stated law, and other statistics see it: they
are picked, one of all, on the first half of the runs, where coins are known, and tested on the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from copublish.kernel.accounting.cost import NOTHING
from copublish.kernel.accounting.membership import membership_cost
from copublish.kernel.accounting.zcdp import epsilon_for
from copublish.mechanisms.base import Plan
from copublish.tools.auditing.bounds import (
    best_threshold,
    epsilon_of_mu,
    epsilon_of_share,
    lower_share,
    mu_of_share,
    p_value,
    rho_of_share,
    share_of_mu,
    share_of_rho,
    share_right,
)
from copublish.tools.auditing.tables import Pair

Coins = NDArray[np.bool_]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]

LAW = "stated law"


@dataclass(frozen=True)
class Claim:
    """What is stated of whatever is audited.

    Attributes:
        epsilon: At delta.
        delta: What rho is converted with; 0 for pure epsilon.
        rho: If zero-concentrated differential privacy is what is stated.
        is_gaussian: Whether all of it is Gaussian noise, so that mu says more than rho.
        slack: A bound on how far all sampled noise of one run is from the exact one.
        people: In how many people the tables of a pair differ.

    Privacy:
        Tables that differ in k people are k epsilon apart, or k^2 rho (arXiv:1605.02065v1, Proposition 1.9). What
        guesses prove of them is divided by that, so it is a bound for one person: where a person moves many values a
        little, the noises of a few runs rarely lie on one side of all of them, and larger steps show more.
    """

    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    is_gaussian: bool = False
    slack: float = 0.0
    people: int = 1

    @property
    def mu(self) -> float | None:
        """The distance of two normal laws that rho stands for."""
        return math.sqrt(2 * self.rho) if self.rho is not None and self.is_gaussian else None

    @property
    def reachable(self) -> float:
        """The epsilon that the best guesses could show with any number of runs.

        Where choices stand between Gaussian measurements it is that of Gaussian noise with all of the rho: a guess that
        is right with probability r = Phi(k mu / 2) proves (2 r - 1) log(r / (1 - r)) / k^2 of it, not all of mu^2 / 2.
        """
        if self.rho is None:
            return self.epsilon
        if self.mu is not None:
            return epsilon_of_mu(self.mu, self.delta)
        return self._epsilon(float(norm.cdf(self.people * math.sqrt(self.rho / 2))))

    def _epsilon(self, share: float) -> float:
        """The epsilon that a probability of a right guess proves."""
        if self.rho is None:
            return float(epsilon_of_share(share)) / self.people
        if self.is_gaussian:
            return epsilon_of_mu(mu_of_share(share) / self.people, self.delta)
        return self._epsilon_of_rho(rho_of_share(share) / self.people**2)

    def _epsilon_of_rho(self, rho: float) -> float:
        """What rho is told as; the same conversion as that of the stated one, so that both can be compared."""
        return float(epsilon_for(Fraction(rho), Fraction(self.delta))) if rho > 0 else 0.0

    def shown(self, right: float, guesses: float, alpha: float) -> float:
        """The epsilon that so many right guesses prove."""
        return self._epsilon(float(lower_share(right, guesses, max(alpha - guesses * self._slack, 1e-12))))

    def expected(self, sizes: Floats, alpha: float, *, runs_each: float = 1.0) -> float:
        """The epsilon that guesses would prove whose evidence has these sizes and means what it says.

        To plan with, there may be several runs, or a part of one, for each of the sizes.
        """
        if self.rho is None:
            return best_threshold(sizes, alpha, runs_each=runs_each)[1] / self.people
        return self.shown(runs_each * float(share_right(sizes).sum()), runs_each * len(sizes), alpha)

    def p_value(self, right: int, guesses: int) -> float:
        """How likely so many right guesses are at most if the claim holds."""
        if self.rho is None:
            share = float(share_right(self.epsilon * self.people))
        else:
            share = share_of_rho(self.rho * self.people**2)
        if self.mu is not None:
            share = min(share, share_of_mu(self.mu, self.people))
        return min(1.0, p_value(right, guesses, share) + guesses * self._slack)

    @property
    def _slack(self) -> float:
        """The same for tables that differ in so many people: each step multiplies the distances of those before it."""
        return self.slack * self.people * math.exp((self.people - 1) * self.epsilon)


@dataclass(frozen=True)
class Tested:
    """What guesses of coins showed.

    Attributes:
        found: Epsilon, with the confidence that was asked for.
        expected: What a mechanism exactly as stated would show.
        guesses, right: How many there were of the better test.
        statistic: Which test that was.
        threshold: From which size of evidence on it guessed.
        p_value: How likely the better one of both tests is at most if the claim holds.
        bins: By size of evidence: guesses, right ones, and how many right ones the stated law predicts.
    """

    found: float
    expected: float
    guesses: int
    right: int
    statistic: str
    threshold: float
    p_value: float
    bins: tuple[tuple[int, int, float], ...] = ()


def judged(
    coins: Coins, law: Floats, claim: Claim, others: Mapping[str, Numbers] | None = None, *, alpha: float = 0.05
) -> Tested:
    """Guess coins by the evidence of the stated law and by the best other statistic; the better one counts.

    Args:
        coins: Which table each run was played on.
        law: Evidence for table 1 of each run.
        claim: What is stated.
        others: Other numbers, each larger if table 1 is more likely; picked on the first half, tested on the second.
        alpha: What is divided between both tests.
    """
    tests = [_by_law(coins, law, claim, alpha / 2)]
    if others:
        tests.append(_by_another(coins, others, claim, alpha / 2, tests[0].expected))
    best = max(tests, key=lambda test: test.found)
    likely = min(1.0, len(tests) * min(test.p_value for test in tests))
    return Tested(**{**best.__dict__, "p_value": likely, "expected": tests[0].expected, "bins": _bins(coins, law)})


def _by_law(coins: Coins, law: Floats, claim: Claim, alpha: float) -> Tested:
    sizes = np.abs(law)
    if claim.rho is None:
        threshold, _ = best_threshold(sizes, alpha)
    else:
        threshold = 0.0  # nobody abstains
    chosen = sizes >= threshold if claim.rho is None else np.ones(len(law), dtype=np.bool_)
    expected_right = float(share_right(sizes[chosen]).sum())
    right, guesses = int(((law[chosen] > 0) == coins[chosen]).sum()), int(chosen.sum())
    return Tested(
        found=claim.shown(right, guesses, alpha),
        expected=claim.shown(expected_right, guesses, alpha),
        guesses=guesses,
        right=right,
        statistic=LAW,
        threshold=threshold,
        p_value=claim.p_value(right, guesses),
    )


def _by_another(coins: Coins, others: Mapping[str, Numbers], claim: Claim, alpha: float, expected: float) -> Tested:
    half = len(coins) // 2
    best: tuple[float, str, float] = (-1.0, next(iter(others)), math.inf)
    for name, values in others.items():
        seen = values[:half]
        sizes = np.unique(np.abs(seen[seen != 0]))
        if claim.rho is not None:
            sizes = sizes[:1] * 0
        for threshold in sizes[np.unique(np.linspace(0, len(sizes) - 1, 60).astype(int))] if len(sizes) else ():
            right, guesses = _right(coins[:half], seen, float(threshold), claim)
            best = max(best, (claim.shown(right, guesses, alpha), name, float(threshold)))
    _, name, threshold = best
    right, guesses = _right(coins[half:], others[name][half:], threshold, claim)
    return Tested(
        found=claim.shown(right, guesses, alpha),
        expected=expected,
        guesses=guesses,
        right=right,
        statistic=name,
        threshold=threshold,
        p_value=claim.p_value(right, guesses),
    )


def _right(coins: Coins, values: Numbers, threshold: float, claim: Claim) -> tuple[int, int]:
    chosen = np.abs(values) >= max(threshold, 1e-12) if claim.rho is None else np.ones(len(values), dtype=np.bool_)
    return int(((values[chosen] > 0) == coins[chosen]).sum()), int(chosen.sum())


def _bins(coins: Coins, law: Floats) -> tuple[tuple[int, int, float], ...]:
    """Right guesses beside the number that the stated law predicts, in four bins of evidence."""
    order = np.argsort(np.abs(law))
    found = []
    for part in np.array_split(order[np.abs(law[order]) > 0], 4):
        right = int(((law[part] > 0) == coins[part]).sum())
        found.append((len(part), right, float(share_right(np.abs(law[part])).sum())))
    return tuple(found)


def structure(answer: Numbers, measured: tuple[Numbers, Numbers]) -> dict[str, float]:
    """Of the residuals on either table: how many are equal, zero, how large they are; the difference, table 1's first.

    They see noise that is shared, missing or cut, which the stated law does not.
    """
    return {name: float(values[0]) for name, values in structures(answer[None], measured).items()}


def structures(answers: Numbers, measured: tuple[Numbers, Numbers]) -> dict[str, Floats]:
    """The same of many runs: shape (runs, entries)."""
    first, second = ((answers - f) for f in measured)
    return {name: own(second) - own(first) for name, own in STRUCTURES.items()}


def _equal_pairs(residuals: Numbers) -> Floats:
    runs, entries = residuals.shape
    is_new = np.ones((runs, entries), dtype=np.bool_)
    ordered = np.sort(residuals, axis=1)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(is_new)
    times = np.diff(starts, append=runs * entries)
    pairs = np.bincount(starts // max(1, entries), weights=times * (times - 1), minlength=runs)
    return np.asarray(pairs, dtype=np.float64)


STRUCTURES: dict[str, Callable[[Numbers], Floats]] = {
    "equal residuals": _equal_pairs,
    "residuals of zero": lambda residuals: (residuals == 0).sum(axis=1).astype(np.float64),
    "largest residual": lambda residuals: -np.abs(residuals).max(axis=1, initial=0).astype(np.float64),
    "variance of residuals": lambda residuals: -residuals.var(axis=1) if residuals.size else np.zeros(len(residuals)),
}


def learned(coins: Coins, residuals: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Floats:
    """Evidence by frequencies of residuals in the first half, where the true ones are known: shape (runs, entries)."""
    half = len(coins) // 2
    true = np.where(coins[:half, None], residuals[1][:half], residuals[0][:half]).ravel()
    values, times = np.unique(true, return_counts=True)
    chance = dict(zip(values.tolist(), times / len(true), strict=True))
    floor = 0.5 / max(1, len(true))

    def logs(of: NDArray[np.int64]) -> Floats:
        found, back = np.unique(of, return_inverse=True)
        table = np.log([chance.get(int(value), floor) for value in found])
        return np.asarray(table[back].reshape(of.shape).sum(axis=1))

    return logs(residuals[1]) - logs(residuals[0])


BINS = 16


def learned_columns(coins: Coins, told: NDArray[np.int64]) -> Floats:
    """Evidence by how often the first half's runs told each value on either table: shape (runs, columns) to (runs,)."""
    half, found = len(coins) // 2, np.zeros(len(coins))
    for column in told.T:
        edges = np.unique(np.quantile(column[:half], np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))
        places = np.searchsorted(edges, column, side="left")
        times = [np.bincount(places[:half][coins[:half] == coin], minlength=len(edges) + 1) for coin in (0, 1)]
        logs = [np.log((own + 0.5) / (own.sum() + 0.5 * len(own))) for own in times]
        found += (logs[1] - logs[0])[places]
    return found


SHARE_OF_DELTA = 63 / 64
"""Of the agreed delta, what rho is converted with; the rest is for the sampler."""


def claim_of(plan: Plan[Any], pair: Pair) -> Claim:
    """What is stated of tables that differ as these do."""
    cost, relation = plan.cost(), pair.relation
    size = membership_cost(plan.agreement) if pair.seen_by is not None and pair.is_listed else NOTHING
    cost += size
    epsilon, rho = cost.under(relation), cost.in_rho().under(relation)
    if epsilon is None:
        raise ValueError("nothing is promised under this relation")
    if not cost.gaussian.has_noise or rho is None:
        return Claim(float(epsilon), slack=float(cost.delta), people=pair.people)
    delta = float(plan.agreement.privacy.delta or 0) * SHARE_OF_DELTA
    is_gaussian = size == NOTHING and not any(made.kind == "divided" for made in plan.disclosures())
    return Claim(float(epsilon), delta, float(rho), is_gaussian, slack=float(size.delta), people=pair.people)
