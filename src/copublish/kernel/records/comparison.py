"""The step before people are compared: the ledger is asked and written, and each party commits to its list.

A commitment has the same value exactly for the same list of identifiers:

    list = HMAC-SHA256(key, "copublish list" 0 || for each identifier in sorted order: length, UTF-8 bytes)
    told = HMAC-SHA256(key, "copublish told" 0 || agreement hash || list)

The key is random, one for each data set, and stays in the party's ledger.

Nothing here ends a run because of what a list holds. If a party lists other people than before, its own person sees
it and, where parties know each other's people anyway, the others do.
"""

from __future__ import annotations

import hmac

import numpy as np

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.table import LISTS, NO_LIST
from copublish.errors import FragmentError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.identifiers import Identifiers
from copublish.kernel.secrets.engine import Engine

LENGTH_BYTES = 8

DIGEST_BYTES = 16
"""Of a keyed digest: two of 10^8 people have the same with a chance of 10^-22."""


def commitment_to(identifiers: Identifiers | None, key: bytes) -> str:
    """Keyed digest of a list, whatever its order: for the eyes of its owner.

    Privacy:
        Reveals: without the key nothing but whether two lists under it are the same, as long as HMAC-SHA256 is a
            pseudo-random function.
    """
    digest = hmac.new(key, b"copublish list\0", "sha256")
    for batch in identifiers.in_order() if identifiers else ():
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


def compares_identifiers(agreement: Agreement, party: str) -> bool:
    """Whether a party's identifiers are about to be compared with others'."""
    return party in agreement.owners and agreement.compares_people


def refuse_long_list(agreement: Agreement, fragment: Fragment) -> None:
    """Raise if a party is about to join records by a longer list of people than the public bound.

    Raises:
        FragmentError: Naming the bound, and not the length.

    Privacy:
        Reveals: to the other parties, that a list is longer, where they learn lengths of lists anyway or a helper does.
            Where every party has other people, nothing: longer lists are cut and shorter ones padded.
    """
    identifiers = fragment.identifiers
    is_bounded = agreement.joins_by_identifier and not agreement.hides_membership
    if is_bounded and identifiers is not None and len(identifiers) > agreement.most_listed:
        raise FragmentError(
            fragment.party,
            [
                f"Column '{agreement.records.identifier_name}': it lists more than {agreement.most_listed:,} people, "
                "twice records.expected, which is the most that are compared. Nobody was. List only people whom the "
                "release may be about, or agree on a larger records.expected."
            ],
        )


def within_agreed_length(agreement: Agreement, fragment: Fragment, ledger: Ledger) -> Fragment:
    """The people with whom a party takes part, where lists are padded to a public length.

    Of a longer list these are the people of smallest digest under the key of the data set's lists: the same ones for
    the same list, and nobody chooses who.

    Privacy:
        Reveals: nothing. Somebody who is added to a list that is too long takes another one's place, so adding a person
            then costs what exchanging two costs.
    """
    length = (agreement.records.at_most or {}).get(fragment.party)
    if length is None or fragment.identifiers is None or len(fragment.identifiers) <= length:
        return fragment
    key = ledger.key_of_lists(agreement.dataset)
    digests = b"".join(
        hmac.digest(key, b"copublish kept\0" + identifier.encode(), "sha256")[:DIGEST_BYTES]
        for identifier in fragment.identifiers
    )
    smallest = np.argsort(np.frombuffer(digests, dtype=f"S{DIGEST_BYTES}"), kind="stable")[:length]
    return fragment.take(np.sort(smallest).astype(np.int64))


def own_commitment(agreement: Agreement, fragment: Fragment, ledger: Ledger) -> str | None:
    """The commitment to the list that a party is about to compare; none if it compares none.

    Privacy:
        Reveals: nothing, if it is made before the parties have begun: it takes the longer, the more people are listed.
    """
    if not compares_identifiers(agreement, fragment.party):
        return None
    return commitment_to(fragment.identifiers, ledger.key_of_lists(agreement.dataset))


def record_comparison(
    agreement: Agreement, fragment: Fragment, engine: Engine, ledger: Ledger, commitment: str | None
) -> list[str]:
    """Write into the ledger that identifiers are about to be compared, before anything about them is sent.

    Args:
        agreement: What all parties agreed on.
        fragment: This party's rows.
        engine: Its connections to the others.
        ledger: Its ledger.
        commitment: What `own_commitment` made of its list.

    Returns:
        Sentences for this party's person: whose list is another one than before.

    Raises:
        FragmentError: If this party lists more people than may be compared. Nothing is written then.
        BudgetExceededError: If the data set was compared as often as its owner allows.
        ProgramMismatchError: If a party told something else than a commitment.

    Privacy:
        Reveals: where records are joined by an identifier, to the other parties, whether this party lists the same
            people as in the last run of this agreement. They learn who is in the table, too. Where every party has
            other people, nothing: there even their number is protected, and one person more would show.
    """
    party, number, told = fragment.party, None, NO_LIST
    refuse_long_list(agreement, fragment)
    if commitment is not None:
        number = ledger.record_alignment(
            dataset=agreement.dataset,
            release=agreement.name,
            agreement_hash=agreement.hash,
            kind="common records" if agreement.joins_by_identifier else "people at two parties",
            compared_by=agreement.records.compared_in_words(),
            peers=[peer for peer in _who_compares(agreement) if peer != party],
            length=len(fragment.identifiers or ()),
            commitment=commitment,
        )
        told = told_to_peers(commitment, agreement.hash, ledger.key_of_lists(agreement.dataset))
    tells_peers = agreement.joins_by_identifier and not agreement.hides_membership
    of_peers = _exchange_commitments(agreement, told, engine) if tells_peers else {}
    if number is None:
        return []
    return ledger.record_peer_lists(number, of_peers).changes()


def _who_compares(agreement: Agreement) -> tuple[str, ...]:
    """The owners, and who compares pseudonyms for them if somebody does."""
    return tuple(party for party in agreement.parties if party in agreement.owners or party == agreement.helper)


def _exchange_commitments(agreement: Agreement, own: str, engine: Engine) -> dict[str, str]:
    """Tell every party this one's commitment; return those of the other owners."""
    told = dict(zip(agreement.parties, engine.exchange(LISTS, own), strict=True))
    for party, said in told.items():
        if (said == NO_LIST) == (party in agreement.owners):
            raise LISTS.wrong(party)
    return {party: said for party, said in told.items() if party in agreement.owners and party != engine.party}
