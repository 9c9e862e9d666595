"""Workers of several parties on one machine begin to listen at the same moment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

UNIX = "unix:"
ABOUT_TO_LISTEN = ".soon"
BESIDE_SECONDS = 2.0
"""How long somebody who comes late is waited for. SPU then goes on by itself."""


def wait_for_those_beside(addresses: Sequence[str], rank: int) -> None:
    """Wait until all others listen, or are about to.

    SPU lets nobody through for three seconds who called before the other listened. Over a network the party itself
    listens at the other's address from the beginning, so nobody waits.
    """
    if not all(address.startswith(UNIX) for address in addresses):
        return
    listens = [Path(address.removeprefix(UNIX)) for address in addresses]
    soon = [path.with_name(path.name + ABOUT_TO_LISTEN) for path in listens]
    try:
        soon[rank].touch()
    except OSError:  # then nobody can listen there either, which SPU says
        return
    others, latest = [number for number in range(len(addresses)) if number != rank], time.monotonic() + BESIDE_SECONDS
    while not all(listens[other].exists() or soon[other].exists() for other in others):
        if time.monotonic() > latest:
            return
        time.sleep(0.0005)  # whoever is late by more than a moment calls too late
