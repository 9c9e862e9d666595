"""Why values are not in an agreed list, where that is a matter of spelling: truth values, and upper and lower case.

Shown to the owner of the rows alone. What is named is how a source writes such values, not what anybody's value is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.domain import CategoricalDomain
from copublish.types import BoolArray

TRUTH_WORDS = (("true", "false"), ("TRUE", "FALSE"), ("True", "False"))
"""How sources write truth values. A column with a type of its own for them is always read as the first."""

TRUTH_VALUES = (
    "truth values, which are read as '{true}' and '{false}', and the agreed list has other values (agree on "
    'values = ["{false}", "{true}"], or let the data have the agreed ones)'
)
OTHER_CASE = "values that differ from agreed ones in upper and lower case alone (spelling counts)"


def spelled_otherwise(
    texts: pa.Array, unlisted: BoolArray, domain: CategoricalDomain
) -> Iterator[tuple[str, BoolArray]]:
    """Yield what unlisted cells have, in words, and which cells: those for which spelling is the reason.

    Args:
        texts: The column as it was read.
        unlisted: Which of its cells are not in the agreed list.
        domain: The list.
    """
    left = unlisted
    for true, false in TRUTH_WORDS:
        found = left & _is_in(texts, (true, false))
        if found.any():
            yield TRUTH_VALUES.format(true=true, false=false), found
            left = left & ~found
    found = left & _is_in(pc.utf8_lower(texts), tuple({value.lower() for value in domain.values}))
    if found.any():
        yield OTHER_CASE, found


def _is_in(texts: pa.Array, words: tuple[str, ...]) -> BoolArray:
    found = pc.is_in(texts, value_set=pa.array(words, texts.type))
    return cast(BoolArray, pc.fill_null(found, False).to_numpy(zero_copy_only=False).astype(np.bool_))
