"""That epsilons and deltas add up, by exact enumeration of adaptive releases, and that nothing less would do.

A mechanism with (e^epsilon, delta) = (r, d) shows one secret bit: with probability d as it is and for certain, else by
randomized response with odds r. No other mechanism with that epsilon and delta tells more: each can be simulated from
this one (Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy). Odds are rational, so that all sums
are exact: adding epsilons is multiplying odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.profiles import examples

OUTCOMES = ("surely 0", "maybe 0", "maybe 1", "surely 1")


@dataclass(frozen=True)
class Release:
    """A worst mechanism, and what is released after each of its outcomes."""

    odds: Fraction
    delta: Fraction
    then: dict[str, Release]


def law(release: Release, bit: int) -> dict[str, Fraction]:
    told = (1 - release.delta) / (1 + release.odds)
    zero, one = (release.odds * told, told) if bit == 0 else (told, release.odds * told)
    return dict(zip(OUTCOMES, (release.delta * (1 - bit), zero, one, release.delta * bit), strict=True))


def transcripts(release: Release | None, bit: int) -> dict[tuple[str, ...], Fraction]:
    """Return the probability of everything that can be seen."""
    if release is None:
        return {(): Fraction(1)}
    return {
        (outcome, *later): chance * rest
        for outcome, chance in law(release, bit).items()
        for later, rest in transcripts(release.then.get(outcome), bit).items()
    }


def smallest_delta(release: Release, odds: Fraction) -> Fraction:
    """Return the smallest delta that holds at an epsilon with these odds: the hockey-stick divergence, both ways."""
    zero, one = transcripts(release, 0), transcripts(release, 1)
    return max(sum(max(Fraction(0), p[seen] - odds * q[seen]) for seen in p) for p, q in ((zero, one), (one, zero)))


def most(release: Release | None) -> tuple[Fraction, Fraction]:
    """Return the largest product of odds and the largest sum of deltas of what may be released one after the other."""
    if release is None:
        return Fraction(1), Fraction(0)
    later = [most(release.then.get(outcome)) for outcome in OUTCOMES]
    return release.odds * max(odds for odds, _ in later), release.delta + max(delta for _, delta in later)


ODDS = st.fractions(1, 4, max_denominator=6)
DELTAS = st.fractions(0, Fraction(1, 5), max_denominator=40)
RELEASES = st.recursive(
    st.builds(Release, ODDS, DELTAS, st.just({})),
    lambda later: st.builds(Release, ODDS, DELTAS, st.dictionaries(st.sampled_from(OUTCOMES), later)),
    max_leaves=5,
)


@given(RELEASES)
@examples(60)
def test_releases_chosen_after_earlier_ones_were_seen_keep_the_sums_of_epsilon_and_delta(release: Release) -> None:
    odds, delta = most(release)
    assert smallest_delta(release, odds) <= delta


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_sum_of_deltas_is_all_but_needed(count: int) -> None:
    odds, delta, release = Fraction(2), Fraction(1, 1000), None
    for _ in range(count):
        release = Release(odds, delta, {} if release is None else dict.fromkeys(OUTCOMES, release))
    # Whoever is told the bit for certain once knows it: 1 - (1 - delta)^count, which is close to the sum.
    assert smallest_delta(release, odds**count) == 1 - (1 - delta) ** count
    if count > 1:
        assert smallest_delta(release, odds**count) > delta  # the largest delta alone does not hold
        assert smallest_delta(release, odds ** (count - 1)) > count * delta  # nor does one epsilon less
