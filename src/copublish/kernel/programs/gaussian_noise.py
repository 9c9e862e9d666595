"""Discrete Gaussian noise drawn inside the engine from joint coins: `kernel/noise/discrete_gaussian.py` has the law.

Leakage: none, the cost depends on shapes alone. Which candidates are kept may be opened; their values may not.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.kernel.programs.noise import WORD_BITS, biased_bits, numbers_of
from copublish.types import IntArray


def gaussian_candidates(
    xp: ModuleType,
    size_words: IntArray,
    pass_words: IntArray,
    sign_words: IntArray,
    size_planes: IntArray,
    pass_planes: IntArray,
    center: int,
) -> IntArray:
    """Draw candidates, 64 for each word, and decide which are kept.

    Args:
        xp: Array module.
        size_words: Joint coins for the sizes, shape (COIN_BITS, bits of a size, n_words).
        pass_words: Joint coins for the decision, shape (COIN_BITS, bits of a square, n_words).
        sign_words: Joint coins for the signs, shape (n_words,).
        size_planes: Public thresholds of the sizes' bits.
        pass_planes: Public thresholds at which the bits of a square are let pass.
        center: The size that is kept most often.

    Returns:
        Secret, shape (2, 64 * n_words): 1 for each candidate that is kept and 0 for the others; and its value.

    Privacy:
        Draws: candidates for noise from joint coins that no party knows. Opening which are kept depends on no data;
            their values stay secret.
    """
    # Distant parties wait for messages, not for work: all coins are compared at once, and so are both numbers with 0.
    planes = np.concatenate([size_planes, pass_planes], axis=1)
    biased = biased_bits(xp, xp.concatenate([size_words, pass_words], axis=1), planes)
    size = numbers_of(biased[: size_words.shape[1]])
    lets_pass = numbers_of(biased[size_words.shape[1] :])  # bit i is the coin of bit i
    lanes = np.arange(WORD_BITS, dtype=np.int64)
    is_negative = ((sign_words[:, None] >> lanes) & 1).reshape(-1)
    away = size - center
    stopped = (away * away) & (lets_pass ^ -1)
    n = size.shape[0]
    is_zero = xp.concatenate([size, stopped]) < 1  # both are at least 0 and below 2^62
    is_kept = is_zero[n:] & ((is_zero[:n] & is_negative) ^ 1)
    value = size - 2 * (is_negative * size)  # a bit times a number: choosing, where two numbers would be a product
    return cast(IntArray, xp.concatenate([is_kept.reshape(1, -1), value.reshape(1, -1)]))


def add_chosen_noise(xp: ModuleType, sums: IntArray, *values: IntArray, chosen: IntArray) -> IntArray:
    """Add to every sum the value of one candidate, by public positions: shape (n, 1).

    Privacy:
        Assumes: every chosen position holds a kept candidate that no other sum has had. The gate sees to it.
    """
    drawn = values[0] if len(values) == 1 else xp.concatenate(values)
    return cast(IntArray, sums + drawn[chosen].reshape(-1, 1))
