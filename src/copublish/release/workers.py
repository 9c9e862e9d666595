"""How a party runs the shards of an agreement: how many of its engine processes count at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from copublish.agreement.computation import MOST_SHARDS
from copublish.agreement.model import Agreement
from copublish.errors import EngineError


@dataclass(frozen=True)
class Workers:
    """One party's engine processes; the other party's may be more or fewer.

    Attributes:
        number: How many count at the same time, the one included that does everything else.
    """

    number: int = 1


ONE_WORKER = Workers()


def refuse_idle_workers(agreement: Agreement, workers: Workers) -> None:
    """Raise if there are to be workers that no agreement, or not this one, has anything to do for.

    Raises:
        EngineError: Saying what to agree on.
    """
    if not 1 <= workers.number <= MOST_SHARDS:
        raise EngineError(f"The number of workers must be from 1 to {MOST_SHARDS}, got {workers.number}.")
    if workers.number > 1 and agreement.engine.agreed_shards == 1:
        raise EngineError(
            f"{workers.number} workers were asked for, and by the agreement records are not cut into shards that they "
            f"could count. Agree on [engine] shards = {workers.number}, or more, or leave the workers out."
        )


def sessions_of(agreement: Agreement, *numbers_of_workers: int) -> int:
    """How many sessions the engine has: as many as every party has workers for, and no more than there are shards."""
    return min(agreement.engine.agreed_shards, *numbers_of_workers)
