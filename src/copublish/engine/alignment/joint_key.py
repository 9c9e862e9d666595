"""A fresh key that all owners have and nobody else, under which they compare identifiers once."""

from __future__ import annotations

from collections.abc import Sequence

from copublish.engine.alignment.curve import Draw
from copublish.engine.alignment.pseudonyms import KEY_BYTES, joint_key
from copublish.engine.messages import Messenger
from copublish.errors import ProgramMismatchError

TOPIC = "part of the pseudonyms' key"

_DIGITS = set(b"0123456789abcdef")


def agree_on_key(messenger: Messenger, owners: Sequence[str], draw: Draw) -> bytes:
    """The XOR of a part from each owner.

    Raises:
        ProgramMismatchError: If an owner sent something else.
    """
    own = draw(KEY_BYTES).hex()
    others = [owner for owner in owners if owner != messenger.party]
    for owner in others:
        messenger.send(owner, TOPIC, own.encode())
    parts = [own]
    for owner in others:
        part = messenger.receive(owner, TOPIC)
        if len(part) != 2 * KEY_BYTES or not set(part) <= _DIGITS:
            raise ProgramMismatchError(f"Party '{owner}' sent no part of a key. Nothing was compared.")
        parts.append(part.decode())
    return joint_key(parts)
