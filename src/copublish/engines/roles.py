"""The parts that an engine hands out: a computer, a comparer and an opener."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.protocol.message import Exchange
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.engine import Comparer, Opener, comparer_of
from copublish.kernel.secrets.secret import Secret
from copublish.kernel.secrets.told_numbers import exchange_numbers
from copublish.types import IntArray

T = TypeVar("T")


class Roles:
    """Base of all engines. The parts are the engine itself under narrower types."""

    @property
    def computer(self) -> Computer:
        """The part for mechanisms."""
        return cast(Computer, self)

    @property
    def comparer(self) -> Comparer:
        """The part that compares people."""
        return comparer_of(self)

    @property
    def opener(self) -> Opener:
        """The part for the reveal gate."""
        engine: Any = self
        return Opener(engine._open, engine.take_checks, engine.exchange)

    def take_checks(self) -> Secret | None:
        """None: an engine without joins has no inputs to check."""
        return None

    def tell_numbers(
        self,
        message: Exchange[NDArray[np.uint8]],
        numbers: IntArray | None,
        *,
        size: int,
        teller: str,
        check: Callable[[IntArray], T],
    ) -> T:
        """Receive public whole numbers from one party, checked by every party."""
        engine: Any = self
        return exchange_numbers(
            engine.exchange, engine.parties, message, numbers, size=size, teller=teller, check=check
        )
