"""Shares for ABY3 between three nodes: a secret has three parts, and node i holds parts i and i + 1.

Any one node lacks a part, any two have them all. The functions below make shares of a sum and of an XOR of what the
nodes know alone, in the form in which SPU takes them: shape (..., 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from copublish.kernel.noise.coins import SystemCoins
from copublish.types import IntArray

NODES = 3

SUM_TYPE, XOR_TYPE = "aby3.AShr<FM64>", "aby3.BShr<PT_U64,64>"
"""What SPU calls a share whose parts add up, and one whose parts are XORed, 64 bits in a word."""


def share_of_sum(link: Any, rank: int, own: IntArray) -> IntArray:
    """This node's share of the sum of what every node puts in.

    Privacy:
        Reveals: nothing. A node gets two of the three parts into which another one splits its own, and they are
            uniform.
    """
    return _shared(link, rank, parts_of_sum(own), np.add)  # in the ring of 64 bits: it wraps


def share_of_xor(link: Any, rank: int, own: IntArray) -> IntArray:
    """This node's share of the XOR of what every node puts in.

    Privacy:
        Reveals: nothing, as above: no node sees another one's words.
    """
    return _shared(link, rank, parts_of_xor(own), np.bitwise_xor)


def parts_of_sum(own: IntArray) -> IntArray:
    """Split integers into three parts that add up to them in the ring, any two of them uniform: shape (3, ...)."""
    uniform = SystemCoins().words((NODES - 1, *own.shape))
    return np.concatenate([uniform, (own - uniform.sum(axis=0, dtype=np.int64))[None]])


def parts_of_xor(own: IntArray) -> IntArray:
    """Split words into three parts whose XOR they are, any two of them uniform: shape (3, ...)."""
    uniform = SystemCoins().words((NODES - 1, *own.shape))
    return np.concatenate([uniform, (own ^ uniform[0] ^ uniform[1])[None]])


def _shared(link: Any, rank: int, parts: IntArray, combine: Callable[[IntArray, IntArray], IntArray]) -> IntArray:
    """Send every other node its two parts, and combine one's own two with those that come in."""
    others = [node for node in range(NODES) if node != rank]
    for node in others:
        link.send(node, _held_by(node, parts).tobytes())
    share = _held_by(rank, parts)
    for node in others:
        share = combine(share, _received(link.recv(node), share.shape))
    return share


def _held_by(node: int, parts: IntArray) -> IntArray:
    return np.stack([parts[node], parts[(node + 1) % NODES]], axis=-1)


def _received(content: bytes, shape: tuple[int, ...]) -> IntArray:
    if len(content) != 8 * int(np.prod(shape, dtype=object)):
        raise ValueError("the nodes put in values of different shapes")
    return np.frombuffer(content, np.int64).reshape(shape)
