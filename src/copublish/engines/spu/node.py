"""A compute node of the secure engine: CHEETAH between two or ABY3 between three on SPU, nothing in the clear.

`input_parties.py` is the side of parties that do not compute, `engine.py` adds joins. SPU itself runs in a
supervised child process (`process.py`). Secrets are built up as expressions and computed in one compiled program when
something is opened (`shares.py`), because rounds and calls dominate.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import numpy as np

from copublish.agreement.protocol.message import Exchange
from copublish.engines.comparing.comparison import ComparesByMessages
from copublish.engines.messages import Messenger, exchange_public
from copublish.engines.roles import Roles
from copublish.engines.secrecy import assumptions_of, secrecy_of
from copublish.engines.spu.input_parties import InputParties
from copublish.engines.spu.process import StartWorker, WorkerProcess
from copublish.engines.spu.requests import (
    CHEETAH,
    CONNECT,
    NODES_OF_PROTOCOL,
    NOTHING_YET,
    ComputeSteps,
    EngineRecorder,
    FirstUses,
    Gather,
    Kept,
    Ranged,
    Shared,
    Xored,
)
from copublish.engines.spu.shares import Expression, steps_of
from copublish.errors import EngineError
from copublish.kernel.noise.geometric import Coins, Geometric, SystemCoins
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.kernel.programs.packing import add, as_bits, sum_within
from copublish.kernel.secrets.added_noise import add_noise_inside
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.types import IntArray, Program

T = TypeVar("T")


class SpuNode(ComparesByMessages, Roles):
    """One compute node's end of the secure engine, for sums and programs on secrets.

    Args:
        party: Which party this is.
        nodes: The compute nodes in agreed order.
        addresses: Where each node's worker listens, like `unix:/run/x/a.sock`.
        coins: This party's coins.
        timeout_seconds: How long to wait for the other parties.
        protocol: CHEETAH between two nodes, or ABY3 between three.
        messenger: Connections to all parties, if there are others than the nodes.
        start_worker: Where SPU runs: by default in a child process.
        first_uses: What the nodes set up as soon as their workers have met.
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
        start_worker: StartWorker = WorkerProcess,
        first_uses: FirstUses = NOTHING_YET,
    ) -> None:
        if len(nodes) != NODES_OF_PROTOCOL[protocol]:
            raise EngineError(f"{protocol} runs between {NODES_OF_PROTOCOL[protocol]} compute nodes, got {len(nodes)}.")
        self.party, self.nodes, self.protocol, self.messenger = party, tuple(nodes), protocol, messenger
        self.own_coins: Coins = coins or SystemCoins()
        self.recorder: EngineRecorder | None = None
        self._kept = 0
        self._rank = self.nodes.index(party)
        self._worker = start_worker(
            self._rank,
            addresses,
            timeout_seconds,
            protocol,
            others=[node for node in self.nodes if node != party],
            node_that_left=self._node_that_left,
            first_uses=first_uses,
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

    def record(self, recorder: EngineRecorder) -> None:
        """Have every request told to a recorder."""
        self.recorder = recorder

    def __enter__(self) -> Self:
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
            # Before it is told to close: after that it may be gone at any moment.
            if self.recorder is not None and self._worker.pid is not None and self._worker.is_alive:
                self.recorder.ends(self._worker.pid)
            if politely and self._worker.is_alive:
                # All that was agreed has been exchanged by now, so a worker that is lost while closing loses nothing.
                with suppress(EngineError):
                    self._ask("close")
        finally:
            self._worker.end(at_once=not politely)

    def share(self, local: IntArray) -> Secret:
        """The sum of what every party puts in. Each party's own part stays its own."""
        own = np.ascontiguousarray(local, dtype=np.int64)
        return Secret(Expression(Shared(self._guests().add_parts(own) if self.guests else own)), local.shape)

    def share_within(self, local: IntArray, bits: int) -> Secret:
        """The sum of what every party puts in, each of it within its range."""
        own, shape = as_bits(np.ascontiguousarray(local, dtype=np.int64), bits), local.shape
        if self.protocol == CHEETAH:
            parts = [Secret(Expression(Ranged(own, bits)), shape)]
            others: list[IntArray] = []
        else:
            nothing = np.zeros(shape, dtype=np.int64)
            parts, others = [], [own if node == self.party else nothing for node in self.nodes]
        others += self._guests().bits(shape) if self.guests else []
        if others:
            words = [Secret(Expression(Xored(part)), shape) for part in others]
            parts.append(self.compute(sum_within, *words, bits=bits))
        return self.compute(add, *parts) if len(parts) > 1 else parts[0]

    def compute(self, program: Program, *secrets: Secret, **public: Any) -> Secret:
        """Build up a program on secrets; it runs when something that depends on it is opened."""
        zeros = [np.zeros(secret.shape, dtype=np.int64) for secret in secrets]
        shape = np.shape(program(np, *zeros, **public))
        arguments = tuple(cast(Expression, secret._handle) for secret in secrets)
        return Secret(Expression(None, program, arguments, public), shape)

    def rows(self, secret: Secret) -> list[Secret]:
        """Begin to compute a secret and return its rows, to be used in different computations later."""
        rows, shape = secret.shape[0], secret.shape[1:]
        names = [self._new_name() for _ in range(rows)]
        self._ask(
            ComputeSteps(steps_of(cast(Expression, secret._handle)), keep_as=tuple(names), by_rows=True, begins=True)
        )
        return [Secret(Expression(Kept(name, shape)), shape) for name in names]

    def coins(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint coins: this party's words are its share of their XOR."""
        return Secret(Expression(Xored(self.own_coins.words(shape))), shape)

    def blinds(self, shape: tuple[int, ...]) -> Secret:
        """Fresh joint integers: this party's are its share of their sum."""
        return Secret(Expression(Shared(SystemCoins().words(shape))), shape)

    def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
        """The counts, each with noise and a public offset."""
        return add_noise_inside(self, counts, noise, offset)

    def exchange(self, message: Exchange[T], public: T) -> tuple[T, ...]:
        """Tell every party a public value; return all of them in party order."""
        if self.messenger is not None and self._uses_messages:
            self._meet()  # before guests send anything, and before anybody reserves
            return exchange_public(self.messenger, message, public)
        texts = self._ask(Gather(message.topic, message.as_text(public), message.longest_text))
        return tuple(
            public if node == self.party else message.read_text(text, node)
            for node, text in zip(self.nodes, texts, strict=True)
        )

    def _open(self, secret: Secret) -> IntArray:
        run = ComputeSteps(steps_of(cast(Expression, secret._handle)))
        if not self.guests:
            return cast(IntArray, self._ask(run))
        self._guests().wait_until_ready(secret.shape)
        opened = cast(IntArray, self._ask(run))
        self._guests().tell(opened)
        return opened

    @property
    def _uses_messages(self) -> bool:
        """Whether parties talk beside the engine's link. What was sent there arrives, even if its sender has left."""
        return bool(self.guests) or self.comparison is not None

    def _guests(self) -> InputParties:
        if self.messenger is None:
            raise EngineError("There is no way to reach parties that do not compute. Nothing is published.")
        return InputParties(self.messenger, self.guests)

    def _new_name(self) -> str:
        self._kept += 1
        return f"kept{self._kept}"

    def _meet(self) -> None:
        """Wait, the first time, until this node's worker has reached those of the other nodes."""
        if self._worker.is_connected:
            return
        start = time.perf_counter()
        self._worker.wait_until_connected()
        if self.recorder is not None:
            self.recorder.asked(CONNECT, time.perf_counter() - start, 0)

    def _ask(self, request: object) -> Any:
        self._meet()
        if self.recorder is None:
            return self._worker.ask(request)
        start, before = time.perf_counter(), self.bytes_sent
        answer = self._worker.ask(request)
        self.recorder.asked(request, time.perf_counter() - start, self.bytes_sent - before)
        return answer

    def _node_that_left(self) -> str | None:
        """A compute node that left the messenger. Without guests that tells nothing: it is not used then."""
        if self.messenger is None or not self._uses_messages:
            return None
        others = (node for node in self.nodes if node != self.party)
        return next((node for node in others if self.messenger.has_left(node)), None)
