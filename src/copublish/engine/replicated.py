"""Shares for ABY3 between three nodes: a secret has three parts, and node i holds parts i and i + 1.

Any one node lacks a part, any two have them all. The functions below make shares of a sum and of an XOR of what the
nodes know alone, in the form in which SPU takes them: shape (..., 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copublish.privacy.coins import IntArray, SystemCoins

NODES = 3

SUM_TYPE, XOR_TYPE = "aby3.AShr<FM64>", "aby3.BShr<PT_U64,64>"
"""What SPU calls a share whose parts add up, and one whose parts are XORed, 64 bits in a word."""


def share_of_sum(link: Any, rank: int, own: IntArray) -> IntArray:
    """Return this node's share of the sum of what every node puts in.

    Privacy:
        Reveals: nothing. A node gets two of the three parts into which another one splits its own, and they are
            uniform.
    """
    parts = parts_of(own)
    others = [node for node in range(NODES) if node != rank]
    for node in others:
        link.send(node, _held_by(node, parts).tobytes())
    share = _held_by(rank, parts)
    for node in others:
        share = share + _received(link.recv(node), share.shape)  # in the ring of 64 bits: it wraps
    return share


def share_of_xor(link: Any, rank: int, own: IntArray) -> IntArray:
    """Return this node's share of the XOR of every node's uniform words: the words are the parts.

    Privacy:
        Reveals: a node's words to the node before it. The words of the third one, which neither of them chose, keep
            the XOR uniform and unknown to each.
    """
    link.send((rank - 1) % NODES, np.ascontiguousarray(own).tobytes())
    return np.stack([own, _received(link.recv((rank + 1) % NODES), own.shape)], axis=-1)


def parts_of(own: IntArray) -> IntArray:
    """Split integers into three parts that add up to them in the ring, any two of them uniform: shape (3, ...)."""
    uniform = SystemCoins().words((NODES - 1, *own.shape))
    return np.concatenate([uniform, (own - uniform.sum(axis=0, dtype=np.int64))[None]])


def _held_by(node: int, parts: IntArray) -> IntArray:
    return np.stack([parts[node], parts[(node + 1) % NODES]], axis=-1)


def _received(content: bytes, shape: tuple[int, ...]) -> IntArray:
    if len(content) != 8 * int(np.prod(shape, dtype=object)):
        raise ValueError("the nodes put in values of different shapes")
    return np.frombuffer(content, np.int64).reshape(shape)
