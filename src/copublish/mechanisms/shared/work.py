"""What a secure run has to do, from public shapes: the same that fix the engine's messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """Quantities that the time and traffic of a secure run are linear in.

    Attributes:
        starts: 1: loading the engine, keys, compilation.
        rounds: Selections.
        biased_bits: Biased bits drawn for all noise, in thousands.
        products: Whether counts are joined at all: then keys for products are exchanged once.
        product_columns: Records times columns of the matrix that is sent encrypted, in millions.
        marks: Records times marks whose AND is taken, in millions (arbitrary data).
        counted: Records times comparisons with which their owners, or a database for them, count them, in millions
            (horizontal data).
    """

    starts: float
    rounds: float
    biased_bits: float
    products: float
    product_columns: float
    marks: float
    counted: float = 0.0
