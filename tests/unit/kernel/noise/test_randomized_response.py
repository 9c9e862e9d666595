"""The law of randomized response, as the integers that decide it: never above epsilon, and as near as they allow."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.kernel.accounting.disclosures import Divided
from copublish.kernel.accounting.perturbations import PerturbCategory, PerturbNumber
from copublish.kernel.noise.geometric import COIN_BITS
from copublish.kernel.noise.randomized_response import RandomizedResponse, fits
from copublish.mechanisms.vhdp.run import perturb_categories, perturb_numbers
from support.profiles import examples

LAWS = examples(200)


@given(st.fractions(Fraction(1, 10**9), 10, max_denominator=10**12), st.integers(2, 500))
@LAWS
def test_the_true_value_is_at_most_e_to_the_epsilon_times_as_likely_as_another(epsilon: Fraction, n: int) -> None:
    law = RandomizedResponse(epsilon, n)
    kept, other = 2**COIN_BITS - law.words_for_others, law.words_per_other
    with localcontext() as context:
        context.prec = 60
        bound = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        assert Decimal(kept) / other <= bound
        assert Decimal(other) / kept <= bound
        one_less = 2**COIN_BITS - (n - 1) * (other - 1)
        assert Decimal(one_less) / (other - 1) > bound  # a threshold one smaller would break the promise
    assert law.kept == pytest.approx(float(bound) / (float(bound) + n - 1), rel=1e-9)


@given(st.integers(2, 10**6), st.sampled_from([1, 3, 100]))
@LAWS
def test_no_other_value_is_more_likely_than_the_true_one_down_to_the_smallest_epsilon_that_fits(n, times) -> None:
    law = RandomizedResponse(Fraction(times * n**2, 2 ** (COIN_BITS - 1)), n)
    assert law.words_per_other <= 2**COIN_BITS - law.words_for_others


def test_more_values_than_words_can_tell_apart_are_refused_because_another_one_would_be_too_likely() -> None:
    epsilon, n = Fraction(1, 10**11), 10**6
    assert not fits(epsilon, n)
    with pytest.raises(ValueError, match="values are too many"):
        RandomizedResponse(epsilon, n)
    # e^epsilon is 1 + epsilon but for 10^-22, far less than what rounding T up does here.
    others = -(-(2**COIN_BITS) // (n + epsilon))
    assert Fraction(others, 2**COIN_BITS - (n - 1) * others) > 1 + 2 * epsilon


class Words:
    """Coins that are given words, the same for every call."""

    def __init__(self, words: np.ndarray) -> None:
        self._words = words

    def words(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.resize(self._words, shape)


def test_each_other_value_has_its_own_run_of_words_and_the_true_one_the_rest() -> None:
    law = PerturbCategory(label="x", budget=Fraction(1), n_values=4)
    t, unused = law.response.words_per_other, 64 - COIN_BITS
    starts = [0, t - 1, t, 2 * t - 1, 2 * t, 3 * t - 1, 3 * t, 2**COIN_BITS - 1]
    words = np.array([start << unused for start in starts], dtype=np.uint64).view(np.int64)
    for true in range(4):
        others = [value for value in range(4) if value != true]
        expected = [others[0], others[0], others[1], others[1], others[2], others[2], true, true]
        assert perturb_categories(np.full(8, true), law, Words(words)).tolist() == expected


def test_whether_a_number_is_missing_is_randomized_too_and_a_missing_one_hides_its_number() -> None:
    law = PerturbNumber(label="x", budget=Fraction(1), steps=100, step=1.0, missing=True)
    assert law.noise.rate == Fraction(1, 200) and law.response == RandomizedResponse(Fraction(1, 2), 2)
    cells = np.array([-1, 0, 100, 30])
    kept, flipped = Words(np.array([-1])), Words(np.array([0]))  # no word is below a threshold; every one is
    assert perturb_numbers(cells, law, kept).tolist() == [101, 0, 100, 30]
    assert perturb_numbers(cells, law, flipped).tolist() == [50, 101, 101, 101]
    with pytest.raises(ValueError, match="missing numbers"):
        perturb_numbers(cells, PerturbNumber(label="x", budget=Fraction(1), steps=100, step=1.0), kept)


def test_perturbed_columns_cost_their_budget_for_replaced_values_and_have_no_price_for_added_people() -> None:
    number, category = (
        PerturbNumber(label="x", budget=Fraction(1, 3), steps=73, step=1.0),
        PerturbCategory(label="y", budget=Fraction(1, 3), n_values=7),
    )
    for disclosure in (number, category):
        assert disclosure.epsilon("replace") == Fraction(1, 3) and disclosure.epsilon("add-remove") is None
    assert number.noise.rate * 73 == Fraction(1, 3)
    assert category.delta("replace") == 0 < number.delta("replace") < Fraction(1, 2**50)


@given(st.fractions(Fraction(1, 1000), 5), st.fractions(Fraction(1, 1000), 5), st.fractions(0, 1))
@LAWS
def test_a_divided_budget_bounds_the_sampler_whatever_the_parts_are(a: Fraction, b: Fraction, where: Fraction) -> None:
    least, most = sorted((a, b))
    ends = tuple(PerturbNumber(label="x", budget=budget, steps=1000, step=1.0) for budget in (least, most))
    bound = Divided(label="all", parts=(ends,), budget={"add-remove": None, "replace": most}).delta("replace")
    part = PerturbNumber(label="x", budget=least + where * (most - least), steps=1000, step=1.0)
    assert part.delta("replace") <= bound
