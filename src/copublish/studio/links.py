"""The link that time and traffic are predicted for: measured, typed, or a usual one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import copublish as cp
from copublish.studio.context import Situation
from copublish.studio.pages import Problem

MEASURED, TYPED = "measured", "typed"
MOST_MILLISECONDS, MOST_MEGABITS = 60_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class LinkChoice:
    """Links to choose from, and the one that was chosen.

    Attributes:
        known: What `copublish doctor` measured, if it did, and usual links.
        name: Which one was chosen.
        link: That one.
        milliseconds, megabits: What was typed.
        problem: Why what was typed is no link.
    """

    known: Mapping[str, cp.Link]
    name: str
    link: cp.Link
    milliseconds: str = ""
    megabits: str = ""
    problem: Problem | None = None


def links_of(situation: Situation) -> dict[str, cp.Link]:
    """Links that nobody has to type, the best known one first."""
    agreement, party = situation.agreement, situation.party
    measured = None
    if agreement is not None and party in agreement.parties and party is not None:
        measured = cp.measured_link(agreement, party)
    return ({} if measured is None else {MEASURED: measured}) | cp.usual_links()


def chosen_link(situation: Situation, asked: Mapping[str, str]) -> LinkChoice:
    """The link that an address asks for; the best known one if it asks for none."""
    known = links_of(situation)
    name, first = asked.get("link", ""), next(iter(known))
    typed = asked.get("milliseconds", "").strip(), asked.get("megabits", "").strip()
    if name != TYPED:
        name = name if name in known else first
        return LinkChoice(known=known, name=name, link=known[name], milliseconds=typed[0], megabits=typed[1])
    trip, rate = (_number(text, most) for text, most in zip(typed, (MOST_MILLISECONDS, MOST_MEGABITS), strict=True))
    if trip is None or rate is None:
        field = "milliseconds" if trip is None else "megabits"
        problem = Problem("Write a round trip in milliseconds and a rate in Mbit/s, both above 0.", field)
        return LinkChoice(
            known=known, name=first, link=known[first], milliseconds=typed[0], megabits=typed[1], problem=problem
        )
    link = cp.Link(f"as far apart as you typed: round trip {trip:g} ms, {rate:g} Mbit/s", trip / 1000, rate * 1e6 / 8)
    return LinkChoice(known=known, name=TYPED, link=link, milliseconds=typed[0], megabits=typed[1])


def _number(text: str, most: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= most else None  # not a number fails
