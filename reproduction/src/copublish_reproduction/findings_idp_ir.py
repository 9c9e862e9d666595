"""Every finding about the iDP-IR paper that a number shows, computed anew."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from copublish.mechanisms.idp_ir.run_microaggregation import cluster_sizes
from copublish_reproduction.figures import Tell
from copublish_reproduction.findings import Finding, find_each
from copublish_reproduction.findings_clusters import Attack, ClusterFacts, cluster_facts
from copublish_reproduction.idp_ir import IdpIr, release_central
from copublish_reproduction.information_loss import LossMeter
from copublish_reproduction.microdata import Microdata
from copublish_reproduction.microdata_sets import VERTICAL, Owners, load_microdata
from copublish_reproduction.plain_table import Floats

K = 50
TRIALS = 200
SYNTHETIC = "records are made up from noisy counts, so nobody's cluster is in a release"


def compute_idp_ir_findings(folder: Path, progress: Tell) -> list[Finding]:
    """Compute all findings on Adult and Wine Quality.

    Raises:
        SourceError: If the folder lacks a file.
    """
    adult, wine = load_microdata("adult", folder, "published"), load_microdata("wine", folder, "published")
    steps = (
        _membership,
        _factor,
        _one_at_a_time,
        _scales,
        _bounds,
        _frequencies,
        _neighbors,
        _budgets,
        _identifiers,
        _metric,
    )
    return find_each("idp-ir-findings", [partial(step, adult, wine) for step in steps], progress)


def _attack(data: Microdata, name: str, epsilon: float, *, clamp: bool, whole_numbers: bool) -> str:
    column = data.columns((name,))
    values = column.values[1:, 0]
    attack = Attack(column.attributes[0], values, (float(values.min()), float(values.max())), K)
    mechanism = IdpIr(epsilon, K, "global", clamp=clamp)
    generator = np.random.default_rng(29)
    consistent, nearest = attack.success(mechanism, epsilon, TRIALS, generator, whole_numbers=whole_numbers)
    return f"{consistent * TRIALS:.0f} of {TRIALS} ({nearest * TRIALS:.0f} without knowing how ties were sorted)"


def _membership(adult: Microdata, wine: Microdata) -> Finding:
    alcohol = _attack(wine, "alcohol", 0.01, clamp=False, whole_numbers=False)
    ages = [_attack(adult, "age", epsilon / 10, clamp=True, whole_numbers=True) for epsilon in (0.1, 1)]
    return Finding(
        "E29",
        "every record gets the noisy centroid of its cluster, in the original order",
        "equal values show who is in one cluster, whatever epsilon. Somebody who knows all other records tells whether "
        f"a person has the lowest or the highest value, with noise of the full global sensitivity and k = {K}: Wine, "
        f"alcohol, epsilon 0.01: {alcohol}; Adult, age, rounded and limited to its bounds, epsilon 0.1 over ten "
        f"attributes: {ages[0]}; epsilon 1: {ages[1]}. An epsilon-private release allows 50.25 % at 0.01",
        SYNTHETIC,
    )


def _factor(adult: Microdata, wine: Microdata) -> Finding:
    del wine
    facts = cluster_facts(adult, "age", K)
    return Finding(
        "E30",
        f"microaggregation divides the sensitivity of a value by k = {K}",
        f"it does so for the sorted list of centroids. The published value of one record can move by {facts.reach:.1f} "
        f"years, not by {facts.claimed_reach:.2f}",
        "sensitivities of what is opened, by random and exhaustive search in tests",
    )


def _one_at_a_time(adult: Microdata, wine: Microdata) -> Finding:
    age, density = cluster_facts(adult, "age", K), cluster_facts(wine, "density", K)
    ratios = [cluster_facts(wine, name, K).local_to_global for name in wine.names]
    return Finding(
        "E31",
        "epsilon-iDP is applied to each centroid, and clusters are disjoint",
        "one record that moves from end to end moves every cluster. If each centroid has its own exact local "
        f"sensitivity (`gap`), it costs {age.loss_gap:.0f} epsilon (age) or {density.loss_gap:.0f} epsilon (density); "
        f"with `fixed` {age.loss_fixed:.2f} epsilon (age); with `vector` 1. `vector` is {age.local_to_global:.2f} "
        f"(age) and {min(ratios):.2f} to {max(ratios):.2f} (Wine) of the global sensitivity: iDP saves little noise "
        "where data reach the ends of their domain",
        "one sensitivity for all that is opened",
    )


def _scales(adult: Microdata, wine: Microdata) -> Finding:
    del wine
    facts: dict[str, ClusterFacts] = {name: cluster_facts(adult, name, K) for name in ("age", "hours-per-week")}
    shares = ", ".join(f"{name} {fact.share_without_noise:.0%}" for name, fact in facts.items())
    return Finding(
        "E32",
        "noise scaled to local sensitivity protects individuals as well as DP does",
        f"the scale is data. With `gap` these shares of clusters get no noise at all: {shares}; a neighbor can have "
        "some there, so an exact value has probability 1 against 0",
        "noise whose scale is public",
    )


def _bounds(adult: Microdata, wine: Microdata) -> Finding:
    del adult
    changes = {}
    for place, name in enumerate(wine.names):
        second, first = np.sort(wine.values[:, place])[-2:]
        changes[name] = (2 * float(first), 2 * float(second))
    name = max(changes, key=lambda key: changes[key][0] / changes[key][1])
    return Finding(
        "E33",
        "the domain is limited to twice the largest value",
        f"one record sets it: {name} ends at {changes[name][0]:g}, without one record at {changes[name][1]:g}",
        "public bounds",
    )


def _frequencies(adult: Microdata, wine: Microdata) -> Finding:
    del wine
    closest = {}
    for place, attribute in enumerate(adult.attributes):
        if attribute.categories is not None:
            counts = np.bincount(adult.values[:, place].astype(np.int64), minlength=len(attribute.categories))
            order = np.argsort(-counts, kind="stable")
            gaps = -np.diff(counts[order])
            gaps[counts[order][1:] == 0] = len(adult.values)  # categories that nobody has
            at = int(np.argmin(gaps / np.maximum(counts[order][1:], 1)))  # the closest of the most frequent ones
            closest[attribute.name] = (
                attribute.categories[order[at]],
                attribute.categories[order[at + 1]],
                int(gaps[at]),
            )
    texts = ", ".join(f"{name}: {a} and {b} by {gap}" for name, (a, b, gap) in closest.items() if gap < 20)
    different = _different_orders(adult)
    return Finding(
        "E34",
        "categories are sorted by how often they occur",
        f"the order is data; these differ by less than 20 records of {len(adult.values):,}: {texts}. With four owners "
        f"of other records, owners disagree on the order of {different} of {len(closest)} attributes",
        "schema or taxonomy order",
    )


def _different_orders(adult: Microdata) -> int:
    owners = Owners("adult", adult).horizontal(np.random.default_rng(34))
    differing = 0
    for place, attribute in enumerate(adult.attributes):
        if attribute.categories is not None:
            n = len(attribute.categories)
            counts = [np.bincount(part.values[:, place].astype(np.int64), minlength=n) for part in owners.values()]
            differing += len({tuple(np.argsort(-count, kind="stable")) for count in counts}) > 1
    return differing


def _neighbors(adult: Microdata, wine: Microdata) -> Finding:
    del adult, wine
    return Finding(
        "E35",
        "neighbors differ in at most one record",
        "with one record more even the number of values changes: 11 records and k = 4 make "
        f"{len(cluster_sizes(11, k=4))} clusters, 12 make {len(cluster_sizes(12, k=4))}. Only replacing a record makes "
        "sense",
        "both relations are stated",
    )


def _budgets(adult: Microdata, wine: Microdata) -> Finding:
    del adult
    groups = VERTICAL["wine"]
    shares = ", ".join(f"epsilon/{len(groups) * len(names)}" for names in groups)
    return Finding(
        "E36",
        "epsilon is divided among the owners of columns and then among their attributes; owners are checked to have no "
        "attribute in common, all of them together",
        f"Wine's attributes get {shares} instead of epsilon/{len(wine.names)}; Adult's get epsilon/10 either way, so "
        "'vertical equals central' there is an identity. Two of three owners with the same attribute pass the check as "
        "printed",
        "one budget for all; every attribute has one owner",
    )


def _identifiers(adult: Microdata, wine: Microdata) -> Finding:
    facts = (("age", cluster_facts(adult, "age", K)), ("alcohol", cluster_facts(wine, "alcohol", K)))
    shares = ", ".join(f"{name} {fact.share_shown:.0%}" for name, fact in facts)
    return Finding(
        "E37",
        "records are joined by identifier and go back to the owners",
        "who know whose they are: each learns the cluster of every named person at the others. So many records are in "
        f"clusters of one value (k = {K}): {shares}",
        "records that stand for nobody",
    )


def _metric(adult: Microdata, wine: Microdata) -> Finding:
    del adult
    meter = LossMeter.of(wine)
    published = release_central(IdpIr(0.1, K, "fixed"), wine, np.random.default_rng(38)).values
    squares: Floats = ((published - wine.values) ** 2).sum(axis=0)
    printed, corrected = squares / meter.variances**2, squares / meter.variances
    place = int(np.argmax(printed))
    loss = meter.measure(wine.values, published)
    return Finding(
        "E38",
        "MeanSSE divides differences by the variance, and is in the thousands on Wine",
        f"{printed[place] / printed.sum():.3%} of it then is the column {wine.names[place]} (epsilon 0.1, k = {K}: "
        f"{loss.printed:.1e}); divided by the standard deviation it is {loss.corrected:,.0f}, of which "
        "that column, whose bound of twice the maximum is far from its values, still has "
        f"{corrected[place] / corrected.sum():.1%}",
        "distances in standard deviations",
    )
