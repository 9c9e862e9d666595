"""The public columns of a table: all that has to be known to read data that shall fit an agreement or a release."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription
from copublish.agreement.model import Agreement

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


@dataclass(frozen=True)
class PublicColumns:
    """Columns with their public domains.

    Attributes:
        domains: Public domain of every column in agreed order, the class last.
        missing_spellings: Texts that stand for a missing value.
    """

    domains: Mapping[str, Domain]
    missing_spellings: tuple[str, ...] = DEFAULT_SPELLINGS

    @classmethod
    def of_agreement(cls, agreement: Agreement) -> PublicColumns:
        """The columns that are agreed."""
        return cls(agreement.columns, agreement.records.missing_spellings)

    @classmethod
    def of_release(
        cls, described: Mapping[str, DomainDescription], missing_spellings: tuple[str, ...] | None
    ) -> PublicColumns:
        """The columns that a release describes; older releases do not say how missing values are spelled."""
        domains = {name: description.domain(name) for name, description in described.items()}
        return cls(domains, DEFAULT_SPELLINGS if missing_spellings is None else missing_spellings)

    @property
    def class_name(self) -> str:
        """The class of the records."""
        return list(self.domains)[-1]
