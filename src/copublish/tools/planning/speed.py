"""How fast a core of this machine is: what it takes for a fixed loop of Python, which stands for all that is computed.

It is no more than a guess: other versions of Python take longer or shorter, and no two programs gain alike from a newer
processor. Without it predictions are off by as much as machines differ, which is twice and more.
"""

from __future__ import annotations

import time

LOOP = 2_000_000
TRIES = 5


def loop_seconds() -> float:
    """What the fixed loop takes on this machine, the best of a few tries; not how long it waits for a core."""
    return min(_one_loop() for _ in range(TRIES))


def _one_loop() -> float:
    start, total = time.thread_time(), 0
    for number in range(LOOP):
        total += number * number
    return time.thread_time() - start
