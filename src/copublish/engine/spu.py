"""The secure engine: CHEETAH between two parties or ABY3 between three on SecretFlow SPU, nothing in the clear.

This is a compute node's side; `guests.py` is that of parties that do not compute. SPU itself runs in a supervised child
process (`spu_worker.py`). Secrets are built up as expressions and computed in one compiled program when something is
opened, because rounds and calls dominate.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any, TypeVar, cast

import numpy as np

from copublish.engine.coalitions import assumptions_of, secrecy_of
from copublish.engine.guests import NO_JOINS, Guests
from copublish.engine.interface import Program, Secret
from copublish.engine.joint_noise import add_noise_inside
from copublish.engine.messages import Messenger
from copublish.engine.pseudonyms import (
    have_repeated,
    joint_key,
    made_up_pseudonyms,
    part_of_key,
    positions_of,
    pseudonyms_of,
)
from copublish.engine.public_values import exchange_public
from copublish.engine.spu_requests import (
    CHEETAH,
    NODES_OF_PROTOCOL,
    Call,
    Exchange,
    Intersect,
    Kept,
    LinkSettings,
    OwnedMatrix,
    Run,
    Shared,
    Step,
    Xored,
)
from copublish.engine.spu_worker import serve
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError, plain_text
from copublish.privacy.coins import BoolArray, Coins, IntArray, SystemCoins
from copublish.privacy.geometric import Geometric
from copublish.privacy.noise_shares import SharedLaplace
from copublish.scratch import Scratch
from copublish.secure.packing import Packing, SecretCounts

T = TypeVar("T")

MAX_PRODUCT_CELLS = 8192
"""Larger products come back in several ciphertexts that share their randomness; smaller ones in one."""

MAX_PRODUCT_WORK = 60_000_000
"""Records times cells of one product: the evaluating side needs about 40 bytes for each."""

PRODUCT_ROWS = tuple(2**power for power in range(11, 17))
"""Products are padded to one of these numbers of records, so that few programs are compiled."""

LOADING_SECONDS = 120
"""How long the worker may take to load SPU."""

LOOK_SECONDS = 1.0
"""How often a party that waits for its worker looks whether the other nodes are still there."""

GRACE_SECONDS = 30
"""How much longer than the link's own timeout a party waits for an answer: the worker computes, too."""


@dataclass(frozen=True, eq=False)
class Node:
    """A secret as an expression: an input, a kept result, or a program on other nodes."""

    step: Shared | Xored | Kept | None
    program: Program | None = None
    arguments: tuple[Node, ...] = ()
    public: dict[str, Any] | None = None


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
        self.bytes_sent = 0
        self.own_coins: Coins = coins or SystemCoins()
        self._timeout = timeout_seconds
        self._kept = 0
        self._rank = self.nodes.index(party)
        self._scratch = Scratch("copublish-worker-")
        settings = LinkSettings(self._rank, tuple(addresses), timeout_seconds, str(self._scratch.path), protocol)
        context = multiprocessing.get_context("spawn")  # SPU's threads do not survive a fork
        self._connection, other_end = context.Pipe()
        self._process = context.Process(target=serve, args=(other_end, settings), daemon=True)
        self._process.start()
        other_end.close()
        self._is_ready = False

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties in agreed order, guests included."""
        return self.nodes if self.messenger is None else self.messenger.parties

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
        self._process.kill()

    def close(self, *, politely: bool = True) -> None:
        """End the worker; politely: after the other party has got everything it waits for."""
        try:
            if politely and self._process.is_alive():
                # All that was agreed has been exchanged by now, so a worker that is lost while closing loses nothing.
                with suppress(EngineError):
                    self._ask("close")
        finally:
            self._connection.close()
            self._process.join(timeout=2)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._scratch.remove()

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
        self._ask(Run(_steps(cast(Node, secret._handle)), keep_as=tuple(names), by_rows=True))
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
        rows, columns = sizes[0], sizes[1] * packing.elements
        padded = self._padded(len(cells))
        width = min(columns, MAX_PRODUCT_CELLS)
        height = max(1, MAX_PRODUCT_CELLS // width)
        records = np.arange(len(cells), dtype=np.int64)
        if places is None:
            column, value = np.empty(0, np.int64), np.empty(0, np.int64)
        else:
            column, value = cells * packing.elements + places // packing.lanes, packing.weight(places)
        tiles = []
        for top in range(0, rows, height):
            bottom = min(top + height, rows)
            for left in range(0, columns, width):
                right = min(left + width, columns)
                if self._rank == 0:
                    mine = (cells >= top) & (cells < bottom)
                    entries = (cells[mine] - top, records[mine], np.ones(int(mine.sum()), dtype=np.int64))
                else:
                    mine = (column >= left) & (column < right)
                    entries = (records[mine], column[mine] - left, value[mine])
                x = OwnedMatrix(0, (bottom - top, padded), entries if self._rank == 0 else None)
                y = OwnedMatrix(1, (padded, right - left), entries if self._rank == 1 else None)
                tiles.append(self._keep((x, y, Call(product, (0, 1), {})), (bottom - top, right - left)))
        shape = (rows * sizes[1], packing.elements)
        return self.compute(assemble, *tiles, per_row=-(-columns // width), shape=shape)

    def joint_matches(self, down: BoolArray, across: BoolArray, packing: Packing) -> Secret:
        """Count aligned records: what both parties fit is found by AND on bits, then multiplied on shares."""
        self._refuse_joins()
        height = max(1, MAX_PRODUCT_CELLS // packing.elements)
        across_bits = self._both(_words(across, self._padded(across.shape[1])))
        tiles = []
        for top in range(0, len(down), height):
            band = down[top : top + height]
            band_bits = self._both(_words(band, self._padded(band.shape[1])))
            call = Call(match_product, (0, 1, 2, 3), {"packing": packing})
            tiles.append(self._keep((*band_bits, *across_bits, call), (len(band), packing.elements)))
        return self.compute(assemble, *tiles, per_row=1, shape=(len(down), packing.elements))

    def _both(self, own: IntArray) -> tuple[Step, Step]:
        """Return two boolean inputs: this party's words and the other's."""
        nothing = np.zeros_like(own)
        return Xored(own if self._rank == 0 else nothing), Xored(own if self._rank == 1 else nothing)

    def _padded(self, n_records: int) -> int:
        fitting: list[int] = [size for size in PRODUCT_ROWS if size >= n_records]
        return fitting[0]

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """Return the largest number of records for which a product fits into memory."""
        cells = min(MAX_PRODUCT_CELLS, n_rows * packing.elements)
        fitting: list[int] = [size for size in PRODUCT_ROWS if size * cells <= MAX_PRODUCT_WORK]
        return fitting[-1] if fitting else PRODUCT_ROWS[0]

    def exchange(self, public: T, *, topic: str = "") -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""
        if self.messenger is not None and self.guests:
            self._wait_until_connected()  # before guests send anything, and before anybody reserves
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
        run = Run(_steps(cast(Node, secret._handle)))
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
        """Send a request to the worker and wait; whatever ends the worker becomes one of our errors."""
        self._wait_until_connected()
        try:
            self._connection.send(request)
            answer, self.bytes_sent = self._receive(self._timeout + GRACE_SECONDS)
        except (EOFError, OSError) as exc:
            raise self._ended() from exc
        return answer

    def _wait_until_connected(self) -> None:
        """Wait, the first time, until the worker is loaded and has reached those of the other nodes."""
        if self._is_ready:
            return
        try:
            self._receive(LOADING_SECONDS)
            self._receive(self._timeout)
        except (EOFError, OSError) as exc:
            raise self._ended() from exc
        self._is_ready = True

    def _ended(self) -> PartyLostError:
        self._process.join(timeout=5)
        return PartyLostError(
            f"The secure engine ended (exit code {self._process.exitcode}): {self._others()} stopped, or the link to "
            "it broke. Nothing is published."
        )

    def _others(self) -> str:
        if self.nodes == self.parties and len(self.nodes) == 2:
            return "the other party"
        return "the other compute node" if len(self.nodes) == 2 else "another compute node"

    def _receive(self, patience_seconds: float) -> Any:
        self._wait_for_worker(patience_seconds)
        kind, content = self._connection.recv()
        if kind == "failed" and "timeout" in content:
            raise self._silent()
        if kind == "failed":
            raise EngineError(f"The secure engine failed ({plain_text(content, 300)}). Nothing is published.")
        return content

    def _wait_for_worker(self, patience_seconds: float) -> None:
        """Wait until the worker has something to say.

        If another node leaves meanwhile, a worker that waits for it and has nothing to send to it would notice at its
        timeout alone, so the messenger is asked.

        Raises:
            PartyLostError: If another node has left, or the worker says nothing for too long.
        """
        deadline = time.monotonic() + patience_seconds
        while not self._connection.poll(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic()))):
            lost = self._node_that_left()
            # Perhaps it left after its last word, and the answer is on its way.
            if lost is not None and not self._connection.poll(LOOK_SECONDS):
                raise PartyLostError(f"Party '{lost}' stopped, or the link to it broke. Nothing is published.")
            if time.monotonic() >= deadline:
                raise self._silent()

    def _node_that_left(self) -> str | None:
        """Return a compute node that left the messenger. Without guests that tells nothing: it is not used then."""
        if self.messenger is None or not self.guests:
            return None
        others = (node for node in self.nodes if node != self.party)
        return next((node for node in others if self.messenger.has_left(node)), None)

    def _silent(self) -> PartyLostError:
        who = self._others()
        return PartyLostError(f"{who[0].upper()}{who[1:]} did not answer in {self._timeout} s. Nothing is published.")


def product(xp: ModuleType, x: IntArray, y: IntArray) -> IntArray:
    """Multiply two matrices."""
    return cast(IntArray, xp.matmul(x, y))


def match_product(
    xp: ModuleType, down0: IntArray, down1: IntArray, across0: IntArray, across1: IntArray, packing: Packing
) -> IntArray:
    """Multiply two tables of matches, each given bit by bit by two parties: (rows, n) by (places, n) transposed."""
    rows, places = _bits(down0 & down1), _bits(across0 & across1)
    return cast(IntArray, xp.matmul(rows, packing.pack(xp, places.T)))


def _bits(words: IntArray) -> IntArray:
    """Spread words of 64 bits: (k, n / 64) to (k, n)."""
    lanes = np.arange(64, dtype=np.int64)
    return cast(IntArray, ((words[:, :, None] >> lanes) & 1).reshape(words.shape[0], -1))


def _words(matches: BoolArray, padded: int) -> IntArray:
    """Put matches into words of 64 bits; records that pad them match nowhere: (k, n) to (k, padded / 64)."""
    bits = np.zeros((len(matches), padded), dtype=np.uint8)
    bits[:, : matches.shape[1]] = matches
    return np.packbits(bits, axis=1, bitorder="little").view(np.int64)


def assemble(xp: ModuleType, *tiles: IntArray, per_row: int, shape: tuple[int, ...]) -> IntArray:
    """Put the tiles of a table together and give it its shape."""
    bands = [xp.concatenate(list(tiles[i : i + per_row]), axis=1) for i in range(0, len(tiles), per_row)]
    return cast(IntArray, xp.concatenate(bands, axis=0).reshape(shape))


def _steps(target: Node) -> tuple[Step, ...]:
    """Return the steps that compute a node, each node once, the target last."""
    steps: list[Step] = []
    place: dict[int, int] = {}

    def visit(node: Node) -> int:
        if id(node) not in place:
            if node.step is not None:
                step: Step = node.step
            else:
                arguments = tuple(visit(argument) for argument in node.arguments)
                step = Call(cast(Program, node.program), arguments, node.public or {})
            place[id(node)] = len(steps)
            steps.append(step)
        return place[id(node)]

    visit(target)
    return tuple(steps)
