"""A peer whose inputs failed a check: locked out of the data set, until its owner says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import copublish as cp
from copublish.engines.ideal import IdealEngine, Room
from copublish.errors import EngineError, InvalidInputsError, LedgerError, LockedError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.party.local.processes import _error
from copublish.party.local.simulation import read_fragments, run_room
from copublish.party.session import preflight
from support import fragment_frames, random_table, seeded, small_mapping

PINS = {"bank": "sha256:" + "1" * 64, "loans": "sha256:" + "2" * 64}


def agreed(**changes: Any) -> cp.Agreement:
    mapping = small_mapping(**changes)
    for party, fields in mapping["parties"].items():
        fields |= {"host": f"{party}.example:7700", "certificate": PINS.get(party, PINS["loans"])}
    return cp.agreement_from_mapping(mapping)


def ledgers_of(agreement: cp.Agreement) -> dict[str, Ledger]:
    ledgers = {party: Ledger(":memory:") for party in agreement.parties}
    for ledger in ledgers.values():
        ledger.set_limit("people", Limit(Fraction(100), "add-remove"))
        ledger.set_limit("others", Limit(Fraction(100), "add-remove"))
    return ledgers


def publish(agreement: cp.Agreement, ledgers: Mapping[str, Ledger]) -> None:
    generator = np.random.default_rng(2)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    room = Room(agreement.party_names, seeded(agreement.party_names, 1))
    run_room(plan_of(agreement), read_fragments(agreement, frames), room, ledgers)


@pytest.fixture
def cheating(monkeypatch: pytest.MonkeyPatch):
    """Let a check of one party's inputs fail in the next run."""

    def cheat(party: str) -> None:
        def run(*_: object) -> None:
            monkeypatch.undo()
            raise InvalidInputsError(party)

        monkeypatch.setattr(SpecializationPlan, "run", run)

    return cheat


def test_a_failed_check_locks_the_data_set_for_that_peer_and_the_charge_stays(cheating) -> None:
    agreement = agreed()
    ledgers = ledgers_of(agreement)
    cheating("loans")
    with pytest.raises(InvalidInputsError, match="'loans' put in something else than the agreement allows") as caught:
        publish(agreement, ledgers)
    assert (caught.value.party, caught.value.exit_code, isinstance(caught.value, EngineError)) == ("loans", 6, True)
    (lock,) = ledgers["bank"].locked("people")
    assert (lock.peer, lock.certificate) == ("loans", PINS["loans"])
    assert lock.why == "In release 'small' it put in something else than the agreement allows."
    (entry,) = ledgers["bank"].entries()
    assert entry.state == "ended early, spent"


def test_the_next_run_is_refused_before_anybody_reserves_or_compares_until_the_owner_unlocks(cheating) -> None:
    agreement = agreed()
    ledgers = ledgers_of(agreement)
    cheating("loans")
    with pytest.raises(InvalidInputsError):
        publish(agreement, ledgers)
    before = [(len(book.entries()), len(book.alignments())) for book in ledgers.values()]
    with pytest.raises(LockedError) as refused:
        publish(agreement, ledgers)
    assert refused.value.exit_code == 5
    assert "Data set 'people' has been locked for 'loans' since 20" in str(refused.value)
    assert "copublish ledger unlock people=loans --ledger :memory:" in str(refused.value)
    assert [(len(book.entries()), len(book.alignments())) for book in ledgers.values()] == before
    assert ledgers["bank"].unlock("people", "loans")
    assert not ledgers["bank"].unlock("people", "loans")  # once
    publish(agreement, ledgers)
    (lock,) = ledgers["bank"].locks()  # the file remembers
    assert lock.unlocked_at is not None and ledgers["bank"].locked("people") == []


def test_other_rows_than_this_party_has_lock_the_data_set_and_only_the_number_of_rows_is_charged(monkeypatch) -> None:
    """Two owners that hide membership: neither can have other rows unless the other one deviated."""

    def other_rows(engine: IdealEngine, *_: object) -> None:
        assert engine.party == "bank"
        raise InvalidInputsError("loans")

    lengths = dict.fromkeys(agreed().parties, 50)
    privacy = {"epsilon": 1, "membership_epsilon": "0.1"}
    agreement = agreed(privacy=privacy, **{"records.membership": "hidden", "records.at_most": lengths})
    ledgers = ledgers_of(agreement)
    for ledger in ledgers.values():
        ledger.set_limit("people", Limit(Fraction(100), "add-remove", Fraction(1, 10**6)))
    monkeypatch.setattr(IdealEngine, "place", other_rows)
    with pytest.raises(InvalidInputsError):
        publish(agreement, ledgers)
    (lock,) = ledgers["bank"].locked("people")
    assert lock.peer == "loans"
    (entry,) = ledgers["bank"].entries()
    assert entry.cost.add_remove == Fraction(1, 10)


def test_a_party_does_not_lock_itself_out(cheating) -> None:
    agreement = agreed()
    ledgers = ledgers_of(agreement)
    cheating("bank")
    with pytest.raises(InvalidInputsError):
        publish(agreement, ledgers)
    assert ledgers["bank"].locks() == []


@pytest.mark.parametrize("error", [EngineError("lost"), RuntimeError("a bug")])
def test_no_other_error_locks_anybody_out(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    agreement = agreed()
    ledgers = ledgers_of(agreement)

    def run(*_: object) -> None:
        raise error

    monkeypatch.setattr(SpecializationPlan, "run", run)
    with pytest.raises(type(error)):
        publish(agreement, ledgers)
    assert ledgers["bank"].locks() == []


def test_a_lock_is_for_one_data_set_and_goes_with_the_certificate() -> None:
    ledger = Ledger(":memory:")
    ledger.lock("people", "loans", "It cheated.", certificate=PINS["loans"])
    ledger.refuse_if_locked("others", {"loans": PINS["loans"]})
    ledger.refuse_if_locked("people", {"lab": None, "clinic": PINS["bank"]})
    with pytest.raises(LockedError, match="locked for 'loans' since"):
        ledger.refuse_if_locked("people", {"lab": None, "loans": None})
    with pytest.raises(LockedError, match=r"locked for 'lender' \(then called 'loans'\).*unlock people=loans"):
        ledger.refuse_if_locked("people", {"lender": PINS["loans"]})


def test_preflight_refuses_before_a_person_is_asked(tmp_path: Path) -> None:
    agreement = agreed()
    generator = np.random.default_rng(2)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    ledger = ledgers_of(agreement)["bank"]
    preflight(agreement, "bank", frames["bank"], ledger, out=tmp_path / "out", overwrite=False)
    ledger.lock("people", "loans", "It cheated.")
    with pytest.raises(LockedError):
        preflight(agreement, "bank", frames["bank"], ledger, out=tmp_path / "out", overwrite=False)


def test_a_lock_that_cannot_be_written_is_said_with_who_cheated(cheating, monkeypatch: pytest.MonkeyPatch) -> None:
    agreement = agreed()
    ledgers = ledgers_of(agreement)

    def full(*_: object, **__: object) -> None:
        raise LedgerError("the disk is full.")

    ledgers["bank"].lock = full  # type: ignore[method-assign]
    cheating("loans")
    with pytest.raises(LedgerError, match=r"(?s)'loans' put in .*could not be locked.*the disk is full.*Do not run"):
        publish(agreement, ledgers)


def test_who_cheated_is_known_after_the_error_came_from_another_process() -> None:
    sent = InvalidInputsError("loans")
    error = _error(type(sent), str(sent), sent.party)
    assert isinstance(error, InvalidInputsError)
    assert (error.party, str(error), error.exit_code) == ("loans", str(sent), 6)


@pytest.mark.parametrize("column", ["dataset", "peer", "why", "locked_at"])
def test_an_edited_lock_stops_every_release(column: str) -> None:
    ledger = Ledger(":memory:")
    ledger.lock("people", "loans", "It cheated.")
    ledger._database.execute(f"UPDATE locks SET {column} = ?", (b"x",))
    with pytest.raises(LedgerError, match=rf"locks\.{column}"):
        ledger.refuse_if_locked("people", {"lab": None})
