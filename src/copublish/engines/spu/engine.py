"""Joins on the secure engine between two parties that both compute: products of what each of them owns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from copublish.agreement.protocol.message import Exchange
from copublish.agreement.protocol.table import IDENTIFIERS_KEY
from copublish.engines.comparing.pseudonyms import (
    have_repeated,
    joint_key,
    made_up_pseudonyms,
    part_of_key,
    positions_of,
    pseudonyms_of,
)
from copublish.engines.messages import Messenger
from copublish.engines.spu.marking import MarkingNode
from copublish.engines.spu.parallel_sessions import Tally, all_at_once, turns_of
from copublish.engines.spu.process import StartWorker, WorkerProcess
from copublish.engines.spu.products import (
    Lines,
    Tile,
    all_wrong,
    assemble,
    checked_product,
    on_two_lines,
    tiles,
    tiles_per_row,
)
from copublish.engines.spu.requests import (
    CHEETAH,
    NOTHING_YET,
    Call,
    EngineRecorder,
    FirstUses,
    Intersect,
    Kept,
    TakeSummand,
)
from copublish.engines.spu.shares import Expression, kept_step, steps_of
from copublish.errors import EngineError
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.programs.packing import Packing, add, in_agreed_order
from copublish.kernel.secrets.computer import NO_CELL, Columns
from copublish.kernel.secrets.secret import Secret
from copublish.kernel.secrets.shards import Count, Done, chunks_of, no_word, shards_of, sum_in_turn
from copublish.types import IntArray, Program

T = TypeVar("T")


class SpuEngine(MarkingNode):
    """One of two parties' end of the secure engine.

    Products of private matrices and intersections are between two parties that both compute.

    Args:
        party: Which party this is.
        nodes: Both parties in agreed order.
        addresses: Where each one's worker listens.
        coins: This party's coins.
        timeout_seconds: How long to wait for the other party.
        protocol: CHEETAH.
        messenger: Connections between the two, if there are any beside the engine's own.
        start_worker: Where SPU runs.
        shards: Into how many parts the records of joint counts are cut, by the agreement.
        lanes: Like `addresses`, for every further session that counts shards; both parties have as many.
        start_lane: Where SPU runs for those.
    """

    def __init__(
        self,
        party: str,
        nodes: Sequence[str],
        addresses: Sequence[str],
        coins: Coins | None = None,
        timeout_seconds: int = 600,
        *,
        protocol: str = CHEETAH,
        messenger: Messenger | None = None,
        start_worker: StartWorker = WorkerProcess,
        first_uses: FirstUses = NOTHING_YET,
        shards: int = 1,
        lanes: Sequence[Sequence[str]] = (),
        start_lane: StartWorker = WorkerProcess,
    ) -> None:
        if protocol != CHEETAH or (messenger is not None and set(messenger.parties) != set(nodes)):
            raise EngineError("Only two parties that both compute can join their columns. Nothing was computed.")
        super().__init__(
            party,
            nodes,
            addresses,
            coins,
            timeout_seconds,
            protocol=protocol,
            messenger=messenger,
            start_worker=start_worker,
            first_uses=first_uses,
        )
        self._wrong: tuple[list[Secret], list[Secret]] = ([], [])
        self._wrong_in_shards: list[Secret] = []
        self._shards = shards
        self.lanes: tuple[SpuEngine, ...] = ()
        of_lanes = FirstUses(products=first_uses.products)  # what they count leaves them without noise, as summands
        try:
            for there in lanes:
                lane = SpuEngine(
                    party, nodes, there, timeout_seconds=timeout_seconds, start_worker=start_lane, first_uses=of_lanes
                )
                self.lanes = (*self.lanes, lane)
        except BaseException:
            self.close(politely=False)
            raise

    @property
    def bytes_sent(self) -> int:
        """Bytes that this party's workers have sent so far."""
        return super().bytes_sent + sum(lane.bytes_sent for lane in self.lanes)

    def record(self, recorder: EngineRecorder) -> None:
        """Have every request in every session told to a recorder, in the thread that asked."""
        super().record(recorder)
        for lane in self.lanes:
            lane.record(recorder)

    def abort(self) -> None:
        """End all workers at once, from another thread."""
        super().abort()
        for lane in self.lanes:
            lane.abort()

    def close(self, *, politely: bool = True) -> None:
        """End all workers."""
        try:
            for lane in self.lanes:
                lane.close(politely=politely)
        finally:
            super().close(politely=politely)

    def exchange(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Tell the other party a public value, once all sessions stand; return both in party order.

        Parties say to each other that they can pay before they reserve, so no budget is spent on a lane that never
        comes about.
        """
        for lane in self.lanes:
            lane._meet()
        return super().exchange(message, public)

    def sum_over_records(
        self, count: Count, n_records: int, *, size: int, shape: tuple[int, ...], done: Done = no_word
    ) -> Secret:
        """The sum of what is counted of all shards, several at a time if there are lanes.

        Privacy:
            Reveals: nothing. A lane's table is a secret of its session. Of its two summands modulo 2^64 each node has
                its own, as its worker computed it, and puts it into the main session as its private input; neither
                is ever sent. Which session counts which records follows from public numbers.
        """
        shards = shards_of(n_records, self._shards)
        if len(shards) < 2:
            return sum_in_turn(self, count, n_records, size, shape, done)
        tally = Tally(n_records, done)
        own, *others = turns_of(shards, 1 + len(self.lanes))
        tables, summands = all_at_once(
            lambda: [self._count_shard(count, rows, size, tally) for rows in own],
            [
                partial(lane._count_for_main, count, turn, size, shape, tally)
                for lane, turn in zip(self.lanes, others, strict=True)
                if turn
            ],
            self,
        )
        tally.tell()
        for table, wrong in summands:
            tables.append(self.share(table))
            if wrong is not None:
                self._wrong_in_shards.append(self.share(wrong))
        return self.compute(add, *tables)

    def _count_shard(self, count: Count, rows: slice, size: int, tally: Tally) -> Secret:
        """The sum of one shard, computed now. What is wrong with inputs is summed up, too, for `take_checks`."""
        parts = []
        for chunk in chunks_of(rows, size):
            parts.append(count(self, chunk))
            tally.add(chunk.stop - chunk.start)
        table, wrong = self._settled(self.compute(add, *parts)), self.take_checks()
        if wrong is not None:
            self._wrong_in_shards.append(self._settled(wrong))
        return table

    def _count_for_main(
        self, count: Count, turn: Sequence[slice], size: int, shape: tuple[int, ...], tally: Tally
    ) -> tuple[IntArray, IntArray | None]:
        """This node's summands of the sum of a lane's shards, and of what is wrong with inputs, if that was checked."""
        table = np.zeros(shape, dtype=np.int64)
        for rows in turn:
            table += self._take_summand(self._count_shard(count, rows, size, tally))  # in the ring: it wraps
        wrong = self.take_checks()
        return table, None if wrong is None else self._take_summand(self._settled(wrong))

    def _settled(self, secret: Secret) -> Secret:
        """A secret, computed now; the kept ones it is computed from are dropped, so that they do not add up."""
        steps = steps_of(cast(Expression, secret._handle))
        (settled,) = self._keep_parts(steps, [secret.shape])
        self._forget(*dict.fromkeys(step for step in steps if isinstance(step, Kept)))
        return settled

    def _take_summand(self, secret: Secret) -> IntArray:
        """This node's own summand of a kept secret, which is dropped."""
        kept = kept_step(secret)
        summand = cast(IntArray, self._ask(TakeSummand(kept)))
        self._forget(kept)
        return summand

    def joint_histogram(
        self, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
    ) -> Secret:
        """Count aligned records by a product of the parties' matrices, tile by tile."""
        down = Lines.of([cells] if self._rank == 0 else None, Columns(sizes[:1]))
        columns = Columns((sizes[1] * packing.elements,))
        across = Lines.of(None, columns)
        if places is not None and self._rank == 1:
            column = np.where(cells == NO_CELL, NO_CELL, cells * packing.elements + places // packing.lanes)
            across = Lines.of([column], columns)
            across = replace(across, value=packing.weight(places)[across.record])
        table = self._checked_table(down, replace(across, packing=packing), len(cells))
        return self.compute(in_agreed_order, table, place_of_cell=None, shape=(sizes[0] * sizes[1], packing.elements))

    def joint_pairs(
        self, owners: tuple[int, int], cells: Sequence[IntArray], columns: tuple[Columns, Columns], n_records: int
    ) -> Secret:
        """Count aligned records by pairs of the parties' cells: one product of all their columns at once."""
        lines = [
            Lines.of(cells if self._rank == owner else None, own) for owner, own in zip(owners, columns, strict=True)
        ]
        return self._checked_table(lines[0], lines[1], n_records)

    def _checked_table(self, down: Lines, across: Lines, n_records: int) -> Secret:
        """The product of both parties' lines; what is wrong with either's goes to `take_checks`."""
        parts: list[Secret] = []
        in_several_tiles: dict[tuple[int, int, int], list[Secret]] = {}
        for tile in tiles(self._rank, down, across, n_records):
            product, *wrong = self._multiply(tile, down, across)
            parts.append(product)
            for rank in range(2):
                self._wrong[rank].append(wrong.pop(0))
            # A record of an honest party is in one row of tiles alone and, at the other, in one tile of that row.
            cut = [(0, tile.left, piece) for piece in tile.down] + [(1, tile.top, piece) for piece in tile.across]
            for rank, place, piece in cut:
                if not piece.is_whole:
                    in_several_tiles.setdefault((rank, place, piece.group), []).append(wrong.pop(0))
        for (rank, _, _), lines in in_several_tiles.items():
            call = Call(on_two_lines, tuple(range(len(lines))), {})
            self._wrong[rank].extend(self._keep_parts((*map(kept_step, lines), call), [(1,)]))
            self._forget(*map(kept_step, lines))  # a number for every record
        shape = (down.results, across.results)
        return self.compute(assemble, *parts, per_row=tiles_per_row(across.number), shape=shape)

    def _multiply(self, tile: Tile, down: Lines, across: Lines) -> list[Secret]:
        scores, shape = None, (tile.x.shape[0], tile.y.shape[1])
        if down.scores is not None and across.scores is not None:
            scores, shape = (down.scores, across.scores), (down.results, across.results)
        packings = (down.packing, across.packing)
        public: dict[str, Any] = {"down": tile.down, "across": tile.across, "packings": packings, "scores": scores}
        if down.pairs is not None or across.pairs is not None:
            public["pairs"] = (down.pairs, across.pairs)
        n_partial = sum(not piece.is_whole for piece in (*tile.down, *tile.across))
        shapes = [shape, (1,), (1,), *[(tile.x.shape[1],)] * n_partial]
        return self._keep_parts((tile.x, tile.y, Call(cast(Program, checked_product), (0, 1), public)), shapes)

    def take_checks(self) -> Secret | None:
        """What is wrong with each party's inputs to products since the last call: shape (2,), all 0 if nothing is."""
        (first, second), in_shards = self._wrong, self._wrong_in_shards
        self._wrong, self._wrong_in_shards = ([], []), []
        if first:
            in_shards = [*in_shards, self.compute(all_wrong, *first, *second, of_first=len(first))]
        return self.compute(add, *in_shards) if len(in_shards) > 1 else next(iter(in_shards), None)

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own, by private set intersection."""
        own: Sequence[str] = identifiers or []
        key = joint_key(self.exchange(IDENTIFIERS_KEY, part_of_key()))
        pseudonyms = pseudonyms_of(own, len(own), key)
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        # At least one is made up: SPU shows the other party a hash of the whole list, from which somebody who knows
        # nearly all of it could find the rest by trial.
        pseudonyms = np.concatenate([pseudonyms, made_up_pseudonyms(1)])
        return positions_of(self._ask(Intersect(pseudonyms)), pseudonyms)
