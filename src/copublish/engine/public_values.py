"""Public values as text, and telling them to every party. Never pickled: whoever reads a pickle runs it."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from copublish.errors import ProgramMismatchError

if TYPE_CHECKING:
    from copublish.engine.messages import Messenger

T = TypeVar("T")

PIECE_BYTES = 16 * 2**20
"""Longer values are told in pieces, so that they fit the messages of every messenger."""

MAX_PIECES = 256
"""Of one value: 4 GiB. Who announces more would fill the memory of the others."""


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
        messenger.send(party, "public", len(pieces).to_bytes(4, "big") + pieces[0])
    received = {party: messenger.receive(party, "public") for party in others}
    # All others have begun, so what is long goes piece by piece and nobody's inbox overflows.
    waiting = {party: int.from_bytes(first[:4], "big") - 1 for party, first in received.items()}
    if max(waiting.values(), default=0) >= MAX_PIECES:
        raise ProgramMismatchError("A party is about to send more than any public value has. Nothing is published.")
    texts = {party: [first[4:]] for party, first in received.items()}
    for number in range(1, max([len(pieces), *(left + 1 for left in waiting.values())])):
        for party in others:
            if number < len(pieces):
                messenger.send(party, "public, continued", pieces[number])
        for party in others:
            if number <= waiting[party]:
                texts[party].append(messenger.receive(party, "public, continued"))
    for party in others:
        said, values[party] = from_text(b"".join(texts[party]))
        if said != topic:
            raise ProgramMismatchError("The parties are at different steps. Their software or agreements differ.")
    return tuple(values[party] for party in messenger.parties)
