"""What a secure run has to do, from public shapes: the same that fix the engine's messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Work:
    """Quantities that the processor time, traffic and waiting of a secure run are linear in.

    Attributes:
        starts: Sessions of the engine: loading it, keys, compilation. One, and one for every further worker of a node.
        guests: Parties that hold data and do not compute.
        rounds: Selections.
        biased_bits: Biased bits drawn for all noise, in thousands.
        products: Sessions that join counts at all: then keys for products are exchanged once in each.
        product_columns: Records times columns of the matrix that is sent encrypted, in millions.
        marks: Records times marks whose AND is taken, in millions: of cells that more than one party may hold.
        guest_marks: Records times marks that guests share with the nodes, in millions.
        counted: Records times comparisons with which their owners, or a database for them, count them, in millions
            (horizontal data).
        published: Cells of the published records, in millions.
    """

    starts: float = 0.0
    guests: float = 0.0
    rounds: float = 0.0
    biased_bits: float = 0.0
    products: float = 0.0
    product_columns: float = 0.0
    marks: float = 0.0
    guest_marks: float = 0.0
    counted: float = 0.0
    published: float = 0.0
