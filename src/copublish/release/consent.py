"""First lines of a description: everything that somebody has to know before they agree, the most important first.

They are short. Each sentence about an assumption or about what is not protected is one of the certificate's; the plain
ones before them say the same of one party's people. Everything here follows from the agreement only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from copublish.agreement.model import Agreement
from copublish.engines.secrecy import agreed_secrecy
from copublish.kernel.accounting.statements import EpsilonStatement
from copublish.kernel.certificate.build import all_assumptions, state_secrecy
from copublish.kernel.certificate.comparing import assumptions_about_noise, assumptions_of_comparing, way_of
from copublish.kernel.certificate.promise import assumptions, computes_jointly, not_protected
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.release.render.privacy_words import epsilon_words, odds_words

LISTS = (
    "No person is listed by two parties",
    "All parties list the same people",
    "Parties list the people they have: ",
)
"""Beginnings of assumptions about the people that parties list."""

COINS = "The coins of "
"""Beginning of assumptions that the full description has: nobody decides by them."""

KNOWN_ALREADY = ("From what is released besides", "From the other parties: the class")
"""Beginnings of what is not protected and no news to the parties."""


@dataclass(frozen=True, kw_only=True)
class BeforeConsent:
    """What stands beside the question.

    Attributes:
        learned: What others learn, alone and together, and what epsilon means.
        rests_on: The assumptions that a person, an organization or a court can doubt.
    """

    learned: tuple[str, ...]
    rests_on: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it, one line each."""
        return (*self.learned, *(f"Assumed: {sentence}" for sentence in self.rests_on))

    def to_dict(self) -> dict[str, list[str]]:
        """Both as plain JSON values."""
        return {"learned": list(self.learned), "rests_on": list(self.rests_on)}


def before_consent(
    agreement: Agreement, epsilon: EpsilonStatement, delta_bound: str, party: str | None
) -> BeforeConsent:
    """What stands beside the question.

    Args:
        agreement: What is asked about.
        epsilon: By who looks and what changes.
        delta_bound: A bound on delta.
        party: Who is asked; sentences speak to it if it holds data. None speaks to nobody in particular.
    """
    you = party if party in agreement.owners else None
    return BeforeConsent(
        learned=(
            _membership(agreement, epsilon, you),
            *_number_of_common_people(agreement, you),
            *_coalitions(agreement, you),
            *odds_words(epsilon, delta_bound),
            secrecy(agreement),
            *_told_to_parties(agreement),
        ),
        rests_on=_rests_on(agreement),
    )


def secrecy(agreement: Agreement) -> str:
    """Who can see what on the agreed engine, as the certificate will say it."""
    return state_secrecy(agreement, agreement.engine.name, agreed_secrecy(agreement)[0])


def agreed_assumptions(agreement: Agreement) -> tuple[str, ...]:
    """All assumptions that the certificate of a run will have."""
    return tuple(all_assumptions(agreement, agreement.engine.name, agreed_secrecy(agreement)[1]))


def _rests_on(agreement: Agreement) -> tuple[str, ...]:
    """Assumptions about people, parties and cryptography; those about values stand in the full description."""
    everything, without_engine = agreed_assumptions(agreement), assumptions(agreement, ())
    of_parties = [*assumptions_of_comparing(agreement), *assumptions_about_noise(agreement)]
    same_person, *others = everything
    chosen = [one for one in others if one in of_parties or one not in without_engine or one.startswith(LISTS)]
    return (same_person, *(one for one in chosen if not one.startswith(COINS)))


def _told_to_parties(agreement: Agreement) -> list[str]:
    """What is not protected from parties, in the certificate's words."""
    found = []
    for sentence in not_protected(agreement):
        if sentence.startswith("From ") and not sentence.startswith(KNOWN_ALREADY):
            found.append(f"Not protected f{sentence[1:]}")
        elif sentence.startswith("Anything from "):
            found.append(f"Not protected: a{sentence[1:]}")
    return found


def _membership(agreement: Agreement, epsilon: EpsilonStatement, you: str | None) -> str:
    """Whether other parties learn who is in whose data."""
    owners = agreement.owners
    others = [party for party in (agreement.parties if agreement.partition == "horizontal" else owners) if party != you]
    if agreement.partition == "horizontal":
        whose, has = ("another one's", "each has") if you is None else ("your", "you have")
        who = "no party will" if you is None else f"{_names(others)} will not"
        how_many = f"but how many records {has}" if agreement.records.public else "nor how many people those are"
        compared = ""
        if agreement.compares_people:
            theirs = "two parties list the same person" if you is None else "any of their people is among yours"
            compared = f" They learn whether {theirs}; a party that lists one person alone learns it of that person."
        return f"Besides the release, {who} learn who is in {whose} data, {how_many}.{compared}"
    if not agreement.joins_by_identifier:
        who, whose = ("every party knows", "the table") if you is None else (f"{_names(others)} will know", "your data")
        return f"By the agreement all parties list the same people in the same order, so {who} who is in {whose}."
    if agreement.hides_membership:
        price = f"one person added or removed: epsilon {epsilon_words(epsilon.insiders['add-remove'])}"
        if you is None:
            return f"No owner will learn which of its people another owner has ({price})."
        whose = "its" if len(others) == 1 else "their"
        return f"{_names(others)} will not learn which of {whose} people are in your data ({price})."
    if you is None:
        theirs = "the other one has, too" if len(owners) == 2 else "are in the data of all of them"
        return f"{_names(owners)} will learn which of their people {theirs}."
    if len(others) == 1:
        return f"{others[0]} will learn which of its people are in your data, and you which of yours are in its data."
    return f"{_names(others)} will learn which of their people are in the data of all owners, yours among them."


def _number_of_common_people(agreement: Agreement, you: str | None) -> list[str]:
    """What two owners who hide membership learn from each other all the same."""
    join = HiddenJoin.of(agreement)
    if join is None or join.size is None:
        return []
    who, they = "Each owner", "the two"
    if you is not None:
        (who,), they = [owner for owner in agreement.owners if owner != you], "you both"
    off_by = f"off by at most {join.size.off_by(Fraction(95, 100))} in 95 of 100 runs"
    return [f"{who} will learn how many people {they} have in common, with noise: {off_by}."]


def _coalitions(agreement: Agreement, you: str | None) -> list[str]:
    """Parties that could learn more together than each of them does."""
    found = []
    shares = NoiseShares.of(agreement)
    if agreement.engine.name == "spu" and computes_jointly(agreement):
        found += _of_nodes(agreement, you)
    elif shares is not None and len(shares.owners) > 2:
        found.append(_of_owners(agreement, shares, you))
    if agreement.helper is not None:
        owner, whose = ("owner", "every owner's") if you is None else ("other owner", "your")
        found.append(f"{agreement.helper} and any one {owner} together could find out by trial who {whose} people are.")
    return found


def _of_nodes(agreement: Agreement, you: str | None) -> list[str]:
    """Compute nodes that could put everybody's inputs together."""
    nodes = agreement.compute_nodes
    any_two = f"{_names(nodes)} together" if len(nodes) == 2 else f"Any two of {_names(nodes)} together"
    if you is not None and (you not in nodes or len(nodes) > 2):
        others = [node for node in nodes if node != you]
        any_two = f"{_names(others)} together" if len(others) == 2 else any_two
        return [f"{any_two} could see all of your data."]
    if len(nodes) > 2:
        return [f"{any_two} could see everybody's data."]
    guests = [guest for guest in agreement.guests if guest in agreement.owners]
    others = [party for party in agreement.parties if party != you]
    but_class = " but the class, which all hold" if agreement.class_is_shared else ""
    safe = (
        [f"{_names(others)} together could see no value of your data{but_class}."]
        if you is not None and len(others) > 1
        else []
    )
    return [*safe, *([f"{any_two} could see all data of {_names(guests)}."] if guests else [])]


def _of_owners(agreement: Agreement, shares: NoiseShares, you: str | None) -> str:
    """Owners that together know so much of the noise that too little is left."""
    but = ", but for how many people of their own lists are among them" if way_of(agreement) == "rounds" else ""
    too_many, others = shares.colluders + 1, len(shares.owners) - 1
    if you is None and too_many <= others:
        return f"Any {too_many} owners of data together could learn more about the others' people than epsilon allows."
    if you is None:
        return (
            f"All owners of data but one together learn no more about the people of that one than epsilon allows{but}."
        )
    if too_many <= others:
        return f"Any {too_many} other owners of data together could learn more about your people than epsilon allows."
    return f"All other owners of data together learn no more about your people than epsilon allows{but}."


def _names(parties: Sequence[str]) -> str:
    return parties[0] if len(parties) == 1 else f"{', '.join(parties[:-1])} and {parties[-1]}"
