"""The moment before the first opening: no party opens anything before every ledger has the first disclosure.

In every recorded case, on the ideal engine, where each opening and each ledger can be watched.
"""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.agreement.protocol.message import Step
from copublish.agreement.protocol.table import HEADS, RESERVED
from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments, run_room
from support import seeded
from support.recorded_releases import CASES, made_up_frames

pytestmark = pytest.mark.slow  # whole releases


def written(ledger: Ledger) -> int:
    return sum(entry.disclosures for entry in ledger.entries())


class Openings:
    """Every value that a party of a room learns from secrets or is told by others, and how far ledgers are then."""

    def __init__(self, case: str, stop: tuple[str, str] | None = None) -> None:
        self.agreement = cp.agreement_from_mapping(CASES[case].agreement)
        self.plan = plan_of(self.agreement)
        self.ledgers = {party: throwaway_ledger(self.plan) for party in self.agreement.party_names}
        self.case, self.stop = case, stop
        self.of_coins: set[str] = set()
        self.least_written: list[int] = []

    def engine(self) -> type[IdealEngine]:
        seen = self

        class Watched(IdealEngine):
            def _open(self, secret: Any) -> Any:
                if self.party not in seen.of_coins:
                    seen.least_written.append(min(map(written, seen.ledgers.values())))
                return super()._open(secret)

            def exchange(self, message: Any, public: Any) -> Any:
                if (self.party, message.topic) == seen.stop:
                    raise KeyboardInterrupt
                if message.step is Step.COMPUTE and message.topic not in (RESERVED.topic, HEADS.topic):
                    seen.least_written.append(min(map(written, seen.ledgers.values())))
                return super().exchange(message, public)

        return Watched

    def run(self) -> None:
        agreement = self.agreement
        room = Room(agreement.party_names, seeded(agreement.party_names, 3), engine=self.engine())
        run_room(self.plan, read_fragments(agreement, dict(made_up_frames(self.case))), room, self.ledgers)


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make watched runs that leave out which candidates for noise are kept: a function of coins alone."""
    made: list[Openings] = []

    def draw(gate: RevealGate, *arguments: Any) -> Any:
        made[-1].of_coins.add(gate.computer.party)
        try:
            return drawn(gate, *arguments)
        finally:
            made[-1].of_coins.discard(gate.computer.party)

    drawn = RevealGate._draw_gaussian
    monkeypatch.setattr(RevealGate, "_draw_gaussian", draw)

    def make(case: str, stop: tuple[str, str] | None = None) -> Openings:
        made.append(Openings(case, stop))
        return made[-1]

    return make


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_opened_anywhere_before_every_ledger_has_a_disclosure(openings: Any, case: str) -> None:
    watched = openings(case)
    watched.run()
    assert watched.least_written and min(watched.least_written) >= 1


@pytest.mark.parametrize(
    "case", ["specialization vertical max", "vhdp vertical uniform", "copula horizontal masked-sum"]
)
@pytest.mark.parametrize("topic, disclosures", [("reserved", 0), ("heads of ledgers", 1)])
def test_a_party_that_leaves_before_the_first_opening_leaves_the_others_with_nothing_opened(
    openings: Any, case: str, topic: str, disclosures: int
) -> None:
    last = cp.agreement_from_mapping(CASES[case].agreement).party_names[-1]
    watched = openings(case, stop=(last, topic))
    with pytest.raises(KeyboardInterrupt):
        watched.run()
    assert watched.least_written == []
    for ledger in watched.ledgers.values():
        (entry,) = ledger.entries()
        assert (entry.state, entry.disclosures) == ("ended early, spent", disclosures)
