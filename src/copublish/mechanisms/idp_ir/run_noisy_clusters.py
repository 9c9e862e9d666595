"""One owner's column for an idp-ir release: ranked, cut into clusters, each with discrete Laplace noise on its sum.

Values are whole numbers from 0 (steps above a lower bound, or places of categories), and so are sums and noise. Nothing
is a float, and nothing leaves the owner here.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from copublish.kernel.noise.coins import Coins
from copublish.kernel.noise.geometric import Geometric
from copublish.kernel.programs.noise import geometric
from copublish.mechanisms.idp_ir.plan import Sensitivity
from copublish.mechanisms.idp_ir.run_microaggregation import (
    by_frequency,
    cluster_sizes,
    cluster_sums,
    ranks,
    sensitivities,
)
from copublish.types import IntArray

DRAWS_AT_ONCE = 2**14
"""Noise is drawn in parts, because its coins take up to half a kilobyte for each number."""

SCALE_BITS = 8
"""Where every cluster has a scale of its own, it is rounded up to so many leading bits: by less than one percent."""


def noisy_column(
    private_values: IntArray, *, highest: int, k: int, kind: Sensitivity, epsilon: Fraction, coins: Coins
) -> IntArray:
    """Every record's published value: the noisy mean of its cluster, rounded, within the domain.

    Args:
        private_values: Whole numbers from 0 to `highest`, at least k of them.
        highest: The domain's highest value, which is public.
        k: Records in a cluster; the last one takes the rest.
        kind: How the noise is scaled.
        epsilon: What the column's noise is scaled with.
        coins: The owner's.

    Privacy:
        Guarantee: none. Records of a cluster have one published value, so clusters can be read off. With `vector` and
            `global` the sorted noisy means alone, of one frozen data set, are epsilon-iDP: a replaced value moves the
            means by at most the sensitivity in L1, and a sum's noise has the scale size * sensitivity / epsilon.
    """
    order = ranks(private_values)
    ranked, sizes = private_values[order], cluster_sizes(len(order), k=k)
    sums = cluster_sums(ranked, sizes) + _noise(kind, ranked, sizes, highest=highest, epsilon=epsilon, coins=coins)
    means = np.clip((2 * sums + sizes) // (2 * sizes), 0, highest)  # rounded, halves up
    published = np.empty_like(private_values)
    published[order] = np.repeat(means, sizes)
    return published


def noisy_categories(
    private_places: IntArray, *, n_categories: int, k: int, kind: Sensitivity, epsilon: Fraction, coins: Coins
) -> IntArray:
    """The same for categories that are ranked by how frequent they are at this owner, most frequent first.

    Privacy:
        Guarantee: none, and less than for an agreed order: which category comes first is read off the data.
    """
    schema_place = by_frequency(private_places, n_categories)
    rank_of = np.empty_like(schema_place)
    rank_of[schema_place] = np.arange(n_categories)
    published = noisy_column(
        rank_of[private_places], highest=n_categories - 1, k=k, kind=kind, epsilon=epsilon, coins=coins
    )
    return schema_place[published]


def _noise(
    kind: Sensitivity, ranked: IntArray, sizes: IntArray, *, highest: int, epsilon: Fraction, coins: Coins
) -> IntArray:
    """Noise for the sum of every cluster; none where the reading asks for none."""
    unit = math.lcm(int(sizes[0]), int(sizes[-1]))  # in parts of which so many make a step, sensitivities are whole
    of_means = sensitivities(kind, ranked, sizes, low=0, high=highest, weights=unit // sizes)
    of_sums = of_means * sizes if kind in ("vector", "global") else _rounded_up(of_means * sizes)
    noise = np.zeros_like(sizes)
    for scale in np.unique(of_sums[of_sums > 0]):
        here = np.flatnonzero(of_sums == scale)
        noise[here] = discrete_laplace(Geometric(epsilon * unit / int(scale)), len(here), coins)
    return noise


def _rounded_up(scales: IntArray) -> IntArray:
    """Keep SCALE_BITS leading bits: each law takes a millisecond, and clusters can have thousands."""
    _, bits = np.frexp(scales.astype(np.float64))
    dropped = np.maximum(bits.astype(np.int64) - SCALE_BITS, 0)
    rounded: IntArray = -(-scales >> dropped) << dropped
    return rounded


def discrete_laplace(noise: Geometric, n: int, coins: Coins) -> IntArray:
    """Draw discrete Laplace noise from one party's own coins, which therefore knows it."""
    found = [np.empty(0, dtype=np.int64)]
    for start in range(0, n, DRAWS_AT_ONCE):
        here = min(DRAWS_AT_ONCE, n - start)
        drawn = geometric(np, coins.words(noise.coin_shape(2 * here)), noise.threshold_planes)
        found.append(drawn[:here] - drawn[here : 2 * here])
    return np.concatenate(found)
