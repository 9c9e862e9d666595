"""Parties that do not compute: they share their inputs with the compute nodes and learn what those open.

A guest splits its integers into one part for each compute node. The parts add up to them in the ring of 64 bits, or
their XOR is the guest's input, and any of them but one are uniform and independent of everything, so a guest's input is
hidden unless all nodes put their parts together. A node adds the guests' summands to its own input, so programs do not
know how many owners there are; what enters as bits, because it has to be within a range, stays apart until then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from copublish.agreement.protocol.message import Letter
from copublish.agreement.protocol.table import INPUT_PART, OPENED, READY
from copublish.engines.comparing.comparison import ComparesByMessages
from copublish.engines.messages import EngineWithoutWorker, Messenger
from copublish.engines.secrecy import assumptions_of, secrecy_of
from copublish.engines.spu.one_hot import words_of
from copublish.engines.spu.products import most_records
from copublish.errors import EngineError, ProgramMismatchError
from copublish.kernel.noise.geometric import Coins, Geometric, SystemCoins
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.kernel.programs.packing import Packing, as_bits
from copublish.kernel.secrets.added_noise import add_noise_inside
from copublish.kernel.secrets.computer import Columns, Marks
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.kernel.secrets.shards import Count, Done, no_word, sum_in_turn
from copublish.types import IntArray, Program


def split(private: IntArray, n_parts: int, coins: Coins) -> list[IntArray]:
    """Split integers into parts that add up to them in the ring of 64 bits; all but the last are the coins.

    Privacy:
        Reveals: nothing, to whoever lacks one part: any of them but one are uniform and independent of the input.
    """
    uniform = [coins.words(private.shape) for _ in range(n_parts - 1)]
    return [*uniform, private - np.sum(uniform, axis=0, dtype=np.int64)]


def split_bits(private: IntArray, n_parts: int, coins: Coins) -> list[IntArray]:
    """Split words into parts whose XOR they are; all but the last are the coins.

    Privacy:
        Reveals: nothing, to whoever lacks one part, as with `split`.
    """
    uniform = [coins.words(private.shape) for _ in range(n_parts - 1)]
    return [*uniform, np.bitwise_xor.reduce([private, *uniform])]


class InputParties:
    """The guests of a run as one compute node sees them."""

    def __init__(self, messenger: Messenger, names: Sequence[str]) -> None:
        self._messenger, self._names = messenger, tuple(names)

    def add_parts(self, own: IntArray) -> IntArray:
        """This node's input with every guest's part for this node added."""
        total = own.astype(np.int64)
        for guest in self._names:
            total = total + self.bits_of(guest, own.shape)  # in the ring: it wraps
        return total

    def bits(self, shape: tuple[int, ...]) -> list[IntArray]:
        """Every guest's part for this node of what it put in as bits."""
        return [self.bits_of(guest, shape) for guest in self._names]

    def bits_of(self, guest: str, shape: tuple[int, ...]) -> IntArray:
        """One guest's part for this node."""
        return _receive_integers(self._messenger, guest, INPUT_PART, shape)

    def wait_until_ready(self, shape: tuple[int, ...]) -> None:
        """Wait until every guest has charged its ledger for what is opened next."""
        for guest in self._names:
            if self._messenger.receive(guest, READY) != _shape_as_bytes(shape):
                raise ProgramMismatchError(
                    f"Party '{guest}' is about to open something else than this one. Their software or agreements "
                    "differ. Nothing is published."
                )

    def tell(self, opened: IntArray) -> None:
        """Tell every guest what was opened."""
        for guest in self._names:
            self._messenger.send(guest, OPENED, _as_bytes(opened))


class GuestEngine(ComparesByMessages, EngineWithoutWorker):
    """The engine at a party that does not compute.

    Args:
        messenger: Its connections to all other parties.
        nodes: The compute nodes.
        protocol: What runs between them, for the certificate.
        coins: What parts of its inputs are made from; the joint coins of the noise come from the nodes alone.
    """

    name = "spu"

    def __init__(
        self, messenger: Messenger, nodes: Sequence[str], protocol: str = "CHEETAH", coins: Coins | None = None
    ) -> None:
        super().__init__(messenger)
        guests = [party for party in self.parties if party not in nodes]
        self.secrecy = secrecy_of(protocol, nodes, guests)
        self.assumptions = assumptions_of(protocol, nodes, guests)
        self._nodes = tuple(nodes)
        self.own_coins: Coins = coins or SystemCoins()

    def share(self, local: IntArray) -> Secret:
        """Send every compute node its part of what this party puts in."""
        own = np.ascontiguousarray(local, dtype=np.int64)
        for node, part in zip(self._nodes, split(own, len(self._nodes), self.own_coins), strict=True):
            self._messenger.send(node, INPUT_PART, _as_bytes(part))
        return Secret(None, own.shape)

    def share_within(self, local: IntArray, bits: int) -> Secret:
        """Send every compute node its part of what this party puts in as bits."""
        own = as_bits(np.ascontiguousarray(local, dtype=np.int64), bits)
        self._send_bits(own)
        return Secret(None, own.shape)

    def _send_bits(self, own: IntArray) -> None:
        for node, part in zip(self._nodes, split_bits(own, len(self._nodes), self.own_coins), strict=True):
            self._messenger.send(node, INPUT_PART, _as_bytes(part))

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """Placeholder for counts with noise from the nodes' joint coins."""
        return add_noise_inside(self, counts, noise, offset)

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Placeholder for the result of a program that the nodes run."""
        zeros = [np.zeros(secret.shape, dtype=np.int64) for secret in secrets]
        return Secret(None, np.shape(program(np, *zeros, **public)))

    def rows(self, secret: Secret) -> list[Secret]:
        """Placeholders for rows of a secret that the nodes keep."""
        return [Secret(None, secret.shape[1:]) for _ in range(secret.shape[0])]

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Placeholder for the nodes' joint coins."""
        return Secret(None, shape)

    def blinds(self, shape: tuple[int, ...]) -> Secret:
        """Placeholder for the nodes' joint integers."""
        return Secret(None, shape)

    def _open(self, secret: Secret) -> IntArray:
        """Say that this party's ledger is charged, and learn from every node what was opened."""
        for node in self._nodes:
            self._messenger.send(node, READY, _shape_as_bytes(secret.shape))
        heard = [_receive_integers(self._messenger, node, OPENED, secret.shape) for node in self._nodes]
        if any(not np.array_equal(other, heard[0]) for other in heard[1:]):
            raise EngineError("The compute nodes say that they opened different values. Nothing is published.")
        return heard[0]


class MarkingGuest(GuestEngine):
    """The engine at a party that does not compute and whose columns are joined: it shares its marks with the nodes."""

    def joint_matches(self, down: Marks, across: Marks, packing: Packing) -> Secret:
        """Send what this party marks of both halves of a table, if it holds part of them."""
        self._send_marks(down)
        self._send_marks(across)
        return Secret(None, (len(down.own), packing.elements))

    def joint_match_pairs(self, marks: Marks, columns: Columns) -> Secret:
        """Send what this party marks of all columns."""
        self._send_marks(marks)
        return Secret(None, (columns.lines, columns.lines))

    def rows_per_product(self, n_rows: int, packing: Packing) -> int:
        """How many records the nodes count at a time."""
        return most_records(n_rows * packing.elements)

    def sum_over_records(
        self, count: Count, n_records: int, *, size: int, shape: tuple[int, ...], done: Done = no_word
    ) -> Secret:
        """Share what this party marks of all records, some at a time."""
        return sum_in_turn(self, count, n_records, size, shape, done)

    def _send_marks(self, marks: Marks) -> None:
        if self.parties.index(self.party) in marks.holders:
            self._send_bits(words_of(marks.own))


def _shape_as_bytes(shape: tuple[int, ...]) -> bytes:
    return json.dumps(list(shape)).encode()


def _as_bytes(integers: IntArray) -> bytes:
    return integers.astype("<i8").tobytes()


def _receive_integers(messenger: Messenger, sender: str, message: Letter, shape: tuple[int, ...]) -> IntArray:
    """Integers of a known shape from another party."""
    content = messenger.receive(sender, message)
    if len(content) != 8 * int(np.prod(shape, dtype=object)):
        raise ProgramMismatchError(
            f"Party '{sender}' sent another number of integers as '{message.topic}' than this one expects. Their "
            "software or agreements differ. Nothing is published."
        )
    return np.frombuffer(content, dtype="<i8").astype(np.int64).reshape(shape)
