"""Encoding a column's values as the small integer codes of its public domain."""

from __future__ import annotations

import math
from typing import Any, cast

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, format_number
from copublish.fragments.fragment import Codes
from copublish.privacy.coins import BoolArray

MISSING_REFUSED = 'missing values, which the agreement refuses (missing = "category" would allow them)'
NOT_NUMBERS = "values that are not finite numbers"
NOT_LISTED = "values that are not in the agreed list (spelling counts; whole numbers are written without a point)"


def column_expressions(column: Any, domain: Domain) -> list[Any]:
    """Return what encoding needs, for the source to compute: a category's text, a number, a number's spelling."""
    if isinstance(domain, CategoricalDomain):
        return [as_text(column).name(f"{domain.name}/value")]
    kind = column.type()
    if not (kind.is_string() or kind.is_numeric() or kind.is_boolean() or kind.is_null()):
        # Dates and the like have no number; marked as infinite, so that they are refused and not taken for missing.
        return [ibis.literal(math.inf).name(f"{domain.name}/value")]
    if not kind.is_string():
        return [column.try_cast("float64").name(f"{domain.name}/value")]
    text = as_text(column)
    return [text.try_cast("float64").name(f"{domain.name}/value"), text.name(f"{domain.name}/text")]


def as_text(column: Any) -> Any:
    """Return a column as text without surrounding space."""
    return (column if column.type().is_string() else column.cast("string")).strip()


def encode_batch(
    domain: Domain, batch: pa.RecordBatch, missing_spellings: tuple[str, ...], *, null_is_elsewhere: bool
) -> tuple[Codes, list[str]]:
    """Encode one column of a batch that holds its `column_expressions`.

    Args:
        domain: The column's public domain.
        batch: Rows from the source.
        missing_spellings: Texts that stand for a missing value.
        null_is_elsewhere: Whether an empty cell means that another party holds it.

    Returns:
        One code per row (`domain.size` for a cell held elsewhere) and the rules that some row breaks.
    """
    values = batch.column(f"{domain.name}/value")
    null, spelled_missing = _empty_cells(domain, batch, missing_spellings)
    elsewhere = null if null_is_elsewhere else np.zeros_like(null)
    missing = (null | spelled_missing) & ~elsewhere
    present = ~(missing | elsewhere)
    if isinstance(domain, NumericalDomain):
        codes, broken = _encode_numbers(domain, values, present)
    else:
        codes, broken = _encode_categories(domain, values, present)
    if domain.missing:
        codes[missing] = domain.size - 1
    elif missing.any():
        broken.append(MISSING_REFUSED)
    codes[elsewhere] = domain.size
    return cast(Codes, codes.astype(np.min_scalar_type(domain.size))), broken


def _empty_cells(
    domain: Domain, batch: pa.RecordBatch, missing_spellings: tuple[str, ...]
) -> tuple[BoolArray, BoolArray]:
    """Return which cells are empty, and which are spelled as missing."""
    values = batch.column(f"{domain.name}/value")
    texts = values
    if isinstance(domain, NumericalDomain):
        if f"{domain.name}/text" not in batch.schema.names:  # data frames write NaN for an empty cell
            null = _mask(pc.is_null(values, nan_is_null=True))
            return null, np.zeros_like(null)
        texts = batch.column(f"{domain.name}/text")
    null = _mask(pc.is_null(texts)) | _mask(pc.equal(texts, ""))
    return null, _mask(pc.is_in(texts, value_set=pa.array(missing_spellings, pa.string())))


def _encode_categories(
    domain: CategoricalDomain, texts: pa.Array, present: BoolArray
) -> tuple[NDArray[np.int64], list[str]]:
    listed = domain.values[:-1] if domain.missing else domain.values
    found = pc.index_in(texts, value_set=pa.array(listed, pa.string()))
    unknown = present & ~_mask(pc.is_valid(found))
    codes = pc.fill_null(found, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, [NOT_LISTED] if unknown.any() else []


def _encode_numbers(
    domain: NumericalDomain, values: pa.Array, present: BoolArray
) -> tuple[NDArray[np.int64], list[str]]:
    numbers = values.to_numpy(zero_copy_only=False).astype(np.float64)
    finite = np.isfinite(numbers)
    outside = finite & ~((numbers >= float(domain.lower)) & (numbers <= float(domain.upper)))
    broken = []
    if (present & ~finite).any():
        broken.append(NOT_NUMBERS)
    if (present & outside).any():
        bounds = f"[{format_number(domain.lower)}, {format_number(domain.upper)}]"
        broken.append(f"values outside the agreed bounds {bounds}")
    thresholds = np.array([float(threshold) for threshold in domain.thresholds])
    return np.searchsorted(thresholds, numbers, side="right").astype(np.int64), broken


def _mask(values: pa.Array) -> BoolArray:
    return cast(BoolArray, pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(np.bool_))
