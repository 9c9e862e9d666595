"""A party that puts in what the agreement does not allow, on the secure engine: it is locked out of the data set."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_hostile_inputs import poisoned

import copublish as cp
from copublish.engines.spu import engine as spu_engine
from copublish.errors import LockedError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows.reading import read_fragment
from support import fragment_frames, random_table, repartition, small_mapping
from support.spu import PARTIES, Pair


def publish_from(engine: Any, argument: tuple[cp.Agreement, Any, Path, bool]) -> str:
    """Run the main path at one party with a ledger of its own, as a cheat or not; return how it ended."""
    agreement, frame, ledger, cheats = argument
    with pytest.MonkeyPatch.context() as patch:
        if cheats:
            patch.setattr(spu_engine, "tiles", poisoned((2**14,), 1))
        try:
            fragment = read_fragment(agreement, engine.party, frame)
            publish_release(plan_of(agreement), fragment, engine, Ledger(ledger), no_progress)
        except cp.CopublishError as exc:
            return type(exc).__name__
    return "published"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair(300) as both:
        yield both


@pytest.mark.parametrize("cheat", PARTIES)
def test_the_honest_party_locks_out_the_cheat_and_nobody_else(pair: Pair, tmp_path: Path, cheat: str) -> None:
    changes = {"privacy.class_disagreement": "0.1", "mechanism.specializations": 2}
    agreement = cp.agreement_from_mapping(repartition(small_mapping(**changes), "vertical"))
    generator = np.random.default_rng(8)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    files = {party: tmp_path / f"{party}.db" for party in PARTIES}
    for file in files.values():
        Ledger(file).set_limit("people", Limit(Fraction(9), "add-remove"))

    def runs(cheat: str | None) -> list[str]:
        return pair.do(publish_from, *((agreement, frames[own], files[own], own == cheat) for own in PARTIES))

    assert runs(None) == ["published", "published"]
    assert [Ledger(file).locks() for file in files.values()] == [[], []]
    assert runs(cheat) == ["InvalidInputsError", "InvalidInputsError"]
    (honest,) = set(PARTIES) - {cheat}
    assert [lock.peer for lock in Ledger(files[honest]).locked("people")] == [cheat]
    assert Ledger(files[cheat]).locks() == []
    for file in files.values():
        first, second = Ledger(file).entries()
        assert (first.state, second.state, second.disclosures) == ("complete", "ended early, spent", 0)
        assert [found.own.words for found in Ledger(file).alignments()] == ["first", "same"]
    with pytest.raises(LockedError):
        Ledger(files[honest]).refuse_if_locked("people", {cheat: None})
