"""One owner's column for an idp-ir release: ranked, cut into clusters, each with discrete Laplace noise on its sum.

Values are whole numbers from 0 (steps above a lower bound, or places of categories), and so are sums and noise. Nothing
is a float, and nothing leaves the owner here.

iDP-IR as its authors describe the system: owners microaggregate and perturb their columns, then records are joined.

Del Vasto-Terrientes, Martinez and Sanchez, "Privacy- & Utility-Preserving Data Releases over Fragmented Data Using
Individual Differential Privacy", ICISSP 2025. It is not differentially private, nor individually so: `run_idp_ir`
says why. The agreement plays the aggregator's part: it fixes k, epsilon and the schema, and parties compare it first.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.errors import FragmentError
from copublish.kernel.noise.geometric import Coins, Geometric
from copublish.kernel.programs.noise import geometric
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.kernel.secrets.own_columns import OwnColumns
from copublish.mechanisms.idp_ir.plan import IdpIrPlan, Sensitivity
from copublish.mechanisms.idp_ir.publish import IdpIrResult
from copublish.mechanisms.idp_ir.run_microaggregation import (
    by_frequency,
    cluster_sizes,
    cluster_sums,
    ranks,
    sensitivities,
)
from copublish.mechanisms.shared.post_processing import order_without_meaning, published_columns
from copublish.progress import Progress
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


def refuse_unfit_clusters(plan: IdpIrPlan, fragment: Fragment) -> None:
    """Check what an owner alone can see of its records: that they make a cluster, and that no column is constant.

    Raises:
        FragmentError: With every rule that they break; for this party's people alone.
    """
    columns = published_columns(plan.agreement)[fragment.party]
    if not columns:
        return
    problems = []
    if fragment.n_records < plan.k:
        problems.append(f"There are fewer records than mechanism.k = {plan.k}. Agree on a smaller k.")
    else:
        problems += [
            f"Column '{column}' is constant, so there is nothing to rank. Agree to leave it out."
            for column in columns
            if np.ptp(_private_values(fragment, column)) == 0
        ]
    if problems:
        raise FragmentError(fragment.party, problems)


def run_idp_ir(plan: IdpIrPlan, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> IdpIrResult:
    """Run the mechanism at one party.

    Args:
        plan: What is told, and how it is perturbed.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where perturbed columns are told.
        progress: Told about every step.

    Privacy:
        Protects: nothing that can be relied on.
        Guarantee: none. Records of one cluster have one published value, so who is in which cluster of every column
            is published exactly, at any epsilon; somebody who knows the others finds a person's rank and so the value.
        Reveals: all records with the values of their clusters, to all parties and the public.
    """
    domains, layout = plan.agreement.columns, published_columns(plan.agreement)
    own = {}
    for number, column in enumerate(layout[computer.party]):
        progress("clusters", number, len(layout[computer.party]))
        own[column] = _perturbed(plan, domains[column], table.fragment, computer.own_coins)
    progress("clusters", 1, 1)
    n_values = {column: highest_of(domain) + 1 for column, domain in domains.items()}
    columns = OwnColumns(own, n_values, layout, rows_are_shared=plan.agreement.partition != "horizontal")
    # Tells every record's perturbed cells to all parties; NOT covered by any budget, as the agreement acknowledges.
    told = gate.reveal_columns(columns, plan.disclosures())
    order = order_without_meaning(list(told.values()))  # the owners' own order would name the rows to the public
    return IdpIrResult(plan, {column: values[order] for column, values in told.items()})


def highest_of(domain: Domain, *, drops_missing: bool = False) -> int:
    """The highest whole number that stands for a value of a column."""
    if isinstance(domain, CategoricalDomain):
        return domain.size - 1 - (drops_missing and domain.missing)  # the missing category is the last one
    return domain.steps


def _perturbed(plan: IdpIrPlan, domain: Domain, fragment: Fragment, coins: Coins) -> IntArray:
    values, epsilon = _private_values(fragment, domain.name), plan.epsilon_of[domain.name]
    highest = highest_of(domain, drops_missing=plan.settings.drops_missing)
    by_frequency = plan.settings.order_of_categories == "frequency"
    if isinstance(domain, CategoricalDomain) and by_frequency:
        return noisy_categories(
            values, n_categories=highest + 1, k=plan.k, kind=plan.sensitivity, epsilon=epsilon, coins=coins
        )
    return noisy_column(values, highest=highest, k=plan.k, kind=plan.sensitivity, epsilon=epsilon, coins=coins)


def _private_values(fragment: Fragment, column: str) -> IntArray:
    if column in fragment.private_numbers:
        return fragment.private_numbers[column]
    return fragment.private_codes[column].astype(np.int64)
