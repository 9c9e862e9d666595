"""A Spark session that this process shares with others, and gets back as it was.

A classic session belongs to the process, a notebook perhaps. Reading needs it in UTC, and its owner needs it as before.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

CHANGED_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")
"""What Ibis sets in a session that it is given."""


@dataclass
class _Loan:
    settings: dict[str, str]
    readers: int = 0


_loans: dict[Any, _Loan] = {}  # by the session in Java: Python has several names for one
_lock = threading.Lock()


def borrow(session: Any) -> None:
    """Remember a session's settings, before they are changed."""
    with _lock:
        own = session._jsparkSession
        if own not in _loans:  # else somebody reads already, and settings are no longer the owner's
            _loans[own] = _Loan({name: session.conf.get(name) for name in CHANGED_SETTINGS})
        _loans[own].readers += 1


def give_back(session: Any) -> None:
    """Restore a session's settings once nobody reads any more: in another time zone a reader would get other values."""
    with _lock:
        own = session._jsparkSession
        loan = _loans[own]
        loan.readers -= 1
        if loan.readers == 0:
            del _loans[own]
            for name, value in loan.settings.items():
                with suppress(Exception):  # its owner may have stopped it, and the rows were read
                    session.conf.set(name, value)
