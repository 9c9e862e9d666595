"""A few whole runs on the agreed engine, each party in a process of its own: what shows of them from outside.

Messages hold shares, masks and ciphertexts. What is left to see is how a run ends, what it opens and how much every
party sends: on both tables of a pair that has to be the same. What is opened steers the course of some mechanisms, so
both tables are run with the same coins, and sizes are compared if the course was the same.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.choice import has_secure_engine
from copublish.errors import CopublishError
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.tools.auditing.odd_records import RELEASED
from copublish.tools.auditing.tables import Pair, invalid_pairs
from copublish.types import IntArray

TIMEOUT_SECONDS = 600

SAME_SIZE = 0.01
"""By how much of it two runs' traffic may differ; two runs on one table with the same coins differ by up to a tenth of
that. So this sees another number of values or of rounds, and no single byte."""


@dataclass
class RepeatedCoins:
    """Coins that are the same in another run with the same key. The tables are made up, so nobody relies on them."""

    key: bytes
    drawn: int = 0

    def words(self, shape: tuple[int, ...]) -> IntArray:
        """The next words."""
        self.drawn += 1
        n_bytes = 8 * math.prod(shape)
        stream = hashlib.shake_256(self.key + self.drawn.to_bytes(8, "big")).digest(n_bytes)
        return np.frombuffer(stream, dtype=np.int64).reshape(shape).copy()


@dataclass(frozen=True)
class SecureRun:
    """Two runs on the agreed engine, on both tables of a pair.

    Attributes:
        pair: The tables.
        outcomes: How they ended.
        bytes_sent: By all parties together.
        course_was_same: Whether both opened the same kinds of values; if not, sizes are not compared.
        differs: What was not the same and should have been.
    """

    pair: Pair
    outcomes: tuple[str, str]
    bytes_sent: tuple[int, int]
    course_was_same: bool
    differs: str | None = None


@dataclass(frozen=True)
class _Seen:
    """What shows of one run."""

    outcome: str
    opened: tuple[tuple[object, ...], ...] = ()
    files: frozenset[str] = frozenset()
    sent: tuple[tuple[str, int], ...] = ()


def can_play_engine(agreement: Agreement) -> bool:
    """Whether the agreed engine is installed here; an audit does without it, and says so."""
    return agreement.engine.name != "spu" or has_secure_engine()


def secure_pairs(agreement: Agreement) -> Iterator[Pair]:
    """Yield pairs that no party may tell apart by messages: of owners of columns those with the same people."""
    relation = "replace" if agreement.partition != "horizontal" else agreement.privacy.neighbors
    for pair in invalid_pairs(agreement, relation):
        if len(pair.tables[0]) < MOST_RECORDS:
            yield pair


MOST_RECORDS = 1000
"""Of a table that is run on the agreed engine."""


def secure_runs_of(agreement: Agreement, runs: int) -> Iterator[SecureRun]:
    """Yield so many runs, two for each pair, with pairs as different as there are."""
    pairs = list(secure_pairs(agreement))
    step = max(1, len(pairs) // max(1, runs // 2))
    yield from (secure_run(agreement, pair) for pair in islice(pairs[::step], runs // 2))


def secure_run(agreement: Agreement, pair: Pair) -> SecureRun:
    """Run both tables of a pair on the agreed engine, between processes of this machine."""
    keys = {party: os.urandom(32) for party in agreement.parties}
    first, second = (_seen(agreement, pair, table, keys) for table in (0, 1))
    course_was_same = first.opened == second.opened
    differs = None
    if first.outcome != second.outcome:
        differs = "how the run ends"
    elif first.files != second.files:
        differs = "which files are published"
    elif course_was_same and not agreement.membership_epsilon and not _same_sizes(first, second):
        differs = "how much is sent"
    sizes = (sum(n for _, n in first.sent), sum(n for _, n in second.sent))
    return SecureRun(pair, (first.outcome, second.outcome), sizes, course_was_same, differs)


def _same_sizes(first: _Seen, second: _Seen) -> bool:
    """Whether every party sent about as much: control messages of the engine vary a little from run to run."""
    one, other = dict(first.sent), dict(second.sent)
    return one.keys() == other.keys() and all(abs(one[p] - other[p]) <= SAME_SIZE * one[p] for p in one)


def _seen(agreement: Agreement, pair: Pair, table: int, keys: dict[str, bytes]) -> _Seen:
    sent: dict[str, int] = {}
    try:
        release = simulate_in_processes(
            agreement,
            pair.frames(agreement, table),
            progress=no_progress,
            timeout_seconds=TIMEOUT_SECONDS,
            coins={party: RepeatedCoins(key) for party, key in keys.items()},
            bytes_sent=sent,
        )
    except CopublishError as exc:
        return _Seen(f"{type(exc).__name__}: {exc}")
    opened = tuple((made.place.step, made.place.column, made.what) for made in release.certificate.disclosures)
    return _Seen(RELEASED, opened, frozenset(release.files()), tuple(sorted(sent.items())))
