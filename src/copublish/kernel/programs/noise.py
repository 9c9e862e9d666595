"""Noise drawn inside the engine from joint coins, and the noisy maximum.

Programs take `xp`, the engine's array module, first. They use integer addition, multiplication, shifts, AND, XOR
and `<` alone, which are exact on every engine; maxima are tournaments, because library reductions are not.
Leakage: none, the cost depends on shapes alone.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import cast

import numpy as np

from copublish.types import IntArray

WORD_BITS = 64
COMPARISONS_PER_ROUND = 8192
"""Comparing so many values at once takes about as long as the messages of one round between distant machines."""
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

    Leakage: none, the cost depends on shapes. The numbers are secret noise: each is used once and never opened.
    """
    return numbers_of(biased_bits(xp, words, planes))


def numbers_of(biased: IntArray) -> IntArray:
    """Put bits together to numbers, the lowest first: (bits, n_words) to (64 * n_words,)."""
    bits, n_words = biased.shape
    lanes = np.arange(WORD_BITS, dtype=np.int64)
    spread = ((biased[:, :, None] >> lanes) & 1).reshape(bits, n_words * WORD_BITS)
    # Bits are put together by XOR: on shares that is free, and only the whole number is converted.
    numbers = spread[0]
    for i in range(1, bits):
        numbers = numbers ^ (spread[i] << i)
    return cast(IntArray, numbers)


def biased_bits(xp: ModuleType, words: IntArray, planes: IntArray) -> IntArray:
    """Bits that are 1 where coins are below their thresholds: (COIN_BITS, bits, n_words) to (bits, n_words).

    Both are given bit by bit from the most significant one, and compared by a tree of blocks. A block of bits is below
    if its upper half is, or if that is equal and its lower half is below. A tree takes six rounds on shares where a
    chain over the bits takes 62; each round is one AND, because every AND is a message.

    Leakage: none, the number of messages depends on shapes. Each bit is 1 with the probability of its public threshold,
    provided that the coins are uniform and unknown to every party.
    """
    if words.shape[0] % 2:
        raise ValueError(f"coins are compared two bits at a time, so they need an even number, got {words.shape[0]}")
    below, equal = _pairs_below(words, planes)
    while (n := below.shape[0]) > 1:
        (below_high, below_low), (equal_high, equal_low) = _halves(below), _halves(equal)
        both = xp.concatenate([equal_high, equal_high]) & xp.concatenate([below_low, equal_low])
        below = xp.concatenate([below_high ^ both[: n // 2], below[n // 2 * 2 :]])
        equal = xp.concatenate([both[n // 2 :], equal[n // 2 * 2 :]])
    return cast(IntArray, below[0])


def _pairs_below(words: IntArray, planes: IntArray) -> tuple[IntArray, IntArray]:
    """Compare pairs of bits: whether they are below the threshold's, and whether they equal them.

    Thresholds are public, so one AND of the two coins gives both: what is below and what is equal are XORs of it, of
    the coins and of constants.
    """
    (high, low), (threshold_high, threshold_low) = _halves(words), _halves(planes)
    both = high & low
    # (high ^ a) & (low ^ b) = both ^ (high & b) ^ (low & a) ^ (a & b), where a and b flip what should be 0.
    flip_high, flip_low = threshold_high ^ -1, threshold_low ^ -1
    equal = both ^ (high & flip_low) ^ (low & flip_high) ^ (flip_high & flip_low)
    high_equal_low_zero = high ^ flip_high ^ both ^ (low & flip_high)
    below = ((high ^ -1) & threshold_high) ^ (high_equal_low_zero & threshold_low)
    return below, equal


def _halves(blocks: IntArray) -> tuple[IntArray, IntArray]:
    """The first and the second of each pair of neighbors, leaving out a last one that has none."""
    pairs = blocks[: len(blocks) // 2 * 2].reshape(-1, 2, *blocks.shape[1:])
    return pairs[:, 0], pairs[:, 1]


def handicaps(xp: ModuleType, *words: IntArray, planes: IntArray, places: int) -> IntArray:
    """Draw the noise of several selections at once: what `noisy_argmax` adds to the scores of each.

    Args:
        xp: Array module.
        words: Joint coins of each selection, shape (COIN_BITS, bits, n_words).
        planes: Public thresholds, bit by bit.
        places: Number of scores in a selection.

    Returns:
        Secret geometric noise with the index of its place below it, shape (len(words), places).

    Privacy:
        Draws: the noise of selections, from joint coins that no party knows. It stays secret, and a row is used once.
    """
    drawn = geometric(xp, xp.concatenate(words, axis=2), planes).reshape(len(words), -1)[:, :places]
    # The index rides below the score, counted down, so that the tournament breaks ties towards the first.
    return drawn * (1 << _index_bits(places)) + (places - 1 - np.arange(places, dtype=np.int64))


def noisy_argmax(xp: ModuleType, scores: IntArray, handicap: IntArray, blinds: IntArray) -> IntArray:
    """The index of the largest score plus geometric noise, ties to the lowest index, as `opened_index` reads it.

    Where all values that are left meet at once, no AND has to find out who lost to nobody: of every two the lower one
    is given their blind, a uniform word that nobody knows. Every word but the winner's is a sum of blinds then, and no
    two have one in common. In the winner's word stands its index, in the highest bits, and nothing else: on shares a
    shift to the left is free and drops the score.

    Args:
        xp: Array module.
        scores: Secret scores, shape (places,).
        handicap: Noise and index of each place, as `handicaps` makes them.
        blinds: Uniform words that nobody knows, shape (blinds_of(places),).

    Returns:
        One word for each value that was left, safe to open: it tells the index, and all else in it is uniform.

    Privacy:
        Reveals: nothing before it is opened. Opened, it tells the index of the noisy maximum; all other bits are
            uniform whatever the scores are, because every other word holds a blind that no party knows.
        Assumes: the disclosure covers the scores' range, which the gate checks.
    """
    places = scores.shape[0]
    finalists = _finalists(xp, scores * (1 << _index_bits(places)) + handicap)
    n, (first, second) = finalists.shape[0], np.triu_indices(finalists.shape[0], 1)
    words = finalists << (WORD_BITS - _index_bits(places))
    if n == 1:
        return words
    of_first = (finalists[first] < finalists[second]) * blinds
    given = xp.concatenate([of_first, blinds - of_first])
    met = np.zeros((n, n), dtype=np.int64)
    met[first, second] = np.arange(len(first))
    met[second, first] = len(first) + np.arange(len(first))
    others = met[~np.eye(n, dtype=np.bool_)].reshape(n, n - 1)
    return cast(IntArray, words + given[others].sum(axis=1))


def blinds_of(places: int) -> int:
    """How many blinds a selection takes: one for every two values that meet in the end."""
    n = places
    while (size := _group_size(n)) < n:
        n = -(-n // size)
    return n * (n - 1) // 2


def opened_index(words: IntArray, places: int) -> int | None:
    """Read what `noisy_argmax` returned, once it is open.

    `None` if another word looks like the winner's, for which chance is at most places^2 / 2^63.

    Privacy:
        Public values only: a function of opened words, the same at every party.
    """
    score_bits = WORD_BITS - _index_bits(places)
    found = [int(word) % (1 << WORD_BITS) >> score_bits for word in words if int(word) % (1 << score_bits) == 0]
    return places - 1 - found[0] if len(found) == 1 else None


def _index_bits(places: int) -> int:
    return max(1, (places - 1).bit_length())


def tournament_maximum(xp: ModuleType, values: IntArray) -> IntArray:
    """The maximum over the last axis by rounds in which each value meets all others of its group at once.

    A comparison on shares is ten messages to and fro however many there are, so groups are as large as
    `COMPARISONS_PER_ROUND` allows.
    """
    while (n := values.shape[-1]) > 1:
        values = _group_maxima(xp, values, _group_size(n, math.prod(values.shape[:-1])))
    return values[..., 0]


def _finalists(xp: ModuleType, values: IntArray) -> IntArray:
    """The values that are left when so few are that all may meet at once: (n,) to (n_finalists,)."""
    while (size := _group_size(n := values.shape[0])) < n:
        values = _group_maxima(xp, values, size)
    return values


def _group_size(n: int, rows: int = 1) -> int:
    """How many of n values meet at once, in each of so many rows: all but itself each, and each pair once."""
    return min(n, max(2, 1 + 2 * COMPARISONS_PER_ROUND // max(1, rows * n)))


def _group_maxima(xp: ModuleType, values: IntArray, size: int) -> IntArray:
    """The maximum of every group of neighbors, the last one perhaps smaller: (..., n) to (..., n_groups)."""
    n = values.shape[-1]
    starts, pairs = np.arange(0, n, size), np.triu_indices(size, 1)
    first, second = ((starts[:, None] + members).ravel() for members in pairs)
    first, second = first[second < n], second[second < n]
    second_is_larger = values[..., first] < values[..., second]
    # Row i says whether value i stands up to each member of its group; to itself and to nobody it does.
    always = np.ones((*values.shape[:-1], 1), dtype=np.bool_)
    outcomes = xp.concatenate([second_is_larger ^ True, second_is_larger, always], axis=-1)
    outcome = np.full((n, size), 2 * len(first))
    outcome[first, second % size] = np.arange(len(first))
    outcome[second, first % size] = len(first) + np.arange(len(first))
    stands = outcomes[..., outcome]
    while (m := stands.shape[-1]) > 1:
        merged = stands[..., : m // 2] & stands[..., m // 2 : m // 2 * 2]
        stands = xp.concatenate([merged, stands[..., m // 2 * 2 :]], axis=-1)
    winners = stands[..., 0] * values
    missing = -n % size
    if missing:
        winners = xp.concatenate([winners, np.zeros((*values.shape[:-1], missing), dtype=np.int64)], axis=-1)
    return cast(IntArray, winners.reshape(*values.shape[:-1], -1, size).sum(axis=-1))


def selection_fits(candidates: int, largest_score: int, noise_bits: int) -> bool:
    """Whether a noisy maximum stays within the integers that engines compare correctly.

    Privacy:
        A score that leaves the ring would win whatever the noise is, so the gate opens nothing where this is False.
    """
    return max(largest_score.bit_length(), noise_bits) + 1 + _index_bits(candidates) <= MAX_BITS


def measurement_fits(entries: int, largest_count: int, noise_bits: int) -> bool:
    """Whether noisy counts, and their sum, stay within the integers that engines and post-processing handle.

    Privacy:
        A count that leaves the ring with its noise would not have the stated law, so the gate opens nothing where this
        is False.
    """
    return max(largest_count.bit_length(), noise_bits + entries.bit_length()) + 1 <= MAX_BITS
