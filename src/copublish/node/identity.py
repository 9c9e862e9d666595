"""Who a party is on the network: a key that never leaves its machine and a certificate that others pin.

The certificate is self-signed unless an authority issued it. What counts is its fingerprint in the agreement, so no
authority has to be shared; one can be used (`authority` in the agreement).
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from copublish.errors import MeetingError
from copublish.files.home import home_folder, make_private_folder

KEY_FILE, CERTIFICATE_FILE = "key.pem", "certificate.pem"

CLOCK_TOLERANCE = timedelta(days=1)
"""Clocks of two organizations may differ by this much before a certificate counts as expired."""


@dataclass(frozen=True)
class Identity:
    """A party's key and certificate.

    Attributes:
        name: The common name in the certificate.
        key_file: The private key; only its path is kept here.
        chain: The party's certificate first, then those of the authorities that issued it, if any.
    """

    name: str
    key_file: Path
    chain: tuple[x509.Certificate, ...]

    @property
    def certificate(self) -> x509.Certificate:
        """The party's own certificate."""
        return self.chain[0]

    @property
    def fingerprint(self) -> str:
        """What others put into the agreement."""
        return fingerprint(self.certificate)


def fingerprint(certificate: x509.Certificate) -> str:
    """The SHA-256 of a certificate as the agreement writes it."""
    return f"sha256:{hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()}"


def identity_folder(name: str) -> Path:
    """Where the identity of a party is kept."""
    return home_folder() / "identities" / name


def new_identity(name: str, folder: Path, *, days: int) -> Identity:
    """Make a key and a self-signed certificate; never replaces a key that is there.

    Raises:
        MeetingError: If there is an identity already, or the folder cannot be written.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
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
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        make_private_folder(folder)
        # The key file is made anew and for this user alone; an older one is never overwritten.
        with os.fdopen(os.open(folder / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(private)
        (folder / CERTIFICATE_FILE).write_bytes(_pem(certificate))
    except FileExistsError:
        raise MeetingError(
            f"'{folder}' holds an identity already. Others may have its fingerprint in an agreement, so it is never "
            "replaced. Move it away, or choose another --name."
        ) from None
    except OSError as exc:
        raise MeetingError(f"The identity cannot be written to '{folder}': {exc.strerror}.") from exc
    return Identity(name, folder / KEY_FILE, (certificate,))


def load_identity(folder: Path) -> Identity:
    """Read an identity and check that it can be used.

    Raises:
        MeetingError: If it is not there, others can read its key, key and certificate do not belong together, or
            the certificate has expired.
    """
    key_file, certificate_file = folder / KEY_FILE, folder / CERTIFICATE_FILE
    try:
        if key_file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise MeetingError(f"Others can read the key '{key_file}'. Take that right away: chmod 600 {key_file}")
        chain = tuple(x509.load_pem_x509_certificates(certificate_file.read_bytes()))
        key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
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
    if problem := expiry_problem(chain[0]):
        raise MeetingError(f"Your certificate in '{folder}' {problem}. Make a new identity and agree on it.")
    return Identity(common_name(chain[0]), key_file, chain)


def expiry_problem(certificate: x509.Certificate) -> str | None:
    """Sentence that a certificate has expired, if it has by more than clocks may differ.

    When it starts to be valid is not checked: it is pinned, and a clock that runs late is no reason to fail.
    """
    end = certificate.not_valid_after_utc
    return f"expired on {end.date().isoformat()}" if datetime.now(UTC) > end + CLOCK_TOLERANCE else None


def common_name(certificate: x509.Certificate) -> str:
    """The name in a certificate, or nothing."""
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if len(names) == 1 else ""


def certificate_problem(
    chain: tuple[x509.Certificate, ...], party: str, *, pinned: str | None, authority: str | None
) -> str | None:
    """Reason why a certificate is not the one that the agreement expects of a party; nothing if it is.

    Args:
        chain: What the peer showed; it has proved that it holds the key of the first one.
        party: Who it should be.
        pinned: Fingerprint of the party's own certificate, or
        authority: fingerprint of the certificate of who issues it; it then has to name the party.
    """
    if not chain:
        return "showed no certificate"
    own = chain[0]
    if pinned is not None and fingerprint(own) != pinned:
        return f"showed another certificate ({fingerprint(own)[:23]}…) than the one in the agreement"
    if pinned is None and (problem := _issue_problem(chain, party, authority)):
        return problem
    if problem := expiry_problem(own):
        return f"showed a certificate that {problem}"
    return None


def _issue_problem(chain: tuple[x509.Certificate, ...], party: str, authority: str | None) -> str | None:
    issuers = [certificate for certificate in chain[1:] if fingerprint(certificate) == authority]
    if not issuers:
        return "showed a certificate without that of the authority in the agreement"
    try:
        chain[0].verify_directly_issued_by(issuers[0])
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return "showed a certificate that the authority in the agreement did not issue"
    if common_name(chain[0]) != party:
        return "showed a certificate that the authority issued for another name"
    return f"showed the certificate of an authority that {problem}" if (problem := expiry_problem(issuers[0])) else None


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
