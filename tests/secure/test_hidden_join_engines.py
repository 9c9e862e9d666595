"""People in rows on the secure engine, where no owner learns who is common: two computing parties, guests, a helper."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.protocol.table import CAN_PAY
from copublish.engines.comparing.comparison import comparison_by
from copublish.engines.spu.engine import SpuEngine
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.secrets.placement import HiddenJoin, Placement
from copublish.party.local.processes import simulate_in_processes
from support import fragment_frames, random_table, small_mapping
from support.hidden import check_placements, join_of
from support.messages import all_of
from support.owners import Nodes
from support.spu import Pair

LISTS = {"p0": ["x", "y", "z"], "p1": ["u", "y", "x", "v"], "guest": ["z", "u", "y"]}


def place_at_one_of_two(engine: SpuEngine, argument: tuple[list[str], HiddenJoin]) -> tuple[Placement, tuple[str, ...]]:
    own, join = argument
    engine.comparison = comparison_by(engine._messenger_of_tests, engine.parties, None)
    return engine.place(own, join), engine.exchange(CAN_PAY, "can pay")


def test_two_parties_that_compute_place_people_and_their_engine_goes_on() -> None:
    lists = {party: LISTS[party] for party in ("p0", "p1")}
    join = join_of(lists, room=2)
    with Pair() as pair:
        answers = pair.do(place_at_one_of_two, *((own, join) for own in lists.values()))
    assert not any(isinstance(answer, str) for answer in answers), answers
    check_placements(lists, {party: found for party, (found, _) in zip(lists, answers, strict=True)})
    assert {told for _, told in answers} == {("can pay", "can pay")}


@pytest.fixture(scope="module")
def nodes():
    found = Nodes(("p0", "p1"), "CHEETAH", joins=True)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("owners", "helper"),
    [(("p0", "guest"), None), (("p0", "p1"), None), (("p0", "p1", "guest"), "relay"), (("p0", "guest"), "p1")],
)
def test_nodes_guests_and_parties_without_data_place_people(nodes, owners, helper) -> None:
    parties, lists = ("p0", "p1", "guest", "relay"), {owner: LISTS[owner] for owner in owners}
    join = join_of(lists, **({"size": None} if helper else {}))

    def job(engine: Any) -> Placement:
        engine.comparison = comparison_by(engine._messenger_of_tests, owners, helper)
        return engine.place(lists.get(engine.party), join)

    check_placements(lists, all_of(nodes.run(parties, job)))


def test_a_release_between_two_processes_places_people_by_messages(tmp_path: Path) -> None:
    mapping = small_mapping()
    mapping["records"] |= {"identifier": "id", "membership": "hidden"}
    mapping["privacy"]["membership_epsilon"] = "1"
    parties = list(mapping["parties"])
    mapping["records"]["at_most"] = dict.fromkeys(parties, 70)
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(3)
    frames = fragment_frames(agreement, random_table(agreement, 60, generator), generator)
    ledgers = {party: tmp_path / f"{party}.db" for party in parties}
    for file in ledgers.values():
        Ledger(file).set_limit("people", Limit(Fraction(9), "add-remove", Fraction(1, 10**6)))
    steps: list[tuple[str, int, int]] = []
    release = simulate_in_processes(
        agreement, frames, ledger_files=ledgers, progress=lambda *step: steps.append(step), timeout_seconds=120
    )
    assert release.data_files()
    multiplied = [done for phase, done, of in steps if phase == "alignment" and of > 1]
    assert multiplied == sorted(multiplied) and multiplied[-1] > 4 * 70


def test_a_party_without_data_takes_lists_that_are_longer_than_twice_the_expected_number() -> None:
    mapping = small_mapping()
    owners = list(mapping["parties"])
    mapping["parties"]["helper"] = {"data": False}
    mapping["records"] |= {"identifier": "id", "compared_by": "helper", "membership": "hidden", "expected": 20}
    mapping["records"]["at_most"] = dict.fromkeys(owners, 70)
    agreement, generator = cp.agreement_from_mapping(mapping), np.random.default_rng(3)
    frames = fragment_frames(agreement, random_table(agreement, 60, generator), generator)
    frames.pop("helper")
    release = simulate_in_processes(agreement, frames, progress=lambda *_: None, timeout_seconds=120)
    assert release.data_files()
