"""Frames that workers of SPU send each other, and nothing else, let through from another party.

A worker's port tells protocols apart by their first bytes. It answers HTTP and JSON, too, and a JSON text that is
nested deeply enough ends its process. So every frame's header and description are checked before they are passed on.
"""

from __future__ import annotations

import re
import struct

from copublish.errors import MeetingError
from copublish.party.network.forwarding import Frames

MAGIC = b"PRPC"
HEADER = struct.Struct(">4sII")
"""The magic of brpc's own protocol, the length of what follows, and how much of that describes the call."""

LONGEST_FRAME = 2**20 + 2**16
"""Bytes. SPU sends at most 1 MiB of a message at once, with its key and numbers beside it."""

LONGEST_DESCRIPTION = 2**12
"""Bytes. Descriptions of a push and of its answer have less than a hundred."""

PUSH = b"\n0\n(org.interconnection.link.ReceiverService\x12\x04Push"
"""The only call that a worker makes, as protobuf writes it. A worker's port answers others, about itself."""

ANSWER = b"\x12"
"""What an answer begins with. After it come its length and content: an error, if there is one."""

END = re.compile(rb"\x18\x00 [\x80-\xff]{0,9}[\x00-\x7f]\Z")
"""What both end with: that nothing is packed, and a number that an answer has in common with its call."""


class StrangeFrameError(MeetingError):
    """Another party sent something that no worker of the released software sends."""


class EngineFrames(Frames):
    """Pieces of content from another party, of which only whole and checked beginnings of frames come out."""

    def __init__(self) -> None:
        super().__init__()
        self._beginning, self._length, self._rest = bytearray(), HEADER.size, 0

    def unwrap(self, data: bytes) -> bytes:
        """Content in what has come that may be passed on.

        Raises:
            StrangeFrameError: If it is no frame of the engine.
        """
        content, position, passed = super().unwrap(data), 0, bytearray()
        while position < len(content):
            if self._rest:
                piece = content[position : position + self._rest]
                passed += piece
                self._rest -= len(piece)
                position += len(piece)
                continue
            piece = content[position : position + self._length - len(self._beginning)]
            self._beginning += piece
            position += len(piece)
            if len(self._beginning) == self._length:
                passed += self._checked_beginning()
        return bytes(passed)

    def _checked_beginning(self) -> bytes:
        """The beginning of a frame, once it is there with the description; nothing before."""
        magic, length, description = HEADER.unpack_from(self._beginning)
        if magic != MAGIC or length > LONGEST_FRAME or not 0 < description <= min(length, LONGEST_DESCRIPTION):
            raise StrangeFrameError("sent no frame of the secure engine")
        self._length = HEADER.size + description
        if len(self._beginning) < self._length:
            return b""
        if not _is_usual(self._beginning[HEADER.size :]):
            raise StrangeFrameError("described a message as the secure engine does not")
        beginning = bytes(self._beginning)
        self._beginning, self._length, self._rest = bytearray(), HEADER.size, length - description
        return beginning


def _is_usual(description: bytearray) -> bool:
    """Whether a description is one that a worker writes."""
    end = END.search(description)
    if end is None:
        return False
    content = description[: end.start()]
    return content == PUSH or (content.startswith(ANSWER) and len(content) > 2 and _is_whole(content))


def _is_whole(answer: bytearray) -> bool:
    """Whether an answer is as long as it says, in one byte or two."""
    if answer[1] < 0x80:  # the last byte of a number
        return len(answer) == 2 + answer[1]
    return len(answer) == 3 + (answer[1] & 0x7F | answer[2] << 7)
