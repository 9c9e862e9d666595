"""The certificate: what a release guarantees, to whom, and under which assumptions.

Under `deployment`, fields are named after the Differential Privacy Deployments Registry where it has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from copublish.agreement.model import Agreement
from copublish.privacy.accounting import Cost, cost_of
from copublish.privacy.described import UNPROTECTED, describe_disclosure, epsilon_or_not, show_bound, show_exact
from copublish.privacy.disclosures import Disclosure
from copublish.privacy.masked_sums import (
    assumptions_about_noise,
    assumptions_about_pseudonyms,
    describe_shares,
    limits_of_masked_sums,
    seen_by_aggregator,
)
from copublish.privacy.no_promise import with_warning

CERTIFICATE_FORMAT = 1

IGNORED_BY_RULE = {
    "ignore-case": "upper and lower case",
    "ignore-spaces": "spaces",
    "ignore-punctuation": "punctuation",
    "ignore-leading-zeros": "leading zeros of numbers",
}
"""What the agreement's identifier_rules leave out, in words."""


@dataclass(frozen=True)
class Circumstances:
    """What the certificate says about how a release was made, besides the agreement and the disclosures."""

    engine: str
    secrecy: str
    engine_assumptions: Sequence[str]
    software: dict[str, str]
    publication_date: str
    public_total: int | None
    method: Method


@dataclass(frozen=True)
class Method:
    """What a mechanism does, in words.

    Attributes:
        product: What is published.
        mechanisms: How values are opened.
        post_processing: What is made of them.
        model: Where noise is added, if not where the engine does.
    """

    product: str
    mechanisms: str
    post_processing: str
    model: str | None = None


def build_certificate(
    agreement: Agreement, disclosures: Sequence[Disclosure], circumstances: Circumstances
) -> dict[str, Any]:
    """Return the certificate as plain JSON values."""
    cost = cost_of(disclosures, number_of_records_is_public=agreement.records.public)
    said = {
        "certificate_format": CERTIFICATE_FORMAT,
        "release": agreement.name,
        "agreement_hash": agreement.hash,
        "epsilon": describe_epsilon(agreement, cost),
        "delta_bound": show_bound(cost.delta),
        "delta_is": delta_words(agreement),
        "disclosures": [describe_disclosure(disclosure) for disclosure in disclosures],
        "protected": protected(agreement),
        "not_protected": not_protected(agreement),
        "public_facts": public_facts(agreement, circumstances.public_total),
        "assumptions": assumptions(agreement, _of_engine(agreement, circumstances)),
        "views": {party: view_of(agreement, party) for party in agreement.parties},
        "engine": {
            "name": circumstances.engine,
            "secrecy": _secrecy(agreement, circumstances),
            **describe_shares(agreement),
            **_parts_played(agreement, circumstances),
        },
        "deployment": _deployment(agreement, cost, circumstances),
        "software": circumstances.software,
    }
    return with_warning(agreement, said)


def delta_words(agreement: Agreement) -> str:
    """Return what delta bounds, in words."""
    if agreement.mechanism.noise == "gaussian":
        return "of Gaussian noise, as agreed, with the sampler's part in it"
    return "the sampler's part"


def describe_epsilon(agreement: Agreement, cost: Cost) -> dict[str, Any]:
    """Return epsilon for both relations, for the public and for the other parties.

    In vertical and arbitrary releases the other parties know who is in the table, so only the values of a
    person's cells are protected from them: the relation replace.
    """
    add_remove, replace = epsilon_or_not(cost.add_remove), epsilon_or_not(cost.replace)
    insiders_know_members = agreement.partition != "horizontal"
    return {
        "calibrated_to": agreement.privacy.neighbours,
        "agreed": show_exact(agreement.epsilon),
        "public": {"add-remove": add_remove, "replace": replace},
        "insiders": {
            "add-remove": f"{UNPROTECTED}: the parties know who is in the table"
            if insiders_know_members
            else add_remove,
            "replace": replace,
        },
    }


def protected(agreement: Agreement) -> list[str]:
    """Return what is protected, in plain words."""
    epsilon = show_exact(agreement.epsilon)
    if agreement.delta:
        epsilon += f", delta {show_bound(agreement.delta)}"
    if agreement.privacy.neighbours == "add-remove":
        return [
            f"Whether any one person is in the data at all, with all their cells at every party (epsilon {epsilon}).",
            "Every attribute and the class of every person.",
        ]
    return [f"Every value of any one person, the class included, with all their cells (epsilon {epsilon})."]


def not_protected(agreement: Agreement) -> list[str]:
    """Return what is not, in plain words."""
    found = [
        "The agreement itself: schema, domains, parties, parameters.",
        "Facts about groups of people: the release is made to tell them.",
        "Earlier or later releases of the same people, unless they are in the same ledgers.",
        "Anything from a party that deviates from the protocol or publishes its own data.",
    ]
    found += limits_of_masked_sums(agreement)
    if agreement.partition != "horizontal":
        found.append(
            "From the other parties: who is in the table, how many they are, and how many records each party has."
        )
    if agreement.partition == "arbitrary":
        found.append("From the other parties: which party holds which cell.")
    if agreement.publishes_each_record:
        found.append(_whose_rows(agreement))
    if agreement.partition == "horizontal" and agreement.records.identifier is not None:
        found.append(
            "From the other parties: which of their people are at another party too (the run ends if any are)."
        )
    if agreement.class_is_shared:
        found.append("From the other parties: the class, which all of them hold.")
    if agreement.records.public:
        found.append("The number of records, which the agreement makes public.")
        if agreement.partition == "horizontal":
            found.append("From the other parties: each party's own number of records.")
    return found


def public_facts(agreement: Agreement, public_total: int | None) -> dict[str, Any]:
    """Return the facts about the data that the release states without noise."""
    return {"number_of_records": public_total if agreement.records.public else "not published"}


def assumptions(agreement: Agreement, engine_assumptions: Sequence[str]) -> list[str]:
    """Return what the guarantee rests on."""
    found = [
        f"One person is one record{_told_apart(agreement)}.",
        "Domains, bounds, grids and the expected number of records in the agreement come from public knowledge.",
        *_coins(agreement),
        *assumptions_about_pseudonyms(agreement),
        *engine_assumptions,
    ]
    if agreement.partition == "horizontal" and agreement.records.identifier is None:
        found.append("No person is listed by two parties (the agreement names no identifier to check it).")
    if agreement.partition != "horizontal" and agreement.records.alignment == "row-order":
        found.append("All parties list the same people in the same order (the agreement says row-order).")
    return found


def _coins(agreement: Agreement) -> list[str]:
    """Return whose coins make the noise unknown."""
    jointly = assumptions_about_noise(agreement) or [_joint_coins(agreement)]
    if not agreement.publishes_each_record:
        return jointly
    alone = "Every owner's own coins are uniform and secret: it alone draws the noise of its values."
    return [*jointly, alone] if agreement.budget.allocation == "information-gain" else [alone]


def _joint_coins(agreement: Agreement) -> str:
    # A party knows its own coins, so those of somebody else have to hide the noise from it.
    if not agreement.guests and agreement.engine.agreed_protocol == "cheetah":
        return "Every party's coins are uniform and secret: from each party, those of another one hide the noise."
    nodes = ", ".join(f"'{party}'" for party in agreement.compute_nodes)
    return (
        f"The coins of the compute nodes {nodes} are uniform and secret: from each of them, those of another one hide "
        "the noise."
    )


def _parts_played(agreement: Agreement, circumstances: Circumstances) -> dict[str, Any]:
    """Return who computed and who shared its inputs with those, where a secure engine ran."""
    if circumstances.engine != "spu":
        return {}
    return {
        "protocol": agreement.engine.agreed_protocol.upper(),
        "compute_nodes": list(agreement.compute_nodes),
        "guests": list(agreement.guests),
    }


def view_of(agreement: Agreement, party: str) -> list[str]:
    """Return everything one party sees during a run."""
    own = "its own fragment and its own coins" if party in agreement.owners else "its own coins"
    seen, by = [own, "the agreement"], _compared_by(agreement)
    if agreement.guests and party in agreement.compute_nodes and _computes_jointly(agreement):
        guests = ", ".join(f"'{guest}'" for guest in agreement.guests)
        seen.append(
            f"one share of each input of {guests}, uniform, which tells nothing without those of the other nodes"
        )
    if agreement.engine.agreed_protocol == "aby3" and party in agreement.compute_nodes and _computes_jointly(agreement):
        seen.append("two of three parts of every other node's inputs and coins, uniform, which tell nothing")
    pseudonyms = agreement.engine.name == "masked-sum"  # compared by the aggregator, which tells owners less
    if agreement.partition != "horizontal" and agreement.records.alignment == "identifier":
        others = "" if pseudonyms else ", and how many records each party has"
        if party in agreement.owners:
            seen.append(f"which of its records are common to all parties {by}{others}")
    if agreement.partition != "horizontal":
        by_identifier = agreement.records.alignment == "identifier"
        seen.append("the number of common records" if by_identifier else "every party's number of rows")
    elif agreement.records.public:
        seen.append("the number of records of every party")
    if agreement.partition == "horizontal" and agreement.records.identifier is not None:
        any_or_which = "whether any person is" if pseudonyms else "which of its people, if any, are"
        where = "at two parties" if pseudonyms else "at another party too"
        seen.append(f"{any_or_which} {where} {by} (the run ends if there are any)")
        padded = (
            "" if agreement.records.public else "; lists are padded to that length, so their own lengths stay secret"
        )
        seen.append(
            f"that no party lists more than {2 * agreement.records.expected:,} people, twice records.expected{padded}"
        )
    if agreement.partition == "arbitrary":
        seen.append("which party holds which cell")
    if agreement.class_is_shared:
        seen.append("a digest of the other parties' class column; if theirs differs, it may tell for which records")
    seen += seen_by_aggregator(agreement, party)
    if agreement.publishes_each_record:
        if party in agreement.owners:
            seen.append("the noise of its own values, which it draws alone; nobody else knows it")
        seen.append("the values of every other party, perturbed, record by record as they are aligned")
    if agreement.mechanism.noise == "gaussian":
        seen.append(
            "which candidates for noise were kept: coins decided that, and it tells nothing of data or of noise"
        )
    seen.append("the disclosures listed here, and nothing else")
    return seen


def _computes_jointly(agreement: Agreement) -> bool:
    """Whether anything is computed on secrets or sums, beside what owners perturb alone."""
    return not agreement.publishes_each_record or agreement.budget.allocation == "information-gain"


def _of_engine(agreement: Agreement, circumstances: Circumstances) -> Sequence[str]:
    if circumstances.engine == "spu" and not _computes_jointly(agreement):
        return ("All parties follow the protocol (semi-honest); a party that deviates could learn more.",)
    return circumstances.engine_assumptions


def _secrecy(agreement: Agreement, circumstances: Circumstances) -> str:
    """Return who could see what; an engine's own words are about what it computes."""
    if circumstances.engine != "spu" or not agreement.publishes_each_record:
        return circumstances.secrecy
    alone = "Every owner perturbed its own values before it told them to all parties, and knows their noise."
    if _computes_jointly(agreement):
        return f"{alone} For the tables by the label: {circumstances.secrecy}"
    return f"{alone} Nothing was computed on secrets; the engine helped to align records, if they were joined."


def _whose_rows(agreement: Agreement) -> str:
    if agreement.partition == "horizontal":
        return "From the other parties: from which of them each row of the release comes."
    whose = "From the other parties: whose record each row of the release is"
    if not agreement.mechanism.is_differentially_private:
        return f"{whose}."
    return f"{whose}; its perturbed values tell them no more about the true ones than epsilon allows."


def _told_apart(agreement: Agreement) -> str:
    by = _compared_by(agreement)
    return f": two records are the same person's exactly if they agree {by}" if by else ""


def _compared_by(agreement: Agreement) -> str:
    """Return how people are compared, in words; nothing where there is no identifier."""
    if agreement.records.identifier is None:
        return ""
    ignored = ", ".join(IGNORED_BY_RULE[rule] for rule in agreement.records.identifier_rules)
    return f"by '{agreement.records.identifier}'" + (f" ignoring {ignored}" if ignored else "")


def _deployment(agreement: Agreement, cost: Cost, circumstances: Circumstances) -> dict[str, Any]:
    replace = agreement.privacy.neighbours == "replace"
    epsilon = cost.replace if replace else cost.add_remove
    return {
        "basic": {
            "name": agreement.name,
            "data_curators": [{"data_curator_name": party} for party in agreement.parties],
            "description": agreement.description,
            "data_product_type": circumstances.method.product,
            "publication_date": circumstances.publication_date,
        },
        "dp_variant": {
            "variant_name": "Approximate DP",
            "variant_details": _variant(agreement),
            "data_domain": f"{len(agreement.attributes)} attributes and the class '{agreement.class_.name}'",
            "unprotected_quantities": "; ".join(not_protected(agreement)),
        },
        "privacy_loss": {
            "privacy_unit": "Person",
            "privacy_unit_details": (
                "Neighbouring tables differ in the values of one person's record."
                if replace
                else "Neighbouring tables differ by the presence of one person's record."
            ),
            "privacy_parameters": {
                "epsilon": None if epsilon is None else float(epsilon),
                "delta": show_bound(cost.delta),
            },
        },
        "deployment_model": {
            "model_name": _model_name(circumstances),
            "actors": ", ".join(agreement.parties),
            "release_type": "One release",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "mechanisms": circumstances.method.mechanisms,
            "composition": "Sequential composition, added up as exact fractions.",
            "post_processing": circumstances.method.post_processing,
        },
    }


def _variant(agreement: Agreement) -> str:
    if agreement.mechanism.noise == "gaussian":
        return (
            "Zero-concentrated DP (rho stands with the disclosure), stated as epsilon at the agreed delta. Delta "
            "includes the sampler's distance to the exact noise."
        )
    return "Pure epsilon-DP but for the sampler's distance to the exact noise, bounded by delta."


def _model_name(circumstances: Circumstances) -> str:
    if circumstances.engine == "ideal":
        return "Simulated"
    by_engine = "Secure multi-party computation"
    if circumstances.engine == "masked-sum":
        by_engine = "Secure aggregation of sums with noise from every owner"
    return circumstances.method.model or by_engine
