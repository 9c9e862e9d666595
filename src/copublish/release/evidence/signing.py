"""Signatures under statements: one spelling of what is signed, one spelling of a signature, and nothing else.

A signature has the same length every time, whatever it signs, and so has every message that carries one.
"""

from __future__ import annotations

import json
import re
from typing import Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from copublish.errors import MeetingError
from copublish.release.evidence.certificates import Chain

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
