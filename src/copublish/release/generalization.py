"""How a release generalized values, so that other data can be treated the same way. Released values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, format_number
from copublish.mechanisms.published import Cells, Published
from copublish.types import IntArray


@dataclass(frozen=True, kw_only=True)
class GeneralizedValue:
    """One published value and what it stands for.

    Attributes:
        label: How the release names it.
        codes: The run of codes of the domain that fall into it.
        members: Of a category, the values.
        lower: Of a number, where the interval begins; none for the missing category.
        upper: Where it ends.
    """

    label: str
    codes: CodeRange
    members: tuple[str, ...] | None = None
    lower: str | None = None
    upper: str | None = None

    @classmethod
    def of(cls, domain: Domain, codes: CodeRange) -> GeneralizedValue:
        """The value that a run of codes stands for."""
        label = domain.label(codes)
        if isinstance(domain, CategoricalDomain):
            return cls(label=label, codes=codes, members=tuple(domain.members(codes)))
        if codes[0] >= domain.number_codes:
            return cls(label=label, codes=codes)
        lower, upper = domain.bounds(codes)
        return cls(label=label, codes=codes, lower=format_number(lower), upper=format_number(upper))


@dataclass(frozen=True)
class Generalization:
    """The published values of every generalized column.

    Attributes:
        columns: The columns of the release with their domains.
        runs: The published runs of codes of each generalized column; the class is none.
    """

    columns: PublicColumns
    runs: Mapping[str, tuple[CodeRange, ...]]

    @classmethod
    def of(cls, published: Published) -> Generalization | None:
        """The generalization of a release; nothing if each code stands for itself."""
        return cls(published.columns, published.generalized) if published.generalized else None

    @cached_property
    def values(self) -> dict[str, tuple[GeneralizedValue, ...]]:
        """The published values of each generalized column, in code order."""
        domains = self.columns.domains
        return {
            name: tuple(GeneralizedValue.of(domains[name], run) for run in runs) for name, runs in self.runs.items()
        }

    def part_of_code(self, column: str) -> IntArray:
        """For each code of a column the number of the published value it falls into; codes past the domain follow."""
        size = self.columns.domains[column].size
        lengths = [stop - start for start, stop in self.runs.get(column, [(code, code + 1) for code in range(size)])]
        return np.repeat(np.arange(len(lengths) + 1, dtype=np.int64), [*lengths, 1])

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The published values of every column, the class among them."""
        domains = self.columns.domains
        return {name: Cells(column=name, runs=self.runs.get(name)).labels(domain) for name, domain in domains.items()}
