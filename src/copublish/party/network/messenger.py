"""Messages between the parties of a run, over mutual TLS: public values, shares and masked sums.

Every pair has two connections, one each way, made when the first message is sent. They name the run, so what belongs to
another one is not let in. A message is a topic and bytes, each after its length; who reads it decides what the bytes
may be, and nothing here runs or unpickles them. A header that announces an impossible one is a sign of life.
"""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from copublish.agreement.protocol.message import MAX_LETTER_BYTES, MAX_TOPIC_BYTES
from copublish.engines.messages import Carried, refuse_announced, refuse_to_send_long, taken
from copublish.errors import EngineError, MeetingError, PartyLostError, SilenceError
from copublish.party.network.channel import CHUNK, Channel, ChannelClosedError, RefusedError, UnreachableError
from copublish.party.network.port import Port
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

HEADER = struct.Struct(">HI")
MAX_WAITING_BYTES = MAX_LETTER_BYTES
"""What a party may send ahead of its being asked for; beyond this it has to wait. In all, so much for each of them."""

PLACE_BYTES = 256
"""What a waiting message takes besides its bytes."""

SLOWEST_BYTES_PER_SECOND = 64 * 2**10

FOR_EVER_SECONDS = 10.0**7
RETRY_SECONDS = 0.2

SIGN_OF_LIFE = HEADER.pack(0xFFFF, 0)
"""What announces a topic that is longer than any."""

UNPUBLISHED = "Nothing is published."


def _size(topic: bytes, content: bytes) -> int:
    return len(topic) + len(content) + PLACE_BYTES


@dataclass
class _Inbox:
    """What one party has sent and nobody has asked for yet."""

    channel: Channel | None = None
    messages: deque[tuple[bytes, bytes]] = field(default_factory=deque)
    n_bytes: int = 0
    problem: EngineError | None = None


class PortMessenger:
    """One party's connections to all others of a run; a `Messenger`.

    Args:
        port: This party's port.
        run: The id of the run, as all have agreed.
        timeout_seconds: How long another party may take to send what is waited for, or to take what is sent.
        loading_seconds: How much longer some parties may take for their first message, because something loads there.

    Privacy:
        Reveals: what is sent, to the one party it is sent to; to the network, when and how much.
    """

    def __init__(
        self, port: Port, run: str, timeout_seconds: float = 600, loading_seconds: Mapping[str, float] | None = None
    ) -> None:
        self.party, self.parties = port.party, port.agreement.party_names
        self._port, self._run, self._timeout = port, run, timeout_seconds
        self._loading_seconds = dict(loading_seconds or {})
        self._outgoing: dict[str, Channel] = {}
        self._sending = {peer: threading.Lock() for peer in port.peers}
        self._inboxes = {peer: _Inbox() for peer in port.peers}
        self._changed = threading.Condition()
        self._is_over = False
        for peer in port.peers:
            port.let_in("messages", peer, run, partial(self._take_in, peer))
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def __enter__(self) -> PortMessenger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, to: str, message: Carried, content: bytes) -> None:
        """Send something to one party; returns when it is on its way.

        Raises:
            PartyLostError: If the party has left, or takes nothing for too long.
            EngineError: If it is too long for a message. Nothing was sent.
        """
        refuse_to_send_long(message, content)
        name = message.topic.encode()
        with self._sending[to]:
            try:
                channel = self._channel_to(to)
                self._send_all(channel, b"".join((HEADER.pack(len(name), len(content)), name, content)))
            except BaseException as exc:
                # Half a message may be on its way: nothing can follow it.
                if to in self._outgoing:
                    self._outgoing[to].break_off()
                if isinstance(exc, MeetingError):
                    is_silent = not isinstance(exc, ChannelClosedError | RefusedError)  # nor reached for so long
                    lost = SilenceError.of(to, self._timeout) if is_silent else self._lost(to)
                    raise (self._ended() if self._is_over else lost) from exc
                raise

    def receive(self, sender: str, message: Carried) -> bytes:
        """Wait for the next message of one party.

        Raises:
            PartyLostError: If any party has stopped, this one has left, or does not answer in time.
            ProgramMismatchError: If it is another message, or not of its type and bound.
        """
        inbox = self._inboxes[sender]
        patience = self._timeout + self._loading_seconds.get(sender, 0)
        with self._changed:
            self._changed.wait_for(lambda: inbox.messages or inbox.problem or self._is_over, patience)
            if self._is_over:
                raise self._ended()
            if not inbox.messages:
                raise inbox.problem or SilenceError.of(sender, patience)
            self._loading_seconds.pop(sender, None)
            topic, content = inbox.messages.popleft()
            inbox.n_bytes -= _size(topic, content)
            self._changed.notify_all()
        return taken(message, sender, topic, content)

    def has_left(self, party: str) -> bool:
        """Whether another party is known to have left; what it sent before may still be waiting."""
        return self._inboxes[party].problem is not None

    def abort(self) -> None:
        """End every wait at once, from another thread: whoever sends or receives gets a `PartyLostError`."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
            channels = [*self._outgoing.values(), *(inbox.channel for inbox in self._inboxes.values())]
        for channel in channels:
            if channel is not None:
                channel.break_off()

    def close(self) -> None:
        """Leave. What was sent still arrives; whoever waits for more learns that we are gone."""
        for peer, lock in self._sending.items():
            with lock:
                if peer in self._outgoing:
                    self._outgoing[peer].close()
        self.abort()

    def _keep_alive(self) -> None:
        """Say something now and then where nothing was said, so that nothing on the way ends what is idle."""
        while not self._is_over:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over, SIGN_OF_LIFE_SECONDS)
            for peer, lock in self._sending.items():
                if lock.acquire(blocking=False):  # else something is being sent
                    try:
                        if peer in self._outgoing and not self._is_over and self._outgoing[peer].is_idle():
                            self._outgoing[peer].send_bytes(SIGN_OF_LIFE, seconds=self._timeout)
                    except MeetingError:
                        self._outgoing[peer].break_off()  # half a sign may be on its way; whoever sends next is told
                    finally:
                        lock.release()

    def _channel_to(self, peer: str) -> Channel:
        deadline = time.monotonic() + self._timeout
        while peer not in self._outgoing:
            if self._is_over:
                raise self._ended()
            try:
                channel = self._port.dial(peer, "messages", self._run)
            except UnreachableError:  # its port may be busy with strangers
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                with self._changed:
                    self._outgoing[peer] = channel
        if self._is_over:  # it may have ended while we dialed
            raise self._ended()
        return self._outgoing[peer]

    def _send_all(self, channel: Channel, content: bytes) -> None:
        # One deadline for all of it: whoever takes a byte now and then must not keep everyone for ever.
        deadline = time.monotonic() + self._timeout + len(content) / SLOWEST_BYTES_PER_SECOND
        for start in range(0, len(content), CHUNK):
            part = memoryview(content)[start : start + CHUNK]
            channel.send_bytes(part, seconds=max(0.0, deadline - time.monotonic()))
            self._port.count(sent=len(part), received=0)

    def _take_in(self, peer: str, channel: Channel) -> None:
        """Take in what a party sends, until it leaves."""
        inbox = self._inboxes[peer]
        with self._changed:
            is_first = inbox.channel is None and not self._is_over
            if is_first:
                inbox.channel = channel
        try:
            while is_first:
                self._take_one(peer, inbox, channel)
        except EngineError as exc:
            inbox.problem = exc
        except ChannelClosedError:
            inbox.problem = self._lost(peer)
        except MeetingError:  # in the middle of a message
            inbox.problem = SilenceError.of(peer, self._timeout)
        finally:
            channel.close()
            with self._changed:
                self._changed.notify_all()

    def _take_one(self, peer: str, inbox: _Inbox, channel: Channel) -> None:
        header = self._receive(channel, HEADER.size, FOR_EVER_SECONDS)
        if header == SIGN_OF_LIFE:
            return
        topic_length, length = HEADER.unpack(header)
        topic = self._receive(channel, min(topic_length, MAX_TOPIC_BYTES + 1), self._timeout)  # no entry has more
        refuse_announced(topic, length, peer)
        size = topic_length + length + PLACE_BYTES
        with self._changed:  # before a byte of it is read, so that no more is held than may wait
            self._changed.wait_for(
                lambda: self._is_over or not inbox.messages or inbox.n_bytes + size <= MAX_WAITING_BYTES
            )
        content = self._receive(channel, length, self._timeout)
        with self._changed:
            inbox.messages.append((topic, content))
            inbox.n_bytes += size
            self._changed.notify_all()

    def _receive(self, channel: Channel, length: int, seconds: float) -> bytes:
        found = bytearray()  # grows with what has come, not with what was announced
        while len(found) < length:
            found += channel.receive_bytes(min(CHUNK, length - len(found)), seconds=seconds)
        self._port.count(sent=0, received=length)
        return bytes(found)

    def _ended(self) -> PartyLostError:
        return PartyLostError(f"Another party has stopped, and the run with it. {UNPUBLISHED}")

    def _lost(self, peer: str) -> PartyLostError:
        return PartyLostError(f"Party '{peer}' stopped, or the link to it{self._port.over(peer)} broke. {UNPUBLISHED}")
