"""Joint counts of records from one-hot marks of their cells, and replicated shares (ABY3) of what the nodes know.

Each party marks the cells that a record may be in. The cells that all parties mark are found by AND on bits. A party
that marks several cells of a record, or none, cannot count it twice: of the cells that are left the first one counts,
whatever was put in, and nothing has to be opened to see to it.

In ABY3 a secret has three parts, and node i holds parts i and i + 1: any one node lacks a part, any two have them all.
Functions make shares of a sum and of an XOR of what the nodes know, in the form in which SPU takes them, shape
(..., 2).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import numpy as np

from copublish.engines.spu.products import padded_records
from copublish.kernel.noise.geometric import SystemCoins
from copublish.kernel.programs.packing import Packing
from copublish.kernel.secrets.computer import Columns
from copublish.types import BoolArray, IntArray

WORD_BITS = 64


def words_of(matches: BoolArray) -> IntArray:
    """Put matches into words of 64 bits; records that pad them match nowhere: (k, n) to (k, padded / 64)."""
    bits = np.zeros((len(matches), padded_records(matches.shape[1])), dtype=np.uint8)
    bits[:, : matches.shape[1]] = matches
    return np.packbits(bits, axis=1, bitorder="little").view(np.int64)


def one_cell_each(xp: ModuleType, *marks: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """The cell of each record in every group of cells, from all parties' marks: (k, n / 64) each, to (k, n).

    A record has -1 in its cell: negating makes SPU keep summands instead of bits, and in products the signs cancel.
    """
    found = marks[0]
    for others in marks[1:]:
        found = found & others
    starts = np.cumsum([0, *sizes])
    firsts = [first_marked(xp, found[start : start + size]) for start, size in zip(starts, sizes, strict=False)]
    words = xp.concatenate(firsts)
    lanes = np.arange(WORD_BITS, dtype=np.int64)
    return cast(IntArray, -((words[:, :, None] >> lanes) & 1).reshape(words.shape[0], -1))


def places_of_each(xp: ModuleType, *marks: IntArray, packing: Packing) -> IntArray:
    """The place of each record in a row of counts, packed and negated: marks (places, n / 64) to (n, elements)."""
    return packing.pack(xp, one_cell_each(xp, *marks, sizes=(marks[0].shape[0],)).T)


def scores_of_each(xp: ModuleType, *marks: IntArray, columns: Columns) -> IntArray:
    """Each record's score in every column, negated: marks (cells, n / 64) to (columns, n)."""
    return cast(IntArray, xp.matmul(columns.weights().T, one_cell_each(xp, *marks, sizes=columns.sizes)))


def first_marked(xp: ModuleType, marks: IntArray) -> IntArray:
    """Keep the first mark of each record and drop the others: (k, words) to (k, words).

    Whether any cell up to this one is marked is a prefix OR; where it changes the first mark is, and that is an XOR.
    The prefixes come from a tree, up and down, of fewer than 2 k ORs in 2 log k rounds.
    """
    k = marks.shape[0]
    steps = [1 << level for level in range(k.bit_length()) if 1 << level < k]
    up_to = marks
    for step in steps:
        up_to = _add_earlier(xp, up_to, np.arange(2 * step - 1, k, 2 * step), step)
    for step in reversed(steps):
        up_to = _add_earlier(xp, up_to, np.arange(3 * step - 1, k, 2 * step), step)
    # Nothing public is put beside it: SPU would turn all of it into summands, and back again for the next AND.
    return cast(IntArray, xp.concatenate([up_to[:1], up_to[1:] ^ up_to[:-1]]))


def _add_earlier(xp: ModuleType, up_to: IntArray, rows: IntArray, step: int) -> IntArray:
    """OR some rows with those that are so many rows before them, in one AND."""
    if not len(rows):
        return up_to
    old, added = up_to[rows], up_to[rows - step]
    place = np.arange(up_to.shape[0])
    place[rows] = up_to.shape[0] + np.arange(len(rows))
    return cast(IntArray, xp.concatenate([up_to, old ^ added ^ (old & added)])[place])


def crossed_product(
    xp: ModuleType, x0: IntArray, x1: IntArray, y0: IntArray, y1: IntArray, own_products: IntArray
) -> IntArray:
    """The product of two matrices of which two nodes have shares, where each node has multiplied its own already.

    x = x0 + x1 and y = y0 + y1 in the ring, so x y = x0 y0 + x1 y1 + x0 y1 + x1 y0. The first two are each node's own
    (`OwnProducts`), and NumPy makes them; the other two are products of private matrices. SPU's product of shares makes
    all four, and its own product of 64-bit integers takes longer than both encrypted ones.

    Leakage: none, the cost depends on shapes alone. A node's share, uniform whatever is shared, stays in the node's own
    worker: there it leaves SPU and enters again as an input that this node owns. What is multiplied are the very values
    that SPU would have multiplied, through the same encryption, in tiles that come back in one ciphertext. The result
    is secret, in fresh shares, and NOT safe to open.
    """
    return cast(IntArray, xp.matmul(x0, y1) + xp.matmul(x1, y0) + own_products)


def half_of_square(xp: ModuleType, x0: IntArray, x1: IntArray) -> IntArray:
    """One node's share times the other's, transposed."""
    return cast(IntArray, xp.matmul(x0, x1.T))


def square(xp: ModuleType, half: IntArray, own_products: IntArray) -> IntArray:
    """A matrix of which two nodes have shares times its own transpose; the other half is the first one, transposed."""
    return half + half.T + own_products


BAND = 4
"""Rows of a product that ABY3's nodes multiply at a time: SPU's own product of 64-bit integers is many times slower
with more."""


def banded_product(xp: ModuleType, x: IntArray, y: IntArray) -> IntArray:
    """The product of two matrices of which three nodes have replicated shares."""
    bands = [xp.matmul(x[top : top + BAND], y) for top in range(0, x.shape[0], BAND)]
    return cast(IntArray, xp.concatenate(bands, axis=0))


def banded_square(xp: ModuleType, x: IntArray) -> IntArray:
    """A matrix of which three nodes have replicated shares times its own transpose."""
    return banded_product(xp, x, x.T)


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
