"""The ideal engine: all parties in one process, values in the clear, the same disclosures and noise.

For simulation, planning, experiments and as the reference in tests. It gives no secrecy between the parties: this
process sees every fragment. Each party runs in its own thread; a `Room` is the trusted party of the textbook that
takes everyone's input and computes.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from types import ModuleType
from typing import Any, TypeVar, cast

import numpy as np

from copublish.agreement.protocol.message import Exchange
from copublish.engines.roles import Roles
from copublish.errors import PartyLostError, ProgramMismatchError
from copublish.kernel.noise.geometric import Coins, Geometric, SystemCoins
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.kernel.programs.packing import Packing, as_bits, sum_within
from copublish.kernel.secrets.added_noise import add_noise_inside
from copublish.kernel.secrets.computer import NO_CELL, Columns, Marks
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.kernel.secrets.shards import Count, Done, no_word, sum_in_turn
from copublish.progress import Progress, no_progress
from copublish.types import BoolArray, IntArray, Program

T = TypeVar("T")

ROWS_PER_PRODUCT = 65_536


class Room:
    """Where the parties of one simulated run meet. All of them call, one of them computes, all get the answer.

    The parties take turns: one runs until it needs the others, then the next one does. So a run is deterministic
    for given coins, and the interpreter's lock is never fought over.
    """

    def __init__(
        self,
        parties: Sequence[str],
        coins: Mapping[str, Coins] | None = None,
        engine: type[IdealEngine] | None = None,
        listen: Callable[[str, str, object], None] | None = None,
    ) -> None:
        """A room for some parties.

        Args:
            parties: Their names in agreed order.
            coins: The coins of each; by default from the operating system.
            engine: The engine at each party.
            listen: Is called with a party, a topic and a value whenever the engine gives a party something public.
        """
        self.parties = tuple(parties)
        self.listen = listen or (lambda party, topic, value: None)
        self._engine = engine or IdealEngine
        self._coins = coins or {party: SystemCoins() for party in parties}
        self._turns = {party: threading.Semaphore(0) for party in parties}
        self._calls: dict[str, tuple[Any, Any, Callable[[list[Any]], Any]]] = {}
        self._answer: Any = None
        self._somebody_left = False
        self._ended: set[str] = set()

    def run(self, job: Callable[[IdealEngine], T]) -> dict[str, T]:
        """Run `job` once per party and return every party's result.

        If one fails, the others stop, and the error that started it is raised.
        """
        with ThreadPoolExecutor(len(self.parties), thread_name_prefix="party") as pool:
            futures = {party: pool.submit(self._run_one, job, party) for party in self.parties}
            self._turns[self.parties[0]].release()
        errors = [error for future in futures.values() if (error := future.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, PartyLostError)):
            raise error
        return {party: future.result() for party, future in futures.items()}

    def _run_one(self, job: Callable[[IdealEngine], T], party: str) -> T:
        self._turns[party].acquire()
        try:
            if self._somebody_left:
                raise PartyLostError("Another party stopped before the computation began.")
            return job(self._engine(self, party, self._coins[party]))
        except BaseException:
            self._somebody_left = True
            raise
        finally:
            self._ended.add(party)
            if party == self.parties[-1]:
                self._somebody_left = True  # whoever still waits for a meeting waits in vain
            self._next_turn(party)

    def meet(self, party: str, public: object, local: object, combine: Callable[[list[Any]], T]) -> T:
        """Wait for all parties, check that they ask for the same, and return `combine` of their inputs."""
        self._calls[party] = (public, local, combine)
        if party == self.parties[-1]:
            self._act()
        self._next_turn(party)
        self._turns[party].acquire()
        if self._somebody_left:
            raise PartyLostError("Another party stopped before the computation was complete.")
        return cast(T, self._answer)

    def _next_turn(self, party: str) -> None:
        own = self.parties.index(party)
        for following in (*self.parties[own + 1 :], *self.parties[: own + 1]):
            if following not in self._ended:
                self._turns[following].release()
                return

    def _act(self) -> None:
        if len(self._calls) < len(self.parties):
            raise ProgramMismatchError("A party ended while another one was still computing.")
        calls = [self._calls[party] for party in self.parties]
        self._calls = {}
        first = calls[0][0]
        if any(not _same(first, public) for public, _, _ in calls[1:]):
            raise ProgramMismatchError(
                "The parties asked the engine for different computations. Their software or agreements differ."
            )
        self._answer = calls[0][2]([local for _, local, _ in calls])


class IdealEngine(Roles):
    """One party's end of the ideal engine."""

    name = "ideal"
    secrecy = (
        "There was none between the parties: this is a simulation, and the process that ran it saw all data in the "
        "clear. The published values are as private as stated; the parties' data were not kept from each other."
    )
    assumptions: tuple[str, ...] = ("Whoever ran the simulation may see all parties' data.",)

    def __init__(self, room: Room, party: str, coins: Coins) -> None:
        self.party, self.parties = party, room.parties
        self._room, self.own_coins = room, coins

    def share(self, local: IntArray) -> Secret:
        """The sum of what every party puts in."""
        return self._secret(("share", local.shape), local, lambda parts: np.sum(parts, axis=0, dtype=np.int64))

    def share_within(self, local: IntArray, bits: int) -> Secret:
        """The sum of what every party puts in, each of it within its range."""
        words = as_bits(local, bits)
        return self._secret(("share_within", local.shape, bits), words, lambda parts: sum_within(np, *parts, bits=bits))

    def joint_histogram(
        self, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
    ) -> Secret:
        """Count aligned records by the cells that the parties hold of them."""

        def count(parts: list[tuple[IntArray, IntArray | None]]) -> IntArray:
            if parts[-1][1] is None or len(parts[-1][1]) != len(cells):
                raise ProgramMismatchError("The last party did not give each record's place.")
            cell, is_counted = np.zeros(len(cells), dtype=np.int64), np.ones(len(cells), dtype=np.bool_)
            for (own, _), size in zip(parts, sizes, strict=True):
                cell = cell * size + own
                is_counted &= own != NO_CELL
            cell = cell * packing.row + parts[-1][1]
            counts = np.bincount(cell[is_counted], minlength=math.prod(sizes) * packing.row)
            return packing.pack(np, counts.reshape(-1, packing.row))

        return self._secret(("joint_histogram", sizes, packing, cells.shape), (cells, places), count)

    def joint_matches(self, down: Marks, across: Marks, packing: Packing) -> Secret:
        """Count aligned records by cells that all parties together fix."""

        def count(parts: list[tuple[BoolArray, BoolArray]]) -> IntArray:
            rows = reduce(np.logical_and, [parts[holder][0] for holder in down.holders])
            places = reduce(np.logical_and, [parts[holder][1] for holder in across.holders])
            cells = np.argmax(rows, axis=0) * packing.row + np.argmax(places, axis=0)
            is_counted = rows.any(axis=0) & places.any(axis=0)
            counts = np.bincount(cells[is_counted], minlength=len(rows) * packing.row)
            return packing.pack(np, counts.reshape(-1, packing.row))

        public = ("joint_matches", packing, down.own.shape, down.holders, across.own.shape, across.holders)
        return self._secret(public, (down.own, across.own), count)

    def joint_pairs(
        self, owners: tuple[int, int], cells: Sequence[IntArray], columns: tuple[Columns, Columns], n_records: int
    ) -> Secret:
        """Count aligned records by every pair of a cell of one party and a cell of another."""

        def count(parts: list[Sequence[IntArray]]) -> IntArray:
            sides = [(parts[owner], own) for owner, own in zip(owners, columns, strict=True)]
            if columns[0].scores is None:
                counts = _pairs(*(zip(cells, own.sizes, strict=True) for cells, own in sides))
                return _packed(_packed(counts, columns[0]).T, columns[1]).T
            down, across = (_scores_of_records(cells, own) for cells, own in sides)
            return cast(IntArray, down @ across.T)

        return self._secret(("joint_pairs", owners, columns, n_records), cells, count)

    def joint_match_pairs(self, marks: Marks, columns: Columns) -> Secret:
        """Count aligned records by every pair of cells that all parties together fix."""

        def count(parts: list[BoolArray]) -> IntArray:
            found = reduce(np.logical_and, [parts[holder] for holder in marks.holders])
            groups = np.split(found, np.cumsum(columns.sizes)[:-1])
            cells = [np.where(group.any(axis=0), np.argmax(group, axis=0), NO_CELL) for group in groups]
            sized = list(zip(cells, columns.sizes, strict=True))
            return _pairs(sized, sized)

        public = ("joint_match_pairs", marks.own.shape, marks.holders, columns)
        counts = self._secret(public, marks.own, count)
        return self.compute(scored, counts, columns=(columns, columns))

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """How many records are counted at a time."""
        return ROWS_PER_PRODUCT

    def sum_over_records(
        self, count: Count, n_records: int, *, size: int, shape: tuple[int, ...], done: Done = no_word
    ) -> Secret:
        """The sum of what is counted of all records, however many shards are agreed on."""
        return sum_in_turn(self, count, n_records, size, shape, done)

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Run a program on secrets; the result is a secret."""
        values = [secret._handle for secret in secrets]
        request = ("compute", program, [secret.shape for secret in secrets], public)
        return self._secret(request, None, lambda _: np.asarray(program(np, *values, **public), np.int64))

    def rows(self, secret: Secret) -> list[Secret]:
        """The rows of a secret, to be used in different computations later."""
        value = cast(IntArray, secret._handle)
        rows = self._room.meet(self.party, ("rows", secret.shape), None, lambda _: list(value))
        return [Secret(row, row.shape) for row in rows]

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint coins: the XOR of every party's own."""
        own = self.own_coins.words(shape)
        return self._secret(("coins", shape), own, lambda parts: reduce(np.bitwise_xor, parts))

    def blinds(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint integers: the sum of every party's own."""
        return self.share(SystemCoins().words(shape))

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """The counts, each with noise and a public offset."""
        return add_noise_inside(self, counts, noise, offset)

    def exchange(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""

        def check(parts: list[T]) -> tuple[T, ...]:
            return tuple(message.check(part, party) for party, part in zip(self.parties, parts, strict=True))

        values = self._room.meet(self.party, ("exchange", message.topic), public, check)
        self._room.listen(self.party, message.topic, values)
        return values

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own, in an order that all parties share."""
        lists = self._room.meet(self.party, ("align",), identifiers, lambda parts: parts)
        positions = _common(identifiers, [own for own in lists if own is not None])
        self._room.listen(self.party, "common records", positions)
        return positions

    def place(self, identifiers: Sequence[str] | None, join: HiddenJoin, progress: Progress = no_progress) -> Placement:
        """Rows for this party's people, in an order that nobody knows."""
        listed = None if identifiers is None else (identifiers, 0 if join.size is None else join.size.draw(os.urandom))
        placements = self._room.meet(self.party, ("place", join), listed, lambda parts: _placed(parts, join))
        placement = placements[self.parties.index(self.party)]
        self._room.listen(self.party, "rows of the table", placement.n_rows)
        return placement

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """True if any two parties list the same identifier."""
        answer = self._room.meet(
            self.party,
            ("have_common", padded_to),
            identifiers,
            lambda parts: len(set().union(*parts)) < sum(len(part) for part in parts),
        )
        self._room.listen(self.party, "people at two parties", answer)
        return answer

    def _open(self, secret: Secret) -> IntArray:
        value = cast(IntArray, secret._handle)
        return self._room.meet(self.party, ("open", secret.shape), None, lambda _: value).copy()

    def _secret(self, public: object, local: object, combine: Callable[[list[Any]], IntArray]) -> Secret:
        value = self._room.meet(self.party, public, local, combine)
        return Secret(value, value.shape)


def _common(identifiers: Sequence[str] | None, lists: Sequence[Sequence[str]]) -> IntArray:
    if identifiers is None:
        return np.empty(0, dtype=np.int64)
    if all(list(other) == list(identifiers) for other in lists):
        return np.arange(len(identifiers), dtype=np.int64)
    common = sorted(set.intersection(*(set(other) for other in lists)))
    position = {identifier: row for row, identifier in enumerate(identifiers)}
    return np.array([position[identifier] for identifier in common], dtype=np.int64)


def _placed(listed: Sequence[tuple[Sequence[str], int] | None], join: HiddenJoin) -> list[Placement]:
    """A random row for each person that anybody lists, in a table of as many rows as owners would learn of."""
    lists = [own for own in listed if own is not None]
    union = sorted(set().union(*(own for own, _ in lists)))
    n_rows = sum(join.at_most.values())
    if join.size is not None:
        n_common = sum(len(own) for own, _ in lists) - len(union)
        n_rows += 4 * join.size.pool - n_common - sum(entries for _, entries in lists)
    rows = np.argsort(np.frombuffer(os.urandom(8 * n_rows), np.uint64))
    row_of = dict(zip(union, rows.tolist(), strict=False))
    nobody = np.empty(0, dtype=np.int64)
    own_rows = [nobody if own is None else np.array([row_of[name] for name in own[0]], np.int64) for own in listed]
    return [Placement(rows, n_rows) for rows in own_rows]


def in_the_clear(secret: Secret | SecretCounts) -> IntArray:
    """What a secret of this engine holds; counts one by one in agreed order, however they lie. For audits and tests."""
    if isinstance(secret, SecretCounts):
        return secret.in_order(cast(IntArray, secret.secret._handle))
    return np.array(secret._handle, dtype=np.int64)


def scored(xp: ModuleType, counts: IntArray, columns: tuple[Columns, Columns]) -> IntArray:
    """Counts of pairs of cells as what is asked for: themselves, or sums of products of the cells' scores."""
    down, across = (own.weights() for own in columns)
    return cast(IntArray, xp.matmul(down.T, xp.matmul(counts, across)))


def _scores_of_records(cells: Sequence[IntArray], columns: Columns) -> IntArray:
    """Each record's score in every column, 0 for one that is in no cell, or the products of two columns' scores."""
    scores = [np.append(own, 0)[column] for own, column in zip(columns.scores or (), cells, strict=True)]
    return np.array(scores if columns.pairs is None else [scores[i] * scores[j] for i, j in columns.pairs])


def _pairs(one: Iterable[tuple[IntArray, int]], other: Iterable[tuple[IntArray, int]]) -> IntArray:
    """Count records by every two cells, one of each of two lists of columns, leaving out those that are in no cell."""
    others = list(other)
    return np.block([[_pair(a, m, b, n) for b, n in others] for a, m in one])


def _packed(counts: IntArray, columns: Columns) -> IntArray:
    """Rows of counts, one for each cell of some columns, as lines that cells share."""
    parts = np.split(counts, np.cumsum(columns.sizes)[:-1])
    packed = [Packing(size, columns.lanes).pack(np, part.T).T for size, part in zip(columns.sizes, parts, strict=True)]
    return np.concatenate(packed)


def _pair(a: IntArray, n_a: int, b: IntArray, n_b: int) -> IntArray:
    both = (a != NO_CELL) & (b != NO_CELL)
    return np.bincount(a[both] * n_b + b[both], minlength=n_a * n_b).reshape(n_a, n_b)


def _same(a: object, b: object) -> bool:
    """Compare public requests, arrays inside them included."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(cast(Any, a), cast(Any, b))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(a == b)
