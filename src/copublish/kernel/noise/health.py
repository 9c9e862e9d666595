"""Start-up test of the random generator that coins and masks come from, in the manner of NIST SP 800-90B.

Sections 4.3 and 4.4 of that standard (January 2018) ask a source for at least 1,024 samples before it is used, and for
two tests of them: the same sample again and again (repetition count), and one value too often (adaptive proportion).
A sample is a word as a release gets it, so what stands between the generator and the noise is tested as well.

A sound generator is refused with probability below 2^-43:

- Two of 1,024 words are equal with probability at most 2^19 / 2^64 = 2^-45. The standard counts neighbors only; no two
  words may be equal here, because a second draw that repeats the first one would take the noise away.
- A fair bit has one of its two values LARGEST_COUNT times or more in 1,024 samples with probability below 2^-49.6, and
  there are 64 bits: 2^-43.6. The standard counts the first sample's value only; a biased bit that begins with its rarer
  value would pass then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copublish.errors import GeneratorError
from copublish.kernel.noise.geometric import Coins, SystemCoins
from copublish.types import IntArray

CALLS, SHAPE = 2, (8, 64)
"""Two draws, so that one that repeats another is noticed; together 1,024 words."""

LARGEST_COUNT = 640
"""Cutoff of the adaptive proportion test, for samples of one bit, a window of 1,024 and a false alarm of 2^-50."""


def refuse_broken_generator(coins: Coins | None = None) -> None:
    """Raise unless the random generator passes its start-up test.

    Args:
        coins: What is tested: the operating system's generator unless given.

    Raises:
        GeneratorError: Saying what is wrong.

    Privacy:
        Protects: everybody, from noise and masks that a broken generator makes guessable or takes away.
        Draws: words of its own, which nothing else uses.
    """
    tested = coins or SystemCoins()
    problem = fault_of([tested.words(SHAPE) for _ in range(CALLS)])
    if problem is not None:
        raise GeneratorError(problem)


def fault_of(draws: Sequence[IntArray]) -> str | None:
    """What is wrong with words that were drawn; nothing if they pass both tests."""
    words = np.concatenate([np.ascontiguousarray(drawn).reshape(-1) for drawn in draws])
    if len(np.unique(words)) < len(words):
        return f"a word came twice among {len(words)}"
    bits = np.unpackbits(words.view(np.uint8)).reshape(len(words), -1)
    ones = bits.sum(axis=0, dtype=np.int64)
    if int(np.maximum(ones, len(bits) - ones).max()) >= LARGEST_COUNT:
        return f"a bit had one value at least {LARGEST_COUNT} times in {len(words)} words"
    return None
