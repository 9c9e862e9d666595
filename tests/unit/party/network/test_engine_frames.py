"""What another party may send to this one's worker of SPU: frames of the engine, and nothing else."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.party.network.engine_frames import LONGEST_FRAME, EngineFrames, StrangeFrameError
from copublish.party.network.forwarding import Frames
from support.engine_frames import ANSWER, PUSH, frame

NUMBER = b"\x18\x00 \x01"
USUAL = {
    "a push": frame(b"content"),
    "a push with nothing": frame(),
    "the longest push": frame(bytes(2**20)),
    "an answer": frame(b"", ANSWER + NUMBER),
    "an answer with an error": frame(b"", b"\x12\x07\x08\x05\x12\x03bad" + NUMBER),
    "an answer with a long error": frame(b"", b"\x12\xac\x02" + bytes(300) + NUMBER),
}
JSON = b'{"key": ' + b"[" * 300_000
STRANGE = {
    "an HTTP request": b"POST /org.interconnection.link.ReceiverService/Push HTTP/1.1\r\n\r\n" + JSON,
    "JSON": JSON,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another of brpc's protocols": frame(magic=b"HULU"),
    "a stream": frame(magic=b"STRM"),
    "a frame that is too long": frame(bytes(LONGEST_FRAME)),
    "no description": b"PRPC" + bytes(8),
    "a description longer than the frame": b"PRPC" + (20).to_bytes(4, "big") + (21).to_bytes(4, "big"),
    "a description without an end": b"PRPC" + (2**20).to_bytes(4, "big") * 2,
    "another service": frame(b"", b"\n\x0f\n\x05flags\x12\x06method" + NUMBER),
    "the service beside another one": frame(b"", PUSH + b"\n\x0f\n\x05flags\x12\x06method" + NUMBER),
    "another method": frame(b"", PUSH.replace(b"Push", b"Pull") + NUMBER),
    "packed content": frame(b"", PUSH + b"\x18\x02 \x01"),
    "a stream's settings": frame(b"", PUSH + b"\x42\x02\x08\x01" + NUMBER),
    "an answer beyond its end": frame(b"", ANSWER + b"\x42\x02\x08\x01" + NUMBER),
    "an answer without content": frame(b"", b"\x12" + NUMBER),
}


def passed(sent: bytes, cuts: list[int]) -> bytes:
    """What comes out of something that is cut into pieces by its sender, and again by the network."""
    edges = [0, *sorted(cut % (len(sent) + 1) for cut in cuts), len(sent)]
    wrapped = b"".join(Frames().wrap(sent[one:other]) for one, other in pairwise(edges))
    frames = EngineFrames()
    return b"".join(frames.unwrap(wrapped[start : start + 7919]) for start in range(0, len(wrapped), 7919))


@given(cuts=st.lists(st.integers(0, 200), max_size=8), kinds=st.lists(st.sampled_from(sorted(USUAL)), max_size=4))
def test_frames_of_the_engine_come_out_unchanged_wherever_they_are_cut(cuts, kinds):
    sent = b"".join(USUAL[kind] for kind in kinds)
    assert passed(sent, cuts) == sent


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("after", ["", "a push", "an answer"])
def test_nothing_of_what_is_strange_is_passed_on(kind, after):
    frames, usual = EngineFrames(), USUAL.get(after, b"")
    assert frames.unwrap(Frames().wrap(usual)) == usual
    with pytest.raises(StrangeFrameError):
        for byte in STRANGE[kind][:10_000]:
            assert frames.unwrap(Frames().wrap(bytes([byte]))) == b""


def test_no_more_of_a_frame_is_held_back_than_is_checked():
    frames, sent = EngineFrames(), frame(bytes(1000))
    beginning = len(sent) - 1000
    assert frames.unwrap(Frames().wrap(sent[: beginning - 1])) == b""
    assert frames.unwrap(Frames().wrap(sent[beginning - 1 : -1])) == sent[:-1]


def test_refusals_quote_nothing_that_was_sent():
    with pytest.raises(StrangeFrameError) as refused:
        EngineFrames().unwrap(Frames().wrap(STRANGE["an HTTP request"]))
    assert not re.search("POST|HTTP|key", str(refused.value))
