"""A fresh key that all owners have and nobody else, under which they compare identifiers once."""

from __future__ import annotations

from collections.abc import Sequence

from copublish.engines.comparing.curve import Draw
from copublish.engines.comparing.pseudonyms import KEY_BYTES, joint_key
from copublish.engines.messages import Messenger
from copublish.kernel.protocol.table import JOINT_KEY


def agree_on_key(messenger: Messenger, owners: Sequence[str], draw: Draw) -> bytes:
    """The XOR of a part from each owner.

    Raises:
        ProgramMismatchError: If an owner sent something else.
    """
    own = draw(KEY_BYTES).hex()
    others = [owner for owner in owners if owner != messenger.party]
    for owner in others:
        messenger.send(owner, JOINT_KEY, own.encode())
    return joint_key([own, *(messenger.receive(owner, JOINT_KEY).decode() for owner in others)])
