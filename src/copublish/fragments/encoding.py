"""Encoding a column's values as the small integer codes of its public domain."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, format_number
from copublish.types import BoolArray, Codes

MISSING_REFUSED = 'missing values, which the agreement refuses (missing = "category" would allow them)'
NOT_NUMBERS = (
    "values that are not finite numbers (written like 1234.5, without a comma, unit or date; how files write a missing "
    "value is agreed in missing_spellings)"
)
NOT_LISTED = "values that are not in the agreed list (spelling counts; whole numbers are written without a point)"


def column_expression(column: Any, domain: Domain) -> Any:
    """Expression that encoding needs of a column, for the source to compute: its numbers or its text.

    Only conversions that cannot fail are left to the source. What may or may not be a number comes as text and is read
    here, by one reader for all sources.
    """
    kind = column.type()
    if isinstance(domain, CategoricalDomain) or kind.is_string() or kind.is_decimal() or kind.is_unknown():
        expression = as_text(column)
    elif kind.is_integer() or kind.is_floating() or kind.is_null():
        expression = column.cast("float64")
    elif kind.is_boolean():
        expression = column.cast("int32").cast("float64")
    else:
        # Dates and the like have no number; marked as infinite, so that they are refused and not taken for missing.
        import ibis

        expression = ibis.literal(math.inf)
    return expression.name(domain.name)


def as_text(column: Any) -> Any:
    """A column as text without surrounding space; floats as they are, for `texts_of` to write."""
    if column.type().is_floating():
        return column
    # Not column.cast(), which does nothing where Ibis sees text already: enumerations are not text to PostgreSQL.
    import ibis.expr.operations as ops

    return ops.Cast(column, "string").to_expr().strip()


def texts_of(values: pa.Array) -> pa.Array:
    """Text of what `as_text` gave. Databases write floats in different ways, 7 or 7.0, so it is done here."""
    if not pa.types.is_floating(values.type):
        return values
    numbers = values.to_numpy(zero_copy_only=False)
    return pa.array(numbers.astype(str), pa.string(), mask=~_mask(pc.is_valid(values)))


def encode_batch(
    domain: Domain, batch: pa.RecordBatch, missing_spellings: tuple[str, ...], *, null_is_elsewhere: bool
) -> tuple[Codes, list[str]]:
    """Encode one column of a batch that holds its `column_expression`.

    Args:
        domain: The column's public domain.
        batch: Rows from the source.
        missing_spellings: Texts that stand for a missing value.
        null_is_elsewhere: Whether an empty cell means that another party holds it.

    Returns:
        One code per row (`domain.size` for a cell held elsewhere) and the rules that some row breaks.
    """
    values = batch.column(domain.name)
    if isinstance(domain, CategoricalDomain):
        values = texts_of(values)
    null, spelled_missing = _empty_cells(values, missing_spellings)
    if isinstance(domain, NumericalDomain):
        values = numbers_of(values)
        spelled_missing |= np.isin(values, _finite_numbers(missing_spellings))
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


def quantize_batch(domain: NumericalDomain, batch: pa.RecordBatch, codes: Codes) -> NDArray[np.int64]:
    """A batch's numbers as `quantize` does.

    Args:
        domain: The column's public domain.
        batch: Rows from the source.
        codes: What `encode_batch` made of them; numbers that break a rule never get this far.
    """
    return quantize(domain, numbers_of(batch.column(domain.name)), codes)


def quantize(domain: NumericalDomain, numbers: NDArray[np.float64], codes: Codes) -> NDArray[np.int64]:
    """A column's numbers in steps of the last agreed decimal above the lower bound; -1 where there is none.

    Args:
        domain: The column's public domain.
        numbers: One for every record.
        codes: Their codes: past those of numbers, one is missing or held elsewhere.
    """
    is_number = (codes < domain.number_codes) & np.isfinite(numbers)
    scale, lowest = 10.0**domain.decimals_of_numbers, int(domain.lower.scaleb(domain.decimals_of_numbers))
    within = np.clip(np.where(is_number, numbers, 0.0), float(domain.lower), float(domain.upper))
    steps = np.rint(within * scale).astype(np.int64) - lowest
    return cast(NDArray[np.int64], np.where(is_number, np.clip(steps, 0, domain.steps), -1))


def _empty_cells(values: pa.Array, missing_spellings: tuple[str, ...]) -> tuple[BoolArray, BoolArray]:
    """Which cells are empty, and which are spelled as missing."""
    if pa.types.is_floating(values.type):  # data frames write NaN for an empty cell
        null = _mask(pc.is_null(values, nan_is_null=True))
        return null, np.zeros_like(null)
    null = _mask(pc.is_null(values)) | _mask(pc.equal(values, ""))
    return null, _mask(pc.is_in(values, value_set=pa.array(missing_spellings, pa.string())))


def numbers_of(values: pa.Array) -> NDArray[np.float64]:
    """Numbers, read from text where they are text; NaN where there is none."""
    import polars as pl

    numbers = cast(pl.Series, pl.from_arrow(values)).cast(pl.Float64, strict=False)
    return cast(NDArray[np.float64], numbers.to_numpy())


def _finite_numbers(spellings: tuple[str, ...]) -> NDArray[np.float64]:
    """The spellings that are numbers: -9 is missing however a source writes or stores it."""
    numbers = numbers_of(pa.array(spellings, pa.string()))
    return cast(NDArray[np.float64], numbers[np.isfinite(numbers)])


def _encode_categories(
    domain: CategoricalDomain, texts: pa.Array, present: BoolArray
) -> tuple[NDArray[np.int64], list[str]]:
    listed = domain.values[:-1] if domain.missing else domain.values
    found = pc.index_in(texts, value_set=pa.array(listed, pa.string()))
    unknown = present & ~_mask(pc.is_valid(found))
    codes = pc.fill_null(found, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, [NOT_LISTED] if unknown.any() else []


def _encode_numbers(
    domain: NumericalDomain, numbers: NDArray[np.float64], present: BoolArray
) -> tuple[NDArray[np.int64], list[str]]:
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
