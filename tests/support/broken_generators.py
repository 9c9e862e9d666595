"""Random generators that are broken, each in one way: what a start-up test and an audit have to find."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from copublish.kernel.noise.geometric import SystemCoins

Shape = tuple[int, ...]
Draw = Callable[[Shape], np.ndarray]


def fair(shape: Shape) -> np.ndarray:
    """Words of the operating system, without the code under test."""
    return np.frombuffer(os.urandom(8 * math.prod(shape)), np.int64).reshape(shape).copy()


def rows_repeat(shape: Shape) -> np.ndarray:
    """The second half of every row is the first one: Laplace noise of 64 entries is then exactly 0."""
    words = fair(shape)
    half = words.shape[-1] // 2
    words[..., half : 2 * half] = words[..., :half]
    return words


def halves_repeat(shape: Shape) -> np.ndarray:
    """The second half of all words is the first one."""
    words = fair(shape).reshape(-1)
    half = len(words) // 2
    words[half : 2 * half] = words[:half]
    return words.reshape(shape)


def draws_repeat(shape: Shape) -> np.ndarray:
    """Every draw begins anew, as after the copy of a machine."""
    return np.random.default_rng(1).integers(-(2**63), 2**63, size=shape, dtype=np.int64)


def narrow(shape: Shape) -> np.ndarray:
    """Words have 40 random bits."""
    return fair(shape) & (2**40 - 1)


def stuck_bit(shape: Shape) -> np.ndarray:
    """One bit is always 0."""
    return fair(shape) & ~np.int64(2**17)


def biased_bit(shape: Shape) -> np.ndarray:
    """One bit is 1 three times as often as 0."""
    return fair(shape) | (fair(shape) & np.int64(2**9))


def constant(shape: Shape) -> np.ndarray:
    """All words are the same."""
    return np.full(shape, 0x0123456789ABCDEF)


def counter(shape: Shape) -> np.ndarray:
    """Words are counted up."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


FAULTS: tuple[Draw, ...] = (
    *(rows_repeat, halves_repeat, draws_repeat, narrow, stuck_bit, biased_bit, constant, counter),
)


@contextmanager
def system_words_by(draw: Draw) -> Iterator[None]:
    """Let the operating system's coins be drawn otherwise."""
    with patch.object(SystemCoins, "words", lambda self, shape: draw(shape)):
        yield
