"""Entries of the protocol for tests alone, which take anything; messengers let them in like those of the table."""

from __future__ import annotations

from typing import Any

from copublish.protocol import table
from copublish.protocol.message import MAX_LETTER_BYTES, MIB, Exchange, Letter, Step
from copublish.protocol.shapes import Shape


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
    table._BY_TOPIC[topic] = entry
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
    table._BY_TOPIC[topic] = entry
    return entry


ANYTHING, HELLO = letter("anything"), exchange("hello to all")
