"""Finding out who is silent: a party that waits may wait for one that waits itself."""

from __future__ import annotations

import threading
import time

from copublish.errors import MeetingError
from copublish.party.network.channel import SilentError
from copublish.party.network.port import Port

ANSWER_SECONDS = 5.0
"""How long a party that is well may take to answer at its port, on a busy machine too."""


def who_is_silent(port: Port, waited_for: str | None) -> str | None:
    """Name the party that does not even answer at its port; if all do, the one that was waited for, if it is known.

    A process that is stopped, and a machine that is gone, answer nothing. One that has ended closes its connections,
    and is no silence.
    """
    answers: dict[str, bool] = {}
    threads = [threading.Thread(target=_ask, args=(port, peer, answers), daemon=True) for peer in port.peers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + ANSWER_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    silent = [peer for peer in port.peers if not answers.get(peer, False)]
    return waited_for if waited_for in silent else next(iter(silent), waited_for)


def _ask(port: Port, peer: str, answers: dict[str, bool]) -> None:
    """Note whether a party answers, be it with a refusal."""
    try:
        port.dial(peer, "status").close()
    except SilentError:
        answers[peer] = False
    except MeetingError:
        answers[peer] = True
    else:
        answers[peer] = True
