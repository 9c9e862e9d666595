"""Public values as text, and telling them to every party. Never pickled: whoever reads a pickle runs it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from copublish.errors import ProgramMismatchError

if TYPE_CHECKING:
    from copublish.engine.messages import Messenger

T = TypeVar("T")

PIECE_BYTES = 16 * 2**20
"""Longer values are told in pieces, so that they fit the messages of every messenger."""

COUNT_BYTES = 4
"""Before the first piece stands how many there are."""

FIRST, NEXT = "public", "public, continued"
MAX_BYTES_OF_TOPIC = {FIRST: COUNT_BYTES + PIECE_BYTES, NEXT: PIECE_BYTES}
"""How long a message about these may be, whatever others may have; a messenger refuses more before it reads it."""

MAX_PIECES = 256
"""Of what all other parties tell at once: 4 GiB. Who announces more would fill the memory of the others."""

MAX_TEXT_BYTES = 2**20
"""Of a value that is no array of bytes. Lists and dictionaries take many times the memory of their text."""


def to_text(topic: str, value: object) -> str:
    """A topic and a JSON value, or an array of bytes, as text."""
    is_array = isinstance(value, np.ndarray)
    content = base64.b64encode(value.astype(np.uint8).tobytes()).decode() if isinstance(value, np.ndarray) else value
    return json.dumps([topic, is_array, content])


def from_text(text: str | bytes) -> tuple[str, Any]:
    """Topic and value of a text.

    Raises:
        ProgramMismatchError: If it is not one that `to_text` makes.
    """
    try:
        topic, is_array, content = json.loads(text)
        value = np.frombuffer(base64.b64decode(content, validate=True), dtype=np.uint8) if is_array else content
    except (ValueError, TypeError, RecursionError):
        raise ProgramMismatchError("A party sent something that is no public value. Nothing is published.") from None
    return str(topic), value


def _array(text: bytes, topic: str) -> tuple[str, Any]:
    """Topic and array of a long text, which holds nothing else: no list grows out of it.

    Raises:
        ProgramMismatchError: If it is not one that `to_text` makes for this topic.
    """
    start, end = json.dumps([topic, True, ""]).encode()[:-2], b'"]'
    if not (text.startswith(start) and text.endswith(end)):
        raise ProgramMismatchError("A party sent something that is no public value. Nothing is published.")
    return from_text(start + end)[0], _decoded(memoryview(text)[len(start) : -len(end)])


def _decoded(content: memoryview) -> Any:
    try:
        return np.frombuffer(base64.b64decode(content, validate=True), dtype=np.uint8)
    except ValueError:
        raise ProgramMismatchError("A party sent something that is no public value. Nothing is published.") from None


def exchange_public(messenger: Messenger, public: T, topic: str) -> tuple[T, ...]:
    """Tell every party a public value; return all of them in party order.

    Raises:
        PartyLostError: If a party has left, or does not answer in time.
        ProgramMismatchError: If a party is at another step.
    """
    others = [party for party in messenger.parties if party != messenger.party]
    text = to_text(topic, public).encode()
    pieces = [text[start : start + PIECE_BYTES] for start in range(0, len(text), PIECE_BYTES)]
    values: dict[str, Any] = {messenger.party: public}
    for party in others:
        messenger.send(party, FIRST, len(pieces).to_bytes(COUNT_BYTES, "big") + pieces[0])
    received = {party: messenger.receive(party, FIRST) for party in others}
    # All others have begun, so what is long goes piece by piece and nobody's inbox overflows.
    waiting = {party: int.from_bytes(first[:COUNT_BYTES], "big") - 1 for party, first in received.items()}
    _refuse_long(waiting, is_array=isinstance(public, np.ndarray))
    texts = {party: [_piece(party, first[COUNT_BYTES:])] for party, first in received.items()}
    for number in range(1, max([len(pieces), *(left + 1 for left in waiting.values())])):
        for party in others:
            if number < len(pieces):
                messenger.send(party, NEXT, pieces[number])
        for party in others:
            if number <= waiting[party]:
                texts[party].append(_piece(party, messenger.receive(party, NEXT)))
    for party in others:
        text = b"".join(texts.pop(party))
        if len(text) > MAX_TEXT_BYTES and not isinstance(public, np.ndarray):
            raise _too_long(party)
        said, values[party] = _array(text, topic) if len(text) > MAX_TEXT_BYTES else from_text(text)
        if said != topic:
            raise ProgramMismatchError("The parties are at different steps. Their software or agreements differ.")
    return tuple(values[party] for party in messenger.parties)


def _refuse_long(waiting: Mapping[str, int], *, is_array: bool) -> None:
    """Raise if a party is about to send more than a value has, or all of them together more than we hold.

    Every party tells the same kind of value, so where ours is no array, theirs are short.

    Raises:
        ProgramMismatchError: Naming the party that announced most.
    """
    most = max(waiting, key=lambda party: waiting[party], default=None)
    if most is None:
        return
    too_long = not is_array and waiting[most] * PIECE_BYTES > MAX_TEXT_BYTES
    if too_long or sum(left + 1 for left in waiting.values()) > MAX_PIECES:
        raise _too_long(most)


def _piece(party: str, content: bytes) -> bytes:
    """A piece of a value, of the length that pieces have at most."""
    if len(content) > PIECE_BYTES:
        raise _too_long(party)
    return content


def _too_long(party: str) -> ProgramMismatchError:
    return ProgramMismatchError(
        f"Party '{party}' sent, or is about to send, more than any public value has. Nothing is published."
    )
