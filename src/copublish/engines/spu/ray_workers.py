"""Workers of the secure engine as actors of the party's own Ray cluster.

An actor keeps a worker process as the party itself would (`process.py`) and passes its link on to the party's process,
which carries it through the party's one port. So no machine of the cluster talks to another party.
"""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from copublish.engines.spu.process import GRACE_SECONDS, LOADING_SECONDS, StartWorker, WorkerProcess
from copublish.engines.spu.requests import NOTHING_YET, FirstUses
from copublish.engines.spu.streams import Pieces, Streams
from copublish.errors import EngineError, OwnEngineError, PartyLostError, SilenceError
from copublish.files.interrupts import forbid_core_dumps
from copublish.files.scratch import folder_for_sockets

AUTO = "auto"
"""The cluster that Ray finds by itself: that of this machine, or of `RAY_ADDRESS`."""

REACH_SECONDS = 10.0

CARRY_SECONDS = 3.0
"""How long an answer may take from a worker on the cluster to its party."""

NOT_INSTALLED = "Workers on Ray need it installed, here and on the cluster: pip install 'copublish[ray]'."


def refuse_unreachable_cluster(address: str) -> None:
    """Raise if Ray is not installed here, or nobody listens where its cluster should be.

    Ray itself would go on trying for many minutes.

    Raises:
        EngineError: Saying which.
    """
    if importlib.util.find_spec("ray") is None:
        raise EngineError(NOT_INSTALLED)
    if address == AUTO:
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except (OSError, ValueError) as exc:
        raise EngineError(f"The Ray cluster at '{address}' cannot be reached ({type(exc).__name__}).") from exc


@contextlib.contextmanager
def ray_workers(address: str) -> Iterator[StartWorker]:
    """Connect to a Ray cluster of this party; yield what starts a worker there.

    Args:
        address: As `ray.init` takes it: HOST:PORT of the cluster, or `auto`.

    Raises:
        EngineError: If Ray is not installed, or the cluster cannot be reached.

    Privacy:
        Reveals: nothing to other parties: they see this party's port, and the same messages on it. A worker gets this
            party's own part of every product in the clear, through Ray's object store, so the cluster has to be as
            trusted as this machine.
    """
    refuse_unreachable_cluster(address)
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError) as exc:
            raise EngineError(f"The Ray cluster at '{address}' cannot be reached ({type(exc).__name__}).") from exc
    try:
        yield RayWorker
    finally:
        if is_ours:
            ray.shutdown()


class ShardActor:
    """What runs on the cluster: a worker process, and the end of its link.

    Args:
        rank: Which of the two nodes this is.
        timeout_seconds: How long to wait for the other one.
        protocol: What they compute with.
        others: The other nodes.
        first_uses: What the nodes set up as soon as they have met.
    """

    def __init__(
        self, rank: int, timeout_seconds: int, protocol: str, others: Sequence[str], first_uses: FirstUses
    ) -> None:
        forbid_core_dumps()
        self._folder = folder_for_sockets()
        own, peer = self._folder.path / "own.sock", self._folder.path / "peer.sock"
        self._streams = Streams(peer, own, first=1)
        addresses = [f"unix:{own if number == rank else peer}" for number in range(2)]
        self._worker = WorkerProcess(
            rank,
            addresses,
            timeout_seconds,
            protocol,
            others=others,
            node_that_left=lambda: None,
            first_uses=first_uses,
        )

    def connect(self) -> tuple[str, Any]:
        """Wait until the worker has reached the other party's."""
        return _outcome(self._worker.wait_until_connected)

    def ask(self, request: object) -> tuple[str, Any]:
        """The worker's answer, and how many bytes it has sent so far; or what went wrong."""
        kind, answer = _outcome(partial(self._worker.ask, request))
        return kind, (answer, self._worker.bytes_sent) if kind == "done" else answer

    def take(self) -> Pieces:
        """What the worker has sent."""
        return self._streams.take()

    def put(self, pieces: Pieces) -> None:
        """Pass on what has come for the worker."""
        self._streams.put(pieces)

    def end(self) -> None:
        """End the worker and remove its folder."""
        self._worker.end()
        self._streams.close()
        self._folder.remove()


def _outcome(work: Callable[[], Any]) -> tuple[str, Any]:
    """What work returned, or which of our errors it raised: others could hold data, and stay where they are."""
    try:
        return "done", work()
    except EngineError as exc:
        kind = next(kind for kind in ERRORS.values() if isinstance(exc, kind))
        return kind.__name__, str(exc)


ERRORS: dict[str, type[EngineError]] = {
    kind.__name__: kind for kind in (SilenceError, PartyLostError, OwnEngineError, EngineError)
}
"""By name, the narrower ones first."""


class RayWorker:
    """A worker on the cluster, as its party asks it; see `WorkerProcess` for what is given.

    Attributes:
        bytes_sent: What it has sent to the other party so far.
        is_connected: Whether it has reached the other party's worker.
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[str],
        timeout_seconds: int,
        protocol: str,
        *,
        others: Sequence[str],
        node_that_left: Callable[[], str | None],
        first_uses: FirstUses = NOTHING_YET,
    ) -> None:
        import ray

        self.bytes_sent = 0
        self.is_connected = False
        self._ray, self._timeout = ray, timeout_seconds
        (self._other,) = others  # shards are counted between two
        own, peer = (Path(addresses[number].removeprefix("unix:")) for number in (rank, 1 - rank))
        self._streams = Streams(own, peer, first=0)
        kind = ray.remote(
            num_cpus=1, max_restarts=0, concurrency_groups={"ask": 1, "take": 1, "put": 1}, max_task_retries=0
        )(ShardActor)
        self._actor: Any = kind.remote(rank, timeout_seconds, protocol, others, first_uses)
        self._ended = threading.Event()
        for carry in (self._carry_in, self._carry_out):
            threading.Thread(target=carry, daemon=True).start()

    @property
    def pid(self) -> int | None:
        """None: it is on some machine of the cluster."""
        return None

    @property
    def is_alive(self) -> bool:
        """Whether it was not ended from here."""
        return not self._ended.is_set()

    def wait_until_connected(self) -> None:
        """Wait, the first time, until the worker is there and has reached the other party's.

        Raises:
            EngineError: If it ended, or there is no room for it on the cluster.
        """
        if not self.is_connected:
            self._get(self._actor.connect.options(concurrency_group="ask").remote(), LOADING_SECONDS + self._timeout)
            self.is_connected = True

    def ask(self, request: object) -> Any:
        """Send a request to the worker and wait for its answer.

        Raises:
            PartyLostError: If the actor or its worker ended, or nobody answered in time.
            EngineError: If the worker failed.
        """
        self.wait_until_connected()
        reference = self._actor.ask.options(concurrency_group="ask").remote(request)
        answer, self.bytes_sent = self._get(reference, self._timeout + GRACE_SECONDS + CARRY_SECONDS)
        return answer

    def kill(self) -> None:
        """End the actor at once, from another thread."""
        self._ended.set()
        with contextlib.suppress(Exception):  # the cluster may be gone, which ends it too
            self._ray.kill(self._actor)

    def end(self, *, at_once: bool = False) -> None:
        """Let the worker end, and the actor with it."""
        if not at_once and not self._ended.is_set():
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.get(self._actor.end.options(concurrency_group="ask").remote(), timeout=GRACE_SECONDS)
        self.kill()
        self._streams.close()

    def _get(self, reference: Any, seconds: float) -> Any:
        try:
            kind, content = self._ray.get(reference, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError as exc:
            raise SilenceError(
                f"A worker on Ray did not answer in {seconds:.0f} s. Is there room for it? Nothing is published."
            ) from exc
        except self._ray.exceptions.RayError as exc:
            raise PartyLostError(
                f"A worker on Ray ended ({type(exc).__name__}): it was lost, or the other party stopped. Nothing is "
                "published."
            ) from exc
        if kind in ERRORS:
            error = ERRORS[kind](content)
            if isinstance(error, SilenceError):
                error.party = self._other
            raise error
        return content

    def _carry_in(self) -> None:
        """Carry what comes for the worker."""
        while not self._ended.is_set():
            pieces = self._streams.take()
            if pieces and not self._carried(self._actor.put.options(concurrency_group="put"), pieces):
                return

    def _carry_out(self) -> None:
        """Carry what the worker sends."""
        while not self._ended.is_set():
            try:
                pieces = self._ray.get(self._actor.take.options(concurrency_group="take").remote())
            except self._ray.exceptions.RayError:  # whoever asks the worker notices
                self._streams.close()
                return
            self._streams.put(pieces)

    def _carried(self, method: Any, pieces: Pieces) -> bool:
        try:
            self._ray.get(method.remote(pieces))
        except self._ray.exceptions.RayError:
            self._streams.close()
            return False
        return True
