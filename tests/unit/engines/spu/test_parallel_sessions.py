"""Further sessions of the secure engine stand before anybody reserves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.requests import ComputeSteps, Forget, Gather
from copublish.errors import PartyLostError
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows.reading import read_fragment
from support import fragment_frames, random_table, repartition, small_mapping

LANES, NEVER = "lane", "never"


class Worker:
    """In the place of SPU. The other party says what this one says; no lane with `NEVER` in its address connects."""

    def __init__(self, rank: int, addresses: Sequence[str], *_: Any, **__: Any) -> None:
        self.bytes_sent, self.pid, self.is_alive, self.is_connected = 0, None, True, False
        self._addresses = addresses

    def wait_until_connected(self) -> None:
        if any(NEVER in address for address in self._addresses):
            raise PartyLostError("The other party was lost.")
        self.is_connected = True

    def ask(self, request: object) -> Any:
        self.wait_until_connected()
        if any(LANES in address for address in self._addresses):
            raise AssertionError("a lane was asked to count")
        if isinstance(request, Gather):
            return [request.text] * 2
        assert isinstance(request, ComputeSteps | Forget)
        return None

    def kill(self) -> None:
        self.is_alive = False

    def end(self, *, at_once: bool = False) -> None:
        self.is_alive = False


def run_with(lane: str) -> tuple[cp.ledger.Ledger, str]:
    """One party's run with two sessions; the ledger afterwards, and what ended the run."""
    records = {"expected": 40, "alignment": "row-order"}
    mapping = repartition(small_mapping(engine={"shards": 2}, records=records), "vertical")
    mapping["class"]["held_by"] = "p1"  # so the first thing that is counted is counted jointly
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    plan, sessions = plan_of(agreement), {"shards": 2, "lanes": [(lane, lane)]}
    ledger = throwaway_ledger(plan)
    with (
        pytest.raises((PartyLostError, AssertionError)) as ended,
        SpuEngine("p0", ("p0", "p1"), ("a", "b"), start_worker=Worker, start_lane=Worker, **sessions) as engine,
    ):
        publish_release(plan, read_fragment(agreement, "p0", frames["p0"]), engine, ledger, no_progress)
    return ledger, str(ended.value)


def test_nothing_is_charged_if_a_lane_never_connects() -> None:
    ledger, ended = run_with(f"{LANES} that {NEVER} connects")
    assert ended == "The other party was lost."
    assert ledger.entries() == []


def test_a_lane_that_is_lost_when_it_counts_is_paid_for() -> None:
    """The other case, so that the first one is known to come as far as a reservation."""
    ledger, ended = run_with(LANES)
    assert ended == "a lane was asked to count"
    assert len(ledger.entries()) == 1
