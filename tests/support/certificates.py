"""Certificates that the package itself does not make: expired ones, and those of an authority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def name_of(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def build(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
    start: datetime,
    days: float,
    *,
    is_authority: bool = False,
) -> x509.Certificate:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )


def write_identity(folder: Path, key: ec.EllipticCurvePrivateKey, *chain: x509.Certificate) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    (folder / "key.pem").chmod(0o600)
    pem = b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in chain)
    (folder / "certificate.pem").write_bytes(pem)


def self_signed(
    name: str, folder: Path, *, ended_days_ago: float = 0, start: datetime | None = None, days: float = 100
) -> x509.Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    start = start or datetime.now(UTC) - timedelta(days=days + ended_days_ago)
    certificate = build(name_of(name), name_of(name), key.public_key(), key, start, days)
    write_identity(folder, key, certificate)
    return certificate


class Authority:
    """An authority that issues certificates."""

    def __init__(self, name: str) -> None:
        self.name, self.key = name_of(name), ec.generate_private_key(ec.SECP256R1())
        start = datetime.now(UTC) - timedelta(days=2)
        self.certificate = build(self.name, self.name, self.key.public_key(), self.key, start, 100, is_authority=True)

    def sign(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.Certificate:
        return build(subject, self.name, public_key, self.key, datetime.now(UTC) - timedelta(days=1), 30)

    def issue(self, name: str, folder: Path | None = None) -> x509.Certificate:
        """Issue a certificate; with a folder, leave it there as an identity, the authority's own certificate below."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.sign(name_of(name), key.public_key())
        if folder is not None:
            write_identity(folder, key, certificate, self.certificate)
        return certificate
