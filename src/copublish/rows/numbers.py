"""Numbers as cells have them, read by one reader for all sources."""

from __future__ import annotations

import sys
from string import digits
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

LARGEST = sys.float_info.max


def numbers_of(values: pa.Array) -> NDArray[np.float64]:
    """Numbers, read from text where they are text; NaN where there is none."""
    if pa.types.is_float64(values.type):
        return cast(NDArray[np.float64], values.to_numpy(zero_copy_only=False))
    import polars as pl

    numbers = cast(pl.Series, pl.from_arrow(values)).cast(pl.Float64, strict=False)
    return cast(NDArray[np.float64], numbers.to_numpy())


def finite_numbers(spellings: tuple[str, ...]) -> NDArray[np.float64]:
    """The spellings that are numbers: -9 is missing however a source writes or stores it."""
    perhaps = [spelling for spelling in spellings if any(digit in spelling for digit in digits)]
    if not perhaps:  # and nothing has to be loaded that reads numbers
        return np.empty(0)
    numbers = numbers_of(pa.array(perhaps, pa.string()))
    return cast(NDArray[np.float64], numbers[np.isfinite(numbers)])


def finite_number(spelling: str) -> float | None:
    """The number that a text is; none if it is none."""
    found = finite_numbers((spelling,))
    return float(found[0]) if len(found) else None
