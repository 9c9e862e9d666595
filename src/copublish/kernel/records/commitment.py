"""Commitments to the list of people that a party compares with others': the same value exactly for the same list.

    list = HMAC-SHA256(key, "copublish list" 0 || for each identifier in sorted order: length, UTF-8 bytes)
    told = HMAC-SHA256(key, "copublish told" 0 || agreement hash || list)

The key is random, one for each data set, and stays in the party's ledger.
"""

from __future__ import annotations

import hmac

from copublish.kernel.records.identifiers import Identifiers

LENGTH_BYTES = 8


def commitment_to(identifiers: Identifiers, key: bytes) -> str:
    """Keyed digest of a list, whatever its order: for the eyes of its owner.

    Privacy:
        Reveals: without the key nothing but whether two lists under it are the same, as long as HMAC-SHA256 is a
            pseudo-random function.
    """
    digest = hmac.new(key, b"copublish list\0", "sha256")
    for batch in identifiers.in_order():
        texts = [identifier.encode() for identifier in batch]
        digest.update(b"".join(len(text).to_bytes(LENGTH_BYTES, "big") + text for text in texts))
    return digest.hexdigest()


def told_to_peers(commitment: str, agreement_hash: str, key: bytes) -> str:
    """What the other parties of an agreement are told about a list.

    Privacy:
        Reveals: to them, whether a list is the same as in another run of this agreement. Parties of different
            agreements cannot compare what they were told: to each of them it is a random value of its own.
    """
    return hmac.new(key, b"copublish told\0" + f"{agreement_hash}{commitment}".encode(), "sha256").hexdigest()
