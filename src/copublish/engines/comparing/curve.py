"""Identifiers as points of the curve P-256, secret factors that hide them in any order, and messages with such lists.

A point is written as its x coordinate. It stands for two points, P and -P, and a multiple of one of them has the same
x coordinate as that of the other, so nothing is lost. The order of the curve is prime: every point that there is, but
the one at infinity, generates all others, and a multiple tells nothing about the point (decisional Diffie-Hellman).

A list that is longer than a message may be goes in pieces. A piece of full length is followed by another one, which may
be empty. So the receiver of a list knows where it ends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec
from numpy.typing import NDArray

from copublish.agreement.protocol.message import Letter
from copublish.engines.messages import Messenger

POINT_BYTES = 32

Points = NDArray[np.bytes_]
"""Of dtype S32, shape (n,). NumPy fills such strings up with zeros, so one that ends in zeros loses nothing."""

DTYPE = f"S{POINT_BYTES}"

Draw = Callable[[int], bytes]
"""So many random bytes: `os.urandom`, where people are compared."""

_CURVE, _EXCHANGE, _EVEN = ec.SECP256R1(), ec.ECDH(), b"\2"

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the curve. FIPS 186-4, D.1.2.3."""

_BYTES_OF_FACTOR = 40
"""Eight more than the order has, so that the remainder is uniform but for 2^-64."""


class Factor:
    """A secret number that points are multiplied by.

    Privacy:
        Reveals: to whoever lacks the factor, of a list of multiples how many they are and which are the same, as long
            as the decisional Diffie-Hellman problem on P-256 is hard and the digests behind the points are random.
    """

    def __init__(self, draw: Draw) -> None:
        self._set(1 + int.from_bytes(draw(_BYTES_OF_FACTOR), "big") % (_ORDER - 1))

    @staticmethod
    def of(number: int) -> Factor:
        """The factor with this number, from 1 to the order of the curve less 1."""
        factor = Factor.__new__(Factor)
        factor._set(number)
        return factor

    @property
    def number(self) -> int:
        """The secret number, for another process of the same party."""
        return self._key.private_numbers().private_value

    def inverse(self) -> Factor:
        """The factor that takes this one off again: the order of the curve is prime, so every factor has one."""
        return Factor.of(pow(self.number, -1, _ORDER))

    def _set(self, number: int) -> None:
        self._key = ec.derive_private_key(number, _CURVE)

    def times(self, points: Points) -> Points:
        """Every point multiplied, in the same order.

        Raises:
            ValueError: If one is no point of the curve.
        """
        return self._multiples(map(_point, _each(points)), len(points))

    def times_points_of(self, digests: Points) -> Points:
        """The points of digests, each multiplied, in the same order."""
        return self._multiples((_first_point(digest)[1] for digest in _each(digests)), len(digests))

    def _multiples(self, points: Iterable[ec.EllipticCurvePublicKey], how_many: int) -> Points:
        return np.fromiter(map(self._multiple, points), dtype=DTYPE, count=how_many)

    def _multiple(self, point: ec.EllipticCurvePublicKey) -> bytes:
        return self._key.exchange(_EXCHANGE, point)


def multiples_of(identifiers: Iterable[str], how_many: int, key: bytes, *factors: Factor) -> list[Points]:
    """The points of identifiers under a key, multiplied by each factor: a list for each, in the identifiers' order."""
    found = [np.empty(how_many, dtype=DTYPE) for _ in factors]
    for place, digest in enumerate(_digests(identifiers, key)):
        point = _first_point(digest)[1]
        for multiples, factor in zip(found, factors, strict=True):
            multiples[place] = factor._multiple(point)
    return found


def digests_of(identifiers: Iterable[str], how_many: int, key: bytes) -> Points:
    """A digest of each identifier under a key, from which `Factor.times_points_of` finds its point."""
    return np.fromiter(_digests(identifiers, key), dtype=DTYPE, count=how_many)


def _digests(identifiers: Iterable[str], key: bytes) -> Iterator[bytes]:
    keyed = hashlib.blake2b(key=key, digest_size=POINT_BYTES)
    for identifier in identifiers:
        hashed = keyed.copy()
        hashed.update(identifier.encode(errors="surrogatepass"))
        yield hashed.digest()


def made_up_points(how_many: int, draw: Draw) -> Points:
    """Uniform points that nobody shares, to fill up a list."""
    points = (_first_point(draw(POINT_BYTES))[0] for _ in range(how_many))
    return np.fromiter(points, dtype=DTYPE, count=how_many)


def from_bytes(content: bytes) -> Points:
    """Points that stand one after the other; whether they are on the curve shows when they are multiplied."""
    return np.frombuffer(content, dtype=DTYPE)


def are_on_the_curve(points: Points) -> bool:
    """Whether all are points, for a list that is not multiplied."""
    try:
        return all(_point(x) is not None for x in _each(points))
    except ValueError:
        return False


def _each(points: Points) -> Iterator[bytes]:
    content = points.tobytes()
    return (content[start : start + POINT_BYTES] for start in range(0, len(content), POINT_BYTES))


def _first_point(digest: bytes) -> tuple[bytes, ec.EllipticCurvePublicKey]:
    """The first point in the chain of digests that begins with this one; half of all digests are one."""
    while True:
        try:
            return digest, _point(digest)
        except ValueError:
            digest = hashlib.sha256(digest).digest()


def _point(x: bytes) -> ec.EllipticCurvePublicKey:
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, _EVEN + x)


def send_list(messenger: Messenger, to: str, message: Letter, content: bytes) -> None:
    """Send a list, however long.

    Raises:
        EngineError: If it is longer than any list may be. Nothing was sent.
    """
    for piece in _pieces(message, content):
        messenger.send(to, message, piece)


def receive_list(messenger: Messenger, sender: str, message: Letter) -> bytes:
    """Wait for a list.

    Raises:
        ProgramMismatchError: If it is longer than any list may be.
    """
    received = bytearray()
    while _takes_in(received, sender, message, messenger.receive(sender, message)):
        pass
    return bytes(received)


def pass_on_list(messenger: Messenger, to: str, sender: str, message: Letter, content: bytes) -> bytes:
    """Send a list to one party and get one of another, where all parties do so in a round.

    Pieces are sent and taken in by turns, so that nobody waits for room at a party that waits itself.
    """
    received, waiting = bytearray(), True
    pieces = _pieces(message, content)
    piece = next(pieces, None)
    while piece is not None or waiting:
        if piece is not None:
            messenger.send(to, message, piece)
            piece = next(pieces, None)
        if waiting:
            waiting = _takes_in(received, sender, message, messenger.receive(sender, message))
    return bytes(received)


def _pieces(message: Letter, content: bytes) -> Iterator[bytes]:
    if problem := message.refused_here(len(content)):
        raise problem
    for start in range(0, len(content) + 1, message.longest_piece):
        yield content[start : start + message.longest_piece]


def _takes_in(received: bytearray, sender: str, message: Letter, piece: bytes) -> bool:
    """Add a piece to what was received; return whether another one follows."""
    received += piece
    if len(received) > message.max_bytes:
        raise message.too_long(sender)
    return len(piece) == message.longest_piece
