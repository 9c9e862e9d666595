"""Rules that concern several parts of an agreement at once. Each broken one is a sentence to act on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from copublish.agreement.budget import broken_budget_rules, least_shares
from copublish.agreement.computation import broken_engine_rules
from copublish.agreement.domain import NumericalDomain
from copublish.agreement.idp_ir_rules import broken_idp_ir_rules

if TYPE_CHECKING:
    from copublish.agreement.model import Agreement


RESERVED_COLUMNS = ("count", "noisy_count")
"""Columns that a release adds."""


def broken_rules(agreement: Agreement) -> list[str]:
    """Return one sentence for every rule that the agreement breaks."""
    return [
        *_network(agreement),
        *_owners(agreement),
        *broken_engine_rules(agreement),
        *_column_names(agreement),
        *_holders(agreement),
        *_records(agreement),
        *_missing_values(agreement),
        *_numbers_read(agreement),
        *_mechanism_keys(agreement),
        *broken_budget_rules(agreement),
        *_candidates(agreement),
        *_copula(agreement),
        *_gaussian(agreement),
        *_hpdp(agreement),
        *_vhdp(agreement),
        *broken_idp_ir_rules(agreement),
    ]


def _network(agreement: Agreement) -> Iterator[str]:
    for key in ("host", "certificate"):
        first: dict[str, str] = {}
        for name, party in agreement.parties.items():
            value = getattr(party, key)
            if value is not None and first.setdefault(value, name) != name:
                yield f"parties.{name}.{key}: it is the same as that of '{first[value]}'. Every party has its own"


def _owners(agreement: Agreement) -> Iterator[str]:
    if len(agreement.owners) < 2:
        yield "parties: at least two of them hold data. Remove 'data = false' from others"


def _column_names(agreement: Agreement) -> Iterator[str]:
    if agreement.class_.name in agreement.attributes:
        yield (
            f"attributes.{agreement.class_.name}: this is the class already; an attribute cannot be both. "
            "Remove it from the attributes"
        )
    places = {f"attributes.{name}": name for name in agreement.attributes} | {"class.name": agreement.class_.name}
    for place, column in places.items():
        if column in RESERVED_COLUMNS:
            yield f"{place}: a release has a column of its own with the name '{column}'. Rename it in the data"
    seen: dict[str, str] = {}
    for place, column in places.items():
        twin = seen.setdefault(column.lower(), column)
        if twin != column:
            yield f"{place}: '{twin}' differs from it in case alone, which sources ignore. Rename one of them"
    identifier = agreement.records.identifier
    if identifier is not None and identifier in agreement.attributes:
        yield f"attributes.{identifier}: this is the identifier; it is never published. Remove it here"
    if identifier is not None and identifier == agreement.class_.name:
        yield f"class.name: '{identifier}' is the identifier; the class must be another column"


def _holders(agreement: Agreement) -> Iterator[str]:
    places = [(f"attributes.{name}", attribute.held_by, False) for name, attribute in agreement.attributes.items()]
    places.append(("class", agreement.class_.held_by, True))
    for place, held_by, is_class in places:
        yield from _holders_of(agreement, place, held_by, is_class)
    if agreement.partition == "horizontal":
        return
    helpers = len(agreement.parties) - len(agreement.owners)
    if helpers and agreement.class_is_shared and len(agreement.owners) > 1:
        yield (
            "class.held_by: owners that all hold the class compare a digest of it, which a party without data must not "
            f'see. Name the one that publishes it, like held_by = "{agreement.owners[0]}"'
        )
    for party in agreement.owners:
        if not any(party in agreement.holders(name) for name in agreement.attributes):
            yield f"parties.{party}: this party holds no attribute. Name it in a 'held_by', or leave it out"


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
    if records.public and agreement.privacy.neighbours == "add-remove":
        yield (
            "records.public: a public number of records shows whether one person was added, so it contradicts "
            'privacy.neighbours = "add-remove". Write neighbours = "replace", or public = false'
        )
    if agreement.partition == "horizontal" and records.alignment == "row-order":
        yield 'records.alignment: horizontal data are not joined, so "row-order" means nothing here. Remove it'
    if records.identifier_rules and records.identifier is None:
        yield (
            "records.identifier_rules: they say how identifiers are compared, but the agreement names no identifier. "
            'Name its column, like identifier = "customer_id", or remove the rules'
        )
    joined = agreement.partition != "horizontal" and records.alignment == "identifier"
    if joined and records.identifier is None:
        yield (
            f"records.identifier: a {agreement.partition} release joins records by an identifier. Name its column, "
            'or write alignment = "row-order" if every party has the same people in the same order'
        )


def _missing_values(agreement: Agreement) -> Iterator[str]:
    spellings = set(agreement.records.missing_spellings)
    places = {
        f"attributes.{name}": set(attribute.tree.leaves())
        for name, attribute in agreement.attributes.items()
        if attribute.kind == "categorical"
    }
    places["class"] = set(agreement.class_.values)
    for place, values in places.items():
        for value in sorted(values & spellings):
            yield (
                f"{place}: '{value}' is listed as a value and in records.missing_spellings; it can be only one of them"
            )


def _numbers_read(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import MAX_STEPS  # the model needs these rules

    if not agreement.mechanism.reads_numbers:
        return
    for name, domain in agreement.domains.items():
        if isinstance(domain, NumericalDomain):
            farthest = max(abs(domain.lower), abs(domain.upper)).scaleb(domain.decimals_of_numbers)
            if farthest > MAX_STEPS:
                yield (
                    f"attributes.{name}.bounds: with their decimals they have more digits than numbers are read with "
                    f"(up to {MAX_STEPS:,} of the last decimal). Take fewer decimals and a coarser grid"
                )


def _mechanism_keys(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import KEYS_OF_MECHANISM, MAKERS_OF_NUMBERS  # the model needs these rules

    name = agreement.mechanism.name
    known = ("name", *KEYS_OF_MECHANISM[name])
    for key in type(agreement.mechanism).model_fields:
        is_said = key in agreement.mechanism.model_fields_set and getattr(agreement.mechanism, key) is not None
        if key not in known and is_said:
            yield (
                f"mechanism.{key}: it means nothing to the mechanism '{name}'. Remove it; keys allowed here: "
                f"{', '.join(known)}"
            )
    for column, attribute in agreement.attributes.items():
        if name not in MAKERS_OF_NUMBERS and attribute.kind == "numerical" and attribute.decimals is not None:
            yield (
                f"attributes.{column}.decimals: it says how published numbers are written, and the mechanism '{name}' "
                "makes none. Remove it"
            )


def _copula(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import MAX_COPULA_COLUMNS, MIN_COPULA_EPSILON  # the model needs these rules

    if agreement.mechanism.name != "copula":
        return
    if agreement.epsilon < MIN_COPULA_EPSILON:
        yield (
            f"privacy.epsilon: a copula release needs at least {float(MIN_COPULA_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    columns = (*agreement.attributes, agreement.class_.name)
    if len(columns) > MAX_COPULA_COLUMNS:
        yield (
            f"attributes: a copula release has at most {MAX_COPULA_COLUMNS} columns, the class included, and these are "
            f"{len(columns)}. Leave some out: every pair of columns shares one budget"
        )
    yield from _constant_columns(agreement)


def _constant_columns(agreement: Agreement) -> Iterator[str]:
    for name, domain in agreement.domains.items():
        if domain.size < 2:
            yield f"attributes.{name}: it has one value alone, so there is nothing to measure. Remove it"


def _vhdp(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import MAX_VHDP_COLUMNS, MAX_VHDP_SCALE, MIN_VHDP_EPSILON  # the model needs these

    if agreement.mechanism.name != "vhdp":
        return
    if agreement.privacy.neighbours != "replace" or not agreement.records.public:
        yield (
            "mechanism.name: a vhdp release has one row for every person, so it shows how many there are, and it "
            'protects values, not membership. Write neighbours = "replace" in [privacy] and public = true in '
            "[records], or take the mechanism 'copula'"
        )
    if agreement.partition == "arbitrary":
        yield (
            "partition: in a vhdp release the owner of a column, or of a row, adds its noise, so cells cannot be "
            "spread. Take vertical or horizontal data, or the mechanism 'copula'"
        )
    if agreement.epsilon < MIN_VHDP_EPSILON:
        yield (
            f"privacy.epsilon: a vhdp release needs at least {float(MIN_VHDP_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    n_columns = len(agreement.columns)
    if n_columns > MAX_VHDP_COLUMNS:
        yield (
            f"attributes: a vhdp release has at most {MAX_VHDP_COLUMNS} columns, the class included, and these are "
            f"{n_columns}. Leave some out: all columns share one budget"
        )
    least = {} if any(broken_budget_rules(agreement)) else least_shares(agreement)
    for name, domain in agreement.domains.items():
        if isinstance(domain, NumericalDomain) and name in least:
            # Half of a column's budget is for its numbers where the other half hides which of them are missing.
            steps = (1 + domain.missing) * domain.steps
            if steps > MAX_VHDP_SCALE * agreement.epsilon * least[name]:
                yield (
                    f"attributes.{name}: its noise would be too large for whole numbers of its last decimal. Write "
                    "fewer decimals, narrower bounds or a larger weight, or raise privacy.epsilon"
                )
    yield from _constant_columns(agreement)


def _gaussian(agreement: Agreement) -> Iterator[str]:
    is_gaussian = agreement.mechanism.noise == "gaussian"
    if agreement.privacy.delta is not None and not is_gaussian:
        yield (
            "privacy.delta: only Gaussian noise needs it. Remove it, or take the mechanism 'hpdp' and write noise = "
            '"gaussian" in [mechanism]'
        )
    if is_gaussian and agreement.mechanism.name == "hpdp" and agreement.privacy.delta is None:
        yield 'privacy.delta: noise = "gaussian" needs one. Write it, like delta = "1e-6", or take noise = "laplace"'
    if is_gaussian and agreement.engine.name == "masked-sum":
        yield (
            "mechanism.noise: without a secure engine owners can only add shares of Laplace noise. Write noise = "
            '"laplace" and remove privacy.delta, or take another engine'
        )


def _hpdp(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import MAX_COORDINATES, MAX_STEPS, MIN_HPDP_EPSILON  # the model needs these rules

    if agreement.mechanism.name != "hpdp":
        return
    if agreement.partition != "horizontal":
        yield (
            'partition: the mechanism hpdp is for owners of whole rows. Write partition = "horizontal", or take the '
            "mechanism 'copula'"
        )
    if agreement.epsilon < MIN_HPDP_EPSILON:
        yield (
            f"privacy.epsilon: an hpdp release needs at least {float(MIN_HPDP_EPSILON):g}, got "
            f"{agreement.privacy.epsilon}; 0.1 to 2 is usual"
        )
    size = 0
    for name, domain in (*agreement.domains.items(), (agreement.class_.name, agreement.class_domain)):
        attribute = agreement.attributes.get(name)
        if attribute is not None and attribute.kind == "numerical":
            size += 1 + domain.missing
            if attribute.domain(name).steps > MAX_STEPS:
                yield f"attributes.{name}.decimals: too many for numbers between these bounds. Take fewer"
        else:
            size += 1 if domain.size == 2 else domain.size
        if domain.size < 2:
            yield f"attributes.{name}: it has one value alone, so there is nothing to measure. Remove it"
    if size > MAX_COORDINATES:
        sums = size * (size + 1) // 2
        yield (
            f"attributes: an hpdp release has at most {MAX_COORDINATES} coordinates (numbers, and values of categories "
            f"with more than two of them), and these are {size:,}: {sums:,} sums, for which the engine would need "
            f"about {_gibibytes(sums):.1f} GiB. Leave columns out, or put rare values together"
        )


def _gibibytes(sums: int) -> float:
    """Return about how much memory the noise of so many sums takes: twice 40 coins of 62 bits, held four times."""
    return sums * 2 * 40 * 62 / 8 * 4 / 2**30


def _candidates(agreement: Agreement) -> Iterator[str]:
    from copublish.agreement.model import KEYS_OF_MECHANISM, MAX_GAIN_CANDIDATES  # the model needs these rules

    if "score" not in KEYS_OF_MECHANISM[agreement.mechanism.name]:
        return
    candidates = sum(domain.max_splits for domain in agreement.domains.values())
    if agreement.mechanism.score != "max" and candidates > MAX_GAIN_CANDIDATES:
        yield (
            f"mechanism.score: '{agreement.mechanism.score}' compares at most {MAX_GAIN_CANDIDATES:,} splits, and "
            f'these attributes have {candidates:,}. Take coarser grids or fewer attributes, or write score = "max"'
        )
