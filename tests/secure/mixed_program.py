"""A program with every kind of operation, in a module that a worker imports quickly."""

from __future__ import annotations

from copublish.kernel.programs.noise import tournament_maximum


def mixed(xp, values, words):
    """AND and XOR of sums with words, shifts, products, and a maximum by comparisons."""
    largest = tournament_maximum(xp, values.reshape(1, -1))
    bits = (words >> 3) & 1
    return xp.concatenate([values ^ words, (values & words) + 1, bits, values * values, values << 5, largest])
