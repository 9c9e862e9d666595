"""Keys on a PKCS#11 token, which sign releases, receipts and approvals and never leave it.

The network needs a key in a file all the same: OpenSSL, as the libraries here bring it, has no provider for tokens, so
TLS cannot use them (decision 38). An agreement names the token's certificate under `signer`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_der_public_key
from pydantic.dataclasses import dataclass as typed

from copublish.errors import MeetingError, PassphraseError, plain_text
from copublish.files.home import make_private_folder
from copublish.files.regular import MIB, read_regular
from copublish.party.keys.identity import CERTIFICATE_FILE, Passphrase, refuse_shared_folder, self_signed
from copublish.party.keys.signing_key import TOKEN_FILE
from copublish.release.evidence.signing import (
    Chain,
    common_name,
    expiry_problem,
    fingerprint,
    from_der,
    pem_of,
    signature_problem,
)
from copublish.types import TypedJson

NEEDS_EXTRA = "Keys on tokens need the extra 'pkcs11': pip install 'copublish[pkcs11]'"

HALF_BYTES = 32
"""Of a signature on the curve P-256: a token returns two numbers of this length."""


@typed(frozen=True, kw_only=True)
class TokenPlace(TypedJson):
    """Where a key is.

    Attributes:
        module: The library of the token's maker.
        token: The token's label.
        key: The label of the key on it.
    """

    module: str
    token: str
    key: str


@dataclass(frozen=True)
class TokenSigner:
    """A key on a token with its certificate; a `Signer`.

    Attributes:
        name: The common name in the certificate.
        folder: Where the certificate is, and where it says which key it is of.
        chain: The certificate first, then those of the authorities that issued it, if any.
        place: Which key.
        pin: Opens the token.
    """

    name: str
    folder: Path
    chain: Chain
    place: TokenPlace
    pin: str = field(repr=False)

    @property
    def certificate(self) -> x509.Certificate:
        """The certificate of the key."""
        return self.chain[0]

    @property
    def fingerprint(self) -> str:
        """What others put into the agreement, under `signer`."""
        return fingerprint(self.certificate)

    def sign(self, message: bytes) -> str:
        """A signature that the token makes; it sees the message's hash alone."""
        return from_der(_as_der(_sign_on_token(self.place, self.pin, message)), ec.SECP256R1())


def new_token_identity(name: str, folder: Path, place: TokenPlace, pin: str, *, days: int) -> TokenSigner:
    """Make a key on a token, and a certificate for it in a folder.

    Raises:
        MeetingError: If there is such a key or such a folder already, or the token cannot be used.
        PassphraseError: If the PIN is wrong.
    """
    if (folder / TOKEN_FILE).exists() or (folder / CERTIFICATE_FILE).exists():
        raise MeetingError(f"'{folder}' holds an identity already. Choose another --identity or --name.")
    certificate = self_signed(name, _TokenKey(place, pin, _make_key(place, pin)), days=days)
    try:
        make_private_folder(folder)
        (folder / CERTIFICATE_FILE).write_text(pem_of(certificate))
        (folder / TOKEN_FILE).write_text(json.dumps(place.to_json(), indent=2) + "\n")
    except OSError as exc:
        raise MeetingError(f"The identity cannot be written to '{folder}': {exc.strerror}.") from exc
    return TokenSigner(name, folder, (certificate,), place, pin)


def load_token_signer(folder: Path, pin: Passphrase | None) -> TokenSigner:
    """Read which key on which token signs, and try it.

    Raises:
        MeetingError: If the token is not there, has no such key, or the certificate is not the key's or has expired.
        PassphraseError: If the PIN is missing or wrong.
    """
    try:
        refuse_shared_folder(folder)
        place = TokenPlace.from_json(json.loads(read_regular(folder / TOKEN_FILE, MIB)))
        chain = tuple(x509.load_pem_x509_certificates((folder / CERTIFICATE_FILE).read_bytes()))
    except FileNotFoundError as exc:
        raise MeetingError(f"There is no identity in '{folder}': {Path(exc.filename).name} is missing.") from exc
    except (OSError, ValueError, RecursionError, x509.InvalidVersion):
        raise MeetingError(f"The identity in '{folder}' cannot be read: it is damaged.") from None
    if pin is None:
        raise PassphraseError(f"The token '{place.token}' has a PIN, and nobody was asked for it.")
    signer = TokenSigner(common_name(chain[0]), folder, chain, place, pin(f"the token '{place.token}'"))
    # Before anybody is called: a token that cannot sign now must not end a run after everything was spent.
    if signature_problem(chain[0], b"copublish: does this key sign?", signer.sign(b"copublish: does this key sign?")):
        raise MeetingError(f"In '{folder}' the certificate is not that of the key '{place.key}' on the token.")
    if problem := expiry_problem(chain[0]):
        raise MeetingError(f"Your certificate in '{folder}' {problem}. Make a new identity and agree on it.")
    return signer


@contextmanager
def _session(place: TokenPlace, pin: str, *, write: bool = False) -> Iterator[Any]:
    """A session with a token, closed when it is not needed any more.

    Raises:
        MeetingError, PassphraseError: In the place of the library's own errors.
    """
    try:
        import pkcs11
        from pkcs11 import exceptions
    except ImportError:
        raise MeetingError(NEEDS_EXTRA) from None
    if not os.path.isabs(place.module):  # noqa: PTH117  # a name without a path would be searched for
        raise MeetingError(f"Write the whole path of the token's library, got '{plain_text(place.module)}'.")
    try:
        with pkcs11.lib(place.module).get_token(token_label=place.token).open(user_pin=pin, rw=write) as session:
            yield session
    except (exceptions.PinIncorrect, exceptions.PinInvalid, exceptions.PinLenRange):
        raise PassphraseError(f"The PIN is not that of the token '{place.token}'. Too many tries lock it.") from None
    except exceptions.PinLocked:
        raise PassphraseError(f"The token '{place.token}' is locked after too many wrong PINs.") from None
    except exceptions.NoSuchToken:
        raise MeetingError(f"There is no token with the label '{place.token}'. Is it plugged in?") from None
    except exceptions.NoSuchKey:
        raise MeetingError(f"The token '{place.token}' has no key with the label '{place.key}'.") from None
    except (exceptions.PKCS11Error, RuntimeError, OSError) as exc:
        why = plain_text(str(exc) or type(exc).__name__)
        raise MeetingError(f"The token '{place.token}' cannot be used ({why}). Its library: {place.module}") from exc


def _sign_on_token(place: TokenPlace, pin: str, message: bytes) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(message)
    with _session(place, pin) as session:
        import pkcs11

        key = session.get_key(object_class=pkcs11.ObjectClass.PRIVATE_KEY, label=place.key)
        return bytes(key.sign(digest.finalize(), mechanism=pkcs11.Mechanism.ECDSA))


def _make_key(place: TokenPlace, pin: str) -> ec.EllipticCurvePublicKey:
    with _session(place, pin, write=True) as session:
        import pkcs11
        from pkcs11.util.ec import encode_ec_public_key, encode_named_curve_parameters

        wanted = {pkcs11.Attribute.LABEL: place.key, pkcs11.Attribute.CLASS: pkcs11.ObjectClass.PRIVATE_KEY}
        if any(True for _ in session.get_objects(wanted)):
            raise MeetingError(
                f"The token '{place.token}' has a key '{place.key}' already. Choose another --key-label."
            )
        parameters = session.create_domain_parameters(
            pkcs11.KeyType.EC,
            {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")},
            local=True,
        )
        public, _ = parameters.generate_keypair(store=True, label=place.key)
        return _as_p256(load_der_public_key(encode_ec_public_key(public)))


def _as_p256(key: object) -> ec.EllipticCurvePublicKey:
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise MeetingError("The token made another kind of key than one on the curve P-256.")
    return key


def _as_der(raw: bytes) -> bytes:
    return encode_dss_signature(int.from_bytes(raw[:HALF_BYTES], "big"), int.from_bytes(raw[HALF_BYTES:], "big"))


class _TokenKey(ec.EllipticCurvePrivateKey):
    """What a certificate is signed with: a private key that asks the token."""

    def __init__(self, place: TokenPlace, pin: str, public: ec.EllipticCurvePublicKey) -> None:
        self._place, self._pin, self._public = place, pin, public

    def sign(self, data: Any, signature_algorithm: ec.EllipticCurveSignatureAlgorithm) -> bytes:
        return _as_der(_sign_on_token(self._place, self._pin, bytes(data)))

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public

    @property
    def curve(self) -> ec.EllipticCurve:
        return ec.SECP256R1()

    @property
    def key_size(self) -> int:
        return 256

    def exchange(self, algorithm: ec.ECDH, peer_public_key: ec.EllipticCurvePublicKey) -> bytes:
        raise NotImplementedError("the key of a signer")

    def private_numbers(self) -> ec.EllipticCurvePrivateNumbers:
        raise NotImplementedError("the key never leaves its token")

    def private_bytes(self, encoding: Any, format: Any, encryption_algorithm: Any) -> bytes:
        raise NotImplementedError("the key never leaves its token")

    def __copy__(self) -> _TokenKey:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> _TokenKey:
        return self
