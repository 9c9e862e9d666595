"""Recorders of the topics that a run uses: a room's engine, a worker's recorder, what a post carries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import copublish as cp
from copublish.agreement.protocol.message import Exchange
from copublish.engines.ideal import IdealEngine, Room
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.requests import Gather
from copublish.errors import CopublishError
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments, run_room
from support import seeded
from support.recorded_releases import CASES, made_up_frames
from support.signed import Signers
from support.spu import publish


def topics_of_room(case: str, frames: Mapping[str, Any] | None = None) -> set[str]:
    """Topics of a run of a recorded case on the ideal engine, also if it ends early."""
    seen: set[str] = set()

    class Recording(IdealEngine):
        def exchange(self, message: Exchange[Any], public: Any) -> tuple[Any, ...]:
            seen.add(message.topic)
            return super().exchange(message, public)

    agreement = cp.agreement_from_mapping(CASES[case].agreement)
    plan, fragments = plan_of(agreement), read_fragments(agreement, dict(frames or made_up_frames(case)))
    ledgers = {party: throwaway_ledger(plan) for party in agreement.party_names}
    room = Room(agreement.party_names, seeded(agreement.party_names, 3), engine=Recording)
    try:
        run_room(plan, fragments, room, ledgers)
    except CopublishError:
        if frames is None:
            raise
    return seen


class Topics:
    """A recorder of one node's engine."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def asked(self, request: object, seconds: float, bytes_sent: int) -> None:
        if isinstance(request, Gather):
            self.seen.add(request.topic)

    def ends(self, process: int) -> None:
        """Nothing to note."""


def publish_and_note_topics(engine: SpuEngine, argument: tuple[cp.Agreement, Any, Any]) -> set[str]:
    """Run the main path at one of two parties; return the topics that went over the engine's link."""
    recorder = Topics()
    engine.record(recorder)
    publish(engine, argument)
    return recorder.seen


def with_a_person_twice(frames: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    """Frames of owners of whole rows, two of which list the same person."""
    (one, first), (other, second), *rest = frames.items()
    second = second.assign(
        **{identifier: np.where(np.arange(len(second)) == 0, first[identifier].iloc[0], second[identifier])}
    )
    return {one: first, other: second, **dict(rest)}


def topics_of_signed_run(folder: Path, **changes: Any) -> set[str]:
    """Topics of a run whose parties sign, under an agreement with some changes."""
    seen: set[str] = set()

    class Recording(IdealEngine):
        def __init__(self, inner: IdealEngine) -> None:
            self.__dict__.update(inner.__dict__)

        def exchange(self, message: Exchange[Any], public: Any) -> tuple[Any, ...]:
            seen.add(message.topic)
            return super().exchange(message, public)

    Signers(folder, changes=changes).publish(around=Recording)
    return seen
