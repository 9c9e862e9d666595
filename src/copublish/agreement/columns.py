"""The public columns of a table: all that has to be known to read data that shall fit an agreement or a release."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from copublish.agreement.attributes import OTHER_LABEL, USUAL_CELLS
from copublish.agreement.domain import (
    CategoricalDescription,
    CategoricalDomain,
    Domain,
    NumericalDescription,
    NumericalDomain,
    format_number,
)
from copublish.agreement.encoding_rules import (
    ColumnRule,
    describe_rule,
    plain_rule,
    rule_of_class,
    rule_of_description,
)
from copublish.agreement.model import Agreement
from copublish.agreement.round_grid import round_split_points

COUNT, NOISY_COUNT = "count", "noisy_count"
"""Columns of a published table of counts: how many records a row stands for, and the unbiased measurement."""

DEFAULT_SPELLINGS = ("", "?", "NA")
"""What releases mean that do not say how missing values are spelled: the agreement's default."""

FORMULA = re.compile(r"[=@\t\r]|[+-](?!\d*\.?\d+([eE][+-]?\d+)?\Z)")
"""How a text begins that spreadsheet programs compute instead of showing it; a number with a sign is none."""


def formula_warning(domains: Mapping[str, Domain]) -> str | None:
    """A sentence about columns whose name or values a spreadsheet program would run as formulas; nothing mostly."""
    found = [
        name
        for name, domain in domains.items()
        if any(
            FORMULA.match(text)
            for text in (name, *(domain.tree.labels() if isinstance(domain, CategoricalDomain) else ()))
        )
    ]
    if not found:
        return None
    return (
        f"the name or a value of {', '.join(repr(name) for name in found)} begins with '=', '+', '-' or '@'. "
        "Spreadsheet programs run such cells of a .csv file as formulas: open it as text there, or read the .parquet "
        "file."
    )


def replaced_values(agreement: Agreement) -> Iterator[str]:
    """Yield sentences about columns without a category for missing values, or for unlisted ones: what those become."""
    missing, unlisted = [], []
    for name, attribute in agreement.attributes.items():
        if attribute.missing != "category":
            number = attribute.missing
            missing.append(f"{name} {format_number(number) if isinstance(number, Decimal) else repr(number)}")
        if attribute.kind == "categorical" and attribute.unlisted != OTHER_LABEL:
            unlisted.append(f"{name} {attribute.unlisted!r}")
    for which, named in (("missing", missing), ("unlisted", unlisted)):
        if named:
            yield (
                f"These columns are taken to have no {which} values, and no record of the release has one there. A "
                f"{which} value of the data is counted as if it were: {', '.join(named)}."
            )


LARGE_PART = 0.4
"""Of those cells, what one agreed cell may hold: from here on people are warned."""


def coarse_grid_warnings(domains: Mapping[str, Domain]) -> list[str]:
    """A sentence about numbers of which one cell holds what is usual for amounts, durations and counts; or nothing."""
    named = []
    for name, domain in domains.items():
        cell = _coarse_cell(domain) if isinstance(domain, NumericalDomain) else None
        if cell is not None:
            start, stop = (format_number(edge) for edge in cell)
            named.append(f"{name} from {start} to {stop}, by up to {format_number((cell[1] - cell[0]) / 2)}")
    if not named:
        return []
    return [
        "One cell of these grids holds the numbers that are usual for amounts, durations and counts: "
        f"{'; '.join(named)}. So far means can be off, without any noise, if most records are in that cell. Write "
        f"grid = {{ round = {USUAL_CELLS} }}, or edges where the records are, unless these numbers are spread evenly."
    ]


def _coarse_cell(domain: NumericalDomain) -> tuple[Decimal, Decimal] | None:
    """The bounds of a cell that holds a large part of the cells of a grid at round numbers."""
    usual = round_split_points(domain.lower, domain.upper, cells=USUAL_CELLS, decimals=domain.decimals)
    for code in range(domain.number_codes):
        start, stop = domain.bounds((code, code + 1))
        inside = sum(start <= first and last <= stop for first, last in pairwise((domain.lower, *usual, domain.upper)))
        if inside >= LARGE_PART * (len(usual) + 1):
            return start, stop
    return None


Description = CategoricalDescription | NumericalDescription


def describe_column(agreement: Agreement, column: str) -> Description:
    """A column as released files state it: its public domain and its rules."""
    return describe_rule(agreement.encoding[column], agreement.records.missing_spellings)


@dataclass(frozen=True)
class PublicColumns:
    """Columns with their public domains, and what becomes of values that are not in them.

    Attributes:
        domains: Public domain of every column in agreed order, the class last.
        missing_spellings: Texts that stand for a missing value.
        rules: Of columns whose values do not go by the plain rules.
        has_class: Whether the last column is the class.
    """

    domains: Mapping[str, Domain]
    missing_spellings: tuple[str, ...] = DEFAULT_SPELLINGS
    rules: Mapping[str, ColumnRule] = field(default_factory=dict)
    has_class: bool = True

    @classmethod
    def of_agreement(cls, agreement: Agreement) -> PublicColumns:
        """The columns that are agreed."""
        has_class = agreement.class_ is not None
        return cls(agreement.columns, agreement.records.missing_spellings, agreement.encoding, has_class)

    @classmethod
    def of_release(
        cls,
        described: Mapping[str, Description],
        missing_spellings: tuple[str, ...],
        *,
        publishes_each_record: bool = False,
        has_class: bool = True,
    ) -> PublicColumns:
        """The columns that a release describes, the class last.

        Args:
            described: Their descriptions.
            missing_spellings: Texts that stand for a missing value.
            publishes_each_record: Whether a record without a listed class was published with the first one.
            has_class: Whether the last column is the class.
        """
        rules = {name: rule_of_description(one, name, missing_spellings) for name, one in described.items()}
        domains = {name: rule.domain for name, rule in rules.items()}
        name, domain = list(domains.items())[-1]
        if has_class and isinstance(domain, CategoricalDomain):
            rules[name] = rule_of_class(
                domain, rules[name].missing_spellings, publishes_each_record=publishes_each_record
            )
        return cls(domains, missing_spellings, rules, has_class)

    def describe(self, column: str) -> Description:
        """A column as released files state it."""
        return describe_rule(self.rule(column), self.missing_spellings)

    def rule(self, column: str) -> ColumnRule:
        """What becomes of the cells of a column."""
        if column in self.rules:
            return self.rules[column]
        domain = self.domains[column]
        if column == self.class_name and isinstance(domain, CategoricalDomain):
            return rule_of_class(domain, self.missing_spellings, publishes_each_record=False)
        return plain_rule(domain, self.missing_spellings)

    @property
    def class_name(self) -> str | None:
        """The class of the records; none if no column is the class."""
        return list(self.domains)[-1] if self.has_class else None
