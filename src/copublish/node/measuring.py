"""What a link is like: round trip and bandwidth between two parties, measured over the connection a run would use.

Nothing of anybody's data is sent: what goes back and forth is zeros, and no more of them than fits a short test.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from copublish.errors import MeetingError, plain_text
from copublish.node.channel import Channel, RefusedError, UnreachableError
from copublish.node.proxy import OwnProxyError

MAX_BYTES = 2 * 2**20
"""Of one transfer."""

MAX_REQUESTS = 32
SECONDS = 30.0
ECHOES = 5


@dataclass(frozen=True)
class Link:
    """A measured link.

    Attributes:
        round_trip_seconds: The shortest of several.
        bytes_per_second: To the other party and from it, headers not counted; from a short transfer, so a lower bound.
    """

    round_trip_seconds: float
    bytes_per_second: tuple[float, float]


def answer_measurements(channel: Channel, dial_back: Callable[[], None]) -> None:
    """Answer what another party asks to measure a link, until it has enough.

    Args:
        channel: To the other party, which is known.
        dial_back: Connects to that party where the agreement says it is.
    """
    with contextlib.suppress(MeetingError):
        for _ in range(MAX_REQUESTS):
            asked = channel.receive_message(seconds=SECONDS)
            size = asked.get("bytes")
            size = size if isinstance(size, int) and 0 <= size <= MAX_BYTES else 0
            if asked.get("what") == "send":
                channel.receive_bytes(size, seconds=SECONDS)
            elif asked.get("what") == "fetch":
                channel.send_bytes(bytes(size), seconds=SECONDS)
                continue
            channel.send_message(_dialed_back(dial_back) if asked.get("what") == "dial back" else {"ok": True})
    channel.close()


def _dialed_back(dial_back: Callable[[], None]) -> dict[str, Any]:
    """What is told about dialing back: of what is in the way on our own side, no more than that it is there."""
    try:
        dial_back()
    except OwnProxyError:
        return {"problem": "a proxy of its own is in the way"}
    except (RefusedError, UnreachableError) as exc:
        return {"problem": str(exc)}  # names what the agreement names
    except MeetingError:
        return {"problem": "something on its own side is in the way"}  # its key, say: the message names a path
    return {"ok": True}


def measure(channel: Channel, n_bytes: int = MAX_BYTES) -> Link:
    """Measure the link to another party.

    Raises:
        MeetingError: If it ends meanwhile or takes too long.
    """
    trips = []
    for _ in range(ECHOES):
        start = time.monotonic()
        _ask(channel, "echo", 0)
        trips.append(time.monotonic() - start)
    trip = min(trips)
    start = time.monotonic()
    channel.send_message({"what": "send", "bytes": n_bytes})
    channel.send_bytes(bytes(n_bytes), seconds=SECONDS)
    channel.receive_message(seconds=SECONDS)
    there = time.monotonic() - start - trip
    start = time.monotonic()
    channel.send_message({"what": "fetch", "bytes": n_bytes})
    channel.receive_bytes(n_bytes, seconds=SECONDS)
    back = time.monotonic() - start - trip
    least = 1e-4  # on one machine a transfer takes next to nothing
    return Link(trip, (n_bytes / max(there, least), n_bytes / max(back, least)))


def ask_to_dial_back(channel: Channel) -> str | None:
    """Have another party dial us where the agreement says we are; return its problem, or nothing.

    Raises:
        MeetingError: If it does not answer.
    """
    answer = _ask(channel, "dial back", 0)
    return None if answer.get("ok") is True else plain_text(answer.get("problem", "it does not say why"))


def _ask(channel: Channel, what: str, size: int) -> dict[str, Any]:
    channel.send_message({"what": what, "bytes": size})
    return channel.receive_message(seconds=SECONDS)
