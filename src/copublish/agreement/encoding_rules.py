"""What becomes of every cell that is not as agreed: fixed in public, so that no value can end a run.

Format 2 says it for every column. For format 1 the rules are fixed here, and its domains stay as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from copublish.agreement.attributes import CategoricalAttribute, NumericalAttribute
from copublish.agreement.domain import CategoricalDomain, Domain, NumericalDomain


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
    if isinstance(domain, NumericalDomain):
        agreed = attribute.missing if isinstance(attribute.missing, Decimal) else domain.lower
        number = None if domain.missing else agreed
        return ColumnRule(domain=domain, missing_spellings=own, missing=domain.size - 1, number_for_missing=number)
    code = {value: code for code, value in enumerate(domain.values)}
    unlisted = attribute.unlisted if isinstance(attribute, CategoricalAttribute) else None
    # Nothing is agreed in format 1: the first listed value, whatever the data are.
    missing = domain.size - 1 if domain.missing else code.get(str(attribute.missing), 0)
    return ColumnRule(domain=domain, missing_spellings=own, unlisted=code.get(unlisted or "", 0), missing=missing)


def rule_of_class(domain: CategoricalDomain, spellings: tuple[str, ...], *, publishes_each_record: bool) -> ColumnRule:
    """The rule of the class: a record without a listed one counts nowhere.

    Where every record is published it could not be left out without showing, so its class is the first listed one.
    """
    code = 0 if publishes_each_record else domain.size
    return ColumnRule(domain=domain, missing_spellings=spellings, unlisted=code, missing=code)


def plain_rule(domain: Domain, spellings: tuple[str, ...]) -> ColumnRule:
    """The rule for data that are refused unless they fit: what is not in the domain goes to its first code."""
    if isinstance(domain, NumericalDomain):
        number = None if domain.missing else domain.lower
        return ColumnRule(
            domain=domain, missing_spellings=spellings, missing=domain.size - 1, number_for_missing=number
        )
    missing = domain.size - 1 if domain.missing else 0
    return ColumnRule(domain=domain, missing_spellings=spellings, missing=missing)
