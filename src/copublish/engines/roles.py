"""The parts that an engine hands out: a computer, a comparer and an opener."""

from __future__ import annotations

import hashlib
from typing import Any, cast

from copublish.agreement.protocol.table import SAME_HASH
from copublish.errors import EngineError
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.engine import Comparer, Opener, comparer_of
from copublish.kernel.secrets.secret import Secret
from copublish.types import IntArray


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

    def confirm_same(self, what: str, numbers: IntArray) -> None:
        """Raise unless every party has computed the same public numbers."""
        engine: Any = self
        digest = hashlib.sha256(numbers.astype("<i8").tobytes()).hexdigest()
        if len(set(engine.exchange(SAME_HASH.of(message=what), digest))) > 1:
            raise EngineError(
                f"The parties computed different numbers of the {what} from the same opened values: one of them runs "
                "other software, or its processor computes in another way. Nothing is published."
            )
