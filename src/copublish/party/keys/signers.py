"""Who signs for a party: an identity whose key is in a file, or one whose key never leaves a token."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from cryptography import x509

from copublish.errors import PassphraseError
from copublish.party.keys.identity import Passphrase, certificates_in, load_identity
from copublish.release.evidence.certificates import Chain
from copublish.release.evidence.signing import Signer

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
