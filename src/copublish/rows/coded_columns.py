"""A column's codes as an expression that a database computes, and this project's encoder decides.

Two ways, and neither writes a rule of the agreement down a second time:

- *By its values.* The database lists the different texts of the column with their counts. `encode_batch` gives each its
  code, and the expression is a list of texts for every code. So how a value is trimmed, spelled or read as a number is
  decided by one piece of code for all sources.
- *By intervals.* Numbers are compared with the bounds and split points of the agreement, as the 64-bit floats that
  the encoder compares with. A number inside each interval is encoded by `encode_batch`, and so are the least and the
  greatest one that the database found in it: codes rise with numbers, so all between have the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from copublish.agreement.domain import CategoricalDomain, NumericalDomain
from copublish.agreement.encoding_rules import ColumnRule
from copublish.errors import NotCountedThereError
from copublish.rows.cell_expressions import (
    CellExpression,
    Decimals,
    Floats,
    Intervals,
    ListedTexts,
    Numbers,
    OneCode,
    as_number,
    raw_text,
)
from copublish.rows.encoding import BLANKS, Encoded, encode_batch
from copublish.rows.numbers import LARGEST, finite_numbers
from copublish.rows.translation import AS_AGREED, Translation
from copublish.types import IntArray

MOST_DIFFERENT_TEXTS = 2**17
"""Different texts of a column that are looked at here; a column with more is no category."""

MOST_LISTED_TEXTS = 2**13
"""Texts that an expression lists: a query has to stay one that a database takes."""

NOT_IN_QUERIES = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
"""Control characters other than blanks. A text with one is never written into a query: DuckDB ends a query at NUL, and
Spark reads NUL before digits as another character. What a cell holds would then decide whether a count succeeds."""

CHANGED = (
    "{subject} changed while they were counted: two counts of them do not agree. Nothing is published. Count a table "
    "or a view that nobody writes to meanwhile."
)

KIND, ROWS, LEAST, GREATEST, TEXT, FOLDED = "kind", "n_rows", "least", "greatest", "text", "n_folded"


@dataclass(frozen=True)
class CodedColumn:
    """What was learned of a column when it was first counted.

    Attributes:
        rule: The column's domain, and where values go that are not in it.
        cells: The expression for its codes.
        private_counts: How many rows have each code, the one of null rows included: shape (n_codes + 1,).
        values: The different values, or one for each interval, as `encode_batch` takes them.
        encoded: Their codes, and what had to be changed for them.
        weights: How many rows have each.
    """

    rule: ColumnRule
    cells: CellExpression
    private_counts: IntArray = field(repr=False)
    values: pa.Array = field(repr=False)
    encoded: Encoded = field(repr=False)
    weights: IntArray = field(repr=False)

    def codes(self, table: Any) -> Any:
        """The expression for a row's code, under the column's name."""
        domain = self.rule.domain
        return self.cells.expression(table, np.arange(domain.size + 1)).cast("int32").name(domain.name)


def learn_column(connection: Any, table: Any, rule: ColumnRule, translation: Translation = AS_AGREED) -> CodedColumn:
    """Count one column where it lies, by code.

    Args:
        connection: The Ibis connection.
        table: The Ibis table.
        rule: The column's domain, and where values go that are not in it.
        translation: What the owner's own values are in agreed ones.

    Raises:
        NotCountedThereError: If the codes there could be others than here.

    Privacy:
        Stability: as `encode_batch`, whose codes these are. Values stay at their owner.
    """
    import ibis.expr.operations as ops

    kind = table[rule.domain.name].type()
    name, read = f"Column '{rule.domain.name}'", _ReadAs(rule, translation)
    if isinstance(rule.domain, CategoricalDomain):
        if kind.is_floating():
            raise NotCountedThereError(f"{name} is agreed as a category and holds floats, whose spelling differs")
        return _by_values(connection, table, read)
    if kind.is_decimal() and kind.precision is not None and kind.scale is not None:
        return _by_intervals(connection, table, read, rule.domain, Decimals(kind.precision, kind.scale))
    if kind.is_string() or kind.is_decimal() or kind.is_unknown():
        return _by_values(connection, table, read)
    if kind.is_integer() or kind.is_floating() or kind.is_boolean() or kind.is_null():
        may_be_nan = kind.is_floating() and connection.has_operation(ops.IsNan)
        if kind.is_floating() and not may_be_nan and "" in translation.values:
            raise NotCountedThereError(f"{name} may have NaN, which is recoded as an empty cell is")
        return _by_intervals(connection, table, read, rule.domain, Floats(may_be_nan))
    # Dates and the like have no number, as in `column_expression`.
    rows = _whole(connection.to_pyarrow(table.aggregate(table.count().name(ROWS))).column(ROWS))
    values = pa.array([math.inf])
    encoded = read.encode(values)
    return _coded(rule, OneCode(int(encoded.codes[0])), values, encoded, rows)


@dataclass(frozen=True)
class _ReadAs:
    """A column's rule, and what the owner's own values are in agreed ones."""

    rule: ColumnRule
    translation: Translation

    def encode(self, values: pa.Array) -> Encoded:
        batch = pa.RecordBatch.from_arrays([values], names=[self.rule.domain.name])
        return encode_batch(self.rule, batch, null_is_elsewhere=False, translation=self.translation)


def _by_values(connection: Any, table: Any, read: _ReadAs) -> CodedColumn:
    rule, name = read.rule, read.rule.domain.name
    texts = table.select(raw_text(table[name]).name(TEXT))
    # Each is compared with the column itself: some databases compare what they computed by other rules than columns.
    folded = ((texts[TEXT] == texts[TEXT].lower()) & (texts[TEXT] == texts[TEXT].upper())).ifelse(1, 0)
    query = texts.group_by(TEXT).aggregate(texts.count().name(ROWS), folded.sum().name(FOLDED))
    found = connection.to_pyarrow(query.limit(MOST_DIFFERENT_TEXTS + 1))
    if len(found) > MOST_DIFFERENT_TEXTS:
        raise NotCountedThereError(f"Column '{name}' has more than {MOST_DIFFERENT_TEXTS:,} different values")
    raw = found.column(TEXT).combine_chunks().cast(pa.string())
    if _ignores_case(raw.to_pylist(), found.column(FOLDED).to_pylist()):
        raise NotCountedThereError(f"The database takes texts of column '{name}' for equal that differ in case")
    values = pc.utf8_trim(raw, characters=BLANKS)
    encoded = read.encode(values)
    codes, is_text = encoded.codes.astype(np.int64), np.asarray(raw.is_valid())
    null = int(read.encode(pa.array([None], pa.string())).codes[0])
    is_category = isinstance(rule.domain, CategoricalDomain)
    otherwise = rule.unlisted if is_category else int(np.bincount(codes, minlength=1).argmax())
    listed = {
        int(code): raw.filter(pa.array((codes == code) & is_text)).to_pylist()
        for code in np.unique(codes[is_text])
        if code != otherwise
    }
    if sum(map(len, listed.values())) > MOST_LISTED_TEXTS:
        raise NotCountedThereError(f"Column '{name}' has more than {MOST_LISTED_TEXTS:,} spellings of agreed values")
    if any(NOT_IN_QUERIES.search(text) for texts in listed.values() for text in texts):
        raise NotCountedThereError(f"Column '{name}' has texts with control characters, which queries do not hold")
    return _coded(rule, ListedTexts(name, listed, null, otherwise), values, encoded, _whole(found.column(ROWS)))


def _ignores_case(texts: Sequence[str | None], folded: Sequence[int | None]) -> bool:
    """Whether the database found small and large letters of some text equal: it would count both as one."""
    return any(
        number and text is not None and text.isascii() and text.lower() != text.upper()
        for text, number in zip(texts, folded, strict=True)
    )


def _by_intervals(connection: Any, table: Any, read: _ReadAs, domain: NumericalDomain, numbers: Numbers) -> CodedColumn:
    rule, translation = read.rule, read.translation
    single = tuple(dict.fromkeys([*translation.numbers, *map(float, finite_numbers(rule.missing_spellings))]))
    edges = {float(domain.lower), *map(float, domain.thresholds), math.nextafter(float(domain.upper), math.inf)}
    inner = sorted(own for own in set(map(translation.first_reaching, edges)) if -LARGEST < own <= LARGEST)
    values, encoded = _encode_kinds(read, single, [-math.inf, math.nextafter(inner[0], -math.inf), *inner, math.inf])
    codes = encoded.codes.astype(np.int64)
    intervals = Intervals(domain.name, numbers, single, (-LARGEST, *inner), tuple(codes.tolist()))
    own = table[domain.name]
    is_decimal = own.type().is_decimal()
    kinds = table.select(
        intervals.kinds(table, list(range(len(codes)))).name(KIND), (own if is_decimal else as_number(own)).name("own")
    )
    extremes = {LEAST: kinds["own"].min(), GREATEST: kinds["own"].max()}
    # Decimals come as text, as everywhere: the encoder reads them.
    wanted = [(raw_text(value) if is_decimal else value).name(name) for name, value in extremes.items()]
    query = kinds.group_by(KIND).aggregate(kinds.count().name(ROWS), *wanted)
    found = connection.to_pyarrow(query)
    present = _whole(found.column(KIND))
    for extreme in extremes:
        again = read.encode(found.column(extreme).combine_chunks().cast(pa.string() if is_decimal else pa.float64()))
        if not np.array_equal(again.codes, codes[present]):
            raise NotCountedThereError(f"The database compares numbers of column '{domain.name}' in another way")
    weights = np.zeros(len(codes), dtype=np.int64)
    weights[present] = _whole(found.column(ROWS))
    return _coded(rule, intervals, values, encoded, weights)


def _encode_kinds(read: _ReadAs, single: Sequence[float], inside: Sequence[float]) -> tuple[pa.Array, Encoded]:
    """A value of every kind, in the order of `Intervals`, and their codes by the encoder."""
    special = pa.array([None, *single], pa.float64())
    numbers = pa.array(inside, pa.float64())
    # The number that is taken of an interval can be one that stands for something else, and the others there do not.
    plain = _ReadAs(replace(read.rule, missing_spellings=()), replace(read.translation, values={}))
    parts = [read.encode(special), plain.encode(numbers)]
    broken = {name for part in parts for name in part.changed}
    changed = {
        name: np.concatenate([part.changed.get(name, np.zeros(len(part.codes), dtype=np.bool_)) for part in parts])
        for name in broken
    }
    encoded = Encoded(
        np.concatenate([part.codes for part in parts]), None, changed, np.concatenate([part.missing for part in parts])
    )
    return pa.concat_arrays([special, numbers]), encoded


def _coded(
    rule: ColumnRule, cells: CellExpression, values: pa.Array, encoded: Encoded, weights: IntArray
) -> CodedColumn:
    counts = np.zeros(rule.domain.size + 1, dtype=np.int64)
    np.add.at(counts, encoded.codes.astype(np.int64), weights)
    return CodedColumn(rule, cells, counts, values, encoded, weights)


def _whole(column: pa.ChunkedArray) -> IntArray:
    return cast(IntArray, column.to_numpy().astype(np.int64))
