"""Public whole numbers that one party sends to all others, and that all of them check.

A party that sends other numbers costs exactness and no privacy: they follow from what was opened. All parties have to
go on with the same ones, since their releases are the same byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.protocol.message import Exchange
from copublish.agreement.protocol.table import SAME_HASH
from copublish.errors import EngineError
from copublish.kernel.secrets.engine import PublicExchange
from copublish.types import IntArray

T = TypeVar("T")

NOTHING_TO_TELL = np.zeros(0, dtype=np.uint8)


def exchange_numbers(
    exchange: PublicExchange,
    parties: tuple[str, ...],
    message: Exchange[NDArray[np.uint8]],
    numbers: IntArray | None,
    *,
    size: int,
    teller: str,
    check: Callable[[IntArray], T],
) -> T:
    """The teller's numbers as this party read them, once all parties have compared their hash.

    Raises:
        EngineError: If the message has another size, or if parties received different numbers.

    Privacy:
        Assumes: the numbers follow from public values.
        Reveals: the numbers, to all parties.
    """
    content = NOTHING_TO_TELL if numbers is None else np.frombuffer(numbers.astype("<i8").tobytes(), dtype=np.uint8)
    received = exchange(message, content)[parties.index(teller)]
    if received.shape != (8 * size,):
        raise EngineError(
            f"Party '{teller}' sent something else as '{message.topic}' than {size} numbers. Nothing is published."
        )
    raw = np.ascontiguousarray(received, dtype=np.uint8).tobytes()
    # Between two parties there is one receiver, which has nobody to compare with.
    if len(parties) > 2:
        digest = hashlib.sha256(raw).hexdigest()
        if len(set(exchange(SAME_HASH.of(message=message.topic), digest))) > 1:
            raise EngineError(f"Party '{teller}' sent different parties different numbers. Nothing is published.")
    return check(np.frombuffer(raw, dtype="<i8").astype(np.int64))
