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

from copublish.engine import public_values
from copublish.engine.public_values import exchange_public, from_text, to_text
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from copublish.local.messenger import PipeMessenger, pipes_between

PARTIES = ("a", "b", "c")


@pytest.fixture
def messengers():
    ends = pipes_between(PARTIES)
    found = {party: PipeMessenger(party, PARTIES, ends[party], timeout_seconds=20) for party in PARTIES}
    yield found
    for messenger in found.values():
        messenger.close()


def test_messages_of_a_pair_arrive_in_order_and_nobody_else_gets_them(messengers):
    messengers["a"].send("b", "first", b"1")
    messengers["a"].send("b", "second", b"")
    messengers["a"].send("c", "first", b"3")
    assert messengers["b"].receive("a", "first") == b"1"
    assert messengers["b"].receive("a", "second") == b""
    assert messengers["c"].receive("a", "first") == b"3"


def test_two_parties_may_send_each_other_more_than_a_pipe_holds(messengers):
    content = os.urandom(8 * 2**20)
    threads = [
        threading.Thread(target=messengers[one].send, args=(other, "large", content), daemon=True)
        for one, other in (("a", "b"), ("b", "a"))
    ]
    for thread in threads:
        thread.start()
    assert messengers["a"].receive("b", "large") == messengers["b"].receive("a", "large") == content
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()


def test_another_topic_means_that_the_parties_are_at_different_steps(messengers):
    messengers["a"].send("b", "shares", b"")
    with pytest.raises(ProgramMismatchError, match="different steps"):
        messengers["b"].receive("a", "opened")


def test_a_party_that_leaves_is_named_after_what_it_said_was_read(messengers):
    messengers["a"].send("b", "last words", b"bye")
    messengers["a"].close()
    assert messengers["b"].receive("a", "last words") == b"bye"
    for _ in range(2):
        with pytest.raises(PartyLostError, match="Party 'a' stopped"):
            messengers["b"].receive("a", "more")
    with pytest.raises(PartyLostError, match="Party 'a' stopped"):
        messengers["b"].send("a", "more", b"")
    assert messengers["b"].has_left("a") and not messengers["b"].has_left("c")


def test_a_party_that_is_silent_is_not_waited_for_for_ever():
    ends = pipes_between(PARTIES)
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=0.05)
    with pytest.raises(PartyLostError, match=r"Party 'c' did not answer in 0\.05 s"):
        messenger.receive("c", "anything")
    messenger.close()


def announced(length: int) -> bytes:
    return length.to_bytes(8, "big")


TOO_LONG = {
    "a topic": announced(1001),
    "any content": announced(6) + b"shares" + announced(128 * 2**20 + 1),
    "a public value": announced(6) + b"public" + announced(16 * 2**20 + 5),
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_a_message_is_refused_before_it_is_read_if_it_is_longer_than_one_between_machines(what):
    """`docs/faults.md` states 128 MiB; a piece of a public value has 16 MiB, and 4 bytes say how many there are."""
    ends = pipes_between(PARTIES)
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=20)
    ends["b"]["a"].sendall(announced(6) + b"public" + announced(5) + b"hello" + TOO_LONG[what])
    assert messenger.receive("b", "public") == b"hello"
    for _ in range(2):
        with pytest.raises(ProgramMismatchError, match="Party 'b' was about to send more than a message"):
            messenger.receive("b", "anything")
    messenger.close()


def test_the_longest_message_arrives(messengers):
    content = bytes(128 * 2**20)
    sending = threading.Thread(target=messengers["a"].send, args=("b", "large", content), daemon=True)
    sending.start()
    assert messengers["b"].receive("a", "large") == content
    sending.join(timeout=20)


def test_a_message_that_nobody_would_take_in_is_not_sent(messengers):
    with pytest.raises(EngineError, match="A message may have 128 MiB"):
        messengers["a"].send("b", "large", bytes(128 * 2**20 + 1))
    with pytest.raises(EngineError, match="A message may have 128 MiB"):
        messengers["a"].send("b", "t" * 1001, b"")
    messengers["a"].send("b", "next", b"still there")
    assert messengers["b"].receive("a", "next") == b"still there"


def _echo(ends):
    messenger = PipeMessenger("b", PARTIES, ends, timeout_seconds=60)
    messenger.send("a", "echo", messenger.receive("a", "question"))
    os._exit(1)  # as a process that is killed: nothing is closed by hand


def test_ends_work_in_a_process_of_their_own_whose_end_is_noticed():
    ends = pipes_between(PARTIES)
    process = multiprocessing.get_context("spawn").Process(target=_echo, args=(ends["b"],))
    process.start()
    for end in ends["b"].values():
        end.close()
    messenger = PipeMessenger("a", PARTIES, ends["a"], timeout_seconds=60)
    messenger.send("b", "question", b"heard?")
    assert messenger.receive("b", "echo") == b"heard?"
    with pytest.raises(PartyLostError, match="Party 'b' stopped"):
        messenger.receive("b", "echo")
    process.join()
    messenger.close()


def test_everyone_gets_every_public_value_in_party_order(messengers):
    values = {"a": {"x": [1, None]}, "b": "text", "c": np.arange(256).astype(np.uint8)}
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(exchange_public, messengers[party], values[party], "step") for party in PARTIES]
        for future in asked:
            a, b, c = future.result()
            assert (a, b) == (values["a"], values["b"])
            assert np.array_equal(c, values["c"])


def test_public_values_about_different_topics_are_refused(messengers):
    for party in "bc":
        messengers[party].send("a", "public", (1).to_bytes(4, "big") + to_text("release", 1).encode())
    with pytest.raises(ProgramMismatchError, match="different steps"):
        exchange_public(messengers["a"], 1, "date")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
)


@given(st.text(), JSON)
def test_public_values_come_back_as_they_were(topic, value):
    assert from_text(to_text(topic, value)) == (topic, value)


@given(st.binary() | st.text().map(str.encode))
def test_what_is_no_public_value_is_an_error_of_ours(content):
    try:
        from_text(content)
    except ProgramMismatchError as exc:
        assert "no public value" in str(exc)


def test_long_public_values_come_in_pieces_and_endless_ones_are_refused(messengers, monkeypatch):
    monkeypatch.setattr(public_values, "PIECE_BYTES", 10)
    told = {"a": "x" * 95, "b": "short", "c": "y" * 31}
    with ThreadPoolExecutor(3) as pool:
        heard = list(pool.map(lambda party: exchange_public(messengers[party], told[party], "words"), "abc"))
    assert heard == [tuple(told.values())] * 3
    for party in "bc":
        messengers[party].send("a", "public", (2**31).to_bytes(4, "big") + b"[")
    with pytest.raises(ProgramMismatchError, match="more than any public value"):
        exchange_public(messengers["a"], 1, "words")
