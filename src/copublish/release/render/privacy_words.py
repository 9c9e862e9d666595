"""How epsilon and noise are told to people: in a terminal, in a README and on a page alike."""

from __future__ import annotations

import decimal
import re

from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.statements import EpsilonStatement, Noise

TOO_LONG_FOR_G = 1e5

RELATION_WORDS: dict[Neighbors, str] = {
    "add-remove": "one person being added or removed",
    "replace": "one person's values being replaced",
}


def epsilon_words(epsilon: str) -> str:
    """An epsilon of a certificate; a fraction has the decimal that people think in, rounded up, beside it."""
    spelled = epsilon_decimal(epsilon)
    return epsilon if spelled == epsilon else f"{epsilon} (about {spelled})"


def epsilon_decimal(epsilon: str) -> str:
    """An epsilon of a certificate as a decimal: a fraction is rounded up in its third digit."""
    if re.fullmatch(r"\d+/\d+", epsilon) is None:
        return epsilon
    rounded = decimal.Context(3, decimal.ROUND_CEILING).divide(*map(decimal.Decimal, epsilon.split("/")))
    return f"{rounded:f}"


def epsilon_rows(epsilon: EpsilonStatement) -> list[tuple[str, str, str]]:
    """Who looks, and epsilon if one person is added or removed, and if one person's values are replaced."""
    why = ": the parties know who is in the table" if epsilon.insiders_know_members else ""
    public, insiders = epsilon.public, epsilon.insiders
    return [
        ("the public", epsilon_words(public["add-remove"]), epsilon_words(public["replace"])),
        ("the other parties", epsilon_words(insiders["add-remove"]) + why, epsilon_words(insiders["replace"])),
    ]


def noise_words(noise: Noise) -> str:
    """The noise of a disclosure: in people, in the column's own unit, or how often a value is kept."""
    if noise.scale_in_people is not None:
        words = f"scale {noise.scale_in_people:g} people"
    elif noise.scale_in_own_unit is not None:
        words = f"scale {_plain(noise.scale_in_own_unit)}, in its own unit"
    elif noise.kept is not None:
        return f"{noise.kept:.1%} of values kept"
    else:
        return f"{noise.note}; {noise.law}" if noise.note else str(noise.law)
    if noise.within_95_percent is not None:
        words += f"; 95 of 100 within ±{_plain(noise.within_95_percent)}"
    if noise.missing_or_not_kept is not None:
        words += f"; missing or not is kept for {noise.missing_or_not_kept:.1%}"
    return words


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number >= TOO_LONG_FOR_G else f"{number:,g}"
