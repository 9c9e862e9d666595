"""The agreement: everything about a release that all parties fix in public before any data is touched.

The models below are the reference for `agreement.toml`; docs/reference/agreement.md explains every key. Nothing
here is ever inferred from private data.
"""

from __future__ import annotations

import decimal
import hashlib
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    field_validator,
    model_validator,
)

from copublish.agreement.budget import Budget
from copublish.agreement.computation import NODES_OF_PROTOCOL, Computation
from copublish.agreement.domain import MISSING_LABEL, CategoricalDomain, Domain, NumericalDomain
from copublish.agreement.numbers import MAX_DIGITS, BudgetShare, Number, Whole, refuse_bool
from copublish.agreement.parties import Party
from copublish.agreement.taxonomy import ROOT_LABEL, TaxonomyNode, flat_taxonomy, parse_taxonomy

MAX_THRESHOLDS = 128
"""A finer grid gives candidates that noise cannot tell apart and costs engine time."""

MAX_CELLS = 2**22
"""Cells of a release: more would not fit into memory."""

MAX_GAIN_CANDIDATES = 2**14
"""Splits on offer in one round: the engine's 62-bit integers hold a gain's noise and this many numbers beside it."""

MAX_COPULA_COLUMNS = 64
"""Columns of a copula release, the class included: their pairs share one budget."""

MIN_COPULA_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums of products may no longer fit the engine's 62-bit integers."""

MAX_VHDP_COLUMNS = 64
"""Columns of a vhdp release, the class included."""

MIN_VHDP_EPSILON, MAX_VHDP_SCALE = Fraction(1, 1000), 2**53
"""The largest scale of noise on numbers, in steps of their last decimal: it has to fit 62-bit integers."""

MAX_COORDINATES = 256
"""Of an hpdp release: numbers and the values of categories. Every two of them have a sum in one budget."""

MAX_STEPS = 2**53
"""Between a number's bounds, in its last agreed decimal, where numbers are read as such."""

MIN_HPDP_EPSILON = Fraction(1, 1000)
"""Below this the noise of the sums may no longer fit the engine's 62-bit integers."""

MIN_DELTA, MAX_DELTA = Fraction(1, 10**12), Fraction(1, 10**3)
"""Smaller than the sampler's own part, and so large that one in a thousand people could be shown."""

MAX_SYNTHETIC_RECORDS = 10**7

DEPENDENCE_SHARE = Decimal("0.6")
"""Of a copula release's budget, what the sums of products take unless agreed otherwise."""

MAX_EXPECTED = 10**12

MIN_EPSILON = Fraction(1, 10**6)
"""Below this the noise of a single selection no longer fits the engine's 62-bit integers."""

MAX_EPSILON = Fraction(10)
"""Above this the guarantee is empty (e^10 is 22,026) and the sampler's delta, which grows with e^epsilon, counts."""


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""Names that stand in commands and files: letters, digits, '.', '_' and '-'."""
PartyNames = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
LocalSensitivity = Literal["exact", "vector", "fixed", "gap", "global"]
CategoryOrder = Literal["schema", "frequency"]
IdentifierRule = Literal["ignore-case", "ignore-spaces", "ignore-punctuation", "ignore-leading-zeros"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Records(_Model):
    """Which records the release is about, and what is public about them."""

    identifier: str | None = Field(default=None, min_length=1)
    identifier_rules: tuple[IdentifierRule, ...] = ()
    alignment: Literal["identifier", "row-order"] = "identifier"
    expected: Whole = Field(gt=0, le=MAX_EXPECTED)
    public: StrictBool = False
    missing_spellings: tuple[str, ...] = ("", "?", "NA")

    @field_validator("identifier_rules")
    @classmethod
    def _check_rules(cls, rules: tuple[IdentifierRule, ...]) -> tuple[IdentifierRule, ...]:
        if repeated := [rule for rule, times in Counter(rules).items() if times > 1]:
            raise ValueError(f"name each rule once; these are listed twice: {', '.join(map(repr, repeated))}")
        return tuple(rule for rule in get_args(IdentifierRule) if rule in rules)  # their order means nothing

    @field_validator("missing_spellings")
    @classmethod
    def _check_spellings(cls, spellings: tuple[str, ...]) -> tuple[str, ...]:
        _distinct(tuple(spelling for spelling in spellings if spelling), at_least=0, what="")
        return spellings


class ClassAttribute(_Model):
    """The attribute that users of the release want to predict."""

    name: str = Field(min_length=1)
    values: tuple[str, ...]
    held_by: PartyNames | None = None

    @field_validator("values")
    @classmethod
    def _check_values(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return _distinct(values, at_least=2, what="a class")


class CategoricalAttribute(_Model):
    """An attribute with a public list or tree of values."""

    kind: Literal["categorical"]
    values: tuple[str, ...] | None = None
    taxonomy: dict[str, Any] | None = None
    missing: Literal["refuse", "category"] = "refuse"
    held_by: PartyNames | None = None

    @model_validator(mode="after")
    def _check_tree(self) -> CategoricalAttribute:
        if (self.values is None) == (self.taxonomy is None):
            raise ValueError("give either 'values' (a flat list) or 'taxonomy' (a tree or a JSON file), one of them")
        if self.values is not None:
            _distinct(self.values, at_least=1, what="a categorical attribute")
            if ROOT_LABEL in self.values:
                raise ValueError(f"the value '{ROOT_LABEL}' is reserved: it stands for all values together")
        if MISSING_LABEL in self.tree.labels():
            raise ValueError(f"the value '{MISSING_LABEL}' is reserved; write missing = \"category\" instead")
        return self

    @cached_property
    def tree(self) -> TaxonomyNode:
        """The taxonomy, whichever way it was written."""
        return flat_taxonomy(self.values) if self.values is not None else parse_taxonomy(self.taxonomy)

    def domain(self, name: str) -> Domain:
        """Return the public domain under this attribute's name."""
        return CategoricalDomain(name, self.tree, missing=self.missing == "category")


class Grid(_Model):
    """Where a numerical attribute may be split: every `step`, at these `edges`, or into `count` equal cells."""

    step: Number | None = None
    edges: tuple[Number, ...] | None = None
    count: Whole | None = Field(default=None, ge=2, le=MAX_THRESHOLDS + 1)

    @model_validator(mode="after")
    def _check_one_way(self) -> Grid:
        if sum(way is not None for way in (self.step, self.edges, self.count)) != 1:
            raise ValueError("give exactly one of 'step', 'edges' and 'count'")
        if self.step is not None and self.step <= 0:
            raise ValueError(f"'step' must be above 0, got {self.step}")
        return self

    def thresholds(self, lower: Decimal, upper: Decimal) -> tuple[Decimal, ...]:
        """Return the public split points inside the bounds, in ascending order."""
        with decimal.localcontext(decimal.Context(prec=2 * MAX_DIGITS)):  # not the caller's
            found = self._find_thresholds(lower, upper)
        increase = all(a < b for a, b in pairwise(found))
        if not increase or not all(lower < threshold <= upper for threshold in found):
            way = "'edges'" if self.edges is not None else "split points"
            raise ValueError(f"{way} must increase and lie above {lower} and not above {upper}")
        if len(found) > MAX_THRESHOLDS:
            raise ValueError(f"at most {MAX_THRESHOLDS} split points are allowed, got {len(found)}")
        return found

    def _find_thresholds(self, lower: Decimal, upper: Decimal) -> tuple[Decimal, ...]:
        if self.edges is not None:
            return self.edges
        if self.step is not None:
            steps = (upper - lower) / self.step
            if int(steps) > MAX_THRESHOLDS:
                wider = (upper - lower) / MAX_THRESHOLDS
                raise ValueError(
                    f"'step' gives more than {MAX_THRESHOLDS} split points; take a step of at least {wider:.6g}"
                )
            return tuple(lower + self.step * i for i in range(1, int(steps) + 1))
        count = self.count or 0
        # Rounded for readable labels, to a twelfth digit of the range.
        digits = (upper - lower).adjusted() - 11
        exact = (lower + (upper - lower) * i / count for i in range(1, count))
        return tuple(threshold.quantize(Decimal(1).scaleb(digits)) for threshold in exact)


class NumericalAttribute(_Model):
    """An attribute with public bounds and a public grid of split points."""

    kind: Literal["numerical"]
    bounds: tuple[Number, Number]
    grid: Grid
    decimals: Whole | None = Field(default=None, ge=0, le=12)
    missing: Literal["refuse", "category"] = "refuse"
    held_by: PartyNames | None = None

    @field_validator("bounds", mode="before")
    @classmethod
    def _check_two(cls, bounds: object) -> object:
        if not isinstance(bounds, list | tuple) or len(bounds) != 2:
            raise ValueError(
                "write the lowest and the highest allowed value, like bounds = [0, 120], from public knowledge"
            )
        return bounds

    @model_validator(mode="after")
    def _check_bounds(self) -> NumericalAttribute:
        lower, upper = self.bounds
        if lower >= upper:
            raise ValueError(f"the lower bound must be below the upper one, got bounds = [{lower}, {upper}]")
        if not self.grid.thresholds(lower, upper):
            raise ValueError("the grid has no split point inside the bounds; take a smaller step or add edges")
        needed = self.domain("").decimals_of_grid
        if self.decimals is not None and self.decimals < needed:
            raise ValueError(
                f"bounds and split points are written with {needed} decimals, so 'decimals' must be at least that, got "
                f"{self.decimals}; or take a coarser grid"
            )
        return self

    def domain(self, name: str) -> NumericalDomain:
        """Return the public domain under this attribute's name."""
        lower, upper = self.bounds
        thresholds = self.grid.thresholds(lower, upper)
        return NumericalDomain(name, lower, upper, thresholds, self.missing == "category", self.decimals)


Attribute = Annotated[CategoricalAttribute | NumericalAttribute, Field(discriminator="kind")]


class Privacy(_Model):
    """How much the release may tell about one person."""

    epsilon: Number
    delta: Number | None = None
    neighbours: Literal["add-remove", "replace"] = "add-remove"

    @field_validator("delta")
    @classmethod
    def _check_delta(cls, delta: Decimal | None) -> Decimal | None:
        if delta is not None and not MIN_DELTA <= Fraction(delta) <= MAX_DELTA:
            raise ValueError(f"must be from 1e-12 to 1e-3, got {delta}; far below 1 in the number of records is usual")
        return delta

    @field_validator("epsilon")
    @classmethod
    def _check_epsilon(cls, epsilon: Decimal) -> Decimal:
        if epsilon < Decimal(MIN_EPSILON.numerator) / MIN_EPSILON.denominator:
            raise ValueError(f"must be above 0 (at least 0.000001), got {epsilon}; 0.1 to 2 is usual")
        if epsilon > MAX_EPSILON.numerator:
            raise ValueError(f"must be at most {MAX_EPSILON}, got {epsilon}; 0.1 to 2 is usual")
        return epsilon


class Mechanism(_Model):
    """Which algorithm makes the release, and its public parameters."""

    name: Literal["specialization", "distdiffgen", "arbdistdp", "copula", "hpdp", "vhdp", "idp-ir"]
    specializations: Whole = Field(default=10, ge=0, le=100)
    score: Literal["max", "tv-gain", "balanced-gain", "auto"] = "max"
    selection_share: Number = Field(default=Decimal("0.4"), ge=Decimal("0.01"), le=Decimal("0.99"))
    max_cells: Whole | None = Field(default=None, ge=2, le=MAX_CELLS)
    dependence_share: BudgetShare | None = None
    noise: Literal["laplace", "gaussian"] | None = None
    records: Whole | None = Field(default=None, ge=1, le=MAX_SYNTHETIC_RECORDS)
    k: Whole | None = None
    local_sensitivity: LocalSensitivity | None = None
    category_order: CategoryOrder | None = None
    acknowledge: str | None = None

    @property
    def is_differentially_private(self) -> bool:
        """Whether a release has the promised epsilon; without, the agreement has to acknowledge it in words."""
        return self.name not in NOT_PRIVATE

    @property
    def sensitivity(self) -> LocalSensitivity:
        """How the noise of an idp-ir release is scaled."""
        return self.local_sensitivity or "exact"

    @property
    def order_of_categories(self) -> CategoryOrder:
        """In which order an idp-ir release ranks categories."""
        return self.category_order or "schema"

    @property
    def reads_numbers(self) -> bool:
        """Whether numbers are needed as such, and not only the cells of the grid they lie in."""
        return self.name in NUMBER_READERS

    @property
    def share_for_dependence(self) -> Decimal:
        """The share of a copula release's budget for the sums of products."""
        return DEPENDENCE_SHARE if self.dependence_share is None else self.dependence_share


SPECIALIZATION_KEYS = ("specializations", "score", "selection_share", "max_cells")
KEYS_OF_MECHANISM: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("specialization", "distdiffgen", "arbdistdp"), SPECIALIZATION_KEYS),
    "copula": ("dependence_share",),
    "hpdp": ("noise", "records"),
    "vhdp": (),
    "idp-ir": ("k", "local_sensitivity", "category_order", "acknowledge"),
}
"""Keys of the section [mechanism] that mean something to a mechanism, besides its name."""

MAKERS_OF_NUMBERS: tuple[str, ...] = ("copula", "hpdp", "vhdp", "idp-ir")
"""Mechanisms that publish numbers, which the agreement may say the decimals of."""

NUMBER_READERS: tuple[str, ...] = ("hpdp", "vhdp", "idp-ir")
"""Mechanisms that need numbers, in steps of 10^-decimals, and not only the cells of the grid they lie in."""

RECORD_PUBLISHERS: tuple[str, ...] = ("vhdp", "idp-ir")
"""Mechanisms that publish a row for every record, with noise that the owners of its cells add."""

NOT_PRIVATE: tuple[str, ...] = ("idp-ir",)
"""Mechanisms that no epsilon can be stated for."""


class Agreement(_Model):
    """What all parties agree on. Build it with `load_agreement` or `agreement_from_mapping`.

    The order of parties and attributes is part of the agreement (it fixes how ties are broken and the order of
    columns); the spelling of numbers, comments and the order of keys inside a table are not.
    """

    format: Annotated[Literal[1], BeforeValidator(refuse_bool)]
    name: Name
    dataset: Name
    description: str = ""
    partition: Literal["horizontal", "vertical", "arbitrary"]
    parties: dict[Name, Party] = Field(min_length=2)
    records: Records
    class_: ClassAttribute = Field(alias="class")
    attributes: dict[str, Attribute] = Field(min_length=1)
    privacy: Privacy
    mechanism: Mechanism
    budget: Budget = Budget()
    engine: Computation = Computation()

    @model_validator(mode="after")
    def _check_whole(self) -> Agreement:
        from copublish.agreement.rules import broken_rules  # the rules need this class

        problems = broken_rules(self)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """Public domain of every attribute, in agreed order; the class is not among them."""
        return {name: attribute.domain(name) for name, attribute in self.attributes.items()}

    @cached_property
    def class_domain(self) -> CategoricalDomain:
        """Public domain of the class attribute."""
        return CategoricalDomain(self.class_.name, flat_taxonomy(self.class_.values))

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
        """The parties that share their inputs with the compute nodes; where columns are joined there are none."""
        if self.engine.name != "spu" or self.partition != "horizontal":
            return ()
        return tuple(party for party in self.parties if party not in self.compute_nodes)

    @property
    def aggregator(self) -> str:
        """The party that adds up masked sums and joins records, where no secure engine runs."""
        return self.engine.aggregator or self.party_names[0]

    @property
    def colluders(self) -> int:
        """How many owners of data may collude with the aggregator, where no secure engine runs."""
        return self.engine.colluders or 1

    @property
    def epsilon(self) -> Fraction:
        """The budget of the release, exactly as written."""
        return Fraction(self.privacy.epsilon)

    @property
    def delta(self) -> Fraction:
        """The agreed delta of Gaussian noise, exactly as written; 0 if there is none."""
        return Fraction(self.privacy.delta or 0)

    @property
    def publishes_each_record(self) -> bool:
        """Whether every record is published, with noise that its owners add, rather than counts of records."""
        return self.mechanism.name in RECORD_PUBLISHERS

    @property
    def class_is_shared(self) -> bool:
        """Whether every party knows the class of every record it knows."""
        return self.partition != "horizontal" and set(self.holders(self.class_.name)) == set(self.owners)

    @property
    def columns(self) -> dict[str, Domain]:
        """Public domain of every column in agreed order; the class is one more, the last."""
        return {**self.domains, self.class_.name: self.class_domain}

    @property
    def budget_label(self) -> str:
        """The column that information gains are about: the agreed label, or the class."""
        return self.budget.label or self.class_.name

    def holders(self, column: str) -> tuple[str, ...]:
        """Return the parties that hold cells of an attribute or of the class."""
        held_by = self.class_.held_by if column == self.class_.name else self.attributes[column].held_by
        return self.owners if held_by is None else held_by

    def columns_of(self, party: str) -> tuple[str, ...]:
        """Return the attributes, then the class, of which a party holds cells."""
        return tuple(c for c in (*self.attributes, self.class_.name) if party in self.holders(c))

    def canonical(self) -> str:
        """Return the agreement in the one spelling that is hashed."""
        content = self.model_dump(mode="python", by_alias=True)
        # Agreements from before a key was there keep their hash.
        for table in (content["mechanism"], content["privacy"], *content["attributes"].values()):
            for key in [key for key, value in table.items() if value is None and key not in FIRST_KEYS]:
                del table[key]
        for key, default in (("engine", Computation()), ("budget", Budget())):
            if content[key] == default.model_dump():
                del content[key]
        for party in content["parties"].values():
            if party["data"]:
                del party["data"]
        return json.dumps(_canonical(content), sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    def parts(self) -> dict[str, str]:
        """Return a hash for every part, so that parties whose agreements differ can say where."""
        found: dict[str, object] = {}
        for key, value in json.loads(self.canonical()).items():
            if key in ("parties", "attributes"):
                found |= {f"{key}.{name}": content for name, content in value}
                found[f"order of {key}"] = [name for name, _ in value]
            else:
                found[key] = value
        return {key: hashlib.sha256(json.dumps(value).encode()).hexdigest() for key, value in found.items()}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()


FIRST_KEYS = ("max_cells", "values", "taxonomy", "held_by")
"""Keys that have been hashed from the beginning, also where nothing is said."""

ORDERED_TABLES = ("parties", "attributes", "taxonomy")


def _canonical(value: object, *, ordered: bool = False) -> object:
    """Spell numbers as fractions, and tables whose order matters as lists of pairs."""
    if isinstance(value, dict):
        if ordered:
            return [[key, _canonical(item, ordered=isinstance(item, dict))] for key, item in value.items()]
        return {key: _canonical(item, ordered=key in ORDERED_TABLES) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return str(Fraction(value)) if isinstance(value, Decimal) else value


def _distinct(values: tuple[str, ...], *, at_least: int, what: str) -> tuple[str, ...]:
    if len(values) < at_least:
        raise ValueError(
            f"{what} needs at least {at_least} value{'s' * (at_least > 1)}; take them from the code book, "
            "not from private data"
        )
    spaced = [value for value in values if value != value.strip() or not value]
    if spaced:
        raise ValueError(
            f"cells are read without surrounding space, so {spaced[0]!r} can never occur; remove the space"
        )
    repeated = sorted(value for value, times in Counter(values).items() if times > 1)
    if repeated:
        raise ValueError(f"these values are listed twice: {', '.join(map(repr, repeated))}")
    return values
