"""Epsilon of somebody with several records, beside closed forms, and the pages that give such numbers."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import copublish as cp
from copublish.kernel.accounting.cost import Cost, GaussianPart, RhoPrice
from copublish.kernel.accounting.groups import epsilon_of_group
from copublish.kernel.accounting.zcdp import rho_for
from support import small_mapping

DOCS = Path(__file__).parents[4] / "docs"
DELTA = Fraction(1, 10**6)


def gaussian(epsilon: int, pure: Fraction = Fraction(0)) -> Cost:
    """What a release costs that opens Gaussian noise at an epsilon, and something else at another one."""
    rho = rho_for(Fraction(epsilon), DELTA)
    part = GaussianPart(
        rho=RhoPrice(add_remove=rho, replace=2 * rho), add_remove=Fraction(epsilon), replace=None, delta=DELTA
    )
    return Cost(add_remove=epsilon + pure, replace=None, delta=DELTA, gaussian=part)


def naive_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon over a fine grid of alpha: arXiv:2004.00010v4, Proposition 12, solved for epsilon."""
    alpha = 1 + np.logspace(-3, 4, 200_000)
    return float(np.min(alpha * rho + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)))


@pytest.mark.parametrize("epsilon", [1, 3, 8])
@pytest.mark.parametrize("records", [1, 2, 3])
def test_gaussian_noise_grows_with_the_square_of_the_records(epsilon, records):
    expected = naive_epsilon(float(rho_for(Fraction(epsilon), DELTA)) * records**2, float(DELTA))
    found = epsilon_of_group(gaussian(epsilon), "add-remove", records)
    assert float(found) == pytest.approx(expected, rel=1e-4)
    assert float(found) > records * epsilon or records == 1


@pytest.mark.parametrize("records", [1, 2, 5])
def test_pure_epsilon_grows_with_the_records_and_beside_gaussian_noise_it_adds_up(records):
    pure = Cost(add_remove=Fraction(1, 3), replace=Fraction(2, 3), delta=Fraction(1, 10**15))
    assert epsilon_of_group(pure, "add-remove", records) == Fraction(records, 3)
    assert epsilon_of_group(pure, "replace", records) == Fraction(2 * records, 3)
    both, alone = gaussian(1, Fraction(1, 2)), gaussian(1)
    found = epsilon_of_group(both, "add-remove", records) - epsilon_of_group(alone, "add-remove", records)
    assert found == Fraction(records, 2)


def test_where_no_finite_epsilon_holds_none_does_for_two():
    assert epsilon_of_group(Cost(add_remove=None, replace=Fraction(1)), "add-remove", 2) is None
    assert epsilon_of_group(gaussian(1), "replace", 2) is None


@pytest.mark.parametrize("page", ["for-lawyers.md", "known-limits.md"])
def test_pages_give_the_numbers_of_this_function(page):
    words = " ".join((DOCS / page).read_text().split())
    numbers = [f"{float(epsilon_of_group(gaussian(epsilon), 'add-remove', 2)):.2f}" for epsilon in (1, 3, 8)]
    assert numbers == ["2.11", "6.53", "18.44"]
    place = re.search(r"a delta of 1e-6[^.]*2\.11.{0,60}", words)
    assert place is not None
    assert all(number in place[0] for number in numbers)


@pytest.mark.parametrize(
    ("privacy", "prices"),
    [
        ({"epsilon": 1}, ("epsilon 1", "epsilon 2", "epsilon 2.")),
        ({"epsilon": 1, "neighbors": "replace"}, ("epsilon 1", None, "epsilon 2.")),
    ],
)
def test_the_certificate_says_of_everything_it_protects_at_which_price(privacy, prices):
    """It said "every attribute of every person" beneath an epsilon that was for being in the table."""
    said = cp.describe(cp.agreement_from_mapping(small_mapping(privacy=privacy))).protected
    expected = [price for price in prices if price is not None]
    assert len(said) == len(expected)
    for line, price in zip(said, expected, strict=True):
        assert re.search(rf"{re.escape(price)}[).]?", line), line


def test_with_gaussian_noise_values_cost_less_than_twice_and_two_records_more():
    mapping = small_mapping(mechanism={"name": "marginals"}, privacy={"epsilon": 1, "delta": "1e-6"})
    description = cp.describe(cp.agreement_from_mapping(mapping))
    values, two = (float(re.search(r"epsilon ([0-9.]+), delta 1.0e-06", line)[1]) for line in description.protected[1:])
    assert values == float(description.epsilon.public["replace"])
    assert 1 < values < 2 < two
