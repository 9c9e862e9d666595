"""How a release generalized values, so that other data can be treated the same way. Released values only."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AliasChoices, Field
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns
from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, DomainDescription, flat_taxonomy
from copublish.agreement.encoding_rules import rule_of_description
from copublish.types import IntArray, TypedJson


@dataclass(frozen=True, kw_only=True)
class GeneralizedValue(TypedJson):
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


@dataclass(frozen=True, kw_only=True)
class GeneralizedAttribute(TypedJson):
    """An attribute's domain and its published values in code order."""

    domain: DomainDescription
    values: tuple[GeneralizedValue, ...]

    def part_of_code(self) -> IntArray:
        """For each code of the domain the number of the published value it falls into."""
        lengths = [value.codes[1] - value.codes[0] for value in self.values]
        return np.repeat(np.arange(len(self.values), dtype=np.int64), lengths)


@dataclass(frozen=True, kw_only=True)
class GeneralizedClass(TypedJson):
    """The class, which is not generalized."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Generalization(TypedJson):
    """The published values of every attribute."""

    cut_format: Literal[1] = 1
    class_: Annotated[GeneralizedClass, Field(alias="class", validation_alias=AliasChoices("class", "class_"))]
    missing_spellings: tuple[str, ...]
    attributes: dict[str, GeneralizedAttribute]

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the release with their domains.

        Raises:
            ValueError, ArithmeticError: If they are no domains, or published values do not stand for all of one.
        """
        rules = {
            name: rule_of_description(attribute.domain, name, self.missing_spellings)
            for name, attribute in self.attributes.items()
        }
        domains: dict[str, Domain] = {name: rule.domain for name, rule in rules.items()}
        for name, domain in domains.items():
            codes = [value.codes for value in self.attributes[name].values]
            ends = [0, *(stop for _, stop in codes)]
            if ends != [*(start for start, _ in codes), domain.size] or any(start >= stop for start, stop in codes):
                raise ValueError(f"the published values of '{name}' do not stand for all of its values")
        domains[self.class_.name] = CategoricalDomain(self.class_.name, flat_taxonomy(self.class_.values))
        return PublicColumns(domains, self.missing_spellings, rules)

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The published values of every attribute and of the class."""
        found = {name: tuple(value.label for value in entry.values) for name, entry in self.attributes.items()}
        return {**found, self.class_.name: self.class_.values}
