"""Who a party is on the network: a key that never leaves its machine and a certificate that others pin.

The certificate is self-signed unless an authority issued it. What counts is its fingerprint in the agreement, so no
authority has to be shared; one can be used (`authority` in the agreement).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from copublish.errors import MeetingError, PassphraseError, plain_text
from copublish.files.home import identities_folder, make_private_folder
from copublish.release.evidence.signing import (
    CLOCK_TOLERANCE,
    Chain,
    PrivateKey,
    certificate_problem,
    common_name,
    expiry_problem,
    fingerprint,
    pem_of,
    sign_with,
)

__all__ = [
    "CLOCK_TOLERANCE",
    "Identity",
    "Passphrase",
    "certificate_problem",
    "certificates_in",
    "common_name",
    "expiry_problem",
    "fingerprint",
    "identity_folder",
    "list_identities",
    "load_identity",
    "make_identity",
    "new_identity",
    "self_signed",
]

USUAL_DAYS = 825
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A common name in a certificate has at most 64 characters (RFC 5280, upper bounds)."""

KEY_FILE, CERTIFICATE_FILE = "key.pem", "certificate.pem"

Passphrase = Callable[[str], str]
"""Asked for the passphrase of what it is told, and only if there is one."""


@dataclass(frozen=True)
class Identity:
    """A party's key and certificate; a `Signer`.

    Attributes:
        name: The common name in the certificate.
        key_file: The private key.
        chain: The party's certificate first, then those of the authorities that issued it, if any.
        key: The private key itself, where it was read; it is never shown.
    """

    name: str
    key_file: Path
    chain: Chain
    key: PrivateKey | None = field(default=None, repr=False, compare=False)

    @property
    def certificate(self) -> x509.Certificate:
        """The party's own certificate."""
        return self.chain[0]

    @property
    def folder(self) -> Path:
        """Where both are kept."""
        return self.key_file.parent

    @property
    def fingerprint(self) -> str:
        """What others put into the agreement."""
        return fingerprint(self.certificate)

    def sign(self, message: bytes) -> str:
        """A signature with the key."""
        return sign_with(_read_key(self.key_file, None) if self.key is None else self.key, message)


def identity_folder(name: str) -> Path:
    """Where the identity of a party is kept."""
    return identities_folder() / name


def list_identities() -> list[str]:
    """Names of the identities in your copublish folder. No key is read."""
    return sorted(path.parent.name for path in identities_folder().glob(f"*/{CERTIFICATE_FILE}"))


def own_fingerprint(name: str) -> str | None:
    """The fingerprint of an identity in your copublish folder, for the agreement. No key is read; none if it is new."""
    try:
        content = (identity_folder(name) / CERTIFICATE_FILE).read_bytes()
        return fingerprint(x509.load_pem_x509_certificates(content)[0])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, IndexError):
        raise MeetingError(f"The certificate in '{identity_folder(name)}' cannot be read.") from None


def make_identity(name: str, *, passphrase: str | None = None) -> str:
    """Make a key and a certificate in your copublish folder; never replaces one that is there.

    The draft of a party.toml lies beside them.

    Args:
        name: The party's name in agreements.
        passphrase: Encrypts the key's file, if given.

    Returns:
        The fingerprint that the others put into the agreement.

    Raises:
        MeetingError: If there is an identity already, the name cannot be one, or the folder cannot be written.
    """
    if NAME_PATTERN.fullmatch(name) is None:
        raise MeetingError(
            f"A party's name has up to 64 letters, digits, '.', '_' and '-' and nothing else, got "
            f"'{plain_text(name, 80)}'."
        )
    from copublish.party.party_file import draft_party_file
    from copublish.party.request import RunRequest

    made = new_identity(name, identity_folder(name), days=USUAL_DAYS, passphrase=passphrase or None)
    draft_party_file(RunRequest, made.folder, name)
    return made.fingerprint


def new_identity(name: str, folder: Path, *, days: int, passphrase: str | None = None) -> Identity:
    """Make a key and a self-signed certificate; never replaces a key that is there.

    Args:
        name: The party's name in agreements.
        folder: Where to put both.
        days: How long the certificate is valid.
        passphrase: Encrypts the key's file, if given.

    Raises:
        MeetingError: If there is an identity already, or the folder cannot be written.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = self_signed(name, key, days=days)
    encryption: serialization.KeySerializationEncryption = (
        serialization.NoEncryption()
        if passphrase is None
        else serialization.BestAvailableEncryption(passphrase.encode())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    try:
        make_private_folder(folder)
        # The key file is made anew and for this user alone; an older one is never overwritten.
        with os.fdopen(os.open(folder / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
        (folder / CERTIFICATE_FILE).write_text(pem_of(certificate))
    except FileExistsError:
        raise MeetingError(
            f"'{folder}' holds an identity already. Others may have its fingerprint in an agreement, so it is never "
            "replaced. Move it away, or choose another --name."
        ) from None
    except OSError as exc:
        raise MeetingError(f"The identity cannot be written to '{folder}': {exc.strerror}.") from exc
    return Identity(name, folder / KEY_FILE, (certificate,), key)


def self_signed(name: str, key: ec.EllipticCurvePrivateKey, *, days: int) -> x509.Certificate:
    """A certificate by the key itself."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_TOLERANCE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .sign(key, hashes.SHA256())
    )


def load_identity(folder: Path, passphrase: Passphrase | None = None) -> Identity:
    """Read an identity and check that it can be used.

    Args:
        folder: Where key and certificate are.
        passphrase: Asked if the key has one.

    Raises:
        MeetingError: If it is not there, others can read its key, key and certificate do not belong together, or
            the certificate has expired.
        PassphraseError: If the key has a passphrase, and it is not known or wrong.
    """
    key_file, certificate_file = folder / KEY_FILE, folder / CERTIFICATE_FILE
    refuse_shared_folder(folder)
    try:
        if key_file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise MeetingError(f"Others can read the key '{key_file}'. Take that right away: chmod 600 {key_file}")
        chain = tuple(x509.load_pem_x509_certificates(certificate_file.read_bytes()))
        key = _read_key(key_file, passphrase)
        belongs = key.public_key() == chain[0].public_key()
    except FileNotFoundError as exc:
        hint = "Make one: copublish identity new --name PARTY --host HOST:PORT"
        raise MeetingError(
            f"There is no identity in '{folder}' ({Path(exc.filename).name} is missing). {hint}"
        ) from exc
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
        raise MeetingError(f"The identity in '{folder}' cannot be read: key or certificate is damaged.") from None
    if not belongs:
        raise MeetingError(f"In '{folder}' the key does not belong to the certificate.")
    _refuse_expired(folder, chain)
    return Identity(common_name(chain[0]), key_file, chain, key)


def refuse_shared_folder(folder: Path) -> None:
    """Raise if others can put files into a folder with a key: another key, or another party's settings.

    Raises:
        MeetingError: Naming the folder, and what to do.
    """
    try:
        mode = folder.stat().st_mode
    except OSError:
        return  # whoever reads a file in it says what is wrong
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise MeetingError(f"Others can change what is in '{folder}'. Take that right away: chmod go-w {folder}")


def certificates_in(folder: Path) -> Chain:
    """The certificates of an identity or a signer, which are public. No key is read.

    Raises:
        MeetingError: If they cannot be read, or the certificate has expired.
    """
    refuse_shared_folder(folder)
    try:
        chain = tuple(x509.load_pem_x509_certificates((folder / CERTIFICATE_FILE).read_bytes()))
    except (OSError, ValueError, x509.InvalidVersion):
        raise MeetingError(f"The certificate in '{folder}' cannot be read.") from None
    _refuse_expired(folder, chain)
    return chain


def _refuse_expired(folder: Path, chain: Chain) -> None:
    if problem := expiry_problem(chain[0]):
        raise MeetingError(f"Your certificate in '{folder}' {problem}. Make a new identity and agree on it.")


def _read_key(key_file: Path, passphrase: Passphrase | None) -> PrivateKey:
    """The key in a file, decrypted if it has a passphrase."""
    content = key_file.read_bytes()
    if b"ENCRYPTED" not in content:
        return cast(PrivateKey, serialization.load_pem_private_key(content, password=None))
    if passphrase is None:
        raise PassphraseError(f"The key '{key_file}' has a passphrase, and nobody was asked for it.")
    said = passphrase(f"the key '{key_file}'")
    try:
        return cast(PrivateKey, serialization.load_pem_private_key(content, password=said.encode()))
    except ValueError:
        raise PassphraseError(f"The passphrase is not that of the key '{key_file}', or the file is damaged.") from None
