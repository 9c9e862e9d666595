"""iDP-IR as published: budgets, orders of categories, owners, bad input, information loss, cost."""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copublish.agreement.loading import agreement_from_mapping
from copublish.errors import AgreementError, CopublishError, EvaluationError, FragmentError
from copublish.tools.evaluation.matched import loss_of
from copublish_reproduction.idp_ir import IdpIr, rank_column, release_central, release_horizontal, release_vertical
from copublish_reproduction.information_loss import LossMeter
from copublish_reproduction.microdata import Attribute, Microdata
from support.microaggregation import naive_centroids

NO_NOISE = 1e15
COLORS = Attribute.categorical("color", ("red", "green", "blue", "gray"))
SCHEMA = (Attribute("age", 0.0, 100.0), Attribute("hours", -5.0, 60.0), COLORS)


class OneEverywhere:
    """Stands for a generator whose Laplace noise of scale 1 is always 1: it shows the scale."""

    def laplace(self, size):
        return np.ones(size)


@pytest.fixture
def table():
    generator = np.random.default_rng(5)
    n = 41
    columns = [
        generator.uniform(0, 100, n),
        generator.integers(-5, 61, n),
        generator.choice(4, n, p=[0.1, 0.5, 0.1, 0.3]),
    ]
    return Microdata(SCHEMA, np.column_stack(columns).astype(float))


def rows_of(table, *cuts):
    parts = np.split(np.arange(len(table.values)), cuts)
    return {f"owner {number}": table.rows(part) for number, part in enumerate(parts)}


def columns_of(table, *groups):
    return {f"owner {number}": table.columns(names) for number, names in enumerate(groups)}


def naive_release(values, k):
    """Return each value's centroid, in the original order."""
    order = sorted(range(len(values)), key=lambda place: (values[place], place))
    means = naive_centroids(values, k)
    found = [0.0] * len(values)
    for rank, place in enumerate(order):
        found[place] = means[min(rank // k, len(means) - 1)]
    return found


def test_without_noise_every_record_gets_the_mean_of_its_cluster(table, k=4):
    published = release_central(IdpIr(NO_NOISE, k), table, np.random.default_rng(0)).values
    for place in (0, 1):
        assert published[:, place] == pytest.approx(naive_release(table.values[:, place].tolist(), k))
    assert published[:, 2].tolist() == [round(mean) for mean in naive_release(table.values[:, 2].tolist(), k)]


def test_categories_are_sorted_by_frequency_and_rounded_after_noise():
    """The paper's example: a cluster of places 1, 1, 2 has centroid 1.33, which is category 1."""
    color = Attribute.categorical("color", ("a1", "a2"))
    values = np.array([0.0] * 10 + [1.0] * 15)  # a2 is more frequent, so it comes first
    ranked = rank_column(color, values, "frequency")
    assert ranked.values.tolist() == [0.0] * 15 + [1.0] * 10
    assert ranked.schema_values.tolist() == [1.0] * 15 + [0.0] * 10
    table = Microdata((color,), values[:, np.newaxis])
    published = release_central(IdpIr(NO_NOISE, 7, category_order="frequency"), table, np.random.default_rng(0)).values
    assert Counter(published[:, 0].tolist()) == {1.0: 14, 0.0: 11}
    # The third cluster would hold the fifteenth a2; with k = 6 the third has three of each, whose mean 0.5 is even 0.
    clustered = IdpIr(1.0, 6, category_order="frequency").cluster(ranked)
    assert clustered.centroids.tolist() == pytest.approx([0, 0, 0.5, 1])


def test_categories_that_the_noise_moves_off_the_list_become_its_ends(table):
    published = release_central(IdpIr(0.001, 4, clamp=False), table, np.random.default_rng(1)).values
    assert set(published[:, 2]) <= {0.0, 1.0, 2.0, 3.0}
    assert (published[:, 0] < 0).any() and (published[:, 0] > 100).any()
    limited = release_central(IdpIr(0.001, 4), table, np.random.default_rng(1)).values
    assert limited[:, 0].min() == 0 and limited[:, 0].max() == 100


@pytest.mark.parametrize("kind", ["vector", "fixed", "gap", "global"])
def test_owners_of_records_spend_epsilon_each_and_owners_of_columns_share_it(table, kind):
    mechanism = IdpIr(0.5, 4, kind, clamp=False)

    def noise(release, owners, name):
        silent = release(replace(mechanism, epsilon=NO_NOISE), owners, OneEverywhere())
        place = silent.names.index(name)
        return (release(mechanism, owners, OneEverywhere()).values - silent.values)[:, place]

    def scale(values):
        column = rank_column(table.attributes[0], values, "schema")
        clustered = mechanism.cluster(column)
        found = np.empty(len(values))
        found[column.order] = np.repeat(clustered.sensitivities, clustered.sizes)
        return found

    ages = table.values[:, 0]
    one = noise(release_horizontal, {"all": table}, "age")
    assert one == pytest.approx(scale(ages) / (0.5 / 3), abs=1e-6)
    split = noise(release_horizontal, rows_of(table, 15), "age")
    assert split == pytest.approx(np.concatenate([scale(ages[:15]), scale(ages[15:])]) / (0.5 / 3), abs=1e-6)
    columns = noise(release_vertical, columns_of(table, ("age", "color"), ("hours",)), "age")
    assert columns == pytest.approx(scale(ages) / (0.5 / 2 / 2), abs=1e-6)


def test_owners_of_one_column_each_release_what_one_owner_releases(table):
    """So the paper's comparison on Adult is an identity (E36)."""
    mechanism = IdpIr(1.0, 5)
    owners = columns_of(table, *((name,) for name in table.names))
    vertical = release_vertical(mechanism, owners, np.random.default_rng(2))
    central = release_central(mechanism, table, np.random.default_rng(2))
    assert vertical.names == central.names
    assert (vertical.values == central.values).all()


def test_noise_is_laplace_of_the_stated_scale():
    """Mean absolute noise of 40,000 clusters: its standard error is 0.5 %, so 3 % fails once in 10^8 runs."""
    table = Microdata((Attribute("x", 0.0, 10.0),), np.random.default_rng(0).uniform(0, 10, (120_000, 1)))
    ranked = rank_column(table.attributes[0], table.values[:, 0], "schema")
    clustered = IdpIr(1.0, 3).cluster(ranked)
    noisy = clustered.noisy_values(0.2, np.random.default_rng(1), clamp=False)
    measured = float(np.abs(noisy - clustered.centroids).mean())
    assert measured == pytest.approx(clustered.sensitivities[0] / 0.2, rel=0.03)
    assert measured != pytest.approx(1.3 * clustered.sensitivities[0] / 0.2, rel=0.03)


def test_plain_idp_adds_noise_to_every_value(table):
    published = release_central(IdpIr(1.0, None, clamp=False), table, np.random.default_rng(0)).values
    assert len(set(published[:, 0])) == len(table.values)


def refusal(error, work):
    with pytest.raises(error) as caught:
        work()
    text = str(caught.value)
    assert isinstance(caught.value, CopublishError)
    assert not re.search(r"\b41\b|\b2\b records|\d+ (rows|records)", text), "a message tells no number of records"
    return text


@pytest.mark.parametrize("k", [2, 1, 0, -5])
def test_k_below_3_is_refused(k):
    assert "k must be at least 3" in refusal(AgreementError, lambda: IdpIr(1.0, k))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_epsilon_must_be_positive(epsilon):
    assert "positive" in refusal(AgreementError, lambda: IdpIr(epsilon, 3))


def test_k_larger_than_n_and_an_owner_with_fewer_than_k_records_are_refused(table):
    text = refusal(FragmentError, lambda: release_central(IdpIr(1.0, 42), table, OneEverywhere()))
    assert "fewer records than k = 42" in text
    text = refusal(FragmentError, lambda: release_horizontal(IdpIr(1.0, 5), rows_of(table, 38), OneEverywhere()))
    assert "'owner 1'" in text and "smaller k" in text
    empty = table.rows(np.array([], dtype=np.int64))
    assert "fewer" in refusal(FragmentError, lambda: release_central(IdpIr(1.0, None), empty, OneEverywhere()))


def test_a_constant_attribute_is_refused(table):
    with pytest.raises(AgreementError, match=r"'x' needs a lower bound below its upper bound"):
        Attribute("x", 3.0, 3.0)
    with pytest.raises(AgreementError, match=r"'x' needs two categories"):
        Attribute.categorical("x", ("one",))
    constant = Microdata(SCHEMA, table.values * [1, 0, 1])
    text = refusal(FragmentError, lambda: release_central(IdpIr(1.0, 3), constant, OneEverywhere()))
    assert "'hours' is constant" in text and "'age'" not in text
    with pytest.raises(EvaluationError, match=r"hours has none"):
        LossMeter.of(constant)


@pytest.mark.parametrize("bad", [float("nan"), 101.0, -0.5])
def test_missing_values_and_values_outside_the_bounds_are_refused(table, bad):
    table.values[7, 0] = bad
    text = refusal(FragmentError, lambda: release_central(IdpIr(1.0, 3), table, OneEverywhere()))
    assert "Column 'age'" in text and str(bad) not in text


def test_owners_of_columns_may_not_share_one_even_two_by_two(table):
    """The printed check, no attribute at all owners, lets this pass."""
    owners = columns_of(table, ("age", "hours"), ("hours",), ("color",))
    assert not set.intersection(*(set(owner.names) for owner in owners.values()))
    text = refusal(AgreementError, lambda: release_vertical(IdpIr(1.0, 3), owners, OneEverywhere()))
    assert "'hours' is at owners 'owner 0', 'owner 1'" in text
    owners = columns_of(table, ("age",), ("hours",)) | {"late": table.rows(np.arange(10)).columns(("color",))}
    text = refusal(FragmentError, lambda: release_vertical(IdpIr(1.0, 3), owners, OneEverywhere()))
    assert "'late'" in text and "same people" in text


@pytest.mark.parametrize(
    "other",
    [
        (*SCHEMA[:2], Attribute.categorical("color", ("green", "red", "blue", "gray"))),
        (Attribute("age", 0.0, 120.0), *SCHEMA[1:]),
        (SCHEMA[1], SCHEMA[0], SCHEMA[2]),
    ],
)
def test_owners_of_records_need_one_schema(table, other):
    owners = {"first": table, "second": Microdata(other, table.values)}
    text = refusal(AgreementError, lambda: release_horizontal(IdpIr(1.0, 3), owners, OneEverywhere()))
    assert "'second' and owner 'first' differ" in text


def test_losses_equal_their_formulas(table):
    """Equation 5 and the distance below it, record by record; and the same with standard deviations."""
    published = table.values + np.random.default_rng(3).integers(0, 3, table.values.shape)
    n, l = table.values.shape  # noqa: E741  the paper's letter
    variances = [np.var(table.values[:, g], ddof=1) for g in range(l)]
    printed = corrected = 0.0
    for before, after in zip(table.values, published, strict=True):
        distance = 1 / l * sum(((b - a) / v) ** 2 for a, b, v in zip(before, after, variances, strict=True)) ** 0.5
        printed += distance**2 / n
        corrected += sum((b - a) ** 2 / v for a, b, v in zip(before, after, variances, strict=True)) / l / n
    loss = LossMeter.of(table).measure(table.values, published)
    assert loss.printed == pytest.approx(printed)
    assert loss.corrected == pytest.approx(corrected)
    assert loss.wrong_categories == np.mean(published[:, 2] != table.values[:, 2])


def test_a_column_of_means_costs_1():
    table = Microdata(SCHEMA[:2], np.random.default_rng(0).uniform(0, 50, (10_000, 2)))
    means = np.broadcast_to(table.values.mean(axis=0), table.values.shape)
    loss = LossMeter.of(table).measure(table.values, means)
    assert loss.corrected == pytest.approx(1, rel=1e-3)
    assert loss.wrong_categories is None


def calls_of(work):
    """Return how many Python and C functions are called."""
    count = 0

    def step(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    # Other tests leave callbacks with the garbage collector (hypothesis does): its calls are not the work's.
    gc.disable()
    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("kind", ["vector", "fixed", "gap", "global"])
def test_the_number_of_calls_does_not_depend_on_the_number_of_records(kind):
    """Besides one sort (whose comparisons another test counts) there are array operations over n values alone."""
    counts = []
    for n in (600, 60_000):
        generator = np.random.default_rng(n)
        table = Microdata(SCHEMA, np.column_stack([generator.integers(0, 4, n) for _ in SCHEMA]).astype(float))
        mechanism = IdpIr(1.0, 3, kind, "frequency")
        release_central(mechanism, table, generator)
        counts.append(calls_of(lambda t=table, m=mechanism, g=generator: release_central(m, t, g)))
    assert counts[0] == counts[1]


def test_evaluate_of_a_release_has_the_same_mean_sse():
    """The command line's own, of matched records, is another implementation of the same formulas."""
    generator = np.random.default_rng(2)
    original, published = (
        np.column_stack([generator.uniform(0, 100, 50), generator.integers(-5, 61, 50), generator.choice(4, 50)])
        for _ in range(2)
    )
    mapping = {
        "format": 1,
        "name": "r",
        "dataset": "d",
        "partition": "horizontal",
        "parties": {"a": {}, "b": {}},
        "records": {"expected": 50},
        "attributes": {
            "age": {"kind": "numerical", "bounds": [0, 100], "grid": {"count": 4}},
            "hours": {"kind": "numerical", "bounds": [-5, 60], "grid": {"count": 5}},
            "color": {"kind": "categorical", "values": list(COLORS.categories)},
        },
        "privacy": {"epsilon": 1},
        "mechanism": {"name": "copula"},
    }
    domains = agreement_from_mapping(mapping).domains
    frames = [pd.DataFrame(values, columns=["age", "hours", "color"]) for values in (original, published)]
    found = loss_of(*frames, domains)
    expected = LossMeter.of(Microdata(SCHEMA, original)).measure(original, published)
    assert found.mean_sse_as_printed == pytest.approx(expected.printed)
    assert found.mean_sse == pytest.approx(expected.corrected)
    assert found.wrong_categories == pytest.approx(expected.wrong_categories)
