"""What a party and a relay say to each other before they are out of the way: the party's side, and the words of both.

A relay has places. One party waits at a place, another one calls there, and from then on the relay passes bytes: the
two parties' own TLS, end to end. A place is a hash of the agreement and of who calls whom. So an outsider who does not
know the agreement cannot take one; who does (any party of it, or somebody who was shown the agreement) can keep others
from meeting, and no more, because nobody believes a connection before its certificate was checked.

All this is said inside a TLS connection to the relay, of an ordinary kind: to firewalls it is TLS to a named host. The
relay's own certificate proves nothing and is not checked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections import deque
from typing import Literal

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.message import WrongWordError
from copublish.agreement.protocol.table import ALIVE, JOINED, NOBODY_WAITS, REFUSED, RELAY_GREETING, RELAY_PROTOCOL
from copublish.errors import MeetingError, plain_text
from copublish.party.network.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    ChannelClosedError,
    RefusedError,
    SilentError,
    UnprovenPeerError,
    UnreachableError,
    outer_channel,
)
from copublish.party.network.forwarding import carry
from copublish.party.network.proxy import DIRECT, WayOut
from copublish.party.network.sockets import SIGN_OF_LIFE_SECONDS

Role = Literal["wait", "call"]


def place_of(agreement: Agreement, *, caller: str, callee: str) -> str:
    """Where one party waits for another one at a relay: a hash that tells nothing about either."""
    message = json.dumps([RELAY_GREETING.topic, RELAY_PROTOCOL, caller, callee]).encode()
    return hmac.new(bytes.fromhex(agreement.hash), message, hashlib.sha256).hexdigest()


def enter_relay(agreement: Agreement, role: Role, *, caller: str, callee: str, way_out: WayOut = DIRECT) -> Channel:
    """Connect to the agreed relay and say what for.

    Raises:
        UnreachableError: If nobody answers there.
        RefusedError: If what answers is no relay, or a proxy refuses.
    """
    name, (host, port) = f"the relay {agreement.network.relay}", agreement.network.relay_address
    sock = way_out.connect(host, port, name)
    try:
        channel = outer_channel(sock, host)
        place = place_of(agreement, caller=caller, callee=callee)
        channel.send_word(RELAY_GREETING, {"protocol": RELAY_PROTOCOL, "role": role, "place": place})
    except (ChannelClosedError, OSError) as exc:
        sock.close()
        raise UnreachableError(f"the connection was closed by {name}") from exc
    except RefusedError as exc:
        sock.close()
        raise UnprovenPeerError(f"What answers as {name} {exc}. Nothing was sent.") from exc
    except MeetingError as exc:
        sock.close()
        raise SilentError(name) from exc
    return channel


def wait_to_be_called(channel: Channel) -> socket.socket:
    """Wait at a relay until another party calls; return a socket that leads to it.

    Raises:
        MeetingError: If the relay ends it, or is silent for too long.
    """
    while True:
        answer, content = channel.receive_word(
            JOINED, ALIVE, REFUSED, sender="The relay", seconds=3 * SIGN_OF_LIFE_SECONDS
        )
        if answer is JOINED:
            return _leads_to(channel)
        if answer is REFUSED:
            raise UnreachableError(f"the relay says: {plain_text(content)}")
        channel.send_word(ALIVE)


def call_at_relay(agreement: Agreement, caller: str, callee: str, way_out: WayOut) -> socket.socket:
    """Call a party that waits at the relay; return a socket that leads to it.

    Raises:
        UnreachableError: If the relay is not reached, or the other party does not wait there.
        RefusedError: If what answers is no relay, or a proxy refuses.
    """
    channel = enter_relay(agreement, "call", caller=caller, callee=callee, way_out=way_out)
    name = f"the relay {agreement.network.relay}"
    try:
        answer, content = channel.receive_word(
            JOINED, REFUSED, sender=f"What answers as {name}", seconds=2 * HANDSHAKE_SECONDS
        )
    except ChannelClosedError as exc:
        channel.close()
        raise UnreachableError(f"the connection was closed by {name}") from exc
    except WrongWordError as exc:
        channel.close()
        raise RefusedError(str(exc)) from exc
    except MeetingError as exc:
        channel.close()
        raise SilentError(name) from exc
    if answer is JOINED:
        return _leads_to(channel)
    channel.close()
    if content == NOBODY_WAITS:
        raise SilentError(f"'{callee}', which does not wait at {name}")
    raise UnreachableError(f"{name} says: {plain_text(content)}")


def _leads_to(channel: Channel) -> socket.socket:
    """A plain socket whose bytes go over the channel: the parties' own TLS runs on it as on any other."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=deque, args=(carry(channel, theirs), 0), daemon=True).start()
    return ours
