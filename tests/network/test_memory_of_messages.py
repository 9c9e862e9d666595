"""Memory that a party of the agreement can make another one hold: bounded, whatever it announces or sends."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress

import numpy as np
import psutil
import pytest

from copublish.agreement.protocol.message import COUNT_BYTES, MAX_LETTER_BYTES, PIECE_BYTES
from copublish.agreement.protocol.table import CAN_PAY, MAX_ARRAY_BYTES, PERTURBED, SIGNERS
from copublish.engines.messages import exchange_public
from copublish.errors import MeetingError, ProgramMismatchError
from copublish.party.network.dialing import dial
from copublish.party.network.messenger import HEADER, PortMessenger
from support.circle import SECONDS, Circle, identities_in
from support.protocol import ANYTHING

RUN = "a" * 64
ROOM_BYTES = 100 * 2**20
"""What the receiver's memory may grow by: a few pieces of 16 MiB, in copies. The attacks would fill gigabytes."""

BUFFER = bytes(2**20)


@pytest.fixture(scope="module")
def identities(tmp_path_factory):
    return identities_in(tmp_path_factory.mktemp("identities"), 3)


class Attacked:
    """A messenger of p0, and connections of others to it that do not keep to the rules."""

    def __init__(self, identities, how_many: int) -> None:
        self.circle = Circle(identities, how_many)
        self.port = self.circle.port("p0")
        self.messenger = PortMessenger(self.port, RUN, SECONDS)
        for name in self.circle.names[1:]:  # so that it can be answered; nobody asks for what is sent there
            PortMessenger(self.circle.port(name), RUN, SECONDS)

    def __enter__(self) -> Attacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.messenger.close()
        self.circle.__exit__()

    def channel(self, sender: str):
        return dial(self.circle.agreement, sender, self.circle.identities[sender], "p0", "messages", run=RUN)

    def send(self, channel, topic: str, length: int, beginning: bytes = b"") -> None:
        """Send a message of some length, of which this process holds a mebibyte."""
        with suppress(MeetingError):  # it hangs up
            channel.send_bytes(HEADER.pack(len(topic), length) + topic.encode() + beginning, seconds=SECONDS)
            for start in range(len(beginning), length, len(BUFFER)):
                channel.send_bytes(memoryview(BUFFER)[: length - start], seconds=SECONDS)


@contextmanager
def watched_memory():
    """How far this process grows meanwhile, at most."""
    process, is_over = psutil.Process(), threading.Event()
    before, found = process.memory_info().rss, [0]

    def watch() -> None:
        while not is_over.wait(0.005):
            found[0] = max(found[0], process.memory_info().rss - before)

    thread = threading.Thread(target=watch)
    thread.start()
    yield found
    is_over.set()
    thread.join()


def announce(pieces: int) -> bytes:
    return pieces.to_bytes(COUNT_BYTES, "big")


ARRAY = np.zeros(10, dtype=np.uint8)


MAX_PIECES = MAX_ARRAY_BYTES // PIECE_BYTES


def test_pieces_longer_than_pieces_are_not_read_and_the_peer_is_named(identities):
    """Announced are 256 pieces, as many as there may be, and each is as long as a message may be: 32 GiB."""
    with Attacked(identities, 2) as attacked, watched_memory() as grown:
        channel = attacked.channel("p1")
        attacked.send(channel, PERTURBED.topic, COUNT_BYTES + 10, announce(MAX_PIECES) + bytes(10))
        sending = attacked.circle.do(
            lambda: [attacked.send(channel, PERTURBED.topic, MAX_LETTER_BYTES) for _ in range(MAX_PIECES - 1)]
        )
        with pytest.raises(ProgramMismatchError, match="'p1' sent, or was about to send, more as 'perturbed columns'"):
            exchange_public(attacked.messenger, PERTURBED, ARRAY)
        sending.result(SECONDS)
    assert grown[0] < ROOM_BYTES


def test_a_first_piece_that_is_too_long_is_not_read_either(identities):
    with Attacked(identities, 2) as attacked, watched_memory() as grown:
        attacked.send(attacked.channel("p1"), PERTURBED.topic, MAX_LETTER_BYTES, announce(1))
        with pytest.raises(ProgramMismatchError, match="'p1' sent, or was about to send, more as 'perturbed columns'"):
            exchange_public(attacked.messenger, PERTURBED, ARRAY)
    assert grown[0] < ROOM_BYTES


def test_a_word_that_is_longer_than_its_entry_is_not_read(identities):
    with Attacked(identities, 2) as attacked, watched_memory() as grown:
        attacked.send(attacked.channel("p1"), CAN_PAY.topic, PIECE_BYTES, b'"')
        with pytest.raises(ProgramMismatchError, match="'p1' sent, or was about to send, more as 'budget'"):
            exchange_public(attacked.messenger, CAN_PAY, "can pay")
    assert grown[0] < ROOM_BYTES


def test_a_text_that_would_grow_when_it_is_read_is_not(identities):
    """Sixteen mebibytes of empty objects would take half a gibibyte. What an entry allows takes no more than room."""
    text = b"[" + b"{}," * (2**20 // 3 * 16) + b"0]"
    own = {"certificates": ["x"], "approvals": []}
    for n_bytes, words in ((len(text), "more as 'who signs"), (SIGNERS.max_bytes, "something else as 'who signs")):
        with Attacked(identities, 2) as attacked, watched_memory() as grown:
            content = text[: n_bytes - 3] + b",0]"
            attacked.send(attacked.channel("p1"), SIGNERS.topic, n_bytes, content[:n_bytes])
            with pytest.raises(ProgramMismatchError, match=f"'p1' sent.* {words}"):
                exchange_public(attacked.messenger, SIGNERS, own)
        assert grown[0] < ROOM_BYTES


def test_all_others_together_may_not_announce_more_than_one_may(identities):
    with Attacked(identities, 3) as attacked, watched_memory() as grown:
        for name, pieces in (("p1", MAX_PIECES // 2), ("p2", MAX_PIECES // 2 + 1)):
            attacked.send(attacked.channel(name), PERTURBED.topic, COUNT_BYTES + 1, announce(pieces) + b"[")
        with pytest.raises(ProgramMismatchError, match="'p2' sent, or was about to send, more as 'perturbed columns'"):
            exchange_public(attacked.messenger, PERTURBED, ARRAY)
    assert grown[0] < ROOM_BYTES


def test_what_nobody_has_asked_for_yet_is_not_read_beyond_what_may_wait(identities, monkeypatch):
    """Of every other party: what waits fills the room, and the next message stays with its sender."""
    monkeypatch.setattr("copublish.party.network.messenger.MAX_WAITING_BYTES", 20 * 2**20)
    with Attacked(identities, 3) as attacked, watched_memory() as grown:
        for name in ("p1", "p2"):
            channel = attacked.channel(name)
            attacked.circle.do(
                lambda channel=channel: [attacked.send(channel, ANYTHING.topic, 15 * 2**20) for _ in range(20)]
            )
        for name in ("p1", "p2"):
            assert len(attacked.messenger.receive(name, ANYTHING)) == 15 * 2**20
        threading.Event().wait(2)
        held = [inbox.n_bytes for inbox in attacked.messenger._inboxes.values()]
        assert all(n_bytes < 20 * 2**20 for n_bytes in held)
    assert grown[0] < ROOM_BYTES + 2 * 20 * 2**20


def test_a_long_array_arrives_whole(identities):
    long = np.random.default_rng(1).integers(0, 256, 2 * PIECE_BYTES + 7).astype(np.uint8)
    with Circle(identities, 2) as circle:
        messengers = {name: PortMessenger(port, RUN, SECONDS) for name, port in circle.ports().items()}
        told = {"p0": long, "p1": long[::-1].copy()}
        ends = [circle.do(exchange_public, messengers[name], PERTURBED, told[name]) for name in told]
        for end in ends:
            for heard, sent in zip(end.result(SECONDS), told.values(), strict=True):
                np.testing.assert_array_equal(heard, sent)
        for messenger in messengers.values():
            messenger.close()
