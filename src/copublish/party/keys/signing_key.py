"""Signing keys: an identity whose key is in a file, or one whose key never leaves a token; how one is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cryptography import x509

from copublish.agreement.model import Agreement
from copublish.errors import ApprovalError, MeetingError, PassphraseError
from copublish.party.evidence_exchange import signer_problem
from copublish.party.keys.identity import Passphrase, certificates_in, load_identity
from copublish.party.request import RunRequest
from copublish.release.evidence.signing import Chain, Signer

TOKEN_FILE = "token.json"  # noqa: S105  # a file name

Secret = Literal["passphrase", "pin"]
"""What opens a key: the passphrase of a file, or the PIN of a token."""


class AnyIdentity(Signer, Protocol):
    """A signer with a name and a folder of its own."""

    @property
    def name(self) -> str:
        """The name in the certificate."""
        ...

    @property
    def folder(self) -> Path:
        """Where its certificate is."""
        ...

    @property
    def certificate(self) -> x509.Certificate:
        """Its certificate."""
        ...


def load_signer(folder: Path, *, passphrase: Passphrase | None = None, pin: Passphrase | None = None) -> AnyIdentity:
    """The signer in a folder.

    Args:
        folder: Where its certificate is.
        passphrase: Asked if its key is in a file that has one.
        pin: Asked if its key is on a token.

    Raises:
        MeetingError: If there is none, or it cannot be used.
    """
    if (folder / TOKEN_FILE).exists():
        from copublish.party.keys.token import load_token_signer

        return load_token_signer(folder, pin)
    return load_identity(folder, passphrase)


def look_at_signer(folder: Path) -> tuple[Chain, Secret | None]:
    """The certificates of the signer in a folder, and what its key will ask for; nobody is asked.

    Raises:
        MeetingError: If there is none, or it cannot be used.
    """
    try:
        return load_signer(folder).chain, None
    except PassphraseError:
        return certificates_in(folder), "pin" if (folder / TOKEN_FILE).exists() else "passphrase"


def look_at_identity(folder: Path) -> tuple[Chain, Secret | None]:
    """The certificates of the identity in a folder, and what its key will ask for; nobody is asked.

    Raises:
        MeetingError: If there is none, or it cannot be used.
    """
    try:
        return load_identity(folder).chain, None
    except PassphraseError:
        return certificates_in(folder), "passphrase"


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
