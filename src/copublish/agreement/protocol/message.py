"""One kind of message: its topic, who sends it to whom, its type and bound; and the one decoder of what peers send.

There are three ways to carry a message. A `Word` is a small JSON object on a connection of its own: meeting, leaving,
calling. A `Letter` is bytes between two parties of a run. An `Exchange` is a public value that every party tells every
other one. What the secure engine's own library sends is a `Stream`, which nobody here looks into.

Whatever does not have the type and the bound of its entry is refused where it comes in. The error names the peer and
the topic; it never quotes what came.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from copublish.agreement.protocol.shapes import BYTE_ARRAY, Shape
from copublish.errors import CopublishError, EngineError, MeetingError, ProgramMismatchError

T = TypeVar("T")

MIB = 2**20

MAX_LETTER_BYTES = 128 * MIB
"""Of one message between two parties of a run: twice the largest table of counts, in words of 16 bytes."""

PIECE_BYTES = 16 * MIB
"""Longer arrays are told in pieces, so that nobody's inbox overflows."""

COUNT_BYTES = 4
"""Before the first piece of an array stands how many pieces there are."""

MAX_TOPIC_BYTES = 200
"""No topic of the table is longer, parameters included."""


class WrongWordError(MeetingError):
    """A peer sent a word that is not in the protocol at this point, or not of its type."""


class Step(StrEnum):
    """The steps of a run, in their order; the values are headings of the protocol's page."""

    REACH = "Reach each other"
    MEET = "Meet"
    SHOW = "Show keys, approvals and ledgers"
    COMPARE = "Compare people"
    TABLE = "Agree on the table"
    COMPUTE = "Compute and open"
    PUBLISH = "Publish"
    LEAVE = "Leave"
    CHECK = "Beside a run: check the link"


@dataclass(frozen=True, kw_only=True)
class Message:
    """One entry of the table.

    Attributes:
        topic: Its name on the wire; a part in braces is a parameter.
        step: When it is sent.
        sender: Who sends it.
        receiver: To whom.
        shape: Its type.
        max_bytes: Its bound.
        reveals: What whoever gets it learns.
    """

    topic: str
    step: Step
    sender: str
    receiver: str
    shape: Shape
    max_bytes: int
    reveals: str

    kind: ClassVar[str]
    error: ClassVar[type[CopublishError]] = ProgramMismatchError

    def of(self, **parameters: object) -> Self:
        """The entry with its parameters filled in."""
        return replace(self, topic=self.topic.format(**parameters))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Topics that belong to this entry."""
        parts = [re.escape(part) for part in re.split(r"\{[^}]*\}", self.topic)]
        return re.compile("[ -~]{1,80}".join(parts))

    @property
    def longest_piece(self) -> int:
        """Bytes of one message on the wire at most."""
        return self.max_bytes

    def wrong(self, sender: str) -> CopublishError:
        """The error for a message that does not have the type or bound of this entry."""
        expected = self.shape.words if len(self.shape.words) < 80 else "what the protocol has there"
        return self.error(
            f"Party '{sender}' sent something else as '{self.topic}' than {expected}. Its software was changed or is "
            "another version. Nothing is published."
        )

    def too_long(self, sender: str) -> CopublishError:
        """The error for a message that is longer than its bound."""
        return self.error(
            f"Party '{sender}' sent, or was about to send, more as '{self.topic}' than it may have, which is "
            f"{spelled_size(self)}. Its software was changed or is another version. Nothing is published."
        )

    def refused_here(self, n_bytes: int) -> EngineError | None:
        """The error for one's own message that is too long to be sent."""
        if n_bytes <= self.max_bytes:
            return None
        return EngineError(
            f"The message '{self.topic}' may have {spelled_size(self)}; a longer one was not sent. Nothing is "
            "published."
        )


def spelled_size(message: Message) -> str:
    """The bound of a message in words."""
    size = message.max_bytes
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} bytes"


@dataclass(frozen=True, kw_only=True)
class Word(Message):
    """A small public JSON message on a connection: an object with the topic as its only key."""

    kind: ClassVar[str] = "word"
    error: ClassVar[type[CopublishError]] = WrongWordError

    def spelled(self, content: object = True) -> bytes:
        """The word as it is sent.

        Raises:
            MeetingError: If it does not have the type and bound of this entry. Nothing was sent.
        """
        body = json.dumps({self.topic: content}).encode()
        if not self.shape.holds(content) or len(body) > self.max_bytes:
            raise MeetingError(
                f"The message '{self.topic}' may have {spelled_size(self)}, and this one is longer or is no such "
                "message. It was not sent."
            )
        return body


def read_word(body: bytes, expected: tuple[Word, ...], sender: str) -> tuple[Word, Any]:
    """The word that somebody sent, one of those that make sense now, and its content.

    Args:
        body: What came, already bounded by the longest expected word.
        expected: Entries that may come now.
        sender: Who sent it, at the beginning of a sentence.

    Raises:
        WrongWordError: If it is no word, another one, or not of its type and bound.
    """
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict) and len(said) == 1:
        ((topic, content),) = said.items()
        for word in expected:
            if word.topic == topic and len(body) <= word.max_bytes and word.shape.holds(content):
                return word, content
    raise wrong_word(expected, sender)


def wrong_word(expected: tuple[Word, ...], sender: str) -> WrongWordError:
    """The error for what is none of the words that make sense now."""
    names = " or ".join(f"'{word.topic}'" for word in expected)
    return WrongWordError(
        f"{sender} sent something else than {names} as copublish spells it. Its software was changed or is another "
        "version."
    )


@dataclass(frozen=True, kw_only=True)
class Letter(Message):
    """Bytes from one party of a run to another one.

    Attributes:
        piece_bytes: What one message on the wire has at most, where what is sent may go in several.
    """

    kind: ClassVar[str] = "bytes"

    piece_bytes: int | None = None

    @property
    def longest_piece(self) -> int:
        """Bytes of one message on the wire at most."""
        return self.piece_bytes or self.max_bytes

    def check(self, content: bytes, sender: str) -> bytes:
        """Content that came, if it has the type and bound of this entry.

        Raises:
            ProgramMismatchError: Naming the sender and the topic.
        """
        if len(content) > self.longest_piece:
            raise self.too_long(sender)
        if not self.shape.holds(content):
            raise self.wrong(sender)
        return content


@dataclass(frozen=True, kw_only=True)
class Exchange(Message, Generic[T]):
    """A public value that every party tells every other one: JSON, or an array of bytes."""

    kind: ClassVar[str] = "value"

    sender: str = "every party"
    receiver: str = "every other party"

    @property
    def is_array(self) -> bool:
        """Whether it is an array of bytes, which may be long and goes in pieces."""
        return self.shape is BYTE_ARRAY

    @property
    def longest_piece(self) -> int:
        """Bytes of one message on the wire at most."""
        return COUNT_BYTES + PIECE_BYTES if self.is_array else self.max_bytes

    def check(self, value: object, sender: str) -> T:
        """A value, if it has the type and bound of this entry.

        Raises:
            ProgramMismatchError: Naming the sender and the topic.
        """
        if not self.shape.holds(value):
            raise self.wrong(sender)
        if len(self._spelled(cast(T, value))) > self.max_bytes:
            raise self.too_long(sender)
        return cast(T, value)

    def spelled(self, value: T) -> bytes:
        """One's own value, as it is sent between two parties.

        Raises:
            EngineError: If it does not have the type and bound of this entry. Nothing was sent.
        """
        if not self.shape.holds(value):
            raise EngineError(f"The message '{self.topic}' has to be {self.shape.words}. It was not sent.")
        content = self._spelled(value)
        if problem := self.refused_here(len(content)):
            raise problem
        return bytes(content)

    def read(self, content: bytes, sender: str) -> T:
        """A peer's value.

        Raises:
            ProgramMismatchError: Naming the sender and the topic.
        """
        if len(content) > self.max_bytes:
            raise self.too_long(sender)
        if self.is_array:
            return cast(T, np.frombuffer(content, dtype=np.uint8))
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            raise self.wrong(sender) from None
        if not self.shape.holds(value):
            raise self.wrong(sender)
        return cast(T, value)

    def as_text(self, value: T) -> str:
        """One's own value with its topic, as the engine's link carries it."""
        content = self.spelled(value)
        spelled = json.dumps(base64.b64encode(content).decode()) if self.is_array else content.decode()
        return f"{self._opening}{spelled}]"

    @property
    def longest_text(self) -> int:
        """Characters of a value with its topic at most."""
        content = self.max_bytes * 4 // 3 + 8 if self.is_array else self.max_bytes
        return len(self._opening) + content + 1

    def read_text(self, text: str, sender: str) -> T:
        """A peer's value from the engine's link.

        Raises:
            ProgramMismatchError: Naming the sender and the topic.
        """
        if len(text) > self.longest_text:
            raise self.too_long(sender)
        if not (text.startswith(self._opening) and text.endswith("]")):
            raise at_another_step(self, sender)
        content = text[len(self._opening) : -1].encode(errors="replace")
        if not self.is_array:
            return self.read(content, sender)
        try:
            if len(content) < 2 or content[:1] + content[-1:] != b'""':
                raise ValueError("no text")
            decoded = base64.b64decode(memoryview(content)[1:-1], validate=True)
        except ValueError:
            raise self.wrong(sender) from None
        return self.read(decoded, sender)

    @property
    def _opening(self) -> str:
        return f"{json.dumps([self.topic, self.is_array])[:-1]}, "

    def _spelled(self, value: T) -> bytes | memoryview:
        if self.is_array:
            return np.ascontiguousarray(cast(Any, value)).data
        return json.dumps(value).encode()


def at_another_step(message: Message, sender: str) -> ProgramMismatchError:
    """The error for a peer that sends something else than what its turn is."""
    return ProgramMismatchError(
        f"The parties are at different steps: '{sender}' sent something else than '{message.topic}'. Their software or "
        "agreements differ. Nothing is published."
    )


@dataclass(frozen=True, kw_only=True)
class Stream(Message):
    """Traffic of a library between two parties, which is carried and not read."""

    kind: ClassVar[str] = "stream"
