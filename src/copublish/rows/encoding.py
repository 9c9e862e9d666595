"""Encoding a column's values as the small integer codes of its public domain, whatever the values are.

After consent nothing may fail because of a value: an error that depends on one record shows it to the other parties,
with certainty and at no charge. So every step from a cell to its code is a function without exceptions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain, format_number
from copublish.agreement.encoding_rules import ColumnRule, codes_of_numbers, small_codes
from copublish.rows.numbers import finite_numbers, numbers_of
from copublish.rows.translation import AS_AGREED, Translation
from copublish.types import BoolArray, Codes

MISSING_REFUSED = 'missing values, which the agreement refuses (missing = "category" would allow them)'
NOT_NUMBERS = (
    "values that are not finite numbers (written like 1234.5, without a comma, unit or date; how files write a missing "
    "value is agreed in missing_spellings)"
)
NOT_LISTED = "values that are not in the agreed list (spelling counts; whole numbers are written without a point)"


MISSING_CLASS = "missing values; every record needs a class"

Rule = Literal["clamped", "unlisted", "missing", "unreadable"]
"""What a cell can be that is not as agreed, named by what is done about it."""


def broken_rule(rule: Rule, domain: Domain, *, is_class: bool = False) -> str:
    """What a column has that breaks a rule, in words that name no value."""
    if rule == "clamped" and isinstance(domain, NumericalDomain):
        return f"values outside the agreed bounds [{format_number(domain.lower)}, {format_number(domain.upper)}]"
    if rule == "missing":
        return MISSING_CLASS if is_class else MISSING_REFUSED
    return NOT_LISTED if rule == "unlisted" else NOT_NUMBERS


Need = Literal["text", "number"]
"""What encoding needs of a column."""

ReadsAs = Literal["text", "number", "neither"]
"""What the values of a column can be by its type: text, which may hold numbers, numbers, or neither, like dates."""

BLANKS = " \t\n\r\v\f"
"""What is trimmed off a text, as Ibis has every source do."""


def need_of(domain: Domain) -> Need:
    """What encoding needs of the column of a domain."""
    return "text" if isinstance(domain, CategoricalDomain) else "number"


def column_expression(column: Any, need: Need) -> Any:
    """Ibis expression of what encoding needs of a column, for the source to compute.

    Only conversions that cannot fail are left to the source. What may or may not be a number comes as text and is read
    here, by one reader for all sources.
    """
    kind = column.type()
    if need == "text" or kind.is_string() or kind.is_decimal() or kind.is_unknown():
        return as_text(column)
    if kind.is_integer() or kind.is_floating() or kind.is_null():
        return column.cast("float64")
    if kind.is_boolean():
        return column.cast("int32").cast("float64")
    # Dates and the like have no number; marked as infinite, so that they are told from missing ones.
    import ibis

    return ibis.literal(math.inf)


def reads_as(kind: Any) -> ReadsAs:
    """What the values of a column can be, by its type in Ibis."""
    if kind.is_string() or kind.is_unknown() or kind.is_null():
        return "text"
    return "number" if kind.is_numeric() or kind.is_boolean() else "neither"


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


@dataclass(frozen=True)
class Encoded:
    """One column of a batch in codes, and what had to be changed for it.

    Attributes:
        codes: One for every row: of the domain, or `domain.size` for a cell held elsewhere and for the class of a
            null row.
        numbers: For a numerical column, the numbers that the codes stand for: within the bounds, and agreed ones in the
            place of those that are missing; NaN where missing is a category or the cell is elsewhere.
        changed: For every rule that some row breaks, which rows do. For their owner alone.
        missing: Which cells are empty or spelled as missing, and not held elsewhere. For their owner alone.
    """

    codes: Codes
    numbers: NDArray[np.float64] | None
    changed: Mapping[Rule, BoolArray] = field(repr=False)
    missing: BoolArray = field(repr=False)


def encode_batch(
    rule: ColumnRule, batch: pa.RecordBatch, *, null_is_elsewhere: bool, translation: Translation = AS_AGREED
) -> Encoded:
    """One column of a batch that holds its `column_expression`, in codes. It cannot fail, whatever is in a cell.

    Args:
        rule: The column's public domain, and where values go that are not in it.
        batch: Rows from the source.
        null_is_elsewhere: Whether an empty cell means that another party holds it.
        translation: What the owner's own values are in agreed ones. Missing values are spelled as in the owner's cells.

    Privacy:
        Stability: 1 for adding or removing a row, 1 for replacing one: the codes of a row follow from that row and from
            the agreement alone. Other rows, their number and their order play no part.
    """
    values = batch.column(rule.domain.name)
    if isinstance(rule.domain, CategoricalDomain):
        values = texts_of(values)
    null, spelled_missing = _empty_cells(values, rule.missing_spellings)
    elsewhere = null if null_is_elsewhere else np.zeros_like(null)
    missing = null | spelled_missing
    if isinstance(rule.domain, NumericalDomain):
        numbers = numbers_of(values)
        missing |= np.isin(numbers, finite_numbers(rule.missing_spellings))
        places = translation.places(values, null, numbers)
        numbers = translation.agreed_numbers(numbers, places)
        return _encode_numbers(rule, rule.domain, numbers, missing & (places < 0), elsewhere)
    places = translation.places(values, null)
    if translation.values:
        values = translation.agreed_texts(values, places)
    return _encode_categories(rule, rule.domain, values, missing & (places < 0), elsewhere)


def _empty_cells(values: pa.Array, missing_spellings: tuple[str, ...]) -> tuple[BoolArray, BoolArray]:
    """Which cells are empty, and which are spelled as missing."""
    if pa.types.is_floating(values.type):  # data frames write NaN for an empty cell
        null = _mask(pc.is_null(values, nan_is_null=True))
        return null, np.zeros_like(null)
    null = _mask(pc.is_null(values)) | _mask(pc.equal(values, ""))
    return null, _mask(pc.is_in(values, value_set=pa.array(missing_spellings, pa.string())))


def _encode_categories(
    rule: ColumnRule, domain: CategoricalDomain, texts: pa.Array, missing: BoolArray, elsewhere: BoolArray
) -> Encoded:
    listed = domain.values[:-1] if domain.missing else domain.values
    found = pc.index_in(texts, value_set=pa.array(listed, pa.string()))
    missing = missing & ~elsewhere
    unlisted = ~_mask(pc.is_valid(found)) & ~missing & ~elsewhere
    codes = pc.fill_null(found, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    codes[unlisted], codes[missing], codes[elsewhere] = rule.unlisted, rule.missing, domain.size
    changed: dict[Rule, BoolArray] = {
        "unlisted": unlisted,
        "missing": np.zeros_like(missing) if rule.keeps_missing else missing,
    }
    return Encoded(small_codes(codes, domain), None, _broken(changed), missing)


def _encode_numbers(
    rule: ColumnRule,
    domain: NumericalDomain,
    numbers: NDArray[np.float64],
    missing: BoolArray,
    elsewhere: BoolArray,
) -> Encoded:
    missing = missing & ~elsewhere
    unreadable = ~np.isfinite(numbers) & ~missing & ~elsewhere
    lower, upper = float(domain.lower), float(domain.upper)
    absent = missing | unreadable | elsewhere
    # Set first, so that what is no number is compared with nothing.
    numbers = np.where(absent, lower, numbers)
    outside = ((numbers < lower) | (numbers > upper)) & ~absent
    numbers = np.clip(numbers, lower, upper)
    if rule.number_for_missing is None:
        codes = codes_of_numbers(domain, numbers)
        codes[missing | unreadable] = rule.missing
        numbers[missing | unreadable] = np.nan
    else:
        numbers[missing | unreadable] = float(rule.number_for_missing)
        codes = codes_of_numbers(domain, numbers)
    codes[elsewhere], numbers[elsewhere] = domain.size, np.nan
    changed: dict[Rule, BoolArray] = {
        "unreadable": unreadable,
        "clamped": outside,
        "missing": np.zeros_like(missing) if rule.keeps_missing else missing,
    }
    return Encoded(small_codes(codes, domain), numbers, _broken(changed), missing)


def _broken(changed: Mapping[Rule, BoolArray]) -> dict[Rule, BoolArray]:
    return {rule: rows for rule, rows in changed.items() if rows.any()}


def _mask(values: pa.Array) -> BoolArray:
    return cast(BoolArray, pc.fill_null(values, False).to_numpy(zero_copy_only=False).astype(np.bool_))
