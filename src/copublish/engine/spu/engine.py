"""The secure engine: CHEETAH between two parties or ABY3 between three on SecretFlow SPU, nothing in the clear.

This is a compute node's side; `guests.py` is that of parties that do not compute. SPU itself runs in a supervised child
process (`spu_process.py`). Secrets are built up as expressions and computed in one compiled program when something is
opened (`spu_expressions.py`), because rounds and calls dominate.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from copublish.engine.counts import SecretCounts
from copublish.engine.interface import Program
from copublish.engine.joint_noise import add_noise_inside
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
from copublish.engine.public_values import exchange_public
from copublish.engine.secret import Secret
from copublish.engine.spu.coalitions import assumptions_of, secrecy_of
from copublish.engine.spu.expressions import Node, steps_of
from copublish.engine.spu.guests import NO_JOINS, Guests
from copublish.engine.spu.process import WorkerProcess
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
    NODES_OF_PROTOCOL,
    Call,
    Exchange,
    Intersect,
    Kept,
    Run,
    Shared,
    Step,
    Xored,
)
from copublish.errors import EngineError, ProgramMismatchError
from copublish.privacy.coins import Coins, SystemCoins
from copublish.privacy.geometric import Geometric
from copublish.privacy.noise_shares import SharedLaplace
from copublish.types import BoolArray, IntArray

T = TypeVar("T")


class SpuEngine:
    """One compute node's end of the secure engine.

    Args:
        party: Which party this is.
        nodes: The compute nodes in agreed order.
        addresses: Where each node's worker listens, like `unix:/run/x/a.sock`.
        coins: This party's coins.
        timeout_seconds: How long to wait for the other parties.
        protocol: CHEETAH between two nodes, or ABY3 between three.
        messenger: Connections to all parties, if there are others than the nodes.
    """

    name = "spu"

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
        if len(nodes) != NODES_OF_PROTOCOL[protocol]:
            raise EngineError(f"{protocol} runs between {NODES_OF_PROTOCOL[protocol]} compute nodes, got {len(nodes)}.")
        self.party, self.nodes, self.protocol, self.messenger = party, tuple(nodes), protocol, messenger
        self.own_coins: Coins = coins or SystemCoins()
        self._kept = 0
        self._rank = self.nodes.index(party)
        self._worker = WorkerProcess(
            self._rank,
            addresses,
            timeout_seconds,
            protocol,
            others=self._others(),
            node_that_left=self._node_that_left,
        )

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in agreed order, guests included."""
        return self.nodes if self.messenger is None else self.messenger.parties

    @property
    def bytes_sent(self) -> int:
        """Bytes that this node has sent so far."""
        return self._worker.bytes_sent

    @property
    def guests(self) -> tuple[str, ...]:
        """The parties that do not compute."""
        return tuple(party for party in self.parties if party not in self.nodes)

    @property
    def secrecy(self) -> str:
        """Who could see what, in words for the certificate."""
        return secrecy_of(self.protocol, self.nodes, self.guests)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the secrecy rests on, in words for the certificate."""
        return assumptions_of(self.protocol, self.nodes, self.guests)

    def __enter__(self) -> SpuEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(politely=kind is None)

    def abort(self) -> None:
        """End the worker at once, from another thread: whoever waits for it gets a `PartyLostError`."""
        self._worker.kill()

    def close(self, *, politely: bool = True) -> None:
        """End the worker; politely: after the other party has got everything it waits for."""
        try:
            if politely and self._worker.process.is_alive():
                # All that was agreed has been exchanged by now, so a worker that is lost while closing loses nothing.
                with suppress(EngineError):
                    self._ask("close")
        finally:
            self._worker.end()

    def share(self, local: IntArray) -> Secret:
        """Return the sum of what every party puts in. Each party's own part stays its own."""
        own = np.ascontiguousarray(local, dtype=np.int64)
        return Secret(Node(Shared(self._guests().add_parts(own) if self.guests else own)), local.shape)

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Build up a program on secrets; it runs when something that depends on it is opened."""
        zeros = [np.zeros(secret.shape, dtype=np.int64) for secret in secrets]
        shape = np.shape(program(np, *zeros, **public))
        arguments = tuple(cast(Node, secret._handle) for secret in secrets)
        return Secret(Node(None, program, arguments, public), shape)

    def rows(self, secret: Secret) -> list[Secret]:
        """Compute a secret now and return its rows, to be used in different computations later."""
        rows, shape = secret.shape[0], secret.shape[1:]
        names = [self._new_name() for _ in range(rows)]
        self._ask(Run(steps_of(cast(Node, secret._handle)), keep_as=tuple(names), by_rows=True))
        return [Secret(Node(Kept(name, shape)), shape) for name in names]

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Return fresh joint coins: this party's words are its share of their XOR."""
        return Secret(Node(Xored(self.own_coins.words(shape))), shape)

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """Return the counts, each with noise and a public offset."""
        return add_noise_inside(self, counts, noise, offset)

    def joint_histogram(
        self, cells: IntArray, places: IntArray | None, sizes: tuple[int, ...], packing: Packing
    ) -> Secret:
        """Count aligned records by a product of the parties' matrices, tile by tile."""
        self._refuse_joins()
        tiles = [
            self._keep((x, y, Call(product, (0, 1), {})), (x.shape[0], y.shape[1]))
            for x, y in histogram_tiles(self._rank, cells, places, sizes, packing)
        ]
        shape = (sizes[0] * sizes[1], packing.elements)
        return self.compute(assemble, *tiles, per_row=tiles_per_row(sizes[1] * packing.elements), shape=shape)

    def joint_matches(self, down: BoolArray, across: BoolArray, packing: Packing) -> Secret:
        """Count aligned records: what both parties fit is found by AND on bits, then multiplied on shares."""
        self._refuse_joins()
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
        """Return two boolean inputs: this party's words and the other's."""
        nothing = np.zeros_like(own)
        return Xored(own if self._rank == 0 else nothing), Xored(own if self._rank == 1 else nothing)

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """Return the largest number of records for which a product fits into memory."""
        return most_records(n_rows * packing.elements)

    def exchange(self, public: T, *, topic: str = "") -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""
        if self.messenger is not None and self.guests:
            self._worker.wait_until_connected()  # before guests send anything, and before anybody reserves
            return exchange_public(self.messenger, public, topic)
        answers = self._ask(Exchange((topic, public)))
        if any(other != topic for other, _ in answers):
            raise ProgramMismatchError("The parties are at different steps. Their software or agreements differ.")
        return tuple(value for _, value in answers)

    def align(self, identifiers: Sequence[str] | None) -> IntArray:
        """Return the positions of the common records among one's own, by private set intersection."""
        return self._common(identifiers or [], made_up=0)

    def have_common(self, identifiers: Sequence[str], *, padded_to: int = 0) -> bool:
        """Return whether both parties list the same identifier, by private set intersection of padded lists."""
        if padded_to and len(identifiers) > padded_to:
            raise EngineError("More identifiers than the public length they are to be padded to. Nothing was sent.")
        # The intersection shows the lists' lengths, so made-up entries that nobody shares fill them up.
        return len(self._common(identifiers, made_up=max(0, padded_to - len(identifiers)))) > 0

    def _common(self, identifiers: Sequence[str], made_up: int) -> IntArray:
        """Return the positions of the common identifiers, in an order that both parties share."""
        self._refuse_joins()
        key = joint_key(self.exchange(part_of_key(), topic="identifiers"))
        pseudonyms = pseudonyms_of(identifiers, len(identifiers), key)
        if have_repeated(pseudonyms):
            raise EngineError("An identifier is listed twice. Nothing was compared.")
        # At least one is made up: SPU shows the other party a hash of the whole list, from which somebody who knows
        # nearly all of it could find the rest by trial.
        pseudonyms = np.concatenate([pseudonyms, made_up_pseudonyms(1 + made_up)])
        return positions_of(self._ask(Intersect(pseudonyms)), pseudonyms)

    def _open(self, secret: Secret) -> IntArray:
        run = Run(steps_of(cast(Node, secret._handle)))
        if not self.guests:
            return cast(IntArray, self._ask(run))
        self._guests().wait_until_ready(secret.shape)
        opened = cast(IntArray, self._ask(run))
        self._guests().tell(opened)
        return opened

    def _guests(self) -> Guests:
        if self.messenger is None:
            raise EngineError("There is no way to reach parties that do not compute. Nothing is published.")
        return Guests(self.messenger, self.guests)

    def _refuse_joins(self) -> None:
        """Products of private matrices and intersections are between two parties."""
        if self.protocol != CHEETAH or self.guests:
            raise EngineError(NO_JOINS)

    def _keep(self, steps: tuple[Step, ...], shape: tuple[int, ...]) -> Secret:
        name = self._new_name()
        self._ask(Run(steps, keep_as=(name,)))
        return Secret(Node(Kept(name, shape)), shape)

    def _new_name(self) -> str:
        self._kept += 1
        return f"kept{self._kept}"

    def _ask(self, request: object) -> Any:
        return self._worker.ask(request)

    def _node_that_left(self) -> str | None:
        """Return a compute node that left the messenger. Without guests that tells nothing: it is not used then."""
        if self.messenger is None or not self.guests:
            return None
        others = (node for node in self.nodes if node != self.party)
        return next((node for node in others if self.messenger.has_left(node)), None)

    def _others(self) -> str:
        if self.nodes == self.parties and len(self.nodes) == 2:
            return "the other party"
        return "the other compute node" if len(self.nodes) == 2 else "another compute node"
