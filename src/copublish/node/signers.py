"""Who signs for a party: an identity whose key is in a file, or one whose key never leaves a token."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from cryptography import x509

from copublish.evidence.signing import Signer
from copublish.node.identity import Passphrase, load_identity

TOKEN_FILE = "token.json"  # noqa: S105  # a file name


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
        from copublish.node.token import load_token_signer

        return load_token_signer(folder, pin)
    return load_identity(folder, passphrase)
