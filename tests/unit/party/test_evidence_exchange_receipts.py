"""Receipts: what parties sign together and show each other, ledgers that are behind, parties that lie about it.

On the ideal engine with real keys and ledgers in files; `tests/network/test_run.py` has the same between processes.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.agreement.protocol.table import SHOWN_HEADS
from copublish.cli import app
from copublish.engines.ideal import IdealEngine
from copublish.errors import (
    ApprovalError,
    BehindLedgerError,
    EditedLedgerError,
    EngineError,
    LedgerError,
    MeetingError,
    ProgramMismatchError,
)
from copublish.kernel.ledger.chain import BEGUN, append_tables
from copublish.kernel.ledger.ledger import Ledger
from copublish.mechanisms.registry import plan_of
from copublish.party.evidence_exchange import SigningContext
from copublish.party.keys.identity import new_identity
from copublish.party.local.processes import throwaway_ledger
from copublish.party.own_ledger import receipt_problems, release_problems
from copublish.party.session import preflight
from copublish.release.verify import verify_release
from support import fragment_frames, random_table
from support.not_common import HIDDEN
from support.signed import NAMES, Signers

pytestmark = pytest.mark.slow  # releases between several parties


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


def test_both_ledgers_keep_what_both_signed_and_the_next_run_goes_on(tmp_path) -> None:
    signers = Signers(tmp_path)
    for run in (1, 2):
        folder = signers.publish()["bank"].write(tmp_path / f"release{run}")
    for name in NAMES:
        ledger = Ledger(signers.ledger_file(name))
        first, second = ledger.receipts()
        assert first.run != second.run and first.signatures and second.signatures
        statement = cp.load_release(folder).signatures.statement
        assert second.statement == statement.text and statement.ledger_heads[name] in ledger.heads()
        assert ledger.edits() == receipt_problems(ledger) == release_problems(ledger, folder) == []
        ledger.close()
    shown = json.loads(command("ledger", signers.ledger_file("bank"), "--format", "json").stdout)
    assert [run["with"] for run in shown["signed_runs"]] == ["loans", "loans"]


def charges(signers: Signers) -> list[int]:
    ledgers = [Ledger(signers.ledger_file(name)) for name in NAMES]
    return [len(ledger.entries()) + len(ledger.alignments()) for ledger in ledgers]


@pytest.mark.parametrize("with_what", ["an old copy", "a new ledger"])
def test_a_ledger_that_is_behind_is_refused_by_the_other_party_before_anything_is_spent(tmp_path, with_what) -> None:
    signers = Signers(tmp_path)
    signers.publish()
    old = signers.ledger_file("loans").read_bytes()
    folder = signers.publish()["bank"].write(tmp_path / "release")
    if with_what == "an old copy":
        signers.ledger_file("loans").write_bytes(old)
    else:
        shutil.copy(Signers(tmp_path / "new").ledger_file("loans"), signers.ledger_file("loans"))
    before = charges(signers)
    with pytest.raises(BehindLedgerError, match=r"'loans' signed .* restored from an old copy"):
        signers.publish()
    assert charges(signers) == before
    # Its owner finds out alone, by a release that it signed.
    done = command("ledger", "verify", signers.ledger_file("loans"), "--release", folder)
    assert done.exit_code == 5 and "an old copy from before that release" in done.stdout
    assert command("ledger", "verify", signers.ledger_file("bank"), "--release", folder).exit_code == 0
    # And the other party can decide to go on.
    assert command("ledger", "forget-receipts", "lab", "--ledger", signers.ledger_file("bank")).exit_code == 2
    assert command("ledger", "forget-receipts", "loans", "--ledger", signers.ledger_file("bank")).exit_code == 0
    signers.publish()
    assert Ledger(signers.ledger_file("bank")).edits() == []


def test_a_ledger_whose_chain_was_begun_anew_is_refused_by_the_other_party_and_by_its_own(tmp_path) -> None:
    """The tables still hold all receipts, and every hash follows from the one before."""
    signers = Signers(tmp_path)
    signers.publish()
    with closing(sqlite3.connect(signers.ledger_file("loans"))) as database:
        for table in ("charges", "disclosures", "chain"):
            database.execute(f"DELETE FROM {table}")
        append_tables(database, BEGUN, at="2026")
        database.commit()
    with pytest.raises(BehindLedgerError, match="'loans' signed"):
        signers.publish()
    ready(signers, "bank")
    with pytest.raises(EditedLedgerError, match="ledger verify"):
        ready(signers, "loans")


def ready(signers: Signers, name: str) -> None:
    """Check one party's part as `copublish run` does, before anybody is called."""
    agreement, generator = signers.agreement, np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 10, generator), generator)
    with closing(Ledger(signers.ledger_file(name))) as own:
        preflight(agreement, name, frames[name], own, out=signers.folder / "out", overwrite=False)


def test_a_run_refuses_a_ledger_whose_kept_signatures_are_not_what_was_signed(tmp_path) -> None:
    signers = Signers(tmp_path)
    signers.publish()
    with closing(Ledger(signers.ledger_file("bank"))) as own:
        (receipt,) = own.receipts()
        wrong = json.loads(receipt.signatures)
        wrong["signatures"]["loans"] = wrong["signatures"]["bank"]
        own.keep_signatures(
            receipt.number, receipt.statement, json.dumps(wrong)
        )  # with an entry of the chain, as copublish writes it
        assert own.edits() == []
    with pytest.raises(EditedLedgerError, match="the signature of 'loans'"):
        ready(signers, "bank")


@pytest.mark.parametrize("left_at", ["release", "signatures"])
def test_a_copy_from_before_a_run_that_opened_something_and_ended_early_is_refused(tmp_path, left_at) -> None:
    signers = Signers(tmp_path)
    old = signers.ledger_file("loans").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        signers.publish(around=interfering("bank", left_at, stop))
    newest = signers.ledger_file("loans").read_bytes()
    signers.ledger_file("loans").write_bytes(old)
    with pytest.raises(BehindLedgerError, match="'loans' signed"):
        signers.publish()
    signers.ledger_file("loans").write_bytes(newest)
    for name in NAMES:
        with closing(Ledger(signers.ledger_file(name))) as ledger:
            (receipt,) = ledger.receipts()
            assert receipt.signatures is not None and not receipt.is_of_release and receipt_problems(ledger) == []
        ready(signers, name)
    shown = json.loads(command("ledger", signers.ledger_file("bank"), "--format", "json").stdout)
    assert [run["signatures"][:10] for run in shown["signed_runs"]] == ["of ledgers"]
    signers.publish()


def test_a_copy_from_before_the_first_disclosure_is_refused_too(tmp_path) -> None:
    """It has the charge and nothing opened of it, as if its owner might have the charge back."""
    signers, copies = Signers(tmp_path), []

    def copy(public: Any) -> Any:
        copies.append(signers.ledger_file("loans").read_bytes())
        return public

    signers.publish(around=interfering("loans", "reserved", copy))
    signers.ledger_file("loans").write_bytes(copies[0])
    with closing(Ledger(signers.ledger_file("loans"))) as ledger:
        assert [(entry.state, entry.disclosures) for entry in ledger.entries()] == [("reserved", 0)]
    with pytest.raises(BehindLedgerError, match="'loans' signed"):
        signers.publish()


def test_a_copy_from_before_people_were_compared_is_refused_by_who_learned_their_number(tmp_path) -> None:
    """With hidden membership: the run ends while people are compared, and no release was ever charged."""
    signers = Signers(tmp_path, changes=HIDDEN)
    old = signers.ledger_file("loans").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        signers.publish(around=interfering("bank", "reserved", stop))
    newest = signers.ledger_file("loans").read_bytes()
    signers.ledger_file("loans").write_bytes(old)
    with pytest.raises(BehindLedgerError, match="'loans' signed"):
        signers.publish()
    signers.ledger_file("loans").write_bytes(newest)
    with closing(Ledger(signers.ledger_file("loans"))) as ledger:
        assert [entry.state for entry in ledger.entries()] == ["spent on the number of common people"]
        assert receipt_problems(ledger) == []
    releases = signers.publish()
    assert verify_release(releases["bank"].write(tmp_path / "release")) is not None
    shown = json.loads(command("ledger", signers.ledger_file("loans"), "--format", "json").stdout)
    assert [run["signatures"] for run in shown["signed_runs"]] == [
        "of ledgers' heads, the run ended before a release was signed",
        "of ledgers' heads, before people were compared",
        "all",
    ]
    verified = json.loads(command("ledger", "verify", signers.ledger_file("loans"), "--format", "json").stdout)
    assert verified["signed_runs"] == 2


def test_every_older_copy_of_a_ledger_is_refused_and_the_newest_is_not(tmp_path) -> None:
    signers, copies = Signers(tmp_path), []
    for _ in range(3):
        copies.append(signers.ledger_file("loans").read_bytes())
        signers.publish()
    newest = signers.ledger_file("loans").read_bytes()
    for number, copy in enumerate(copies):
        signers.ledger_file("loans").write_bytes(copy)
        with pytest.raises(BehindLedgerError):
            signers.publish()
            pytest.fail(f"nobody noticed the copy from before run {number + 1}")
    signers.ledger_file("loans").write_bytes(newest)
    signers.publish()


class Interfering(IdealEngine):
    """An engine whose party tells something else about one topic, or stops before it."""

    def __init__(self, inner: IdealEngine, topic: str, change: Callable[[Any], Any]) -> None:
        self.__dict__.update(inner.__dict__)
        self._topic, self._change = topic, change

    def exchange(self, message: Any, public: Any) -> Any:
        return super().exchange(message, self._change(public) if message.topic == self._topic else public)


def interfering(party: str, topic: str, change: Callable[[Any], Any]) -> Callable[[IdealEngine], IdealEngine]:
    return lambda engine: Interfering(engine, topic, change) if engine.party == party else engine


def stop(public: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("topic", ["signatures", "release on disk", "heads of ledgers"])
def test_a_run_that_ends_between_signatures_does_not_put_a_ledger_behind(tmp_path, topic) -> None:
    signers = Signers(tmp_path)
    signers.publish()
    for name in (*NAMES, "loans"):
        with pytest.raises(KeyboardInterrupt):
            signers.publish(around=interfering(name, topic, stop))
    signers.publish()


@pytest.mark.parametrize(
    "topic, change, error",
    [
        ("signatures", lambda told: told[:-2] + ("00" if told[-2:] != "00" else "11"), EngineError),
        ("signatures", lambda told: None, EngineError),
        ("signatures", lambda told: 10**6 * "ab", EngineError),
        ("heads of ledgers", lambda told: "x", ProgramMismatchError),
        ("heads of ledgers", lambda told: {"a": 1}, ProgramMismatchError),
        ("who signs and who approved", lambda told: None, ProgramMismatchError),
        ("who signs and who approved", lambda told: {**told, "certificates": []}, ProgramMismatchError),
        ("who signs and who approved", lambda told: {**told, "certificates": ["x"] * 9}, ProgramMismatchError),
        ("who signs and who approved", lambda told: {**told, "certificates": ["x"]}, MeetingError),
        ("who signs and who approved", lambda told: {**told, "nonce": "1"}, ProgramMismatchError),
        ("who signs and who approved", lambda told: {**told, "approvals": 5}, ProgramMismatchError),
        ("who signs and who approved", lambda told: {**told, "approvals": [{"name": "x"}]}, ApprovalError),
        ("ledgers", lambda told: {"bank": ["0" * 64]}, ProgramMismatchError),
        ("ledgers", lambda told: [], ProgramMismatchError),
        ("heads of ledgers", lambda told: None, ProgramMismatchError),
        ("heads of ledgers", lambda told: {**told, "head": None}, ProgramMismatchError),
        ("heads of ledgers", lambda told: {**told, "head": "0" * 64}, EngineError),
        ("heads of ledgers", lambda told: {**told, "signature": "00"}, EngineError),
        ("reserved", lambda told: "not yet", ProgramMismatchError),
        ("ledgers", lambda told: {"bank": ["0" * 64] * SHOWN_HEADS}, BehindLedgerError),
    ],
)
def test_whatever_a_party_tells_nothing_is_published(tmp_path, topic, change, error) -> None:
    signers = Signers(tmp_path)
    signers.publish()
    with pytest.raises(error, match="'loans'"):
        signers.publish(around=interfering("loans", topic, change))


def test_a_key_that_the_agreement_does_not_name_is_refused(tmp_path) -> None:
    signers = Signers(tmp_path)
    stranger = new_identity("loans", tmp_path / "stranger", days=30)
    witnesses = {**{name: signers.witness(name) for name in NAMES}, "loans": SigningContext(stranger)}
    with pytest.raises(MeetingError, match="another certificate"):
        signers.publish(witnesses)
    with pytest.raises(EngineError, match="'loans' signed is not by this key"):
        signers.publish({**witnesses, "loans": SigningContext(replace(signers.identities["loans"], key=stranger.key))})


def test_what_is_shown_of_a_ledger_has_one_size_and_is_another_every_time(tmp_path) -> None:
    signers, seen = Signers(tmp_path), []

    def watch(public: Any) -> Any:
        seen.append(public)
        return public

    for _ in range(3):
        signers.publish(around=interfering("bank", "ledgers", watch))
    assert [(list(told), len(told["loans"])) for told in seen] == [(["loans"], SHOWN_HEADS)] * 3
    assert len({value for told in seen for value in told["loans"]}) == 3 * SHOWN_HEADS
    # Whoever knows one of the releases can look for its head in the list. Its place must not tell how many came after.
    assert all(told["loans"] == sorted(told["loans"]) for told in seen)


# --- three parties, one of them without data ---


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Signers:
    signers = Signers(tmp_path_factory.mktemp("three"), guests=("lab",))
    released = signers.publish()
    assert released["lab"].files() == released["bank"].files()
    assert released["lab"].signatures.statement.ledger_heads["lab"] is None
    return signers


def test_a_party_without_data_needs_no_ledger_and_one_with_data_does(three) -> None:
    released = three.publish()["lab"]
    assert verify_release(released.write(three.folder / "release")).is_well
    with pytest.raises(ProgramMismatchError, match="Party 'loans' told no head of a ledger, and it holds data"):
        three.publish(around=interfering("loans", "heads of ledgers", lambda told: None))
    fleeting = throwaway_ledger(plan_of(three.agreement))
    before = charges(three)
    with pytest.raises(LedgerError, match="is not kept"):
        three.publish(ledgers={"loans": fleeting})
    assert charges(three) == before


class Misled(IdealEngine):
    """The engine of a party that one other party tells something else than it tells the rest."""

    def __init__(self, inner: IdealEngine, liar: str, topic: str, change: Callable[[Any], Any]) -> None:
        self.__dict__.update(inner.__dict__)
        self._liar, self._topic, self._change = liar, topic, change

    def exchange(self, message: Any, public: Any) -> Any:
        told = super().exchange(message, public)
        if message.topic != self._topic:
            return told
        return tuple(
            self._change(said) if name == self._liar else said for name, said in zip(self.parties, told, strict=True)
        )


@pytest.mark.parametrize(
    "topic, change",
    [
        ("who signs and who approved", lambda told: {**told, "certificates": 2 * told["certificates"]}),
        ("heads of ledgers", None),
        ("signatures", None),
    ],
)
def test_a_party_that_tells_one_other_something_else_does_not_have_an_honest_one_blamed(three, topic, change) -> None:
    """Loans tells the bank something else than the lab. The bank and the lab do not name each other."""

    signed: list[bytes] = []

    def sign(message: bytes) -> str:
        signed.append(message)
        return three.identities["loans"].sign(message)

    def another_signature(told: str) -> str:
        return three.identities["loans"].sign(signed[-1])  # holds as well, and differs

    def another_head(told: dict[str, str]) -> dict[str, str]:
        message = signed[-1].replace(told["head"].encode(), b"0" * 64)
        return {"head": "0" * 64, "signature": three.identities["loans"].sign(message)}

    mislead = change or (another_signature if topic == "signatures" else another_head)
    loans = SigningContext(SimpleNamespace(chain=three.identities["loans"].chain, sign=sign))
    with pytest.raises(ProgramMismatchError, match="heard different things") as caught:
        three.publish(
            {**{name: three.witness(name) for name in three.names}, "loans": loans},
            around=lambda engine: Misled(engine, "loans", topic, mislead) if engine.party == "bank" else engine,
        )
    assert not any(f"'{name}'" in str(caught.value) for name in three.names)
    if topic == "heads of ledgers":  # what it told the bank it has signed, and no ledger of it knows of that
        with pytest.raises(BehindLedgerError, match="'loans' signed"):
            three.publish()
        with closing(Ledger(three.ledger_file("bank"))) as ledger:
            assert ledger.forget_receipts("loans")
