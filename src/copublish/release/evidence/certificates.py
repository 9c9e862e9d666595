"""Certificates by which parties know each other, on the network and under what they sign."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

CLOCK_TOLERANCE = timedelta(days=1)
"""Clocks of two organizations may differ by this much before a certificate counts as expired."""

MAX_CHAIN, MAX_PEM_BYTES = 8, 16 * 1024
"""How many certificates a party may show, and how long each may be."""

Chain = tuple[x509.Certificate, ...]
"""A party's certificate first, then those of the authorities that issued it, if any."""


def fingerprint(certificate: x509.Certificate) -> str:
    """The SHA-256 of a certificate as the agreement writes it."""
    return f"sha256:{hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()}"


def pem_of(certificate: x509.Certificate) -> str:
    """A certificate as text."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def chain_from_pem(texts: object) -> Chain:
    """Certificates from texts that somebody else wrote.

    Raises:
        ValueError: If they are not certificates, too many, or spelled otherwise than `pem_of` spells them.
    """
    if not isinstance(texts, list | tuple) or not 0 < len(texts) <= MAX_CHAIN:
        raise ValueError("there is no certificate, or there are too many")
    chain = []
    for text in texts:
        if not isinstance(text, str) or not text.isascii() or len(text) > MAX_PEM_BYTES:
            raise ValueError("it is no certificate")
        try:
            certificate = x509.load_pem_x509_certificate(text.encode())
            certificate.public_key()
        except (ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion):
            raise ValueError("it is no certificate that can be read") from None
        if pem_of(certificate) != text:
            raise ValueError("it is not spelled as certificates are")
        chain.append(certificate)
    return tuple(chain)


def expiry_problem(certificate: x509.Certificate) -> str | None:
    """Sentence that a certificate has expired, if it has by more than clocks may differ.

    When it starts to be valid is not checked: it is pinned, and a clock that runs late is no reason to fail.
    """
    end = certificate.not_valid_after_utc
    return f"expired on {end.date().isoformat()}" if datetime.now(UTC) > end + CLOCK_TOLERANCE else None


def common_name(certificate: x509.Certificate) -> str:
    """The name in a certificate, or nothing."""
    try:
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except ValueError:  # bytes that are no text
        return ""
    return str(names[0].value) if len(names) == 1 else ""


def certificate_problem(chain: Chain, party: str, *, pinned: str | None, authority: str | None) -> str | None:
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


def _issue_problem(chain: Chain, party: str, authority: str | None) -> str | None:
    issuers = [certificate for certificate in chain[1:] if fingerprint(certificate) == authority]
    if not issuers:
        return "showed a certificate without that of the authority in the agreement"
    if not is_issued_by(chain[0], issuers):
        return "showed a certificate that the authority in the agreement did not issue"
    if common_name(chain[0]) != party:
        return "showed a certificate that the authority issued for another name"
    return f"showed the certificate of an authority that {problem}" if (problem := expiry_problem(issuers[0])) else None


def is_issued_by(certificate: x509.Certificate, issuers: Sequence[x509.Certificate]) -> bool:
    """Whether the first of some authorities has issued a certificate."""
    try:
        certificate.verify_directly_issued_by(issuers[0])
    except (ValueError, TypeError, IndexError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True
