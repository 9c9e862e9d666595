"""Rules that concern several parts of an agreement at once. Each broken one is a sentence to act on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from copublish.agreement.attributes import OTHER_LABEL, CategoricalAttribute
from copublish.agreement.budget import broken_budget_rules
from copublish.agreement.computation import broken_engine_rules
from copublish.agreement.derived import broken_derivation_rules
from copublish.agreement.domain import MISSING_LABEL, NumericalDomain
from copublish.agreement.identifiers import broken_identifier_rules
from copublish.agreement.membership import broken_membership_rules
from copublish.agreement.names import as_seen, look_alikes
from copublish.agreement.parties import broken_network_rules
from copublish.agreement.settings import known_settings

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement

RESERVED_COLUMNS = ("count", "noisy_count")
"""Columns that a release adds."""

SMALLEST_SHARE_OF_EPSILON = Fraction(1, 10**6)
"""Below this the noise of a measurement no longer fits the engine's 62-bit integers."""

MAX_STEPS = 2**53
"""Between a number's bounds, in its last agreed decimal, where numbers are read as such."""


def broken_rules(agreement: Agreement) -> list[str]:
    """One sentence for every rule that the agreement breaks."""
    return [
        *broken_network_rules(agreement),
        *_party_names(agreement),
        *_owners(agreement),
        *_ledgers(agreement),
        *broken_engine_rules(agreement),
        *_needed_columns(agreement),
        *_column_names(agreement),
        *_holders(agreement),
        *_records(agreement),
        *_missing_values(agreement),
        *_encoding(agreement),
        *_numbers(agreement),
        *broken_derivation_rules(agreement),
        *broken_budget_rules(agreement),
        *_delta(agreement),
        *_class_disagreement(agreement),
        *agreement.mechanism.broken_rules(agreement),
    ]


LOOKS_LIKE = (
    "it looks like {name}. Letters of other scripts that look Latin, capitals, spaces and what nobody sees tell no two "
    "names apart. Rename one of them"
)


def _party_names(agreement: Agreement) -> Iterator[str]:
    for earlier, name in look_alikes(agreement.parties):
        yield f"parties.{name}: {LOOKS_LIKE.format(name=ascii(earlier))}"


def _owners(agreement: Agreement) -> Iterator[str]:
    if len(agreement.owners) < 2:
        yield "parties: at least two of them hold data. Remove 'data = false' from others"


def _ledgers(agreement: Agreement) -> Iterator[str]:
    named = agreement.privacy.ledgers
    if missing := [name for name in agreement.owners if named is not None and name not in named]:
        names = ", ".join(map(repr, missing))
        yield f"privacy.ledgers: the ledgers of all owners of data count these people, so name {names}, too"


def _needed_columns(agreement: Agreement) -> Iterator[str]:
    if agreement.class_ is None and agreement.mechanism.needs_class:
        yield (
            f"class: it is missing, and the mechanism '{agreement.mechanism.name}' predicts it. Write a section "
            "[class] with a name and values, or take a mechanism that needs none"
        )
    elif agreement.class_ is None and len(agreement.attributes) < 2:
        yield (
            "attributes: a release has at least two columns, and this one has one. Add an attribute, or a section "
            "[class]"
        )


def _column_names(agreement: Agreement) -> Iterator[str]:
    if agreement.class_ is not None and agreement.class_.name in agreement.attributes:
        yield (
            f"attributes.{agreement.class_.name}: this is the class already; an attribute cannot be both. "
            "Remove it from the attributes"
        )
    places = {f"attributes.{name}": name for name in agreement.attributes}
    if agreement.class_ is not None:
        places["class.name"] = agreement.class_.name
    for place, column in places.items():
        if column in RESERVED_COLUMNS:
            yield f"{place}: a release has a column of its own with the name '{column}'. Rename it in the data"
    seen: dict[str, str] = {}
    for place, column in places.items():
        twin = seen.setdefault(as_seen(column), column)
        if twin != column and twin.lower() == column.lower():
            yield f"{place}: '{twin}' differs from it in case alone, which sources ignore. Rename one of them"
        elif twin != column:
            yield f"{ascii(place)[1:-1]}: {LOOKS_LIKE.format(name=ascii(twin))}"


def _holders(agreement: Agreement) -> Iterator[str]:
    places = [(f"attributes.{name}", attribute.held_by, False) for name, attribute in agreement.attributes.items()]
    if agreement.class_ is not None:
        places.append(("class", agreement.class_.held_by, True))
    for place, held_by, is_class in places:
        yield from _holders_of(agreement, place, held_by, is_class)
    if agreement.partition == "horizontal":
        return
    for party in agreement.owners:
        # Every owner holds a class that says nothing of its holders, so that shows no intention to take part.
        named = () if agreement.class_ is None else agreement.class_.held_by
        if not any(party in agreement.holders(name) for name in agreement.attributes) and party not in (named or ()):
            what = "no attribute" if named is None else "no column"
            yield f"parties.{party}: this party holds {what}. Name it in a 'held_by', or leave it out"


def _holders_of(agreement: Agreement, place: str, held_by: tuple[str, ...] | None, is_class: bool) -> Iterator[str]:
    known = ", ".join(f"'{party}'" for party in agreement.parties)
    partition = agreement.partition
    if held_by is None:
        if partition == "vertical" and not is_class:
            yield f'{place}: say which party holds it, like held_by = "{next(iter(agreement.parties))}"'
        return
    if partition == "horizontal":
        yield f"{place}.held_by: in a horizontal release every party holds whole rows. Remove 'held_by'"
        return
    for party in held_by:
        if party not in agreement.parties:
            yield f"{place}.held_by: '{party}' is not a party of this agreement. Parties: {known}"
        elif party not in agreement.owners:
            yield f"{place}.held_by: by parties.{party}.data this party holds no data. Name another one"
    if not held_by or len(set(held_by)) < len(held_by):
        yield f"{place}.held_by: name at least one party, and each one once"
    if partition == "vertical" and not is_class and len(held_by) > 1:
        yield (
            f"{place}.held_by: in a vertical release one party holds the whole column. Name one party, "
            'or write partition = "arbitrary" if cells of it are spread'
        )
    if is_class and 1 < len(held_by) < len(agreement.owners):
        yield f"{place}.held_by: the class is held by one party or by all of them ({known})"


def _records(agreement: Agreement) -> Iterator[str]:
    records = agreement.records
    if records.public and agreement.privacy.neighbors == "add-remove":
        yield (
            "records.public: a public number of records shows whether one person was added, so it contradicts "
            'privacy.neighbors = "add-remove". Write neighbors = "replace", or public = false'
        )
    if agreement.partition == "horizontal" and records.alignment == "row-order":
        yield 'records.alignment: horizontal data are not joined, so "row-order" means nothing here. Remove it'
    yield from broken_identifier_rules(agreement)
    if records.alignment == "row-order" and records.keys:
        yield (
            "records.identifier: records that are joined by their order are not told apart by an identifier. Remove "
            'it, or remove alignment = "row-order"'
        )
    joined = agreement.partition != "horizontal" and records.alignment == "identifier"
    if joined and not records.keys:
        yield (
            f"records.identifier: a {agreement.partition} release joins records by an identifier. Name its column, "
            'or write alignment = "row-order" if every party has the same people in the same order'
        )
    yield from _helper(agreement)
    yield from broken_membership_rules(agreement)


def _helper(agreement: Agreement) -> Iterator[str]:
    """Rules about who compares people for the owners."""
    named, place = agreement.records.compared_by, "records.compared_by"
    if named is None:
        return
    if named not in agreement.parties:
        known = ", ".join(f"'{party}'" for party in agreement.parties)
        yield f"{place}: '{named}' is not a party of this agreement. Parties: {known}"
    elif named in agreement.owners:
        yield (
            f"{place}: '{named}' holds data, so it has the key of the pseudonyms that it would compare. Name a party "
            "with data = false, or remove the key: owners then compare among themselves"
        )
    if not agreement.compares_people:
        yield f"{place}: nobody's identifiers are compared here. Remove it"


def _missing_values(agreement: Agreement) -> Iterator[str]:
    said = {f"attributes.{name}": attribute.missing_spellings for name, attribute in agreement.attributes.items()}
    places = {
        f"attributes.{name}": set(attribute.tree.leaves())
        for name, attribute in agreement.attributes.items()
        if attribute.kind == "categorical"
    }
    if agreement.class_ is not None:
        said["class"] = agreement.class_.missing_spellings
        places["class"] = set(agreement.class_.values)
    for place, values in places.items():
        own = said[place]
        spellings, key = (own, place) if own is not None else (agreement.records.missing_spellings, "records")
        for value in sorted(values & set(spellings)):
            yield f"{place}: '{value}' is listed as a value and in {key}.missing_spellings; it can be only one of them"


def _encoding(agreement: Agreement) -> Iterator[str]:
    """Rules about what becomes of values that are not as agreed."""
    for name, attribute in agreement.attributes.items():
        place = f"attributes.{name}.missing"
        if attribute.kind == "categorical":
            yield from _targets(name, attribute)
        elif isinstance(attribute.missing, str) and attribute.missing != "category":
            yield f"{place}: '{attribute.missing}' is neither 'category' nor a number. Write a number within the bounds"
        elif (
            isinstance(attribute.missing, Decimal)
            and not attribute.bounds[0] <= attribute.missing <= attribute.bounds[1]
        ):
            lower, upper = attribute.bounds
            yield f"{place}: {attribute.missing} is not within bounds = [{lower}, {upper}]. Take a number that is"


def _targets(name: str, attribute: CategoricalAttribute) -> Iterator[str]:
    """Where values go that are not listed, and missing ones: to a value of the domain."""
    values = attribute.domain(name).values
    for key, also in (("missing", "'category'"), ("unlisted", f"'{OTHER_LABEL}'")):
        value = getattr(attribute, key)
        if value in values and value != MISSING_LABEL:
            continue
        if not (key == "missing" and value == "category"):
            yield f"attributes.{name}.{key}: '{value}' is neither {also} nor a listed value. Write one of them"
    if attribute.unlisted == OTHER_LABEL and list(attribute.domain(name).tree.labels()).count(OTHER_LABEL) > 1:
        yield (
            f"attributes.{name}.unlisted: '{OTHER_LABEL}' is a group in the taxonomy, so it cannot be a value as well. "
            "Rename the group, or name a listed value"
        )


def _numbers(agreement: Agreement) -> Iterator[str]:
    """Rules about numbers, by what the mechanism does with them."""
    for name, domain in agreement.domains.items():
        if agreement.mechanism.reads_numbers and isinstance(domain, NumericalDomain):
            farthest = max(abs(domain.lower), abs(domain.upper)).scaleb(domain.decimals_of_numbers)
            if farthest > MAX_STEPS:
                yield (
                    f"attributes.{name}.bounds: with their decimals they have more digits than numbers are read with "
                    f"(up to {MAX_STEPS:,} of the last decimal). Take fewer decimals and a coarser grid"
                )


def _delta(agreement: Agreement) -> Iterator[str]:
    if agreement.privacy.delta is not None and not agreement.uses_gaussian_noise:
        ways = dict.fromkeys(known.how_to_get_gaussian_noise for known in known_settings().values())
        take = "; or ".join(way for way in ways if way is not None)
        yield f"privacy.delta: only Gaussian noise needs it. Remove it, or take {take}"


def _class_disagreement(agreement: Agreement) -> Iterator[str]:
    """Rules about counting the records on which two class columns differ."""
    if agreement.privacy.class_disagreement is None:
        return
    place = "privacy.class_disagreement"
    if agreement.class_ is None:
        yield f"{place}: it compares two class columns, and the agreement has no section [class]. Remove it"
        return
    holders = agreement.holders(agreement.class_.name)
    if agreement.partition == "horizontal":
        yield f"{place}: in a horizontal release no record has two class columns. Remove it"
    elif len(holders) != 2:
        who = f"'{holders[0]}' alone holds" if len(holders) == 1 else f"{len(holders)} parties hold"
        yield f"{place}: it compares two class columns, and {who} the class '{agreement.class_.name}'. Remove it"
    if agreement.engine.name == "masked-sum":
        yield f"{place}: the engine 'masked-sum' cannot compare columns of two parties. Remove it, or take 'spu'"
    if agreement.mechanism.no_promise(agreement) is not None:
        yield f"{place}: a release without differential privacy has no epsilon to take a share of. Remove it"
    if agreement.epsilon_for_class_disagreement < SMALLEST_SHARE_OF_EPSILON:
        yield f"{place}: that is less than 0.000001 of epsilon. Take a larger share, or raise privacy.epsilon"


def constant_columns(agreement: Agreement) -> Iterator[str]:
    """Yield one sentence for every attribute with one value alone, for mechanisms that measure every column."""
    for name, domain in agreement.domains.items():
        if domain.size < 2:
            yield f"attributes.{name}: it has one value alone, so there is nothing to measure. Remove it"
