"""What a link is like: round trip and bandwidth between two parties, measured over the connection a run would use.

Nothing of anybody's data is sent: what goes back and forth is zeros, and no more of them than fits a short test.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from copublish.agreement.protocol.table import ACCEPTED, MAX_MEASURED_BYTES, MEASURE, PROBLEM
from copublish.errors import MeetingError, plain_text
from copublish.party.network.channel import Channel, RefusedError, UnreachableError
from copublish.party.network.proxy import OwnProxyError

MAX_REQUESTS = 32
SECONDS = 30.0
ECHOES = 5


@dataclass(frozen=True)
class MeasuredLink:
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
            _, asked = channel.receive_word(MEASURE, sender="The other side", seconds=SECONDS)
            if asked["what"] == "send":
                channel.receive_bytes(asked["bytes"], seconds=SECONDS)
            elif asked["what"] == "fetch":
                channel.send_bytes(bytes(asked["bytes"]), seconds=SECONDS)
                continue
            problem = _problem_with(dial_back) if asked["what"] == "dial back" else None
            if problem is None:
                channel.send_word(ACCEPTED)
            else:
                channel.send_word(PROBLEM, problem)
    channel.close()


def _problem_with(dial_back: Callable[[], None]) -> str | None:
    """What is told about dialing back: of what is in the way on our own side, no more than that it is there."""
    try:
        dial_back()
    except OwnProxyError:
        return "a proxy of its own is in the way"
    except (RefusedError, UnreachableError) as exc:
        return plain_text(exc, 2000)  # names what the agreement names
    except MeetingError:
        return "something on its own side is in the way"  # its key, say: the message names a path
    return None


def measure(channel: Channel, n_bytes: int = MAX_MEASURED_BYTES) -> MeasuredLink:
    """Measure the link to another party.

    Raises:
        MeetingError: If it ends meanwhile or takes too long.
    """
    trips = []
    for _ in range(ECHOES):
        start = time.monotonic()
        channel.send_word(MEASURE, {"what": "echo", "bytes": 0})
        _answer(channel)
        trips.append(time.monotonic() - start)
    trip = min(trips)
    start = time.monotonic()
    channel.send_word(MEASURE, {"what": "send", "bytes": n_bytes})
    channel.send_bytes(bytes(n_bytes), seconds=SECONDS)
    _answer(channel)
    there = time.monotonic() - start - trip
    start = time.monotonic()
    channel.send_word(MEASURE, {"what": "fetch", "bytes": n_bytes})
    channel.receive_bytes(n_bytes, seconds=SECONDS)
    back = time.monotonic() - start - trip
    least = 1e-4  # on one machine a transfer takes next to nothing
    return MeasuredLink(trip, (n_bytes / max(there, least), n_bytes / max(back, least)))


def ask_to_dial_back(channel: Channel) -> str | None:
    """Have another party dial us where the agreement says we are; return its problem, or nothing.

    Raises:
        MeetingError: If it does not answer.
    """
    channel.send_word(MEASURE, {"what": "dial back", "bytes": 0})
    return _answer(channel)


def _answer(channel: Channel) -> str | None:
    """The other party's problem with what was asked, if it has one."""
    word, content = channel.receive_word(ACCEPTED, PROBLEM, sender="The other side", seconds=SECONDS)
    return plain_text(content) if word is PROBLEM else None
