"""Decoding: for every entry of the table, whatever a hostile peer sends is an error that names it, or of the type."""

from __future__ import annotations

import json
import os
import re
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol import table
from copublish.agreement.protocol.message import MAX_TOPIC_BYTES, Exchange, Letter, Message, Word, read_word
from copublish.agreement.protocol.shapes import Shape
from copublish.agreement.protocol.table import TABLE
from copublish.engines.ideal import IdealEngine, Room
from copublish.engines.messages import exchange_public
from copublish.errors import CopublishError, EngineError, MeetingError, ProgramMismatchError
from copublish.party.local.messenger import PipeMessenger, pipes_between
from copublish.party.network.channel import Channel
from copublish.release.evidence.approvals import MAX_APPROVALS, MAX_TEXT
from copublish.release.evidence.signing import MAX_CHAIN, MAX_PEM_BYTES, MAX_SIGNATURE_DIGITS
from support.protocol import exchange, letter

HASH = "0123456789abcdef" * 4
FACTS = {"agreement: privacy": HASH, "copublish": "0.1.0"}
INTEGERS = np.arange(3, dtype="<i8").tobytes()

GOOD: dict[str, Any] = {
    "copublish relay": {"protocol": 1, "role": "wait", "place": HASH},
    "copublish": {"protocol": 1, "purpose": "engine 3", "party": "bank", "run": None},
    "refused": "another version",
    "hello": {"nonce": HASH, "facts": FACTS, "workers": 2},
    "agreed": HASH,
    "who signs and who approved": {"certificates": ["PEM"], "approvals": [{"approval_format": 1, "until": None}]},
    "{message}, as heard": HASH,
    "ledgers": {"bank": [HASH] * 16},
    "budget": "can pay",
    "audit": None,
    "key exchange": ["X25519MLKEM768"],
    "lists of people": "",
    "identifiers": HASH,
    "part of the pseudonyms' key": HASH.encode(),
    "points to multiply": bytes(64),
    "points multiplied": bytes(32),
    "padded list of points": b"",
    "list passed on": b"",
    "common records": bytes(16),
    "pseudonyms": bytes(32),
    "places of common records": INTEGERS,
    "hidden list of points": bytes(64),
    "hidden list under both factors": bytes(64),
    "names of one's own entries": bytes(64),
    "names asked for": b"",
    "names told": bytes(32),
    "digest of all rows' names": os.urandom(32),
    "number of rows": (2**40).to_bytes(8, "big"),
    "rows of people": INTEGERS,
    "list of points passed on": bytes(32),
    "list of points complete": bytes(32),
    "any shared": b"\1",
    "people at two parties": "heard",
    "rows": 2**40,
    "records": "fit",
    "part of an input": INTEGERS,
    "ready to open": b"[3, 4]",
    "opened": INTEGERS,
    "part of a key": os.urandom(32),
    "masked sum {number} of shape {shape}": INTEGERS,
    "hash of masked sum {number} of shape {shape}": HASH,
    "hash of the {message}": HASH,
    "date": "2026-01-31",
    "release": HASH,
    "reserved": "reserved",
    "heads of ledgers": {"head": HASH, "signature": "ab" * 64},
    "heads of ledgers before people are compared": {"head": HASH, "signature": "ab" * 64},
    "signatures": "ab" * 64,
    "release on disk": "on disk",
    "stop": {"reason": "its ledger refuses", "lost": "loans"},
    "status": {"time": 1.5, "facts": FACTS},
    "measure": {"what": "echo", "bytes": 0},
    "problem": "nobody listens",
}
"""One value of every entry, so that a decoder which refuses everything is noticed; words and arrays share one each."""


def example(entry: Message) -> Any:
    if isinstance(entry, Exchange) and entry.is_array:
        return np.arange(5, dtype=np.uint8)
    return GOOD.get(entry.topic, True)


EXCHANGES = [entry for entry in TABLE if isinstance(entry, Exchange)]
VALUES = [entry for entry in EXCHANGES if not entry.is_array]
LETTERS = [entry for entry in TABLE if isinstance(entry, Letter)]
WORDS = [entry for entry in TABLE if isinstance(entry, Word)]


def topic(entry: Message) -> str:
    return entry.topic


DEEP = "[" * 100_000 + "]" * 100_000

HOSTILE = [
    *("null", "true", "false", "0", "-1", "5", "1e400", "-1e400", "NaN", "Infinity", "1.5", str(2**63), "9" * 5000),
    *('""', '"x"', '"\\ud800"', '"\\u202ebank"', '"2026-01-31\\n"', f'"{HASH}\\n"', f'"{HASH.upper()}"', '"\\u0661"'),
    *("[]", "[null]", "{}", '{"a": {}}', '{"a": [[[]]]}', '{"\\ud800": "x"}', f'["{HASH}"]', "[1, [2]]", "[NaN]"),
    *(
        '{"protocol": NaN}',
        '{"protocol": true}',
        '{"reason": 5}',
        '{"reason": "x", "lost": ["y"]}',
        '{"reason": "x", "a": 1}',
    ),
    *("", "no JSON", "{", '"', "\x00", DEEP, f'{{"a": {DEEP}}}'),
]
"""Texts that a peer may send instead: no JSON, wrong types, nested, not a number, huge."""


def is_named(error: BaseException, sender: str = "mallory") -> None:
    """Fail unless an error is one that a person can act on: it names the peer, and has the exit code of its kind."""
    assert isinstance(error, CopublishError), repr(error)
    assert f"'{sender}' sent" in str(error) and "bug" not in str(error), str(error)
    assert error.exit_code in (6, 8)
    assert len(str(error)) < 600 and str(error).isprintable()


def check_decoder(read: Callable[[], Any], shape: Shape) -> Any:
    """Run a decoder; what it lets through has the type, and what it does not ends as a named error."""
    try:
        value = read()
    except CopublishError as error:
        is_named(error)
        return None
    assert shape.holds(value), "accepted, and not of the type"
    json.dumps(value).encode()  # what is accepted can be passed on
    return value


def hostile_contents(entry: Exchange[Any]) -> Iterator[bytes]:
    for text in HOSTILE:
        yield text.encode()
    yield from (b"\xff\xfe", b"\xed\xa0\x80", bytes(3))
    spelled = entry.spelled(example(entry))
    yield spelled[:-1]
    yield spelled + b" " * (entry.max_bytes - len(spelled) + 1)
    yield spelled + spelled


def test_every_entry_has_an_example_that_is_accepted():
    for entry in TABLE:
        if isinstance(entry, Word):
            assert read_word(entry.spelled(example(entry)), (entry,), "It") == (entry, example(entry))
        elif isinstance(entry, Letter):
            assert entry.check(example(entry), "bank") == example(entry)
        elif isinstance(entry, Exchange):
            own = example(entry)
            for heard in (entry.read(entry.spelled(own), "b"), entry.read_text(entry.as_text(own), "b")):
                assert np.array_equal(heard, own) if entry.is_array else heard == own
    assert set(GOOD) <= {entry.topic for entry in TABLE}


@pytest.mark.parametrize("entry", VALUES, ids=topic)
def test_a_value_of_a_hostile_peer_is_of_the_type_or_an_error_with_its_name(entry):
    accepted = [
        check_decoder(lambda c=content: entry.read(c, "mallory"), entry.shape) for content in hostile_contents(entry)
    ]
    assert sum(value is not None for value in accepted) <= 3  # whole numbers among the texts, say
    opening = entry.as_text(example(entry))[: len(json.dumps([entry.topic]))]
    for text in HOSTILE:
        for whole in (text, f"{opening} false, {text}]", f"{opening} true, {text}]", f"{opening} false,{text}]"):
            check_decoder(lambda w=whole: entry.read_text(w, "mallory"), entry.shape)
    with pytest.raises(ProgramMismatchError, match="'mallory' sent, or was about to send, more"):
        entry.read_text(f"{opening} false, {' ' * entry.max_bytes}1]", "mallory")


@pytest.mark.parametrize("entry", [entry for entry in EXCHANGES if entry.is_array], ids=topic)
def test_an_array_of_a_hostile_peer_is_bytes_or_an_error_with_its_name(entry, monkeypatch):
    opening = f'["{entry.topic}", true'
    for text in (*HOSTILE, '"AA="', '"AAAA', 'AAAA"', '"AAAA""AAAA"', '"AA\\nAA"', '"AAA\\ud800"', '"A\u0661AA"'):
        for whole in (text, f"{opening}, {text}]", f'["{entry.topic}", false, {text}]'):
            try:
                heard = entry.read_text(whole, "mallory")
            except ProgramMismatchError as error:
                is_named(error)
            else:
                is_base64 = re.fullmatch(r'"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"', text)
                assert entry.shape.holds(heard) and whole == f"{opening}, {text}]" and is_base64
    monkeypatch.setitem(entry.__dict__, "max_bytes", 100)
    for too_long in (
        lambda: entry.read(bytes(101), "mallory"),
        lambda: entry.read_text(opening + "A" * 200, "mallory"),
    ):
        with pytest.raises(ProgramMismatchError, match="'mallory' sent, or was about to send, more"):
            too_long()


@pytest.mark.parametrize("entry", LETTERS, ids=topic)
def test_bytes_of_a_hostile_peer_are_of_the_type_or_an_error_with_its_name(entry, monkeypatch):
    good = example(entry)
    for content in (
        b"\xff",
        b"x" * 33,
        bytes(7),
        good + b"\0",
        good[:-1],
        HASH.upper().encode(),
        b"[1, NaN]",
        b"[" * 150,
    ):
        with suppress_named() as accepted:
            assert entry.shape.holds(entry.check(content, "mallory"))
            accepted.append(content)
        assert not accepted or is_right(entry, content), content
    monkeypatch.setitem(entry.__dict__, "max_bytes", min(entry.max_bytes, 2**20))
    monkeypatch.setitem(entry.__dict__, "piece_bytes", None)
    with pytest.raises(ProgramMismatchError, match="'mallory' sent, or was about to send, more"):
        entry.check(bytes(entry.max_bytes + 1), "mallory")


UNITS = {
    **dict.fromkeys(("points to multiply", "points multiplied", "padded list of points"), 32),
    **dict.fromkeys(("list of points passed on", "list of points complete"), 32),
    **dict.fromkeys(("hidden list of points", "hidden list under both factors", "names of one's own entries"), 32),
    **dict.fromkeys(("names asked for", "names told"), 32),
    **dict.fromkeys(("common records", "pseudonyms"), 16),
    **dict.fromkeys(("places of common records", "rows of people", "part of an input", "opened"), 8),
    "masked sum {number} of shape {shape}": 8,
}
"""Bytes of a point, a digest and an integer."""


def is_right(entry: Letter, content: bytes) -> bool:
    """Whether content is of an entry's type, from what the page says and not from the code."""
    if entry.topic in UNITS:
        return len(content) % UNITS[entry.topic] == 0
    if entry.topic == "number of rows":
        return len(content) == 8
    if entry.topic == "ready to open":
        return set(content[1:-1]) <= set(b"0123456789, ") and content[:1] + content[-1:] == b"[]"
    return content == example(entry) or (entry.topic == "any shared" and content in (b"\0", b"\1"))


class suppress_named(suppress):  # noqa: N801  # used like the one it extends
    """Let errors pass that name the peer."""

    def __init__(self) -> None:
        super().__init__(CopublishError)

    def __enter__(self) -> list[bytes]:
        return []

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if isinstance(error, CopublishError):
            is_named(error)
        return bool(super().__exit__(kind, error, trace))


@pytest.mark.parametrize("entry", WORDS, ids=topic)
def test_a_word_of_a_hostile_peer_is_of_the_type_or_an_error_with_its_name(entry):
    good = entry.spelled(example(entry)).decode()
    whole = HOSTILE + [f'{{"{entry.topic}": {text}}}' for text in HOSTILE]
    whole += [good[:-1], good + good, good[:-1] + ', "more": 1}', good + " " * entry.max_bytes, '{"another": true}']
    accepted = []
    for text in whole:
        with suppress_named():
            word, content = read_word(text.encode(), (entry,), "Party 'mallory'")
            assert word is entry and entry.shape.holds(content)
            json.dumps(content).encode()
            accepted.append(content)
    assert all(isinstance(content, str | bool) for content in accepted), accepted  # where a reason may be any text


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_no_value_that_json_has_breaks_a_check(value):
    for entry in TABLE:
        assert entry.shape.holds(value) in (True, False)
        if isinstance(entry, Exchange) and not entry.is_array:
            check_decoder(lambda e=entry: e.read(json.dumps(value).encode(), "mallory"), entry.shape)


def test_the_check_notices_an_entry_that_takes_anything():
    loose = exchange("loose")
    with pytest.raises(AssertionError, match="not of the type"):
        check_decoder(lambda: loose.read(b"[1]", "mallory"), table.ROWS.shape)
    with pytest.raises(AssertionError):
        is_named(ValueError("no JSON"))
    with pytest.raises(AssertionError):
        is_named(EngineError("A party sent something."))


# --- over the ways that messages take ---


@pytest.mark.parametrize("entry", EXCHANGES, ids=topic)
def test_what_a_hostile_peer_sends_over_a_messenger_ends_with_its_name(entry):
    own, entry = example(entry), entry.of(**dict.fromkeys(("message", "number", "shape"), "x"))
    content = b'{"not": [NaN]}' if not entry.is_array else (2**31).to_bytes(4, "big")
    for framed in (
        frame(entry.topic, content),
        frame(entry.topic, b"", announced=entry.longest_piece + 1),
        frame("gossip", content),
        frame("date" if entry is not table.DATE else "rows", b"1"),
    ):
        ends = pipes_between(("bank", "mallory"))
        ends["mallory"]["bank"].sendall(framed)
        messenger = PipeMessenger("bank", ("bank", "mallory"), ends["bank"], timeout_seconds=20)
        with pytest.raises(ProgramMismatchError) as caught:
            exchange_public(messenger, entry, own)
        is_named(caught.value)
        messenger.close()


def frame(name: str, content: bytes, announced: int | None = None) -> bytes:
    length = len(content) if announced is None else announced
    return len(name).to_bytes(8, "big") + name.encode() + length.to_bytes(8, "big") + content


@pytest.mark.parametrize("entry", WORDS, ids=topic)
def test_a_word_that_is_announced_as_too_long_is_not_read(entry):
    here, there = socket.socketpair()
    here.setblocking(False)
    there.sendall(struct.pack(">I", entry.max_bytes + 1))
    with pytest.raises(MeetingError) as caught:
        Channel(here, None).receive_word(entry, sender="Party 'mallory'", seconds=5)
    is_named(caught.value)
    here.close()
    there.close()


@pytest.mark.parametrize("entry", EXCHANGES, ids=topic)
def test_the_ideal_engine_checks_what_parties_tell_as_messengers_do(entry):
    class Mallory(IdealEngine):
        def exchange(self, message: Exchange[Any], public: Any) -> Any:
            return super().exchange(message, {"not": [None]} if self.party == "mallory" else public)

    with pytest.raises(ProgramMismatchError) as caught:
        Room(("bank", "mallory"), engine=Mallory).run(lambda engine: engine.exchange(entry, example(entry)))
    is_named(caught.value)


def test_ones_own_message_of_another_type_or_beyond_the_bound_is_not_sent():
    with pytest.raises(EngineError, match=r"'rows' has to be a whole number from 0 to .* It was not sent"):
        table.ROWS.spelled(-1)
    with pytest.raises(EngineError, match="'short value' may have 100 bytes; a longer one was not sent"):
        exchange("short value", max_bytes=100).spelled("x" * 99)


# --- the table itself ---


def test_every_topic_is_there_once_and_no_topic_belongs_to_two_entries():
    assert len({entry.topic for entry in TABLE}) == len(TABLE)
    carried = [*EXCHANGES, *LETTERS]
    for entry in carried:
        name = entry.of(message="model", number=12, shape=(3, 4)).topic
        assert [other for other in carried if other.pattern.fullmatch(name)] == [entry]
        assert table.entry_of(name) == entry and len(name) <= MAX_TOPIC_BYTES
    assert table.entry_of("gossip") is None and table.entry_of("masked sum \n of shape x") is None


def test_the_largest_honest_messages_fit_their_entries():
    """Texts of an approval may be spelled with six bytes a character, and with twelve beyond the first plane."""
    approval = dict.fromkeys(("release", "party", "name", "role", "note"), "😀" * MAX_TEXT)
    approval |= {"approval_format": 1, "signature": "a" * MAX_SIGNATURE_DIGITS, "until": None}
    largest = {"certificates": ["x" * MAX_PEM_BYTES] * MAX_CHAIN, "approvals": [approval] * MAX_APPROVALS}
    assert table.SIGNERS.read(table.SIGNERS.spelled(largest), "b") == largest
    assert table.SIGNATURES.shape.holds("ab" * (MAX_SIGNATURE_DIGITS // 2))
    many = {f"party{number}": [HASH] * table.SHOWN_HEADS for number in range(1000)}
    assert table.LEDGERS.read(table.LEDGERS.spelled(many), "b") == many


def test_entries_of_tests_are_let_in_by_messengers_and_are_in_no_page():
    assert table.entry_of(letter("of a test").topic) is not None
    assert "of a test" not in {entry.topic for entry in TABLE}


def test_ones_own_word_of_another_type_or_beyond_the_bound_is_not_sent():
    with pytest.raises(MeetingError, match=r"'stop' may have 16 KiB.* It was not sent"):
        table.STOP.spelled({"reason": 5})
    facts = {f"agreement: attributes.{number}": HASH for number in range(20_001)}
    with pytest.raises(MeetingError, match=r"'hello' may have 2 MiB.* It was not sent"):
        table.HELLO.spelled({"nonce": HASH, "facts": facts, "workers": 1})
    assert table.HELLO.spelled({"nonce": HASH, "facts": dict(list(facts.items())[:5000]), "workers": 1})
