"""Noise drawn inside the engine from joint coins, and the noisy maximum.

Programs take `xp`, the engine's array module, first. They use integer addition, multiplication, shifts, AND, XOR
and `<` alone, which are exact on every engine; maxima are tournaments, because library reductions are not.
Leakage: none, the cost depends on shapes alone.
"""

from __future__ import annotations

from types import ModuleType
from typing import cast

import numpy as np

from copublish.privacy.coins import IntArray

WORD_BITS = 64
MAX_BITS = 62
"""Engines compare by the sign of a difference, so values stay below half of a 64-bit ring."""


def geometric(xp: ModuleType, words: IntArray, planes: IntArray) -> IntArray:
    """Draw geometric variables, 64 for each word.

    Args:
        xp: Array module.
        words: Joint coins, shape (COIN_BITS, bits, n_words).
        planes: Public thresholds, bit by bit, shape (COIN_BITS, bits, 1).

    Returns:
        Secret noise, shape (64 * n_words,).
    """
    _, bits, n_words = words.shape
    below = _below(xp, words, planes)
    lanes = np.arange(WORD_BITS, dtype=np.int64)
    spread = ((below[:, :, None] >> lanes) & 1).reshape(bits, n_words * WORD_BITS)
    # Bits are put together by XOR: on shares that is free, and only the whole number is converted.
    noise = spread[0]
    for i in range(1, bits):
        noise = noise ^ (spread[i] << i)
    return cast(IntArray, noise)


def _below(xp: ModuleType, words: IntArray, planes: IntArray) -> IntArray:
    """Compare every coin with its threshold, both given bit by bit from the most significant one: a tree of blocks.

    A block of bits is below if its upper half is, or if that is equal and its lower half is below. A tree takes
    six rounds on shares where a chain over the bits takes 62.
    """
    below, equal = (words ^ -1) & planes, (words ^ planes) ^ -1
    while (n := below.shape[0]) > 1:
        upper, lower = slice(0, n - 1, 2), slice(1, n, 2)
        below_half = below[upper] ^ (equal[upper] & below[lower])
        equal_half = equal[upper] & equal[lower]
        if n % 2:
            below_half = xp.concatenate([below_half, below[n - 1 :]])
            equal_half = xp.concatenate([equal_half, equal[n - 1 :]])
        below, equal = below_half, equal_half
    return cast(IntArray, below[0])


def noisy_argmax(xp: ModuleType, scores: IntArray, words: IntArray, planes: IntArray) -> IntArray:
    """Return the index of the largest score plus geometric noise, ties to the lowest index, shape (1,)."""
    k = scores.shape[0]
    index_bits = max(1, (k - 1).bit_length())
    noisy = scores + geometric(xp, words, planes)[:k]
    # The index rides below the score, counted down, so that the tournament breaks ties towards the first.
    ranked = noisy * (1 << index_bits) + (k - 1 - np.arange(k, dtype=np.int64))
    winner = tournament_maximum(xp, ranked.reshape(1, k))
    return cast(IntArray, (k - 1) - (winner & ((1 << index_bits) - 1)))


def tournament_maximum(xp: ModuleType, values: IntArray) -> IntArray:
    """Return the maximum over the last axis by rounds of pairwise comparison."""
    while (n := values.shape[-1]) > 1:
        half = n // 2
        a, b = values[..., :half], values[..., half : 2 * half]
        larger = a + (a < b) * (b - a)
        values = xp.concatenate([larger, values[..., 2 * half :]], axis=-1) if n % 2 else larger
    return values[..., 0]


def selection_fits(candidates: int, largest_score: int, noise_bits: int) -> bool:
    """Whether a noisy maximum stays within the integers that engines compare correctly."""
    index_bits = max(1, (candidates - 1).bit_length())
    return max(largest_score.bit_length(), noise_bits) + 1 + index_bits <= MAX_BITS


def measurement_fits(entries: int, largest_count: int, noise_bits: int) -> bool:
    """Whether noisy counts, and their sum, stay within the integers that engines and post-processing handle."""
    return max(largest_count.bit_length(), noise_bits + entries.bit_length()) + 1 <= MAX_BITS
