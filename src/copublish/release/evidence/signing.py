"""Certificates of parties, and signatures under statements: one spelling of each, and nothing else.

A signature has the same length every time, whatever it signs, and so has every message that carries one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.x509.oid import NameOID

from copublish.errors import MeetingError

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


PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

MAX_SIGNATURE_DIGITS = 2048
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
_HASH = re.compile(r"[0-9a-f]{64}")
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


class Signer(Protocol):
    """Who signs for a party: a key in a file, or on a token."""

    @property
    def chain(self) -> Chain:
        """The certificate of the key first, then those of the authorities that issued it."""
        ...

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the certificate."""
        ...

    def sign(self, message: bytes) -> str:
        """A signature, as `signature_problem` checks it."""
        ...


def is_hash(told: object) -> bool:
    """Whether something is a SHA-256 in hexadecimal digits."""
    return isinstance(told, str) and _HASH.fullmatch(told) is not None


def spelled(content: object) -> str:
    """JSON in one spelling: what is hashed and signed."""
    return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def message_of(kind: str, content: object) -> bytes:
    """What is signed: the kind of statement, so that none can stand for another, and its content."""
    return f"copublish {kind}, format 1\n{spelled(content)}".encode()


def sign_with(key: object, message: bytes) -> str:
    """A signature with a private key, in hexadecimal digits.

    Raises:
        MeetingError: If the key is of a kind that cannot sign here.
    """
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return from_der(key.sign(message, ec.ECDSA(hashes.SHA256())), key.curve)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(message).hex()
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(message, _PSS, hashes.SHA256()).hex()
    raise MeetingError("Your key cannot sign. Make an identity with an elliptic-curve key: copublish identity new")


def from_der(signature: bytes, curve: ec.EllipticCurve) -> str:
    """The two numbers of an elliptic-curve signature, each as long as the curve's numbers are.

    With (r, s) the pair (r, n - s) is valid, too, and anybody can compute it. Only the smaller s is a spelling.
    """
    size, (r, s) = (curve.key_size + 7) // 8, decode_dss_signature(signature)
    return "".join(number.to_bytes(size, "big").hex() for number in (r, min(s, curve.group_order - s)))


def signature_problem(certificate: x509.Certificate, message: bytes, signature: object) -> str | None:
    """Reason why a signature is not one by the key of a certificate; nothing if it is."""
    if not isinstance(signature, str) or len(signature) > MAX_SIGNATURE_DIGITS or not _HEXADECIMAL.fullmatch(signature):
        return "is no signature"
    if len(signature) % 2:
        return "is no signature"
    key, raw = certificate.public_key(), bytes.fromhex(signature)
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            half = (key.curve.key_size + 7) // 8
            if len(raw) != 2 * half:
                return "is no signature of this kind of key"
            r, s = int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big")
            if s > key.curve.group_order // 2:
                return "is not spelled as copublish spells it"
            key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(raw, message)
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(raw, message, _PSS, hashes.SHA256())
        else:
            return "is by a kind of key that is not known here"
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return "is not by this key, or what was signed is something else"
    return None
