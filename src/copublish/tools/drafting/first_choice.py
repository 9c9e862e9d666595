"""The mechanism of a draft: the first choice where its rules allow it, else what works, and why.

Rules are asked what is known of a draft. Open questions get answers that break no rule, so that they decide nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from copublish.agreement.attributes import USUAL_CELLS
from copublish.agreement.loading import FILL_IN, agreement_from_mapping, is_placeholder
from copublish.agreement.model import MIN_DELTA
from copublish.errors import AgreementError
from copublish.mechanisms.registry import FIRST_CHOICE, AnyMechanism, mechanism_named, mechanisms

CELLS = (USUAL_CELLS, 10, 5)
"""Numbers of cells to try for a column of numbers, about: the first one with which all rules are kept is drafted."""

Attributes = Callable[[int], dict[str, Any]]
"""The sections of all columns, by the number of cells of a column of numbers."""


@dataclass(frozen=True)
class Choice:
    """The part of a draft that depends on the mechanism.

    Attributes:
        mechanism: The mechanism.
        sections: Its sections.
        attributes: Sections of columns, with grids that it can measure.
        reason: Why it is not what is usually drafted; nothing if it is.
    """

    mechanism: AnyMechanism
    sections: Mapping[str, Any]
    attributes: dict[str, Any]
    reason: str = ""


def choice_for(content: Mapping[str, Any], attributes: Attributes, wanted: str | None) -> Choice:
    """The mechanism of a draft, with its settings and grids.

    Args:
        content: The draft without columns and mechanism.
        attributes: Its columns.
        wanted: The mechanism that a person asked for, whose rules are left to be told by `check`.
    """
    first = mechanism_named(wanted or FIRST_CHOICE)
    usual = Choice(first, _sections(first), attributes(USUAL_CELLS))
    if wanted is not None:
        return usual
    why_not = _broken_rules(content, usual)
    if why_not is None:
        return usual
    for choice in _choices(first, attributes, content.get("partition", FILL_IN)):
        if _broken_rules(content, choice) is None:
            return Choice(choice.mechanism, choice.sections, choice.attributes, _reason(usual, choice, why_not))
    return usual


def _choices(first: AnyMechanism, attributes: Attributes, partition: str) -> Iterator[Choice]:
    """Other grids, then other settings of the first choice, then other mechanisms that promise the same to people."""
    for keys in ({}, *first.settings.drafted_instead):
        for cells in CELLS:
            sections = _sections(first)
            yield Choice(first, {**sections, "mechanism": {**sections["mechanism"], **keys}}, attributes(cells))
    for other in mechanisms():
        if not other.promises or other.settings.drafted or partition not in (FILL_IN, *other.settings.partitions):
            continue
        yield Choice(other, _sections(other), attributes(USUAL_CELLS))


def _sections(mechanism: AnyMechanism) -> dict[str, Any]:
    return {
        "mechanism": {"name": mechanism.name},
        **tomllib.loads(mechanism.settings.example, parse_float=Decimal),
    }


def _reason(usual: Choice, choice: Choice, why_not: str) -> str:
    if choice.mechanism is not usual.mechanism:
        return f"Not '{usual.mechanism.name}', the first choice: {why_not}"
    what = "Grids are coarser than usual" if choice.sections == usual.sections else "Settings are not the usual ones"
    return f"{what}: {why_not}"


def _broken_rules(content: Mapping[str, Any], choice: Choice) -> str | None:
    """The rule that what is known of a draft breaks; nothing if an agreement can come of it."""
    known = {key: value for key, value in content.items() if key in ("format", "class")}
    privacy = {key: value for key, value in content["privacy"].items() if value != FILL_IN and key != "delta"}
    expected = content["records"]["expected"]
    # Whole rows: who holds a column means nothing to the rules of a mechanism.
    stand_in = {
        **known,
        "name": "draft",
        "dataset": "draft",
        "partition": "horizontal",
        "parties": {"one": {}, "other": {}},
        "records": {"expected": 1 if expected == FILL_IN else expected, "public": content["records"]["public"]},
        "attributes": {name: _answered(section) for name, section in choice.attributes.items()},
        "privacy": {"epsilon": 1, **privacy},
        **choice.sections,
    }
    if "class" in known:
        named = {"name": "class of the draft"} if known["class"]["name"] == FILL_IN else {}
        answered = {key: value for key, value in known["class"].items() if key != "held_by"}
        values = {"values": ["no", "yes"]} if is_placeholder(known["class"]["values"]) else {}
        stand_in["class"] = {**answered, **named, **values}
    try:
        agreement_from_mapping(stand_in, source="The draft")
    except AgreementError as exc:
        return " ".join(exc.problems)
    return None


def _answered(section: Mapping[str, Any]) -> dict[str, Any]:
    """A column without its holders, and with answers for what is open."""
    found = {key: value for key, value in section.items() if key != "held_by"}
    if found["kind"] == FILL_IN:
        found["kind"] = "categorical"
    if found["kind"] == "numerical":
        return {**found, "bounds": [0, 1000]} if is_placeholder(found["bounds"]) else found
    return {**found, "values": ["no", "yes"]} if is_placeholder(found.get("values", FILL_IN)) else found


USUAL_DIGITS = 6


def drafted_delta(expected: int | str) -> str | None:
    """The delta of a draft: one in a million, or the largest power of ten that is at most 1 / (10 expected).

    Args:
        expected: The public estimate of the number of records, perhaps left open.

    Returns:
        It, as text. Nothing if no delta that an agreement may have is so small: the noise is Laplace's then.
    """
    digits = (
        USUAL_DIGITS if isinstance(expected, str) else max(USUAL_DIGITS, len(str(10 * expected - 1)))
    )  # 10^digits is at least 10 expected
    return None if Fraction(1, 10**digits) < MIN_DELTA else f"1e-{digits}"
