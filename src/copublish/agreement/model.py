"""The agreement: everything about a release that all parties fix in public before any data is touched.

The models here and in the modules of its sections are the reference for `agreement.toml`; docs/reference/agreement.md
explains every key. Nothing here is ever inferred from private data. Parties hash the one spelling of an agreement, so
comments and the order of keys mean nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, StrictBool, field_validator, model_validator

from copublish.agreement.attributes import Attribute, ClassAttribute, NumericalAttribute, distinct
from copublish.agreement.budget import ColumnBudget
from copublish.agreement.computation import NODES_OF_PROTOCOL, Computation
from copublish.agreement.derived import Derived
from copublish.agreement.domain import CategoricalDomain, Domain, flat_taxonomy
from copublish.agreement.encoding_rules import ColumnRule, rule_of_attribute, rule_of_class
from copublish.agreement.identifiers import Identified
from copublish.agreement.parties import AgreedNetwork, Party
from copublish.agreement.rules import broken_rules
from copublish.agreement.section import BudgetShare, Number, Section, Whole, refuse_bool
from copublish.agreement.settings import MechanismSettings, Need, Partition, known_settings, names_of_mechanisms

ORDERED_TABLES = ("parties", "attributes", "taxonomy")


def canonical_spelling(agreement: Agreement) -> str:
    """An agreement in the spelling that is hashed: with its defaults, and without keys that say nothing."""
    content = agreement.model_dump(by_alias=True, exclude_none=True)
    return json.dumps(_canonical(content), sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def hashes_of_parts(spelling: str) -> dict[str, str]:
    """A hash for every part of an agreement in its one spelling."""
    found: dict[str, object] = {}
    for key, value in json.loads(spelling).items():
        if key in ("parties", "attributes"):
            found |= {f"{key}.{name}": content for name, content in value}
            found[f"order of {key}"] = [name for name, _ in value]
        else:
            found[key] = value
    return {key: hashlib.sha256(json.dumps(value).encode()).hexdigest() for key, value in found.items()}


def _canonical(value: object, *, ordered: bool = False) -> object:
    """Spell numbers as fractions, and tables whose order matters as lists of pairs."""
    if isinstance(value, dict):
        if ordered:
            return [[key, _canonical(item, ordered=isinstance(item, dict))] for key, item in value.items()]
        return {key: _canonical(item, ordered=key in ORDERED_TABLES) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return str(Fraction(value)) if isinstance(value, Decimal) else value


MAX_EXPECTED = 10**12

MOST_LISTED = 2
"""The most people of one owner that are compared, as a multiple of `records.expected`: a public bound, so that nobody
tries out names without end."""

MIN_EPSILON = Fraction(1, 10**6)
"""Below this the noise of a single selection no longer fits the engine's 62-bit integers."""

MAX_EPSILON = Fraction(10)
"""Above this the guarantee is empty (e^10 is 22,026) and the sampler's delta, which grows with e^epsilon, counts."""

MAX_LISTED = 10**8
"""People of one owner, where lists are padded so that nobody learns who is common."""

MIN_MEMBERSHIP_EPSILON = Fraction(1, 100)
"""Below this the entries that hide the number of common records are thousands, each of them a row to compute with."""

MEMBERSHIP_DELTA = Fraction(1, 10**10)
"""Price in delta of a noisy number of common people: the noise is bounded, so that tables have a public bound."""

MIN_DELTA, MAX_DELTA = Fraction(1, 10**12), Fraction(1, 10**3)
"""Smaller than the sampler's own part, and so large that one in a thousand people could be shown."""

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Names that stand in commands and files: letters, digits, '.', '_' and '-'."""


class Records(Identified):
    """Which records the release is about, and what is public about them."""

    alignment: Literal["identifier", "row-order"] = "identifier"
    compared_by: str | None = None
    """The party without data that compares the owners' pseudonyms; without it the owners compare among themselves."""
    membership: Literal["hidden", "shared"] | None = None
    """Hidden, if owners of columns do not learn which of their people the others have; without the key they do."""
    at_most: dict[Name, Annotated[Whole, Field(gt=0, le=MAX_LISTED)]] | None = None
    """Where membership is hidden, the public length to which the list of every owner is padded."""
    expected: Whole = Field(gt=0, le=MAX_EXPECTED)
    public: StrictBool = False
    missing_spellings: tuple[str, ...] = ("", "?", "NA")

    @field_validator("membership")
    @classmethod
    def _leave_out_default(cls, membership: Literal["hidden", "shared"] | None) -> Literal["hidden"] | None:
        return None if membership == "shared" else membership  # an agreement without the key is the same agreement

    @field_validator("missing_spellings")
    @classmethod
    def _check_spellings(cls, spellings: tuple[str, ...]) -> tuple[str, ...]:
        distinct(tuple(spelling for spelling in spellings if spelling), at_least=0, what="")
        return spellings


class Privacy(Section):
    """How much the release may tell about one person."""

    epsilon: Number
    delta: Number | None = None
    neighbors: Literal["add-remove", "replace"] = "add-remove"
    class_disagreement: BudgetShare | None = None
    """Share of epsilon for counting on how many records two class columns differ; none for not counting it."""
    membership_epsilon: Number | None = None
    """Where two owners hide membership from each other, what the number of common records costs beside epsilon."""
    ledgers: tuple[Name, ...] | None = None
    """The organizations whose ledgers count these people, as partners know them; none if nothing is said of it."""

    @field_validator("ledgers")
    @classmethod
    def _check_ledgers(cls, ledgers: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if ledgers is None:
            return None
        if repeated := [name for name, times in Counter(ledgers).items() if times > 1]:
            raise ValueError(f"name each organization once; these are listed twice: {', '.join(map(repr, repeated))}")
        return tuple(sorted(ledgers))  # their order means nothing

    @field_validator("delta")
    @classmethod
    def _check_delta(cls, delta: Decimal | None) -> Decimal | None:
        if delta is not None and not MIN_DELTA <= Fraction(delta) <= MAX_DELTA:
            raise ValueError(f"must be from 1e-12 to 1e-3, got {delta}; far below 1 in the number of records is usual")
        return delta

    @field_validator("membership_epsilon")
    @classmethod
    def _check_membership_epsilon(cls, epsilon: Decimal | None) -> Decimal | None:
        if epsilon is not None and not MIN_MEMBERSHIP_EPSILON <= Fraction(epsilon) <= MAX_EPSILON:
            raise ValueError(f"must be from 0.01 to {MAX_EPSILON}, got {epsilon}; 0.05 or 0.1 is usual")
        return epsilon

    @field_validator("epsilon")
    @classmethod
    def _check_epsilon(cls, epsilon: Decimal) -> Decimal:
        if epsilon < Decimal(MIN_EPSILON.numerator) / MIN_EPSILON.denominator:
            raise ValueError(f"must be above 0 (at least 0.000001), got {epsilon}; 0.1 to 2 is usual")
        if epsilon > MAX_EPSILON.numerator:
            raise ValueError(f"must be at most {MAX_EPSILON}, got {epsilon}; 0.1 to 2 is usual")
        return epsilon


def _settings_of_mechanism(value: object) -> object:
    """Find the mechanism's own settings by the name in its section."""
    if not isinstance(value, Mapping):
        return value
    name = value.get("name")
    if not isinstance(name, str) or name not in known_settings():
        raise ValueError(f"{name!r} is not one of {names_of_mechanisms()}")
    return known_settings()[name].model_validate(value)


S = TypeVar("S", bound=MechanismSettings)


class Agreement(Section):
    """What all parties agree on. Build it with `load_agreement` or `agreement_from_mapping`.

    The order of parties and attributes is part of the agreement (it fixes how ties are broken and the order of
    columns); the spelling of numbers, comments and the order of keys inside a table are not.
    """

    format: Annotated[Literal[1], BeforeValidator(refuse_bool)]
    name: Name
    dataset: Name
    description: str = ""
    partition: Partition
    parties: dict[Name, Party] = Field(min_length=2)
    records: Records
    class_: ClassAttribute | None = Field(default=None, alias="class")
    """The column that users want to predict; none where no column is more than another."""
    attributes: dict[str, Attribute] = Field(min_length=1)
    privacy: Privacy
    mechanism: Annotated[SerializeAsAny[MechanismSettings], BeforeValidator(_settings_of_mechanism)]
    budget: ColumnBudget = ColumnBudget()
    engine: Computation = Computation()
    network: AgreedNetwork = AgreedNetwork()

    @model_validator(mode="after")
    def _check_whole(self) -> Agreement:
        problems = broken_rules(self)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def __repr__(self) -> str:
        what = f"{self.partition}, {len(self.parties)} parties, {self.mechanism.name}, epsilon {self.privacy.epsilon}"
        return f"Agreement({self.name!r}, {what})"

    __str__ = __repr__

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """Public domain of every attribute, in agreed order; the class is not among them."""
        fine = self.mechanism.splits_step_by_step
        return {
            name: attribute.domain(name, splits_step_by_step=fine)
            if isinstance(attribute, NumericalAttribute)
            else attribute.domain(name)
            for name, attribute in self.attributes.items()
        }

    @cached_property
    def class_domain(self) -> CategoricalDomain:
        """Public domain of the class.

        Raises:
            ValueError: If the agreement has none.
        """
        return CategoricalDomain(self.required_class.name, flat_taxonomy(self.required_class.values))

    @property
    def required_class(self) -> ClassAttribute:
        """The class, for steps that an agreement without one does not have.

        Raises:
            ValueError: If the agreement has none.
        """
        if self.class_ is None:
            raise ValueError("the agreement has no class")
        return self.class_

    @property
    def class_name(self) -> str | None:
        """Name of the class; none if the agreement has no class."""
        return None if self.class_ is None else self.class_.name

    @cached_property
    def encoding(self) -> dict[str, ColumnRule]:
        """The rule for every cell, column by column in agreed order; the class, if there is one, is last."""
        spellings = self.records.missing_spellings
        rules = {
            name: rule_of_attribute(attribute, self.domains[name], spellings)
            for name, attribute in self.attributes.items()
        }
        if self.class_ is None:
            return rules
        of_class = self.class_.missing_spellings
        rules[self.class_.name] = rule_of_class(
            self.class_domain,
            spellings if of_class is None else of_class,
            publishes_each_record=self.publishes_each_record,
        )
        return rules

    def settings(self, kind: type[S]) -> S:
        """The mechanism's settings as those of one mechanism.

        Raises:
            TypeError: If the agreement is about another one.
        """
        if not isinstance(self.mechanism, kind):
            raise TypeError(f"the agreement is about '{self.mechanism.name}', and {kind.__name__} were asked for")
        return self.mechanism

    @property
    def party_names(self) -> tuple[str, ...]:
        """The parties in agreed order."""
        return tuple(self.parties)

    @property
    def owners(self) -> tuple[str, ...]:
        """The parties that hold data, in agreed order."""
        return tuple(name for name, party in self.parties.items() if party.data)

    @property
    def compute_nodes(self) -> tuple[str, ...]:
        """The parties that run the secure engine, in agreed order; the others share their inputs with them."""
        named = self.engine.nodes or self.party_names[: NODES_OF_PROTOCOL[self.engine.agreed_protocol]]
        return tuple(party for party in self.parties if party in named)

    @property
    def guests(self) -> tuple[str, ...]:
        """The parties that share their inputs with the compute nodes."""
        if self.engine.name != "spu":
            return ()
        return tuple(party for party in self.parties if party not in self.compute_nodes)

    @property
    def aggregator(self) -> str:
        """The party that adds up masked sums and joins records, where no secure engine runs."""
        return self.engine.aggregator or self.party_names[0]

    @property
    def colluders(self) -> int:
        """How many owners of data may collude, an aggregator that owns data included, where no secure engine runs."""
        return self.engine.colluders or 1

    @property
    def epsilon(self) -> Fraction:
        """The budget of the release, exactly as written."""
        return Fraction(self.privacy.epsilon)

    @property
    def epsilon_for_class_disagreement(self) -> Fraction:
        """What counting the records on which class columns differ takes of the budget; 0 if it is not agreed."""
        return self.epsilon * Fraction(self.privacy.class_disagreement or 0)

    @property
    def mechanism_epsilon(self) -> Fraction:
        """What the mechanism may spend of the budget."""
        return self.epsilon - self.epsilon_for_class_disagreement

    @property
    def uses_gaussian_noise(self) -> bool:
        """Whether the noise is Gaussian: because the mechanism says so, or because it follows a stated delta."""
        follows = self.mechanism.noise_follows_delta and self.privacy.delta is not None
        return self.mechanism.uses_gaussian_noise or follows

    @property
    def delta(self) -> Fraction:
        """The agreed delta of Gaussian noise, exactly as written; 0 if there is none."""
        return Fraction(self.privacy.delta or 0)

    @property
    def publishes_each_record(self) -> bool:
        """Whether every record is published, with noise that its owners add, rather than counts of records."""
        return self.mechanism.publishes_each_record

    @property
    def class_is_shared(self) -> bool:
        """Whether every party knows the class of every record it knows."""
        if self.class_ is None or self.partition == "horizontal":
            return False
        return set(self.holders(self.class_.name)) == set(self.owners)

    @property
    def class_owner(self) -> str:
        """The party whose class column counts where several hold it: the last owner. Nothing is compared."""
        return self.holders(self.required_class.name)[-1]

    @property
    def columns(self) -> dict[str, Domain]:
        """Public domain of every column in agreed order; the class, if there is one, is last."""
        return self.domains if self.class_ is None else {**self.domains, self.class_.name: self.class_domain}

    @property
    def joins_by_identifier(self) -> bool:
        """Whether owners of columns or cells find their common records by an identifier."""
        return self.partition != "horizontal" and self.records.alignment == "identifier"

    @property
    def hides_membership(self) -> bool:
        """Whether no owner learns which of its people another one has."""
        return self.records.membership == "hidden"

    @property
    def membership_epsilon(self) -> Fraction:
        """What another owner learns of the number of common records costs beside epsilon; 0 where it learns nothing."""
        return Fraction(self.privacy.membership_epsilon or 0)

    @property
    def membership_delta(self) -> Fraction:
        """The delta that goes with `membership_epsilon`; 0 where the other owner learns nothing."""
        return MEMBERSHIP_DELTA if self.membership_epsilon else Fraction(0)

    @property
    def most_listed(self) -> int:
        """The most people of one owner that are compared with others', where membership is shared."""
        return MOST_LISTED * self.records.expected

    @property
    def compared_identifiers(self) -> int | None:
        """How many identifiers of each owner are compared where every party has other people; none where none are."""
        if self.partition != "horizontal" or not self.records.keys:
            return None
        return self.most_listed

    @property
    def compares_people(self) -> bool:
        """Whether owners' identifiers are compared: to join records, or to find people at two of them."""
        return self.joins_by_identifier or self.compared_identifiers is not None

    @property
    def helper(self) -> str | None:
        """The party without data that compares people; none where owners do it among themselves, or nobody does.

        Masked sums have one already, if whoever adds up holds no data.
        """
        if not self.compares_people or self.records.compared_by is not None:
            return self.records.compared_by
        adds_up = self.aggregator if self.engine.name == "masked-sum" else None
        return None if adds_up in self.owners else adds_up

    @property
    def need(self) -> Need:
        """The ability that a run asks of an engine, for its mechanism and for tables that divide a budget."""
        need = self.mechanism.needs(self.partition)
        if need != "own values" or not self.budget.is_by_gain:
            return need
        return "sums" if self.partition == "horizontal" else "joins"

    @property
    def budget_label(self) -> str | None:
        """The column that information gains are about: the agreed label, or the class; none without both."""
        return self.budget.label or self.class_name

    def holders(self, column: str) -> tuple[str, ...]:
        """The parties that hold cells of an attribute or of the class."""
        is_class = self.class_ is not None and column == self.class_.name
        held_by = self.required_class.held_by if is_class else self.attributes[column].held_by
        return self.owners if held_by is None else held_by

    def columns_of(self, party: str) -> tuple[str, ...]:
        """The attributes, then the class, of which a party holds cells."""
        return tuple(column for column in self.columns if party in self.holders(column))

    def derived_at(self, party: str) -> dict[str, Derived]:
        """The attributes that a party derives from events, with how."""
        own = ((column, self.attributes[column].derived) for column in self.attributes if party in self.holders(column))
        return {column: derived for column, derived in own if derived is not None}

    def read_at(self, party: str) -> tuple[str, ...]:
        """The columns of a party that are in its data: those that it does not derive."""
        derived = self.derived_at(party)
        return tuple(column for column in self.columns_of(party) if column not in derived)

    def canonical(self) -> str:
        """The agreement in the one spelling that is hashed."""
        return canonical_spelling(self)

    def parts(self) -> dict[str, str]:
        """A hash for every part, so that parties whose agreements differ can say where."""
        return hashes_of_parts(self.canonical())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()
