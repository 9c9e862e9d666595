"""Rules that give every cell a code, also where it is not as agreed, and codes of numbers.

All of it is public and follows from the agreement and the cell alone. Rules cover every cell, so that no value can end
a run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import cast

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.attributes import CategoricalAttribute, NumericalAttribute
from copublish.agreement.domain import (
    CategoricalDescription,
    CategoricalDomain,
    Domain,
    NumericalDescription,
    NumericalDomain,
    describe_domain,
    format_number,
)
from copublish.types import Codes


@dataclass(frozen=True, kw_only=True)
class ColumnRule:
    """A column's public domain, and where values go that are not in it.

    Attributes:
        domain: The public domain.
        missing_spellings: Texts that stand for a missing value.
        unlisted: Code of an unlisted category; `domain.size` makes the whole record a null row.
        missing: Code of a missing or unreadable value; not used where a number takes its place.
        number_for_missing: The number that a missing or unreadable one becomes, where there is no category for it.
    """

    domain: Domain
    missing_spellings: tuple[str, ...]
    unlisted: int = 0
    missing: int = 0
    number_for_missing: Decimal | None = None

    @property
    def keeps_missing(self) -> bool:
        """Whether a missing value has a category of its own, so that nothing is changed."""
        return self.domain.missing

    @property
    def makes_null_rows(self) -> bool:
        """Whether a record with an unlisted or missing value counts nowhere: the class."""
        return self.unlisted == self.domain.size


def rule_of_attribute(
    attribute: CategoricalAttribute | NumericalAttribute, domain: Domain, spellings: tuple[str, ...]
) -> ColumnRule:
    """The rule of an attribute.

    Args:
        attribute: As agreed.
        domain: Its public domain.
        spellings: Those of the section [records], for a column that says nothing.
    """
    own = spellings if attribute.missing_spellings is None else attribute.missing_spellings
    if isinstance(attribute, NumericalAttribute) or isinstance(domain, NumericalDomain):
        number = attribute.missing if isinstance(attribute.missing, Decimal) else None
        return ColumnRule(domain=domain, missing_spellings=own, missing=domain.size - 1, number_for_missing=number)
    code = {value: code for code, value in enumerate(domain.values)}
    missing = domain.size - 1 if domain.missing else code[str(attribute.missing)]
    return ColumnRule(domain=domain, missing_spellings=own, unlisted=code[attribute.unlisted], missing=missing)


def rule_of_class(domain: CategoricalDomain, spellings: tuple[str, ...], *, publishes_each_record: bool) -> ColumnRule:
    """The rule of the class: a record without a listed one counts nowhere.

    Where every record is published it could not be left out without showing, so its class is the first listed one.
    """
    code = 0 if publishes_each_record else domain.size
    return ColumnRule(domain=domain, missing_spellings=spellings, unlisted=code, missing=code)


def plain_rule(domain: Domain, spellings: tuple[str, ...]) -> ColumnRule:
    """The rule that a description means where it says nothing: the first value, or the lower bound."""
    if isinstance(domain, NumericalDomain):
        number = None if domain.missing else domain.lower
        return ColumnRule(
            domain=domain, missing_spellings=spellings, missing=domain.size - 1, number_for_missing=number
        )
    missing = domain.size - 1 if domain.missing else 0
    return ColumnRule(domain=domain, missing_spellings=spellings, missing=missing)


def describe_rule(rule: ColumnRule, spellings: tuple[str, ...]) -> CategoricalDescription | NumericalDescription:
    """A column as released files state it: its public domain, and what its rule has that the plain one has not.

    Args:
        rule: Of the column.
        spellings: What the file says about all columns.
    """
    own = None if rule.missing_spellings == spellings else rule.missing_spellings
    described, plain = describe_domain(rule.domain), plain_rule(rule.domain, spellings)
    if isinstance(described, NumericalDescription):
        number = rule.number_for_missing
        missing_as = None if number is None or number == plain.number_for_missing else format_number(number)
        return replace(described, missing_as=missing_as, missing_spellings=own)
    if rule.makes_null_rows:  # the class, of which readers know it
        return replace(described, missing_spellings=own)
    values = described.domain(rule.domain.name).values
    return replace(
        described,
        unlisted=None if rule.unlisted == plain.unlisted else values[rule.unlisted],
        missing_as=None if rule.missing == plain.missing else values[rule.missing],
        missing_spellings=own,
    )


def rule_of_description(
    description: CategoricalDescription | NumericalDescription, name: str, spellings: tuple[str, ...]
) -> ColumnRule:
    """The rule of an attribute that a released file describes.

    Args:
        description: From the file.
        name: The column.
        spellings: What the file says about all columns.

    Raises:
        ValueError, ArithmeticError: If it describes no domain, or values go where there is none.
    """
    own = spellings if description.missing_spellings is None else description.missing_spellings
    plain = plain_rule(description.domain(name), own)
    if isinstance(description, NumericalDescription):
        return plain if description.missing_as is None else _with_number_for_missing(plain, description.missing_as)
    code = {value: code for code, value in enumerate(description.domain(name).values)}
    for value in (description.unlisted, description.missing_as):
        if value is not None and value not in code:
            raise ValueError(f"values of '{name}' go where there is none")
    return replace(
        plain,
        unlisted=plain.unlisted if description.unlisted is None else code[description.unlisted],
        missing=plain.missing if description.missing_as is None else code[description.missing_as],
    )


def _with_number_for_missing(plain: ColumnRule, text: str) -> ColumnRule:
    number, domain = Decimal(text), plain.domain
    if not isinstance(domain, NumericalDomain) or domain.missing or not domain.lower <= number <= domain.upper:
        raise ValueError(f"missing values of '{domain.name}' go where there is none")
    return replace(plain, number_for_missing=number)


def encode_cell_of_nobody(rule: ColumnRule) -> tuple[int, int]:
    """The code of a cell that no party holds, and its number in steps, -1 if it has none: missing, by the rule.

    Privacy:
        Stability: none is needed, both follow from the agreement. Who holds which cell is public between the parties.
    """
    if not isinstance(rule.domain, NumericalDomain) or rule.number_for_missing is None:
        return rule.missing, -1
    number = np.array([float(rule.number_for_missing)])
    codes = small_codes(codes_of_numbers(rule.domain, number), rule.domain)
    return int(codes[0]), int(quantize(rule.domain, number, codes)[0])


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


def codes_of_numbers(domain: NumericalDomain, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The code of each number: the grid cell that it lies in."""
    thresholds = np.array([float(threshold) for threshold in domain.thresholds])
    return np.searchsorted(thresholds, numbers, side="right").astype(np.int64)


def small_codes(codes: NDArray[np.int64], domain: Domain) -> Codes:
    """The same codes in the smallest type that holds all codes of the domain."""
    return cast(Codes, codes.astype(np.min_scalar_type(domain.size)))
