"""How epsilon and noise are told to people: in a terminal, in a README and on a page alike."""

from __future__ import annotations

import decimal
import re
from fractions import Fraction

from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.statements import UNBOUNDED, EpsilonStatement, MembershipStatement, Noise

TOO_LONG_FOR_G = 1e5

RELATION_WORDS: dict[Neighbors, str] = {
    "add-remove": "one person being added or removed",
    "replace": "one person's values being replaced",
}


BELIEFS: dict[Neighbors, str] = {
    "add-remove": "that a certain person is in the data",
    "replace": "that a certain person has some values rather than others",
}
"""What an attacker may believe of one person, by what changes between neighbors."""

LARGE, MOST_WITHOUT_DECIMAL = 100, 99


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
    others = "the other parties" if epsilon.membership is None else "another owner"
    why = ": the parties know who is in the table" if epsilon.insiders_know_members else ""
    public, insiders = epsilon.public, epsilon.insiders
    return [
        ("the public", epsilon_words(public["add-remove"]), epsilon_words(public["replace"])),
        (others, epsilon_words(insiders["add-remove"]) + why, epsilon_words(insiders["replace"])),
    ]


def owners_delta_words(epsilon: EpsilonStatement) -> str:
    """What to add to a bound on delta where another owner learns the number of common people, too."""
    if epsilon.membership is None or epsilon.membership.helper is not None:
        return ""
    return f"; for another owner at most {epsilon.membership.delta_bound}"


def membership_words(membership: MembershipStatement) -> str:
    """What another owner learns of the number of common people, and its price, which no release pays."""
    if membership.helper is not None:
        return f"hidden by '{membership.helper}': another owner learns nothing besides the release"
    return (
        f"epsilon {epsilon_words(membership.size_epsilon)}, delta {membership.size_delta_bound} besides, for the noisy "
        "number of common people, which another owner learns"
    )


def odds_words(epsilon: EpsilonStatement, delta_bound: str) -> list[str]:
    """What epsilon and delta mean for one person, in odds; nothing where they promise nothing.

    Args:
        epsilon: By who looks and what changes.
        delta_bound: A bound on delta.

    Privacy:
        Guarantee: (epsilon, delta)-differential privacy bounds the probability of every set of outcomes for one of two
            neighboring tables by e^epsilon times that for the other one, plus delta. So for delta 0 the ratio of the
            two tables' odds changes by at most e^epsilon, whatever they were before (Bayes).
    """
    if epsilon.agreed == UNBOUNDED:
        return []
    belief, factor = BELIEFS[epsilon.calibrated_to], _most_odds(Fraction(epsilon.agreed))
    found = [
        f"Epsilon {epsilon_words(epsilon.agreed)} means: whatever somebody knows before, the release changes the odds "
        f"{belief} by a factor of at most {_rounded_up(factor)} (from 50:50 to {_percent(factor)} at most), but for "
        f"outcomes whose probability exceeds that by at most {delta_bound} (delta)."
    ]
    if epsilon.membership is not None:
        found.append(another_owner_words(epsilon))
    insiders = epsilon.exact("insiders", "replace")
    if epsilon.insiders_know_members and epsilon.calibrated_to == "add-remove" and insiders is not None:
        values = _rounded_up(_most_odds(insiders))
        found.append(
            f"The other parties know who is in the table. For them the odds {BELIEFS['replace']} change by a factor of "
            f"at most {values} (epsilon {epsilon_words(epsilon.insiders['replace'])})."
        )
    return found


def another_owner_words(epsilon: EpsilonStatement) -> str:
    """What hidden membership means against another owner, in odds; nothing where it is not hidden."""
    added = epsilon.exact("insiders", "add-remove")
    if epsilon.membership is None or added is None:
        return ""
    return (
        f"For another owner the odds {BELIEFS['add-remove']} change by a factor of at most "
        f"{_rounded_up(_most_odds(added))} (one person added or removed: epsilon "
        f"{epsilon_words(epsilon.insiders['add-remove'])}, delta {epsilon.membership.delta_bound})."
    )


def _most_odds(epsilon: Fraction) -> decimal.Decimal:
    """The largest factor on odds, e^epsilon."""
    return (decimal.Decimal(epsilon.numerator) / epsilon.denominator).exp(decimal.Context(40))


def _rounded_up(number: decimal.Decimal) -> str:
    """A number with two decimals, or a large one without any, never less than it is."""
    digits = decimal.Decimal("0.01" if number < LARGE else "1")
    return f"{number.quantize(digits, decimal.ROUND_CEILING):,}"


def _percent(odds: decimal.Decimal) -> str:
    """The probability of odds in percent, rounded up; above 99 with a decimal."""
    percent = 100 * odds / (1 + odds)
    rounded = percent.quantize(decimal.Decimal("0.1" if percent > MOST_WITHOUT_DECIMAL else "1"), decimal.ROUND_CEILING)
    return f"{rounded.normalize():f} %"


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
