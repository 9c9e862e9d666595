"""A peer that leaves after the others have reserved: what it costs them, who it was, and what they are asked."""

from __future__ import annotations

import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.engines.ideal import IdealEngine
from copublish.errors import EngineError, LedgerError
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.early_ends import after_early_end, early_ends
from copublish.party.request import RunSettings
from copublish.party.session import ready_party
from support import fragment_frames, random_table
from support.signed import Signers

ONE = Cost(add_remove=Fraction(1), replace=Fraction(2), delta=Fraction(0))
LOANS, LAB = {"loans": "sha256:aa"}, {"lab": None}


def spend(ledger: Ledger, peers: dict[str, str | None], *, completes: bool) -> None:
    try:
        with ledger.reserve("people", "flu", "abc", ONE, peers=peers):
            if not completes:
                raise EngineError("it left")
    except EngineError:
        pass


@pytest.fixture
def ledger() -> Ledger:
    opened = Ledger(":memory:")
    opened.set_limit("people", Limit(Fraction(50), "add-remove"))
    return opened


def test_runs_that_ended_early_are_counted_by_certificate_whatever_the_name_is(ledger: Ledger) -> None:
    spend(ledger, {**LOANS, **LAB}, completes=True)
    assert early_ends(ledger.entries()) == []
    spend(ledger, LOANS, completes=False)
    spend(ledger, {"lender": "sha256:aa"}, completes=False)
    ledger.give_back(3)
    spend(ledger, {"loans": "sha256:bb"}, completes=True)
    (found,) = early_ends(ledger.entries())
    assert (found.peer, found.certificate) == ("lender", "sha256:aa")
    assert (found.runs, found.early, found.given_back) == (3, 2, 1)
    spend(ledger, LAB, completes=False)
    assert [(one.peer, one.certificate, one.runs, one.early) for one in early_ends(ledger.entries())][1:] == [
        ("lab", None, 2, 1)
    ]


@pytest.mark.parametrize("peers", [LOANS, {"loans": "sha256:bb"}, {"lender": "sha256:aa"}, {**LAB, **LOANS}])
def test_a_run_with_a_peer_whose_last_run_ended_early_is_a_question_until_one_completes(ledger, peers) -> None:
    assert after_early_end(ledger, peers) is None
    spend(ledger, LOANS, completes=True)
    assert after_early_end(ledger, peers) is None
    spend(ledger, LOANS, completes=False)
    said = after_early_end(ledger, peers)
    assert said is not None and "has not completed (ended early, spent). Of 2 runs with it 1 ended so." in said
    assert "copublish ledger give-back 2 " in said
    assert after_early_end(ledger, LAB) is None
    ledger.give_back(2)  # the budget is back, the question is not
    said = after_early_end(ledger, peers)
    assert said is not None and "give-back" not in said
    spend(ledger, LOANS, completes=True)
    assert after_early_end(ledger, LOANS) is None


class Leaving(IdealEngine):
    """An engine whose party leaves at a topic."""

    def __init__(self, inner: IdealEngine, topic: str) -> None:
        self.__dict__.update(inner.__dict__)
        self._topic = topic

    def exchange(self, message: Any, public: Any) -> Any:
        if message.topic == self._topic:
            raise KeyboardInterrupt
        return super().exchange(message, public)


@pytest.mark.slow
def test_a_peer_that_leaves_when_the_others_have_reserved_costs_them_nothing_that_they_do_not_get_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copublish.party.session.refuse_unfit_hosts", lambda *_: None)  # they are in one room
    signers = Signers(tmp_path)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            signers.publish(around=lambda engine: Leaving(engine, "reserved") if engine.party == "loans" else engine)
    file = signers.ledger_file("bank")
    with closing(Ledger(file)) as ledger:
        charges = ledger.entries()
        assert [(charge.state, charge.disclosures) for charge in charges] == 3 * [("ended early, spent", 0)]
        assert charges[0].peers == {"loans": signers.identities["loans"].fingerprint}
        for charge in charges:
            ledger.give_back(charge.number)
        assert ledger.spent("people") == NOTHING and ledger.edits() == []
    shown = CliRunner().invoke(app, ["ledger", str(file), "--format", "json"])
    (ends,) = json.loads(shown.stdout)["early_ends"]
    assert (ends["peer"], ends["early"], ends["given_back"]) == ("loans", 3, 3)
    assert ends["certificate"] == signers.identities["loans"].fingerprint
    with pytest.raises(LedgerError, match="Of 3 runs with it 3 ended so"):
        ready(signers, "bank", again=False)
    ready(signers, "bank", again=True)
    signers.publish()
    ready(signers, "bank", again=False)


@pytest.mark.slow
def test_a_peer_that_leaves_after_the_first_opening_costs_them_what_was_reserved(tmp_path: Path) -> None:
    signers = Signers(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        signers.publish(around=lambda engine: Leaving(engine, "release") if engine.party == "loans" else engine)
    with closing(Ledger(signers.ledger_file("bank"))) as ledger:
        (charge,) = ledger.entries()
        with pytest.raises(LedgerError, match="values were opened of it"):
            ledger.give_back(charge.number)


def ready(signers: Signers, name: str, *, again: bool) -> None:
    """Check one party's part as `copublish run` does, before anybody is called."""
    agreement, generator = signers.agreement, np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 10, generator), generator)
    settings = RunSettings(signers.folder / "out", again=again)
    with closing(Ledger(signers.ledger_file(name))) as own:
        ready = ready_party(agreement, name, frames[name], signers.identities[name], own, settings)
    if ready.worker is not None:
        ready.worker.end()
