"""Messages over pipes between the parties of one machine, and public values as text."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol.table import OPENED, PERTURBED
from copublish.engines import messages as public_values
from copublish.engines.messages import exchange_public
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from copublish.party.local.messenger import PipeMessenger, pipes_between
from support.protocol import exchange, letter

PARTIES = ("a", "b", "c")

FIRST, SECOND, LARGE, SHARES, LAST_WORDS, MORE, ANYTHING, NEXT, ECHO, QUESTION = map(
    letter, ("first", "second", "large", "shares", "last words", "more", "anything", "next", "echo", "question")
)
STEP, SHORT = exchange("step"), exchange("short value", max_bytes=100)


@pytest.fixture
def messengers():
    ends = pipes_between(PARTIES)
    found = {party: PipeMessenger(party, PARTIES, ends[party], timeout_seconds=300) for party in PARTIES}
    yield found
    for messenger in found.values():
        messenger.close()


def test_messages_of_a_pair_arrive_in_order_and_nobody_else_gets_them(messengers):
    messengers["a"].send("b", FIRST, b"1")
    messengers["a"].send("b", SECOND, b"")
    messengers["a"].send("c", FIRST, b"3")
    assert messengers["b"].receive("a", FIRST) == b"1"
    assert messengers["b"].receive("a", SECOND) == b""
    assert messengers["c"].receive("a", FIRST) == b"3"


def test_two_parties_may_send_each_other_more_than_a_pipe_holds(messengers):
    content = os.urandom(8 * 2**20)
    threads = [
        threading.Thread(target=messengers[one].send, args=(other, LARGE, content), daemon=True)
        for one, other in (("a", "b"), ("b", "a"))
    ]
    for thread in threads:
        thread.start()
    assert messengers["a"].receive("b", LARGE) == messengers["b"].receive("a", LARGE) == content
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive()


def test_another_topic_means_that_the_parties_are_at_different_steps(messengers):
    messengers["a"].send("b", SHARES, b"")
    with pytest.raises(ProgramMismatchError, match="different steps"):
        messengers["b"].receive("a", OPENED)


def test_a_party_that_leaves_is_named_after_what_it_said_was_read(messengers):
    messengers["a"].send("b", LAST_WORDS, b"bye")
    messengers["a"].close()
    assert messengers["b"].receive("a", LAST_WORDS) == b"bye"
    for _ in range(2):
        with pytest.raises(PartyLostError, match="Party 'a' stopped"):
            messengers["b"].receive("a", MORE)
    with pytest.raises(PartyLostError, match="Party 'a' stopped"):
        messengers["b"].send("a", MORE, b"")
    assert messengers["b"].has_left("a") and not messengers["b"].has_left("c")


def test_a_party_that_is_silent_is_not_waited_for_for_ever():
    ends = pipes_between(PARTIES)
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=0.05)
    with pytest.raises(PartyLostError, match=r"Party 'c' did not answer in 0\.05 s"):
        messenger.receive("c", ANYTHING)
    messenger.close()


def announced(length: int) -> bytes:
    return length.to_bytes(8, "big")


TOO_LONG = {
    "a topic": (announced(1001) + bytes(1001) + announced(0), "sent what is no message"),
    "a topic that is not in the table": (announced(6) + b"gossip" + announced(5), "sent what is no message"),
    "any content": (announced(6) + b"opened" + announced(128 * 2**20 + 1), "was about to send, more as 'opened'"),
    "a public value": (announced(6) + b"budget" + announced(257), "was about to send, more as 'budget'"),
    "a piece of an array": (
        announced(17) + b"perturbed columns" + announced(16 * 2**20 + 5),
        "was about to send, more as 'perturbed columns'",
    ),
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_message_is_refused_before_it_is_read_if_it_is_longer_than_its_entry_allows(what):
    """`docs/faults.md` states 128 MiB; a piece of an array has 16 MiB, and 4 bytes say how many there are."""
    ends = pipes_between(PARTIES)
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=300)
    content, words = TOO_LONG[what]
    ends["b"]["a"].sendall(announced(6) + b"opened" + announced(8) + b"8 bytes!" + content)
    assert messenger.receive("b", OPENED) == b"8 bytes!"
    for _ in range(2):
        with pytest.raises(ProgramMismatchError, match=f"Party 'b' .*{words}"):
            messenger.receive("b", ANYTHING)
    messenger.close()


def test_the_longest_message_arrives(messengers):
    content = bytes(128 * 2**20)
    sending = threading.Thread(target=messengers["a"].send, args=("b", LARGE, content), daemon=True)
    sending.start()
    assert messengers["b"].receive("a", LARGE) == content
    sending.join(timeout=300)


def test_a_message_that_nobody_would_take_in_is_not_sent(messengers):
    with pytest.raises(EngineError, match="A message 'large' may have 134,217,728 bytes"):
        messengers["a"].send("b", LARGE, bytes(128 * 2**20 + 1))
    messengers["a"].send("b", NEXT, b"still there")
    assert messengers["b"].receive("a", NEXT) == b"still there"


def _echo(ends):
    messenger = PipeMessenger("b", PARTIES, ends, timeout_seconds=300)
    messenger.send("a", ECHO, messenger.receive("a", QUESTION))
    os._exit(1)  # as a process that is killed: nothing is closed by hand


@pytest.mark.slow
def test_ends_work_in_a_process_of_their_own_whose_end_is_noticed():
    ends = pipes_between(PARTIES)
    process = multiprocessing.get_context("spawn").Process(target=_echo, args=(ends["b"],))
    process.start()
    for end in ends["b"].values():
        end.close()
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=300)
    messenger.send("b", QUESTION, b"heard?")
    assert messenger.receive("b", ECHO) == b"heard?"
    with pytest.raises(PartyLostError, match="Party 'b' stopped"):
        messenger.receive("b", ECHO)
    process.join()
    messenger.close()


def test_everyone_gets_every_public_value_in_party_order(messengers):
    values = {"a": {"x": [1, None]}, "b": "text", "c": [1.5, "\u00e9"]}
    arrays = {party: np.arange(256 * number).astype(np.uint8) for number, party in enumerate(PARTIES)}
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(exchange_public, messengers[party], STEP, values[party]) for party in PARTIES]
        assert [future.result() for future in asked] == [tuple(values.values())] * 3
        asked = [pool.submit(exchange_public, messengers[party], PERTURBED, arrays[party]) for party in PARTIES]
        for future in asked:
            for heard, told in zip(future.result(), arrays.values(), strict=True):
                assert heard.dtype == np.uint8 and np.array_equal(heard, told)


def test_public_values_about_different_topics_are_refused(messengers):
    for party in "bc":
        messengers[party].send("a", STEP, b"1")
    with pytest.raises(ProgramMismatchError, match="different steps: 'b' sent something else than 'short value'"):
        exchange_public(messengers["a"], SHORT, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
)


@pytest.mark.slow
@given(JSON)
def test_public_values_come_back_as_they_were(value):
    assert STEP.read(STEP.spelled(value), "b") == STEP.read_text(STEP.as_text(value), "b") == value


@given(st.binary())
def test_arrays_come_back_as_they_were(content):
    array = np.frombuffer(content, np.uint8)
    for heard in (PERTURBED.read(PERTURBED.spelled(array), "b"), PERTURBED.read_text(PERTURBED.as_text(array), "b")):
        assert heard.tobytes() == content and heard.dtype == np.uint8


@pytest.mark.parametrize("entry", [STEP, PERTURBED])
@given(content=st.text())
def test_what_is_no_public_value_is_an_error_of_ours_that_names_the_peer(entry, content):
    opening = entry.as_text(0 if entry is STEP else np.zeros(0, np.uint8)).partition(",")[0]
    for text in (content, f"{opening}, {str(entry.is_array).lower()}, {content}]"):
        try:
            entry.read_text(text, "b")
        except ProgramMismatchError as exc:
            assert "'b' sent" in str(exc)


def test_long_arrays_come_in_pieces_and_endless_ones_are_refused(messengers, monkeypatch):
    monkeypatch.setattr(public_values, "PIECE_BYTES", 10)
    told = {party: np.arange(n, dtype=np.uint8) for party, n in (("a", 95), ("b", 5), ("c", 31))}
    with ThreadPoolExecutor(3) as pool:
        heard = list(pool.map(lambda party: exchange_public(messengers[party], PERTURBED, told[party]), "abc"))
    assert [[array.tolist() for array in found] for found in heard] == [[t.tolist() for t in told.values()]] * 3
    for party in "bc":
        messengers[party].send("a", PERTURBED, (2**31).to_bytes(4, "big") + b"[")
    with pytest.raises(ProgramMismatchError, match="'b' sent, or was about to send, more as 'perturbed columns'"):
        exchange_public(messengers["a"], PERTURBED, told["b"])


def test_a_text_that_is_longer_than_its_entry_is_neither_sent_nor_read(messengers):
    with pytest.raises(EngineError, match="'short value' may have 100 bytes; a longer one was not sent"):
        exchange_public(messengers["a"], SHORT, "x" * 99)
    messengers["b"]._ends["a"].sendall(announced(11) + b"short value" + announced(101))
    messengers["c"].send("a", SHORT, b"1")
    with pytest.raises(ProgramMismatchError, match="'b' sent, or was about to send, more as 'short value'"):
        exchange_public(messengers["a"], SHORT, 1)
