"""The secure engine between two parties: what a compute node does, and joins of their columns and people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copublish.engine.masked.pseudonyms import (
    have_repeated,
    joint_key,
    made_up_pseudonyms,
    part_of_key,
    positions_of,
    pseudonyms_of,
)
from copublish.engine.messages import Messenger
from copublish.engine.programs.packing import Packing
from copublish.engine.secret import Secret
from copublish.engine.spu.expressions import Node
from copublish.engine.spu.node import SpuNode
from copublish.engine.spu.products import (
    MAX_PRODUCT_CELLS,
    assemble,
    histogram_tiles,
    match_product,
    most_records,
    product,
    tiles_per_row,
    words_of,
)
from copublish.engine.spu.requests import (
    CHEETAH,
    Call,
    Intersect,
    Kept,
    Run,
    Step,
    Xored,
)
from copublish.errors import EngineError
from copublish.privacy.coins import Coins
from copublish.types import BoolArray, IntArray


class SpuEngine(SpuNode):
    """One of two parties' end of the secure engine.

    Products of private matrices and intersections are between two parties that both compute.
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
    ) -> None:
        if protocol != CHEETAH or (messenger is not None and set(messenger.parties) != set(nodes)):
            raise EngineError("Only two parties that both compute can join their columns. Nothing was computed.")
        super().__init__(party, nodes, addresses, coins, timeout_seconds, protocol=protocol, messenger=messenger)

    def joint_histogram(
        self, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
    ) -> Secret:
        """Count aligned records by a product of the parties' matrices, tile by tile."""
        tiles = [
            self._keep((x, y, Call(product, (0, 1), {})), (x.shape[0], y.shape[1]))
            for x, y in histogram_tiles(self._rank, cells, places, sizes, packing)
        ]
        shape = (sizes[0] * sizes[1], packing.elements)
        return self.compute(assemble, *tiles, per_row=tiles_per_row(sizes[1] * packing.elements), shape=shape)

    def joint_matches(self, down: BoolArray, across: BoolArray, packing: Packing) -> Secret:
        """Count aligned records: what both parties fit is found by AND on bits, then multiplied on shares."""
        height = max(1, MAX_PRODUCT_CELLS // packing.elements)
        across_bits = self._both(words_of(across))
        tiles = []
        for top in range(0, len(down), height):
            band = down[top : top + height]
            band_bits = self._both(words_of(band))
            call = Call(match_product, (0, 1, 2, 3), {"packing": packing})
            tiles.append(self._keep((*band_bits, *across_bits, call), (len(band), packing.elements)))
        return self.compute(assemble, *tiles, per_row=1, shape=(len(down), packing.elements))

    def _both(self, own: IntArray) -> tuple[Step, Step]:
        """Two boolean inputs: this party's words and the other's."""
        nothing = np.zeros_like(own)
        return Xored(own if self._rank == 0 else nothing), Xored(own if self._rank == 1 else nothing)

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """The largest number of records for which a product fits into memory."""
        return most_records(n_rows * packing.elements)

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """The positions of the common records among one's own, by private set intersection."""
        return self._common(identifiers or [], made_up=0)

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """Whether both parties list the same identifier, by private set intersection of padded lists."""
        if padded_to and len(identifiers) > padded_to:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        # The intersection shows the lists' lengths, so made-up entries that nobody shares fill them up.
        return len(self._common(identifiers, made_up=max(0, padded_to - len(identifiers)))) > 0

    def _common(self, identifiers: Sequence[str], made_up: int) -> IntArray:
        """The positions of the common identifiers, in an order that both parties share."""
        key = joint_key(self.exchange(part_of_key(), topic="identifiers"))
        pseudonyms = pseudonyms_of(identifiers, len(identifiers), key)
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        # At least one is made up: SPU shows the other party a hash of the whole list, from which somebody who knows
        # nearly all of it could find the rest by trial.
        pseudonyms = np.concatenate([pseudonyms, made_up_pseudonyms(1 + made_up)])
        return positions_of(self._ask(Intersect(pseudonyms)), pseudonyms)

    def _keep(self, steps: tuple[Step, ...], shape: tuple[int, ...]) -> Secret:
        name = self._new_name()
        self._ask(Run(steps, keep_as=(name,)))
        return Secret(Node(Kept(name, shape)), shape)
