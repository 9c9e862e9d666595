"""One owner's column: clusters, scales of the noise against all neighbors, the noise's law, orders of categories."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.kernel.noise.geometric import Geometric
from copublish.mechanisms.idp_ir import run as noisy_clusters
from copublish.mechanisms.idp_ir.run import discrete_laplace, noisy_categories, noisy_column
from copublish.mechanisms.idp_ir.settings import LARGEST_K, MAX_SCALE, MAX_STEPS
from support import ConstantCoins, SeededCoins
from support.idp_ir import clusters, naive_means, naive_values
from support.profiles import examples

HIGHEST = 4
EPSILON = Fraction(1, 3)
SILENT = ConstantCoins(1)


def column(values, k, kind="vector", *, highest=HIGHEST, epsilon=EPSILON, coins=SILENT):
    values = np.array(values, dtype=np.int64)
    return noisy_column(values, highest=highest, k=k, kind=kind, epsilon=epsilon, coins=coins).tolist()


@given(st.lists(st.integers(0, 60), min_size=6, max_size=40), st.integers(3, 6))
@examples(60)
def test_without_noise_every_record_gets_the_rounded_mean_of_its_cluster(values, k):
    assert column(values, k, highest=60) == naive_values(values, k)


@pytest.fixture
def scales(monkeypatch):
    """The scale of each cluster's noise, on its mean and at epsilon 1, as it is asked for."""
    asked = []

    def remember(noise, n, coins):
        asked.append((noise.rate, n))
        return np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(noisy_clusters, "discrete_laplace", remember)

    def of(values, k, kind):
        asked.clear()
        column(values, k, kind)
        return sorted(rate for rate, n in asked for _ in range(n))

    return of


def tables():
    for n, k in ((3, 3), (4, 3), (7, 3), (8, 4), (9, 3)):
        for table in itertools.combinations_with_replacement(range(1, 4), n):
            yield list(table), k


def changes(table, k):
    """How far every neighbor moves each sorted mean; neighbors may take any value of the domain."""
    before = naive_means(table, k)
    for place, value in itertools.product(range(len(table)), range(HIGHEST + 1)):
        after = naive_means([*table[:place], value, *table[place + 1 :]], k)
        yield [abs(a - b) for a, b in zip(before, after, strict=True)]


def rates(sensitivities, table, k):
    """What the noise of each cluster's sum should decay by, for the given sensitivities of its mean."""
    sizes = [len(cluster) for cluster in clusters(table, k)]
    return sorted(EPSILON / (size * s) for size, s in zip(sizes, sensitivities, strict=True) if s > 0)


def test_exact_scales_are_the_worst_change_of_all_means_together(scales):
    """Never exceeded by any neighbor, and attained by one, as exact fractions."""
    for table, k in tables():
        worst = max(sum(change) for change in changes(table, k))
        assert scales(table, k, "vector") == rates([worst] * (len(table) // k), table, k), (table, k)


def test_gap_scales_are_the_worst_change_of_each_mean_and_0_where_nothing_can_change(scales):
    without = 0
    for table, k in tables():
        worst = [max(by_cluster) for by_cluster in zip(*changes(table, k), strict=True)]
        without += worst.count(0)
        assert scales(table, k, "gap") == rates(worst, table, k), (table, k)
    assert without > 0  # equal values around a cluster: published as it is


def test_fixed_scales_let_one_member_go_to_an_end_of_the_domain(scales):
    for table, k in tables():
        members = [[table[place] for place in cluster] for cluster in clusters(table, k)]
        worst = [
            max(Fraction(abs(member - end), len(cluster)) for member in cluster for end in (0, HIGHEST))
            for cluster in members
        ]
        assert scales(table, k, "fixed") == rates(worst, table, k), (table, k)


def test_global_scales_are_the_worst_of_all_tables(scales):
    for n, k in ((6, 3), (7, 3)):
        worst = max(
            sum(change)
            for table in itertools.combinations_with_replacement(range(HIGHEST + 1), n)
            for change in changes(list(table), k)
        )
        assert worst == Fraction(HIGHEST, k)
        assert scales([1] * n, k, "global") == rates([worst] * (n // k), [1] * n, k)


def test_own_scales_of_many_clusters_are_rounded_up_by_less_than_one_per_cent():
    exact = np.concatenate([np.arange(2000), np.random.default_rng(0).integers(1, 2**60, 2000)])
    rounded = noisy_clusters._rounded_up(exact)
    assert (rounded >= exact).all() and (rounded[:256] == exact[:256]).all()
    assert (rounded - exact <= exact / 100).all() and len(np.unique(rounded)) < len(exact)


def test_noise_has_the_stated_law():
    """Mean size of 200,000 draws: its standard error is 0.23 %, so 2 % fails less than once in 10^15 runs."""
    for rate in (Fraction(1, 7), Fraction(2)):
        drawn = discrete_laplace(Geometric(rate), 200_000, SeededCoins(1))
        p = float(np.exp(-float(rate)))
        expected = 2 * p / (1 - p * p)
        assert np.abs(drawn).mean() == pytest.approx(expected, rel=0.02 if rate < 1 else 0.05)
        assert np.abs(drawn).mean() != pytest.approx(1.3 * expected, rel=0.05)
        assert abs(drawn.mean()) < 0.05 * expected + 0.01


def test_values_stay_within_the_domain():
    values = np.random.default_rng(0).integers(0, 11, 200)
    published = noisy_column(values, highest=10, k=3, kind="global", epsilon=Fraction(1, 100), coins=SeededCoins(2))
    assert published.min() == 0 and published.max() == 10


def test_categories_by_frequency_are_ranked_by_it_and_come_back_as_themselves():
    places = np.array([2] * 9 + [0] * 6 + [1] * 3)  # 2, 0, 1 by frequency
    settings = {"n_categories": 4, "k": 3, "kind": "vector", "epsilon": EPSILON, "coins": SILENT}
    assert noisy_categories(places, **settings).tolist() == places.tolist()
    mixed = np.array([2] * 8 + [0] * 4 + [1] * 3)
    ranks = [{2: 0, 0: 1, 1: 2}[place] for place in mixed.tolist()]
    back = [[2, 0, 1][rank] for rank in naive_values(ranks, 3)]
    assert noisy_categories(mixed, **settings).tolist() == back
    assert back != naive_values(mixed.tolist(), 3)  # the schema's order gives others


@pytest.mark.parametrize("k", [3, 7])
def test_whoever_looks_sees_the_clusters(k):
    """What the acknowledgement is about: equal published values are the clusters."""
    values = np.random.default_rng(4).permutation(1000 * np.arange(70))
    published = noisy_column(values, highest=69_000, k=k, kind="global", epsilon=Fraction(1), coins=SeededCoins(3))
    inside = (published > 0) & (published < 69_000)
    for cluster in clusters(values.tolist(), k):
        assert len(set(published[cluster].tolist())) == 1
    assert len(set(published[inside].tolist())) > 3


@pytest.mark.parametrize("kind", ["vector", "global", "fixed", "gap"])
def test_the_largest_agreements_stay_within_64_bits(kind, monkeypatch):
    """The widest domain, the largest clusters and the smallest epsilon that rules allow, against Python's integers."""
    k, highest, epsilon = LARGEST_K, MAX_STEPS, Fraction(2 * MAX_STEPS, MAX_SCALE)
    asked = []
    law = noisy_clusters.discrete_laplace
    monkeypatch.setattr(
        noisy_clusters, "discrete_laplace", lambda noise, n, coins: asked.append(noise) or law(noise, n, coins)
    )
    values = np.array([0, highest] * (k + k // 2) + [highest])[: 3 * k - 1]
    published = noisy_column(values, highest=highest, k=k, kind=kind, epsilon=epsilon, coins=SeededCoins(1))
    assert published.min() >= 0 and published.max() <= highest
    # No sum moves by more than its size times the largest change of a mean: the range over k, by one record.
    assert all(epsilon / (2 * highest) <= noise.rate * Fraction(101, 100) for noise in asked)
    assert all(noise.bits <= 61 for noise in asked)
    if kind == "global":
        sizes = [k, 2 * k - 1]
        assert sorted(noise.rate for noise in asked) == sorted(epsilon * k / (size * highest) for size in sizes)
