"""Which key signs for a party on this machine, and what opens it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from copublish.agreement.model import Agreement
from copublish.errors import ApprovalError, MeetingError
from copublish.party.evidence_exchange import signer_problem
from copublish.party.keys.identity import Passphrase, load_identity
from copublish.party.keys.signers import Secret, load_signer, look_at_identity, look_at_signer
from copublish.party.request import RunRequest
from copublish.release.evidence.signing import Signer


@dataclass(frozen=True, kw_only=True)
class SigningKey:
    """The key that signs for a party on this machine.

    Attributes:
        is_separate: Whether it is another one than the key that the others know the party by.
        asks_for: What opens it: the passphrase of a file, or the PIN of a token; none if nothing has to.
        problem: Why it cannot sign, in a sentence; none if it can.
    """

    is_separate: bool
    asks_for: Secret | None = None
    problem: str | None = None


def signing_key(agreement: Agreement, party: str) -> SigningKey:
    """The key that would sign for a party. Certificates are looked at; no key is opened and nobody is asked.

    Raises:
        ApprovalError: If the agreement has no such party.
    """
    refuse_other_party(agreement, party)
    is_separate = agreement.parties[party].signer is not None
    look = look_at_signer if is_separate else look_at_identity
    try:
        chain, asks_for = look(signer_folder(agreement, party))
    except MeetingError as exc:
        return SigningKey(is_separate=is_separate, problem=str(exc))
    unfit = signer_problem(agreement, party, chain)
    problem = None if unfit is None else f"The key does not fit the agreement: it {unfit}."
    return SigningKey(is_separate=is_separate, asks_for=asks_for, problem=problem)


def own_signer(
    agreement: Agreement, party: str, *, passphrase: Passphrase | None = None, pin: Passphrase | None = None
) -> Signer:
    """Who signs for a party: its identity on this machine, or the one that the agreement names for it."""
    folder = signer_folder(agreement, party)
    if agreement.parties[party].signer is not None:
        return load_signer(folder, passphrase=passphrase, pin=pin)
    return load_identity(folder, passphrase)


def signer_folder(agreement: Agreement, party: str) -> Path:
    """Folder of the identity that signs for a party: its own, or the one for what the agreement names as its signer."""
    return RunRequest(agreement=agreement, party=party).resolve().signing_folder


def refuse_other_party(agreement: Agreement, party: str) -> None:
    """Raise if the agreement has no such party."""
    if party not in agreement.parties:
        raise ApprovalError(f"'{party}' is no party of this agreement: {', '.join(agreement.parties)}.")
