"""From what was opened to the published counts and the cut. Released values only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import COUNT, NOISY_COUNT, describe_column
from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, format_number
from copublish.mechanisms.base import Contents, Details
from copublish.mechanisms.shared.generalization import (
    Generalization,
    GeneralizedAttribute,
    GeneralizedClass,
    GeneralizedValue,
)
from copublish.mechanisms.specialization.result import SpecializationResult
from copublish.types import IntArray, TypedJson

ROW_GROUP = 2**20
"""Records of a row group in a Parquet file, as pyarrow cuts them."""


@dataclass(frozen=True, kw_only=True)
class ScoreDetails(TypedJson):
    """The class counts that were opened for the score, and what it made of them."""

    name: str
    noisy_class_counts: tuple[int, ...]
    class_weights: tuple[int, ...] | None = None
    class_shares: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class CutDetails(Generalization, Details):
    """The generalized values of every attribute, so that other data can be generalized the same way."""

    score: ScoreDetails | None = None

    @property
    def generalization(self) -> Generalization:
        """How values were generalized."""
        return self

    @property
    def split_attributes(self) -> list[str]:
        """The attributes with more than one published value."""
        return [name for name, attribute in self.attributes.items() if len(attribute.values) > 1]

    @property
    def shown_class(self) -> str:
        """The class whose share is shown: the last one listed."""
        return self.class_.values[-1]


def contents_of(result: SpecializationResult) -> Contents:
    """The counts, one row per leaf and class, and the cut."""
    return Contents({"counts": counts_table(result)}, cut_details(result))


def counts_table(result: SpecializationResult) -> pa.Table:
    """The leaf counts as a table with one row per leaf and class."""
    n_leaves, n_classes = result.counts.shape
    columns: dict[str, pa.Array] = {}
    repeat = n_leaves * n_classes
    for name, domain in result.cut.domains.items():
        labels = [domain.label(part) for part in result.cut.parts[name]]
        repeat //= len(labels)
        columns[name] = _repeated(labels, repeat, n_leaves * n_classes)
    class_ = result.agreement.required_class
    columns[class_.name] = _repeated(list(class_.values), 1, n_leaves * n_classes)
    columns[COUNT] = pa.array(result.counts.ravel())
    columns[NOISY_COUNT] = pa.array(result.noisy_counts.ravel())
    return pa.table(columns)


def _repeated(labels: list[str], repeat: int, length: int) -> pa.Array:
    codes = np.repeat(np.arange(len(labels), dtype=np.int32), repeat)
    indices = np.tile(codes, length // len(codes))
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(labels, pa.string()))


def records_of(counts: pa.Table) -> pa.Table:
    """The data set as records: every leaf and class as often as its `count` says."""
    return _rows_repeated(counts, counts.column(COUNT).to_numpy())


def record_parts(counts: pa.Table, rows_per_part: int = ROW_GROUP) -> Iterator[pa.Table]:
    """Yield the same records one part after another."""
    ends = np.cumsum(counts.column(COUNT).to_numpy())
    total = number_of_records(counts)
    for start in range(0, max(1, total), rows_per_part):
        yield _rows_repeated(counts, np.diff(np.clip(ends, start, start + rows_per_part), prepend=start))


def number_of_records(counts: pa.Table) -> int:
    """How many records there are."""
    return int(counts.column(COUNT).to_numpy().sum())


def _rows_repeated(counts: pa.Table, times: IntArray) -> pa.Table:
    rows = np.repeat(np.arange(counts.num_rows, dtype=np.int64), times)
    return counts.drop_columns([COUNT, NOISY_COUNT]).take(rows).combine_chunks()


def cut_details(result: SpecializationResult) -> CutDetails:
    """The cut, with all that is needed to generalize other data."""
    agreement, cut = result.agreement, result.cut
    return CutDetails(
        class_=GeneralizedClass(name=agreement.required_class.name, values=agreement.required_class.values),
        missing_spellings=agreement.records.missing_spellings,
        attributes={
            name: GeneralizedAttribute(
                domain=describe_column(agreement, name),
                values=tuple(_value(domain, part) for part in cut.parts[name]),
            )
            for name, domain in cut.domains.items()
        },
        score=_score(result),
    )


def _score(result: SpecializationResult) -> ScoreDetails | None:
    if result.noisy_class_counts is None:
        return None
    weighed = {f"class_{name}": tuple(values.tolist()) for name, values in result.score.public.items()}
    noisy = tuple(result.noisy_class_counts.tolist())
    return ScoreDetails(name=result.score.name, noisy_class_counts=noisy, **weighed)


def _value(domain: Domain, part: CodeRange) -> GeneralizedValue:
    label = domain.label(part)
    if isinstance(domain, CategoricalDomain):
        return GeneralizedValue(label=label, codes=part, members=tuple(domain.members(part)))
    if part[0] >= domain.number_codes:
        return GeneralizedValue(label=label, codes=part)
    lower, upper = domain.bounds(part)
    return GeneralizedValue(label=label, codes=part, lower=format_number(lower), upper=format_number(upper))
