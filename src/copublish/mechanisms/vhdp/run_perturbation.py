"""Noise that an owner adds to its own cells before they leave it, from its own coins. Integers alone."""

from __future__ import annotations

import numpy as np

from copublish.kernel.accounting.perturbations import PerturbCategory, PerturbNumber
from copublish.kernel.noise.coins import Coins
from copublish.kernel.noise.geometric import COIN_BITS, Geometric
from copublish.kernel.noise.randomized_response import RandomizedResponse
from copublish.kernel.programs.noise import geometric
from copublish.types import IntArray

RECORDS_PER_BLOCK = 65_536
"""Coins are drawn for so many records at a time, so that memory does not grow with their number."""


def perturb_categories(private_codes: IntArray, law: PerturbCategory, coins: Coins) -> IntArray:
    """A column of categories by randomized response.

    Privacy:
        Guarantee: see `PerturbCategory`. The result may leave the owner; what it was made of may not.
    """
    return _respond(private_codes, law.response, coins)


def perturb_numbers(private_steps: IntArray, law: PerturbNumber, coins: Coins) -> IntArray:
    """A column of numbers, in steps above the lower bound, with noise and within the bounds.

    Args:
        private_steps: The numbers, 0 .. law.steps; -1 where one is missing.
        law: The noise.
        coins: The owner's own.

    Returns:
        Numbers from 0 to law.steps; law.steps + 1 where one is said to be missing.

    Privacy:
        Guarantee: see `PerturbNumber`. The result may leave the owner; what it was made of may not.
    """
    is_missing = private_steps < 0
    if is_missing.any() and not law.missing:
        raise ValueError("a column without a missing category has missing numbers")
    numbers = np.where(is_missing, law.steps // 2, private_steps)
    noisy: IntArray = np.clip(numbers + _laplace(law.noise, len(numbers), coins), 0, law.steps)
    if law.response is None:
        return noisy
    said_missing = _respond(is_missing.astype(np.int64), law.response, coins)
    return np.where(said_missing == 1, law.steps + 1, noisy)


def _respond(private_codes: IntArray, response: RandomizedResponse, coins: Coins) -> IntArray:
    words = coins.words((len(private_codes),)).view(np.uint64) >> np.uint64(64 - COIN_BITS)
    number = (words // np.uint64(response.words_per_other)).astype(np.int64)
    # The others are numbered from 0 without the true one; a number past them stands for the true one.
    other = number + (number >= private_codes)
    return np.where(words < np.uint64(response.words_for_others), other, private_codes)


def _laplace(noise: Geometric, n: int, coins: Coins) -> IntArray:
    found = np.empty(n, dtype=np.int64)
    for start in range(0, n, RECORDS_PER_BLOCK):
        size = min(RECORDS_PER_BLOCK, n - start)
        drawn = geometric(np, coins.words(noise.coin_shape(2 * size)), noise.threshold_planes)
        found[start : start + size] = drawn[:size] - drawn[size : 2 * size]
    return found
