"""The noise that hides how many people two owners have in common, against closed forms and by exact enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from copublish.kernel.noise.hidden_size import HiddenSize

DELTA = Fraction(1, 10**10)

LAWS = [HiddenSize(Fraction(epsilon), DELTA) for epsilon in ("1/100", "1/20", "1/10", "1/2", "1", "10")]

BY_EPSILON = pytest.mark.parametrize("law", LAWS, ids=lambda law: f"epsilon {law.epsilon}")

SMALL = HiddenSize(Fraction(1, 10), DELTA)


def probabilities(law: HiddenSize) -> list[Fraction]:
    """Of every K, exactly."""
    return [Fraction(weight, sum(law.weights)) for weight in law.weights]


def exp_from_below(epsilon: Fraction) -> Fraction:
    """A fraction just below exp(epsilon): the first terms of its series, which are all positive."""
    total = term = Fraction(1)
    for number in range(1, 80):
        term = term * epsilon / number
        total += term
    return total


def delta_needed(of_noise: Sequence[Fraction], epsilon: Fraction, moved_by: int = 1) -> Fraction:
    """The smallest delta that holds with epsilon if a number moves: over all sets of outcomes, in both directions."""
    factor, nothing = exp_from_below(epsilon), [Fraction(0)] * moved_by
    here, there = [*of_noise, *nothing], [*nothing, *of_noise]
    pairs = (zip(here, there, strict=True), zip(there, here, strict=True))
    return max(sum((max(Fraction(0), p - factor * q) for p, q in pair), Fraction(0)) for pair in pairs)


def laplace(epsilon: float, half: int) -> list[float]:
    """The discrete Laplace law around the middle, conditioned on being in the pool, by its closed form."""
    r = math.exp(-epsilon)
    whole = (1 + r - 2 * r ** (half + 1)) / (1 - r)
    return [r ** abs(number - half) / whole for number in range(2 * half + 1)]


@BY_EPSILON
def test_probabilities_are_those_of_the_closed_form(law: HiddenSize) -> None:
    expected = laplace(float(law.epsilon), law.pool // 2)
    assert [float(p) for p in probabilities(law)] == pytest.approx(expected, rel=1e-12)


def test_probabilities_are_those_of_two_geometric_numbers_apart_if_others_are_drawn_again() -> None:
    law, r, most = HiddenSize(Fraction(1, 2), Fraction(1, 1000)), math.exp(-0.5), 120
    half = law.pool // 2
    apart = [0.0] * (2 * half + 1)
    for first in range(most):
        for second in range(most):
            if abs(first - second) <= half:
                apart[half + first - second] += (1 - r) ** 2 * r ** (first + second)
    assert [float(p) for p in probabilities(law)] == pytest.approx([p / sum(apart) for p in apart], rel=1e-9)


@BY_EPSILON
def test_one_person_shows_as_agreed_in_every_set_of_outcomes(law: HiddenSize) -> None:
    assert 0 < delta_needed(probabilities(law), law.epsilon) <= law.delta


@BY_EPSILON
def test_only_the_ends_need_a_delta(law: HiddenSize) -> None:
    assert delta_needed(probabilities(law), law.epsilon) == probabilities(law)[0]


@BY_EPSILON
def test_a_smaller_pool_would_not_keep_delta(law: HiddenSize) -> None:
    smaller = law.weights[1:-1]  # two entries fewer, with the same factor between neighbors
    assert delta_needed([Fraction(weight, sum(smaller)) for weight in smaller], law.epsilon) > law.delta


def test_a_tenth_of_epsilon_takes_402_entries() -> None:
    assert SMALL.pool == 402
    assert [law.pool for law in LAWS] == [3546, 774, 402, 88, 46, 6]


def test_somebody_who_lacks_both_draws_learns_no_more() -> None:
    """A party without data sees the sum of both owners' noise."""
    law = HiddenSize(Fraction(1), Fraction(1, 1000))
    own = probabilities(law)
    both = [Fraction(0)] * (2 * len(own) - 1)
    for first, p in enumerate(own):
        for second, q in enumerate(own):
            both[first + second] += p * q
    assert delta_needed(both, law.epsilon) <= law.delta


def test_two_people_show_more_than_one_person_may() -> None:
    """So the sensitivity of 1 matters: the check notices a number that moves by 2."""
    assert delta_needed(probabilities(SMALL), SMALL.epsilon, moved_by=2) > SMALL.delta


def unconditioned(half: int, r: Fraction, *, number: int) -> Fraction:
    return (1 - r) / (1 + r) * r ** abs(number)


def moved_to_the_ends(law: HiddenSize) -> list[Fraction]:
    """Broken: what lies outside of the pool becomes an end of it."""
    half, r = law.pool // 2, Fraction(math.exp(-float(law.epsilon)))
    inner = [unconditioned(half, r, number=number) for number in range(1 - half, half)]
    end = (1 - sum(inner, Fraction(0))) / 2
    return [end, *inner, end]


def wrapped_around(law: HiddenSize) -> list[Fraction]:
    """Broken: nobody asks whether a draw is in the pool, and it is taken modulo its size."""
    half, r = law.pool // 2, Fraction(math.exp(-float(law.epsilon)))
    found = [Fraction(0)] * (2 * half + 1)
    for number in range(-3 * half, 3 * half + 1):
        found[(number + half) % len(found)] += unconditioned(half, r, number=number)
    return found


def too_narrow(law: HiddenSize) -> list[Fraction]:
    """Broken: a tenth too little noise."""
    return probabilities(HiddenSize(law.epsilon * Fraction(11, 10), law.delta))


def uniform(law: HiddenSize) -> list[Fraction]:
    """Broken: no noise but the position in a pool of the same size."""
    return [Fraction(1, law.pool + 1)] * (law.pool + 1)


def none(law: HiddenSize) -> list[Fraction]:
    """Broken: always the middle."""
    return [Fraction(int(number == law.pool // 2)) for number in range(law.pool + 1)]


@pytest.mark.parametrize("broken", [moved_to_the_ends, wrapped_around, too_narrow, uniform, none])
def test_broken_noise_is_noticed(broken: Callable[[HiddenSize], list[Fraction]]) -> None:
    assert delta_needed(broken(SMALL), SMALL.epsilon) > SMALL.delta


# --- Drawing ---


class Words:
    """Random bytes by script: every word once, and how many bytes were asked for."""

    def __init__(self, *words: int, bits: int) -> None:
        self.words, self.bits, self.asked = list(words), bits, list[int]()

    def __call__(self, n_bytes: int) -> bytes:
        self.asked.append(n_bytes)
        unused = 8 * n_bytes - self.bits
        return (self.words.pop(0) << unused | (1 << unused) - 1).to_bytes(n_bytes, "big")


@BY_EPSILON
def test_every_k_has_as_many_words_as_its_weight(law: HiddenSize) -> None:
    bits, first = sum(law.weights).bit_length(), 0
    for k, weight in enumerate(law.weights):
        assert law.draw(Words(first, bits=bits)) == law.draw(Words(first + weight - 1, bits=bits)) == k
        first += weight


def test_a_word_that_means_nothing_is_drawn_again_and_words_are_all_of_one_size() -> None:
    total = sum(SMALL.weights)
    words = Words(total, 2 ** total.bit_length() - 1, total - 1, bits=total.bit_length())
    assert SMALL.draw(words) == SMALL.pool
    assert words.words == [] and words.asked == [-(-total.bit_length() // 8)] * 3


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "1e-10"), ("-1", "1e-10"), ("1", "0"), ("1", "1")])
def test_a_law_that_cannot_be_is_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(ValueError, match="needs epsilon above 0 and delta in"):
        HiddenSize(Fraction(epsilon), Fraction(delta))


@BY_EPSILON
@pytest.mark.parametrize("share", ["1/2", "19/20", "999/1000"])
def test_how_far_it_is_off_is_the_quantile_of_the_closed_form(law: HiddenSize, share: str) -> None:
    expected, half = laplace(float(law.epsilon), law.pool // 2), law.pool // 2
    inside = [math.fsum(expected[half - far : half + far + 1]) for far in range(half + 1)]
    assert law.off_by(Fraction(share)) == next(far for far, sure in enumerate(inside) if sure >= Fraction(share))


def test_how_far_it_is_off_is_known_for_the_usual_epsilon() -> None:
    # Off by more than t with probability 2 r^(t + 1) / (1 + r), r = exp(-1/20): 4.85 % for t = 60, 5.10 % for t = 59.
    assert HiddenSize(Fraction(1, 20), DELTA).off_by(Fraction(19, 20)) == 60
