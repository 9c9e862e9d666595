"""Entries of the protocol for tests alone, which take anything; messengers let them in like those of the table."""

from __future__ import annotations

from typing import Any

from copublish.agreement.protocol import table
from copublish.agreement.protocol.message import MAX_LETTER_BYTES, MIB, Exchange, Letter, Step
from copublish.agreement.protocol.shapes import Shape


def letter(topic: str, max_bytes: int = MAX_LETTER_BYTES) -> Letter:
    """A message of bytes that may be anything."""
    entry = Letter(
        topic=topic,
        step=Step.COMPUTE,
        sender="anybody",
        receiver="anybody",
        shape=Shape("anything", lambda value: True),
        max_bytes=max_bytes,
        reveals="nothing",
    )
    _let_in(entry)
    return entry


def exchange(topic: str, max_bytes: int = MIB) -> Exchange[Any]:
    """A public value that may be any JSON."""
    entry: Exchange[Any] = Exchange(
        topic=topic,
        step=Step.COMPUTE,
        shape=Shape("anything", lambda value: True),
        max_bytes=max_bytes,
        reveals="nothing",
    )
    _let_in(entry)
    return entry


def _let_in(entry: Letter | Exchange[Any]) -> None:
    """Tell messengers of an entry. Within a test, and among what modules define, a topic has one kind and one bound."""
    known = table._BY_TOPIC.setdefault(entry.topic, entry)
    if (type(known), known.max_bytes) != (type(entry), entry.max_bytes):
        raise ValueError(f"the topic '{entry.topic}' is taken by another entry: name this one otherwise")


ANYTHING, HELLO = letter("anything"), exchange("hello to all")
