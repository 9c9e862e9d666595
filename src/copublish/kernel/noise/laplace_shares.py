"""One owner's share of discrete Laplace noise, drawn exactly from its own fair coins.

The samplers draw Bernoulli, Poisson and negative binomial numbers, many at a time, with integers and fractions only. A
draw compares as many coins as it takes, which nearly always is one word, so no probability is ever rounded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from copublish.kernel.noise.geometric import Coins
from copublish.kernel.noise.shared_laplace import SharedLaplace
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


MAX_JUMP_BITS = 60


def draw_share(noise: SharedLaplace, entries: int, coins: Coins) -> IntArray:
    """Draw one owner's share for every entry: a difference of two negative binomial variables.

    Privacy:
        The share is this owner's secret, and known to it; see `SharedLaplace` for what the others' shares give.
    """
    drawn = negative_binomial(noise.shape, noise.rate, noise.bits, 2 * entries, coins)
    share: IntArray = drawn[:entries] - drawn[entries:]
    return share


def negative_binomial(shape: Fraction, rate: Fraction, blocks: int, n: int, coins: Coins) -> IntArray:
    """Draw n variables NB(a, p) with shape a and p = exp(-rate), but for jumps of 2^blocks and more.

    NB(a, p) has the generating function ((1 - p) / (1 - p z))^a = exp(a * sum over k >= 1 of (p^k / k) (z^k - 1)), by
    the series of the logarithm. So it is the sum over k of k times independent Poisson variables with means a p^k / k:
    jumps of size k come at that rate, its Lévy measure.

    They are drawn block by block, k in 2^j .. 2^(j+1) - 1. A block gets a Poisson number of candidates with mean a,
    each with k uniform in it, so at the rate a / 2^j. Each is kept with probability (2^j / k) p^k, which leaves the
    rate a p^k / k; a Poisson number of candidates that are kept independently is a Poisson number again, and
    independent for different k. p^k is a product over the bits of k: for each bit i that is set one event with
    probability exp(-rate 2^i), so all draws of a bit have one probability.

    Privacy:
        Draws: with exact fractions, no floats. Jumps of 2^blocks and more are left out; `SharedLaplace.distance` bounds
            what that adds to delta.
    """
    if not 1 <= blocks <= MAX_JUMP_BITS:
        raise ValueError(f"noise has jumps of 1 to {MAX_JUMP_BITS} bits, got {blocks}: the rate is too small")
    place = np.repeat(np.arange(n * blocks), poisson(shape, n * blocks, coins))
    entry, lowest = place // blocks, np.int64(1) << (place % blocks)
    jump = lowest + (coins.words((len(place),)) & (lowest - 1))
    kept = bernoulli_of_parts(lowest, jump, coins)
    entry, jump = entry[kept], jump[kept]
    for bit in reversed(range(blocks)):
        asked = np.flatnonzero(jump >> bit & 1)
        dropped = asked[~bernoulli_exp(rate * 2**bit, len(asked), coins)]
        entry, jump = np.delete(entry, dropped), np.delete(jump, dropped)
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, entry, jump)
    return total
