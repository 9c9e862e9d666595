"""One owner's share of the noise of a measurement, exactly, on integers alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from copublish.kernel.noise.coins import Coins
from copublish.kernel.noise.exact_coins import bernoulli_exp, bernoulli_of_parts, poisson
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.types import IntArray

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
