"""How fast a core of this machine is beside those that the cost model was measured on.

A fixed loop of Python stands for all that is computed. It is no more than a guess, but processors of the last years are
up to twice as fast as others, and so are quiet ones beside those of a shared host.
"""

from __future__ import annotations

import time

LOOP = 2_000_000
TRIES = 5


def loop_seconds() -> float:
    """What the fixed loop takes on this machine now, the best of a few tries."""
    return min(_one_loop() for _ in range(TRIES))


def _one_loop() -> float:
    start, total = time.perf_counter(), 0
    for number in range(LOOP):
        total += number * number
    return time.perf_counter() - start
