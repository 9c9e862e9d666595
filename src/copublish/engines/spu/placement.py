"""How a party runs the shards of an agreement: how many of its engine processes count at the same time."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from copublish.agreement.computation import MOST_SHARDS
from copublish.agreement.model import Agreement
from copublish.engines.spu.process import StartWorker, WorkerProcess
from copublish.engines.spu.ray_workers import AUTO, ray_workers, refuse_unreachable_cluster
from copublish.errors import EngineError

HERE, RAY = "here", "ray"


@dataclass(frozen=True)
class Workers:
    """One party's engine processes; the other party's may be more or fewer.

    Attributes:
        number: How many count at the same time, the one included that does everything else.
        on: Where all but that one run: `here`; `ray`, the party's Ray cluster that is found by itself; or
            `ray=ADDRESS`.
    """

    number: int = 1
    on: str = HERE

    def starter(self) -> AbstractContextManager[StartWorker]:
        """What starts a worker where they run; connected for as long as the context lasts.

        Raises:
            EngineError: If they cannot run there.
        """
        return nullcontext(WorkerProcess) if self.cluster is None else ray_workers(self.cluster)

    @property
    def cluster(self) -> str | None:
        """The address of the Ray cluster on which they run, if they do."""
        return None if self.on == HERE else self.on.removeprefix(RAY).removeprefix("=") or AUTO


ONE_WORKER = Workers()


def refuse_unfit_workers(agreement: Agreement, workers: Workers) -> None:
    """Raise if there are to be workers that this agreement has nothing to do for, or that cannot run where they should.

    Raises:
        EngineError: Saying what to change.
    """
    if not 1 <= workers.number <= MOST_SHARDS:
        raise EngineError(f"The number of workers must be from 1 to {MOST_SHARDS}, got {workers.number}.")
    if workers.on not in (HERE, RAY) and not workers.on.startswith(f"{RAY}="):
        raise EngineError(f"Workers run on '{HERE}', '{RAY}' or '{RAY}=ADDRESS', got '{workers.on}'.")
    if workers.on != HERE and workers.number == 1:
        raise EngineError("One worker runs here. For workers on Ray ask for two or more.")
    if workers.number > 1 and agreement.engine.agreed_shards == 1:
        raise EngineError(
            f"{workers.number} workers were asked for, and by the agreement records are not cut into shards that they "
            f"could count. Agree on [engine] shards = {workers.number}, or more, or leave the workers out."
        )
    if workers.cluster is not None:
        refuse_unreachable_cluster(workers.cluster)


def sessions_of(agreement: Agreement, *numbers_of_workers: int) -> int:
    """How many sessions the engine has: as many as every party has workers for, and no more than there are shards."""
    return min(agreement.engine.agreed_shards, *numbers_of_workers)
