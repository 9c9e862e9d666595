"""Two parties that come, leave and come again, each with a port of its own, in this process."""

from __future__ import annotations

import json
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from OpenSSL import SSL

import copublish as cp
from copublish.agreement.protocol.table import STOP
from copublish.errors import MeetingError, PartyLostError
from copublish.party.keys.identity import new_identity
from copublish.party.network import channel
from copublish.party.network.meeting import Meeting
from copublish.party.network.port import Port
from copublish.party.network.rendezvous import Rendezvous, refuse_differences
from copublish.party.request import RunSettings
from copublish.party.session import _told_loss
from support import small_mapping
from support.node import free_port
from support.waiting import SECONDS, wait_until

NAMES = ("bank", "loans")
FACTS = {"agreement: privacy": "a" * 64, "copublish": "1.0"}


class Pair:
    def __init__(self, folder: Path) -> None:
        self.log: list[tuple[str, dict[str, object]]] = []
        self.identities = {name: new_identity(name, folder / name, days=30) for name in NAMES}
        hosts = {name: f"127.0.0.1:{free_port()}" for name in NAMES}
        self.agreement = cp.agreement_from_mapping(
            small_mapping(parties={n: {"host": hosts[n], "certificate": self.identities[n].fingerprint} for n in NAMES})
        )

    def port(self, name: str) -> Port:
        return Port(self.agreement, name, self.identities[name])

    def meet(
        self, port: Port, facts: dict[str, str] = FACTS, seconds: float = SECONDS, ends: float | None = None
    ) -> Meeting:
        return Meeting(
            port,
            facts,
            wait_seconds=seconds,
            end_after_seconds=ends,
            waiting=lambda what: None,
            log=lambda event, **facts: self.log.append((event, facts)),
        )


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def meet_both(pair: Pair, bank: Port, loans: Port) -> tuple[Meeting, Meeting]:
    with ThreadPoolExecutor() as pool:
        one, two = pool.submit(pair.meet, bank), pool.submit(pair.meet, loans)
        return one.result(SECONDS), two.result(SECONDS)


def test_parties_that_meet_agree_on_a_run_and_every_run_is_another_one(pair, monkeypatch):
    monkeypatch.setattr("copublish.party.network.meeting.LAST_WORD_SECONDS", 0.1)  # no word will come
    runs = set()
    for _ in range(2):
        with pair.port("bank") as bank, pair.port("loans") as loans:
            one, two = meet_both(pair, bank, loans)
            assert one.run == two.run
            runs.add(one.run)
            one.say_done()
            two.say_done()
            assert one.loss() is None
    assert len(runs) == 2


HYBRID = "X25519MLKEM768"
"""The group with ML-KEM, which a computer with many qubits does not break (FIPS 203), as TLS names it."""


def test_parties_agree_on_keys_by_the_hybrid_group_and_say_so_in_their_logs(pair):
    with pair.port("bank") as bank, pair.port("loans") as loans:
        met = meet_both(pair, bank, loans)
    assert [meeting.key_exchange for meeting in met] == [(HYBRID,)] * 2
    assert [facts["key_exchange"] for event, facts in pair.log if event == "met"] == [HYBRID] * 2


def test_a_party_with_older_libraries_is_met_and_what_was_used_is_said(pair, monkeypatch):
    original = channel._context

    def older(identity):
        context = original(identity)
        # pyOpenSSL has no public way to choose groups of TLS 1.3; this is what it would call.
        assert SSL._lib.SSL_CTX_set1_curves_list(context._context, b"X25519") == 1
        return context

    with pair.port("bank") as bank, pair.port("loans") as loans:
        monkeypatch.setattr(channel, "_context", older)
        met = meet_both(pair, bank, loans)
    assert [meeting.key_exchange for meeting in met] == [("x25519",)] * 2, "as OpenSSL calls it"


def test_a_party_that_was_started_again_is_met(pair):
    """The first lender says hello and is gone; the bank has its connection, and its words, still in the queue."""
    with pair.port("bank") as bank:
        with pair.port("loans") as loans:
            gone = Rendezvous(loans, FACTS, lambda what: None, lambda event, **facts: None)
            gone._dial()
        with pair.port("loans") as loans:
            one, two = meet_both(pair, bank, loans)
            assert one.run == two.run


def test_a_party_whose_connection_led_to_a_run_that_was_ending_dials_again(pair):
    with pair.port("loans") as loans, ThreadPoolExecutor() as pool:
        with pair.port("bank") as old:
            two = pool.submit(pair.meet, loans)
            wait_until(lambda: not old._arrivals["loans"].empty())  # it has dialed the bank's old run, which ends now
        with pair.port("bank") as bank:
            one = pool.submit(pair.meet, bank)
            assert one.result(SECONDS).run == two.result(SECONDS).run


def test_a_party_that_calls_is_called_back_at_once(pair, monkeypatch):
    """The bank has found nobody and would dial again long after everybody has given up."""
    monkeypatch.setattr("copublish.party.network.rendezvous.RETRY_SECONDS", 2 * SECONDS)
    waits, pause = threading.Event(), Rendezvous._pause
    monkeypatch.setattr(Rendezvous, "_pause", lambda self: (waits.set(), pause(self)))
    with pair.port("bank") as bank, ThreadPoolExecutor() as pool:
        one = pool.submit(pair.meet, bank)
        assert waits.wait(SECONDS)
        with pair.port("loans") as loans:
            two = pair.meet(loans)
            assert one.result(SECONDS).run == two.run


def test_both_are_told_what_differs(pair):
    other = {**FACTS, "copublish": "2.0"}
    with pair.port("bank") as bank, pair.port("loans") as loans, ThreadPoolExecutor() as pool:
        ends = pool.submit(pair.meet, bank), pool.submit(pair.meet, loans, other)
        for end, words in zip(ends, ("1.0 here, 2.0 there", "2.0 here, 1.0 there"), strict=True):
            with pytest.raises(MeetingError, match=words):
                end.result(SECONDS)


def test_who_does_not_come_is_given_up(pair):
    with pair.port("bank") as bank, pytest.raises(MeetingError, match="nobody listens"):
        pair.meet(bank, seconds=0.5)


def test_a_run_ends_when_its_time_is_over_however_often_another_party_answers(pair):
    """Nothing else ends this meeting: both parties are there and well."""
    with pair.port("bank") as bank, pair.port("loans") as loans, ThreadPoolExecutor() as pool:
        one, two = pool.submit(pair.meet, bank, ends=0.2), pool.submit(pair.meet, loans)
        slow = two.result(SECONDS)
        bounded, acted = one.result(SECONDS), threading.Event()
        bounded.on_loss(acted.set)  # ends every wait for the slow party
        assert acted.wait(SECONDS)
        settings = RunSettings(Path("release"), end_after_seconds=90)
        said = _told_loss(PartyLostError("Another party has stopped."), bank, bounded, settings)
        assert said == "The run took longer than 90 s (--end-after), whoever was slow."
        assert slow.loss() == "Party 'bank' stopped: the run took longer than it may there."


def test_a_run_that_is_over_in_time_ends_nothing_later(pair):
    with pair.port("bank") as bank, pair.port("loans") as loans:
        one, _ = meet_both(pair, bank, loans)
        one.on_loss(lambda: pytest.fail("it was ended"))
        one.say_done()
        one._watch_clock(0)
        assert not one.ran_out


def test_the_reason_of_a_party_that_stops_is_heard_and_acted_on(pair):
    with pair.port("bank") as bank, pair.port("loans") as loans:
        one, two = meet_both(pair, bank, loans)
        acted = threading.Event()
        one.on_loss(acted.set)
        two.say_stop("its data do not fit the agreement")
        assert acted.wait(SECONDS)
        assert one.loss() == "Party 'loans' stopped: its data do not fit the agreement."


STRANGE = {
    "long": json.dumps({"stop": {"reason": "\u5c71" * 40_000}}),
    "nested": f'{{"stop": {"[" * 900}{"]" * 900}}}',
    "another word": '{"bye": true}',
    "another type": '{"stop": {"reason": 5}}',
    "no word": "null",
}


@pytest.mark.parametrize("word", STRANGE.values(), ids=STRANGE)
def test_a_last_word_that_is_none_is_told_with_the_name_of_its_sender_and_passed_on_short(pair, word):
    """The bank tells a third party why it lost the lender: that message is no larger than words are."""
    with pair.port("bank") as bank, pair.port("loans") as loans:
        one, two = meet_both(pair, bank, loans)
        two._lines["bank"][0].send_bytes(struct.pack(">I", len(word)) + word.encode(), seconds=SECONDS)
        assert one.loss().startswith("Party 'loans' sent something else than 'alive' or 'done' or 'stop'")
        said = []
        one._last_word = lambda word, content: said.append((word, content))
        one.say_lost()
    assert said == [(STOP, {"reason": "it lost 'loans'", "lost": "loans", "why": "it sent what is no message"})]


@pytest.mark.parametrize("word", STRANGE.values(), ids=STRANGE)
def test_a_word_that_is_none_ends_a_meeting_and_names_its_sender(pair, word):
    with pair.port("bank") as bank, pair.port("loans") as loans, ThreadPoolExecutor() as pool:
        meeting = pool.submit(pair.meet, bank)
        channel = loans.dial("bank", "meeting")
        channel.send_bytes(struct.pack(">I", len(word)) + word.encode(), seconds=SECONDS)
        with pytest.raises(MeetingError, match=r"Party 'loans' sent something else than 'hello'.*Nothing was measured"):
            meeting.result(SECONDS)
        channel.close()


def test_a_party_that_sent_what_the_engine_does_not_is_named_at_the_one_that_noticed_and_at_all_others(pair):
    with pair.port("bank") as bank, pair.port("loans") as loans:
        one, two = meet_both(pair, bank, loans)
        ended = threading.Event()
        one.on_loss(ended.set)
        one.blame("loans", "sent no frame of the secure engine")
        assert ended.is_set()
        assert one.loss() == "Party 'loans' sent no frame of the secure engine: its software was changed or is broken."
        one.say_lost()
        assert "lost 'loans'" in str(two.loss())


def test_a_party_that_vanishes_is_noticed(pair):
    with pair.port("bank") as bank:
        with pair.port("loans") as loans:
            one, two = meet_both(pair, bank, loans)
            two._lines["bank"][0].break_off()
            wait_until(lambda: one.loss() is not None)
        assert "the connection ended" in str(one.loss())


def test_names_of_differences_are_made_harmless_and_few():
    there = {**FACTS, **{f"\x1b]0;title\x07{number}": "x" for number in range(100)}}
    with pytest.raises(MeetingError) as caught:
        refuse_differences(FACTS, there, "loans")
    assert "\x1b" not in str(caught.value)
    assert "and 88 more" in str(caught.value)
