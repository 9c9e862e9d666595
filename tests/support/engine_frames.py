"""Frames as workers of SPU send them, for tests of what carries them."""

from __future__ import annotations

import struct

PUSH = b"\n0\n(org.interconnection.link.ReceiverService\x12\x04Push"
"""As recorded between two workers of SPU 0.9.5."""

ANSWER = b"\x12\x02\x08\x00"


def frame(
    content: bytes = b"", description: bytes = PUSH + b"\x18\x00 \x82\x80\x80\x80 ", magic: bytes = b"PRPC"
) -> bytes:
    """A frame: by default one that pushes content."""
    return struct.pack(">4sII", magic, len(description) + len(content), len(description)) + description + content


def frames(content: bytes, longest: int = 2**20) -> bytes:
    """Content in as many frames as it takes."""
    return b"".join(frame(content[start : start + longest]) for start in range(0, len(content), longest))
