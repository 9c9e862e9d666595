"""Events with exactly given probabilities, from one party's own fair coins: for noise that an owner draws alone.

Integers and fractions only, many draws at a time. A draw compares as many coins as it takes, which nearly always is
one word, so no probability is ever rounded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from copublish.kernel.noise.coins import Coins
from copublish.types import BoolArray, IntArray

WORD_BITS = 64

LARGEST_BOUND = 2**62


def bernoulli(probability: Fraction, n: int, coins: Coins) -> BoolArray:
    """Draw n events with a rational probability: a uniform number, word by word, is below it."""
    if not 0 < probability < 1:
        return np.full(n, probability >= 1, dtype=np.bool_)
    threshold, rest = divmod(probability.numerator << WORD_BITS, probability.denominator)
    words = coins.words((n,)).view(np.uint64)
    happened = words < np.uint64(threshold)
    undecided = np.flatnonzero(words == np.uint64(threshold))
    if len(undecided):
        happened[undecided] = bernoulli(Fraction(rest, probability.denominator), len(undecided), coins)
    return happened


def bernoulli_of_parts(parts: IntArray, wholes: IntArray, coins: Coins) -> BoolArray:
    """Draw an event with probability part / whole for each pair: a uniform number below the whole is below the part."""
    happened = np.zeros(len(parts), dtype=np.bool_)
    waiting = np.arange(len(parts))
    while len(waiting):
        words = coins.words((len(waiting),)) & (LARGEST_BOUND - 1)
        whole = wholes[waiting]
        fair = words < LARGEST_BOUND // whole * whole  # beyond, some remainders would be more likely
        happened[waiting[fair]] = (words % whole < parts[waiting])[fair]
        waiting = waiting[~fair]
    return happened


def runs(mean: Fraction, n: int, coins: Coins) -> IntArray:
    """Draw n whole numbers S with Pr[S >= k] = mean^k / k!, for a mean of at most 1: k succeeds with mean / k."""
    lengths = np.zeros(n, dtype=np.int64)
    running, k = np.arange(n), 1
    while len(running):
        running = running[bernoulli(mean / k, len(running), coins)]
        lengths[running] += 1
        k += 1
    return lengths


def bernoulli_exp(exponent: Fraction, n: int, coins: Coins) -> BoolArray:
    """Draw n events with probability exp(-exponent), by Canonne, Kamath and Steinke (arXiv:2004.00010v5, Algorithm 1).

    For an exponent x of at most 1 the run S is even with probability sum of (-1)^k x^k / k! = exp(-x). A larger one is
    a product: all of its parts have to happen.
    """
    happened = np.zeros(n, dtype=np.bool_)
    alive = np.arange(n)
    whole = exponent.numerator // exponent.denominator
    for part in (*[Fraction(1)] * whole, exponent - whole):
        if len(alive):
            alive = alive[runs(part, len(alive), coins) % 2 == 0]
    happened[alive] = True
    return happened


def poisson(mean: Fraction, n: int, coins: Coins) -> IntArray:
    """Draw n Poisson variables with a rational mean, each as a sum of variables with means of at most one half.

    A run has Pr[S = k] = m^k / k! - m^(k+1) / (k+1)! = (m^k / k!) (k + 1 - m) / (k + 1). Kept with probability
    (1 - m) (k + 1) / (k + 1 - m), which is at most 1 and rational, k comes in proportion to m^k / k!.
    """
    parts = -(-2 * mean.numerator // mean.denominator)
    m = mean / parts
    found = np.zeros(n * parts, dtype=np.int64)
    waiting = np.arange(n * parts)
    while len(waiting):
        lengths = runs(m, len(waiting), coins)
        kept = np.zeros(len(waiting), dtype=np.bool_)
        for k in np.unique(lengths).tolist():
            same = np.flatnonzero(lengths == k)
            kept[same] = bernoulli((1 - m) * (k + 1) / (k + 1 - m), len(same), coins)
        found[waiting[kept]] = lengths[kept]
        waiting = waiting[~kept]
    totals: IntArray = found.reshape(n, parts).sum(axis=1)
    return totals
