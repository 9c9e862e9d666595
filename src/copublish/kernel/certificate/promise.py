"""What an agreement's release protects and what not, what each party sees, and what that rests on, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from copublish.agreement.derived import derived_words
from copublish.agreement.domain import NumericalDomain
from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.formatting import show_bound, show_exact
from copublish.kernel.accounting.groups import epsilon_of_group
from copublish.kernel.accounting.membership import added_towards_owner, exchanged_towards_owner
from copublish.kernel.certificate.comparing import (
    assumptions_about_noise,
    assumptions_of_comparing,
    lengths_told,
    limits_of_masked_sums,
    not_protected_in_comparing,
    seen_by_aggregator,
    seen_in_comparing,
)


def protected(agreement: Agreement, cost: Cost) -> list[str]:
    """What is protected, at which epsilon, in plain words.

    Args:
        agreement: What all parties agreed on.
        cost: Of everything that is opened.
    """
    no_promise = agreement.mechanism.no_promise(agreement)
    if no_promise is not None:
        return list(no_promise.protected)
    epsilon = show_exact(agreement.epsilon)
    if agreement.delta:
        epsilon += f", delta {show_bound(agreement.delta)}"
    has_class = agreement.class_ is not None
    if agreement.privacy.neighbors == "add-remove":
        return [
            f"Whether any one person is in the data at all, with all their cells at every party (epsilon {epsilon}).",
            f"Every attribute {'and the class ' if has_class else ''}of every person "
            f"({_price(cost.replace, agreement)}).",
            *_shared_keys(agreement, cost),
            _of_two_records(agreement, cost),
            *_hidden_membership(agreement, cost),
        ]
    included = ", the class included" if has_class else ""
    return [
        f"Every value of any one person{included}, with all their cells (epsilon {epsilon}).",
        _of_two_records(agreement, cost),
        *_hidden_membership(agreement, cost),
    ]


def _shared_keys(agreement: Agreement, cost: Cost) -> list[str]:
    """What the presence of somebody costs whose key another person may have, too: the record of both stays."""
    if not agreement.records.may_be_shared:
        return []
    price = _price(cost.replace, agreement)
    return [
        f"Of people who share a key there is one record: whether one of them is in the data is protected ({price})."
    ]


def _hidden_membership(agreement: Agreement, cost: Cost) -> list[str]:
    """What is protected where owners do not learn who is common."""
    if not agreement.hides_membership:
        return []
    added, exchanged = added_towards_owner(agreement, cost), exchanged_towards_owner(agreement, cost)
    delta, most = agreement.delta + agreement.membership_delta, len(agreement.owners) + 1
    return [
        "From another owner, too, whatever people it lists: who is on an owner's list. One person added or removed: "
        f"{_price_at(added, delta)}. One person exchanged for another: {_price_at(exchanged, delta)}. Other values of "
        f"one person: {_price(cost.replace, agreement)}.",
        "Everybody on an owner's list is protected like that, and not only the people whom all owners have in common.",
        "Of a list that is longer than agreed, the people with the smallest keyed digests take part. As long as only "
        "one list is, a person who is added takes another's place, which costs what an exchange costs. As long as more "
        f"are, up to {most} records change: {_price(epsilon_of_group(cost, 'add-remove', most), agreement)}.",
        *_from_parties_without_data(agreement),
    ]


def _from_parties_without_data(agreement: Agreement) -> list[str]:
    """What is protected from parties that see the number of rows between two owners: docs/proofs/hidden-size.md, 5."""
    others = ", ".join(f"'{party}'" for party in agreement.parties if party not in agreement.owners)
    if not others or agreement.helper is not None:
        return []
    return [f"From {others}, without data: the same, at no more than from another owner."]


def _of_two_records(agreement: Agreement, cost: Cost) -> str:
    price = _price(epsilon_of_group(cost, agreement.privacy.neighbors, 2), agreement)
    return f"The same for somebody who has two records, against what is assumed below, at {price}."


def _price(epsilon: Fraction | None, agreement: Agreement) -> str:
    """An epsilon in words, with the agreed delta if there is one."""
    return _price_at(epsilon, agreement.delta)


def _price_at(epsilon: Fraction | None, delta: Fraction) -> str:
    """An epsilon in words, with delta if there is one."""
    if epsilon is None:
        return "no finite epsilon"
    return f"epsilon {show_exact(epsilon)}" + (f", delta {show_bound(delta)}" if delta else "")


def not_protected(agreement: Agreement) -> list[str]:
    """What is not, in plain words."""
    no_promise = agreement.mechanism.no_promise(agreement)
    found = [
        *(() if no_promise is None else no_promise.not_protected),
        "The agreement itself: schema, domains, parties, parameters.",
        "Facts about groups of people: the release is made to tell them.",
        "Earlier or later releases of the same people, unless they are in the same ledgers.",
        "The people in an honest party's data from a party that changed its engine.",
        "Anything that a party publishes of its own data.",
    ]
    found += limits_of_masked_sums(agreement)
    if agreement.hides_membership:
        lengths = agreement.records.at_most or {}
        listed = ", ".join(f"'{owner}' {lengths[owner]:,}" for owner in agreement.owners)
        found.append(f"The lengths that the agreement pads lists to: {listed}.")
    elif agreement.partition != "horizontal":
        found.append(f"From the other parties: who is in the table, how many they are{lengths_told(agreement)}.")
    if agreement.joins_by_identifier and not agreement.hides_membership:
        found.append("From the other parties: whether a party lists the same people as when this agreement ran last.")
    if agreement.partition == "arbitrary":
        found.append("From the other parties: which party holds which cell.")
    if agreement.publishes_each_record:
        found.append(_whose_rows(agreement))
    found += not_protected_in_comparing(agreement)
    if agreement.class_is_shared:
        found.append("From the other parties: the class, which all of them hold.")
    if (ledgers := agreement.privacy.ledgers) is not None:
        found.append(
            f"From what is released besides: the people of '{agreement.dataset}' are counted in the ledgers of "
            f"{', '.join(ledgers)}. Each knows the releases that it takes part in, and none the sum of all."
        )
    if agreement.records.public:
        found.append("The number of records, which the agreement makes public.")
        if agreement.partition == "horizontal":
            found.append("From the other parties: each party's own number of records.")
    return found


def assumptions(agreement: Agreement, engine_assumptions: Sequence[str]) -> list[str]:
    """Assumptions of the guarantee."""
    found = [
        f"One person is one record{_told_apart(agreement)}.",
        "Domains, bounds, grids and the expected number of records in the agreement come from public knowledge.",
        *_encoding(agreement),
        *derived_words(agreement),
        *_coins(agreement),
        *assumptions_of_comparing(agreement),
        *engine_assumptions,
    ]
    if agreement.joins_by_identifier and not agreement.hides_membership:
        found.append(
            "Parties list the people they have. Each party's ledger shows who listed other people than when this "
            "agreement ran before: that does not prevent a first wrong list, and data that grew look the same."
        )
    if agreement.compared_identifiers is not None:
        found += [
            "Parties list the people they have: whoever lists one person alone learns whether another party has it.",
            f"No party lists more than {agreement.compared_identifiers:,} people, twice records.expected: whether "
            "those beyond are at another party too is not compared.",
        ]
    if agreement.partition == "horizontal" and not agreement.records.keys:
        found.append("No person is listed by two parties (the agreement names no identifier to check it).")
    if agreement.partition != "horizontal" and agreement.records.alignment == "row-order":
        found.append("All parties list the same people in the same order (the agreement says row-order).")
    return found


def _encoding(agreement: Agreement) -> list[str]:
    """What becomes of values that are not as agreed, which owners have to know, because no run ends for them."""
    found = [
        "Values that are not as agreed end no run; each owner's software changes them by the agreement, row by row."
    ]
    kinds = {attribute.kind for attribute in agreement.attributes.values()}
    if "numerical" in kinds:
        found.append(
            "A number past its bounds is the nearer bound; a missing or unreadable one is a category of its own, or "
            "the number that the agreement names."
        )
    if any(domain.decimals is not None for domain in agreement.domains.values() if isinstance(domain, NumericalDomain)):
        found.append("A number with more decimals than agreed is read as rounded down to them.")
    if "categorical" in kinds:
        found.append(
            "A category that is not listed, or missing without a category for it, is the value that the agreement "
            "names."
        )
    if agreement.class_ is not None:
        null = "is the first listed one" if agreement.publishes_each_record else "makes the record count nowhere"
        found.append(f"A class that is not listed, or missing, {null}.")
    if agreement.records.keys and agreement.records.alignment == "identifier":
        found.append(
            "Of several rows of one identifier one is taken, the smallest in codes; rows without one are left out."
        )
    if agreement.partition == "arbitrary":
        found.append("A cell that two parties hold is that of the first of them; one that nobody holds is missing.")
    return found


def _coins(agreement: Agreement) -> list[str]:
    """Whose coins make the noise unknown."""
    jointly = assumptions_about_noise(agreement) or [_joint_coins(agreement)]
    if not agreement.publishes_each_record:
        return jointly
    alone = "Every owner's own coins are uniform and secret: it alone draws the noise of its values."
    return [*jointly, alone] if computes_jointly(agreement) else [alone]


def _joint_coins(agreement: Agreement) -> str:
    # A party knows its own coins, so those of somebody else have to hide the noise from it.
    if not agreement.guests and agreement.engine.agreed_protocol == "cheetah":
        return "Every party's coins are uniform and secret: from each party, those of another one hide the noise."
    nodes = ", ".join(f"'{party}'" for party in agreement.compute_nodes)
    return (
        f"The coins of the compute nodes {nodes} are uniform and secret: from each of them, those of another one hide "
        "the noise."
    )


def view_of(agreement: Agreement, party: str) -> list[str]:
    """Everything one party sees during a run."""
    own = "its own fragment and its own coins" if party in agreement.owners else "its own coins"
    seen = [own, "the agreement"]
    if agreement.guests and party in agreement.compute_nodes and computes_jointly(agreement):
        guests = ", ".join(f"'{guest}'" for guest in agreement.guests)
        seen.append(
            f"one share of each input of {guests}, uniform, which tells nothing without those of the other nodes"
        )
    if agreement.engine.agreed_protocol == "aby3" and party in agreement.compute_nodes and computes_jointly(agreement):
        seen.append("two of three parts of every other node's inputs and coins, uniform, which tell nothing")
    seen += seen_in_comparing(agreement, party, agreement.records.compared_in_words())
    if agreement.partition != "horizontal" and not agreement.hides_membership:
        by_identifier = agreement.records.alignment == "identifier"
        seen.append("the number of common records" if by_identifier else "every party's number of rows")
    elif agreement.records.public:
        seen.append("the number of records of every party")
    if agreement.partition == "arbitrary":
        seen.append("which party holds which cell")
    seen += seen_by_aggregator(agreement, party)
    if agreement.publishes_each_record:
        if party in agreement.owners:
            seen.append("the noise of its own values, which it draws alone; nobody else knows it")
        seen.append("the values of every other party, perturbed, record by record as they are aligned")
    if agreement.uses_gaussian_noise:
        seen.append(
            "which candidates for noise were kept: coins decided that, and it tells nothing of data or of noise"
        )
    seen.append("the disclosures listed here, and nothing else")
    return seen


def computes_jointly(agreement: Agreement) -> bool:
    """Whether anything is computed on secrets or sums, beside what owners perturb alone."""
    measures_first = agreement.budget.is_by_gain or bool(agreement.privacy.class_disagreement)
    return not agreement.publishes_each_record or measures_first


def _whose_rows(agreement: Agreement) -> str:
    if agreement.partition == "horizontal":
        return "From the other parties: from which of them each row of the release comes."
    whose = "From the other parties: whose record each row of the release is"
    if agreement.mechanism.no_promise(agreement) is not None:
        return f"{whose}."
    return f"{whose}; its perturbed values tell them no more about the true ones than epsilon allows."


def _told_apart(agreement: Agreement) -> str:
    by = agreement.records.compared_in_words()
    return f": two records are the same person's exactly if they agree {by}" if by else ""
