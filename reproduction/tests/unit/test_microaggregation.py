"""Clusters, centroids and how far one person moves them, against naive loops over all neighbors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.mechanisms.idp_ir.run_microaggregation import centroids, cluster_sizes, ranks, sensitivities
from copublish_reproduction.findings_clusters import worst_loss
from copublish_reproduction.microdata import Attribute
from support.microaggregation import naive_centroids

LOW, HIGH = -1, 5
"""Ends of the domain of the exhaustive searches; tables need not reach them."""


def neighbors(values, domain):
    """Yield every table with one value replaced."""
    for place, value in itertools.product(range(len(values)), domain):
        yield [*values[:place], value, *values[place + 1 :]]


def small_tables():
    for n, k in ((3, 1), (4, 2), (5, 2), (5, 3), (6, 3), (7, 3)):
        for table in itertools.combinations_with_replacement(range(4), n):
            yield list(table), k


def sensitivity(kind, values, k, low=LOW, high=HIGH):
    ranked = np.sort(np.array(values, dtype=float))
    return sensitivities(kind, ranked, cluster_sizes(len(values), k=k), low=low, high=high)


def test_the_last_cluster_takes_the_rest():
    """The paper's example: 102 values and k = 5 make 20 clusters."""
    sizes = cluster_sizes(102, k=5)
    assert sizes.tolist() == [5] * 19 + [7]
    assert cluster_sizes(7, k=4).tolist() == [7]


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=40), st.integers(1, 3))
def test_centroids_equal_a_naive_loop(values, k):
    found = centroids(np.sort(np.array(values)), cluster_sizes(len(values), k=k))
    assert found == pytest.approx(naive_centroids(values, k), rel=1e-9, abs=1e-6)


def test_the_vector_sensitivity_is_never_exceeded_and_always_attained():
    """All tables of up to 7 values in a domain of 7, with all of their neighbors (E31)."""
    for table, k in small_tables():
        before = naive_centroids(table, k)
        worst = max(
            sum(abs(a - b) for a, b in zip(before, naive_centroids(other, k), strict=True))
            for other in neighbors(table, range(LOW, HIGH + 1))
        )
        assert worst == pytest.approx(sensitivity("vector", table, k)[0], abs=1e-12), (table, k)


def test_the_gap_is_the_exact_sensitivity_of_every_centroid_by_itself():
    for table, k in small_tables():
        before = naive_centroids(table, k)
        changes = [
            [abs(a - b) for a, b in zip(before, naive_centroids(other, k), strict=True)]
            for other in neighbors(table, range(LOW, HIGH + 1))
        ]
        worst = np.array(changes).max(axis=0)
        assert worst == pytest.approx(sensitivity("gap", table, k), abs=1e-12), (table, k)


def test_fixed_is_the_exact_sensitivity_if_nobody_changes_clusters():
    for table, k in small_tables():
        sizes = cluster_sizes(len(table), k=k)
        clusters = np.split(np.array(sorted(table), dtype=float), np.cumsum(sizes)[:-1])
        worst = [
            max(abs(np.mean(cluster) - np.mean(other)) for other in neighbors(list(cluster), (LOW, HIGH)))
            for cluster in clusters
        ]
        assert worst == pytest.approx(sensitivity("fixed", table, k), abs=1e-12), (table, k)


@pytest.mark.parametrize(("n", "k"), [(4, 1), (5, 2), (6, 3), (7, 3), (5, 4)])
def test_the_global_sensitivity_bounds_every_table_and_some_table_attains_it(n, k):
    domain = range(4)
    worst = max(
        sensitivity("vector", list(table), k, 0, 3)[0] for table in itertools.combinations_with_replacement(domain, n)
    )
    assert worst == pytest.approx(sensitivity("global", [0] * n, k, 0, 3)[0])
    assert worst == pytest.approx(3 / min(cluster_sizes(n, k=k)))


@given(st.lists(st.floats(0, 1), min_size=8, max_size=60), st.integers(1, 8), st.data())
def test_random_neighbors_never_exceed_the_vector_sensitivity(values, k, data):
    other = list(values)
    other[data.draw(st.integers(0, len(values) - 1))] = data.draw(st.floats(0, 1))
    change = sum(abs(a - b) for a, b in zip(naive_centroids(values, k), naive_centroids(other, k), strict=True))
    assert change <= sensitivity("vector", values, k, 0, 1)[0] + 1e-9
    assert sensitivity("vector", values, k, 0, 1)[0] <= sensitivity("global", values, k, 0, 1)[0] + 1e-9


@given(st.lists(st.floats(0, 1), min_size=8, max_size=60), st.integers(1, 8))
def test_the_worst_loss_is_1_with_vector_and_at_most_2_with_fixed(values, k):
    """In units of epsilon, all centroids together."""
    ranked, sizes = np.sort(np.array(values)), cluster_sizes(len(values), k=k)
    domain = Attribute("x", 0.0, 1.0)
    losses = {
        kind: worst_loss(ranked, sizes, domain, sensitivities(kind, ranked, sizes, low=0.0, high=1.0))
        for kind in ("vector", "fixed", "global")
    }
    assert losses["vector"] == pytest.approx(1)
    assert losses["fixed"] <= 2 + 1e-9
    assert losses["global"] <= 1 + 1e-9


def test_the_worst_loss_with_gap_grows_with_the_number_of_clusters():
    """So that the check above can fail: evenly spread values cost one epsilon per cluster."""
    ranked, sizes = np.linspace(0, 1, 101)[:-1], cluster_sizes(100, k=5)
    domain = Attribute("x", 0.0, 1.0)
    assert worst_loss(ranked, sizes, domain, sensitivities("gap", ranked, sizes, low=0.0, high=1.0)) > 19


class Counted:
    """A number that counts how often it is compared."""

    comparisons = 0

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        Counted.comparisons += 1
        return self.value < other.value


@pytest.mark.parametrize("n", [1_000, 16_000])
def test_sorting_takes_n_log_n_comparisons(n):
    generator = np.random.default_rng(3)
    values = generator.random(n)
    Counted.comparisons = 0
    order = ranks(np.array([Counted(value) for value in values], dtype=object))
    assert order.tolist() == sorted(range(n), key=values.__getitem__)
    assert Counted.comparisons <= 2 * n * math.log2(n)
