"""The trivial baseline: its sensitivity counted, its price, its tables without noise, and its noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from copublish import agreement_from_mapping
from copublish.tools.evaluation.baseline import ClassTables
from copublish.tools.evaluation.published import ScoredData, coverage
from copublish.tools.evaluation.utility import Summary, Utility, utility_of
from copublish.tools.evaluation.values import codes_of
from support import random_table, small_mapping
from support.releases import small_release

AGREEMENT = agreement_from_mapping(small_mapping())
ATTRIBUTES = list(AGREEMENT.attributes)


def table(n: int, seed: int) -> pd.DataFrame:
    return random_table(AGREEMENT, n, np.random.default_rng(seed)).drop(columns="id")


def counts(frame: pd.DataFrame) -> np.ndarray:
    """All tables of a column by the class, one after the other, cell by cell."""
    codes, found = codes_of(AGREEMENT.columns, frame), []
    for name in ATTRIBUTES:
        for value in range(AGREEMENT.domains[name].size):
            for label in range(2):
                found.append(int(((codes[name] == value) & (codes["default"] == label)).sum()))
    return np.array(found)


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
def test_the_price_is_the_budget_for_the_largest_change_that_a_record_makes(delta):
    people = table(40, 1)
    without = [counts(people.drop(index=number)) for number in range(40)]
    added = max(int(np.abs(one - counts(people)).sum()) for one in without)
    replaced = max(int(np.abs(one - other).sum()) for one in without for other in without)
    assert (added, replaced) == (len(ATTRIBUTES), 2 * len(ATTRIBUTES))
    for neighbors, change in (("add-remove", added), ("replace", replaced)):
        tables = ClassTables(
            domains=AGREEMENT.columns, epsilon=Fraction(1), delta=delta, neighbors=neighbors, total_is_public=False
        ).tables
        sensitivity = tables.l1_sensitivity if delta is None else tables.squared_l2_sensitivity
        assert sensitivity[neighbors] == change  # every count changes by one, so squares are alike
        assert tables.epsilon(neighbors) == 1
        assert tables.entries == len(counts(people))
        if delta is None:
            assert tables.scale_in_people == pytest.approx(change)


def test_with_hardly_any_noise_tables_by_class_are_the_datas_and_columns_are_independent_given_it():
    people = table(3000, 2)
    people["income"] = np.where(people["age"] > 50, 60.0, 5.0)  # depends on age, whatever the class
    exact = ClassTables(
        domains=AGREEMENT.columns, epsilon=Fraction(10**6), delta=None, neighbors="add-remove", total_is_public=False
    )
    drawn = exact.draw(people, np.random.default_rng(0))
    assert (counts(drawn) == counts(people)).all()
    chances = pd.crosstab([drawn["default"], drawn["age"] > 50], drawn["income"] > 50, normalize="index")
    for label in ("no", "yes"):
        young, old = chances.loc[(label, False), True], chances.loc[(label, True), True]
        assert abs(young - old) < 0.1  # five deviations of a share of some 700 records; in the data it is 1
    missing = agreement_from_mapping(small_mapping(**{"attributes.income.missing": "category"}))
    people.loc[:99, "income"] = np.nan
    told = ClassTables(
        domains=missing.columns, epsilon=Fraction(10**6), delta=None, neighbors="replace", total_is_public=True
    ).draw(people, np.random.default_rng(0))
    assert told["income"].isna().sum() == 100 and len(told) == 3000


@pytest.mark.parametrize("delta", [None, Fraction(1, 10**6)])
def test_noise_has_the_stated_deviation(delta):
    """Of 20,000 draws the deviation is off by 3 percent with a chance below 1e-3; the test is for 6 percent."""
    tables = ClassTables(
        domains=AGREEMENT.columns, epsilon=Fraction(1, 2), delta=delta, neighbors="add-remove", total_is_public=False
    )
    noise = tables._noise(20_000, np.random.default_rng(3))
    scale = tables.tables.scale_in_people
    expected = scale if delta is not None else np.sqrt(2) * scale  # a scale of 8: discrete is like continuous
    assert np.std(noise) == pytest.approx(expected, rel=0.06)
    assert np.std(noise * 1.3) != pytest.approx(expected, rel=0.06)


def test_a_budget_is_taken_from_the_agreement_and_from_the_certificate_alike():
    for changes in ({}, {"mechanism": {"name": "marginals"}, "privacy.delta": "1e-6"}):
        release, _ = small_release(200, **changes)
        agreement = agreement_from_mapping(small_mapping(**changes))
        beside = ClassTables.beside(agreement)
        of_release = ClassTables.beside_release(release.certificate, release.published.columns.domains)
        assert (beside.epsilon, beside.delta) == (of_release.epsilon, of_release.delta)
        assert (beside.delta is None) == (not changes)
        assert beside.tables.scale_in_people == of_release.tables.scale_in_people


@pytest.mark.parametrize("mechanism", ["specialization", "marginals", "copula"])
def test_error_bars_hold_the_truth_as_often_as_they_say(mechanism):
    """By a loop over cells; that 60 percent of some 40 bars hold is certain, were each to hold with 95 percent."""
    release, people = small_release(200, mechanism={"name": mechanism})
    published = ScoredData.of_release(release, "default")
    found = coverage(release, published, people)
    rows, within, bars = published.labels(people).to_dict("records"), 0, 0
    for measured in release.tables:
        for row in release.table(measured).to_pylist():
            noisy, error = row.pop("noisy_count"), row.pop("within_95_percent")
            true = sum(all(person[name] == value for name, value in row.items()) for person in rows)
            within, bars = within + (abs(true - noisy) <= error), bars + 1
    assert (found.counts, found.covered) == (bars, within / bars)
    assert found.covered > 0.6
    assert coverage(release, published, pd.concat([people] * 10)).covered < found.covered - 0.2, "of other records"
    public = {"records.public": True, "privacy.neighbors": "replace"}
    others, _ = small_release(200, mechanism={"name": "vhdp"}, **public)  # which measures no table
    assert coverage(others, ScoredData.of_release(others, "default"), people) is None


def test_a_summary_adds_up_what_noise_and_test_records_bring():
    train, test = table(500, 1), table(400, 2)
    runs: list[Utility] = []
    for seed in range(3):
        drawn = ClassTables.beside(AGREEMENT).draw(train, np.random.default_rng(seed))
        published = ScoredData.of_records(drawn, AGREEMENT.columns, "default")
        runs.append(utility_of(published, train, test, classifiers=["decision-tree", "logistic-regression"]))
    summary = Summary(runs)
    told, best = summary.scores().to_json(), summary.classifier
    areas = [run.predictions[best].area for run in runs]
    assert told["area"] == pytest.approx(np.mean([area.value for area in areas])) == summary.area
    of_noise = np.var([area.value for area in areas], ddof=1) / 3
    of_records = np.sum(np.mean([area.influences for area in areas], axis=0) ** 2)
    assert told["area_standard_error"] == pytest.approx(np.sqrt(of_noise + of_records))
    assert told["area"] == max(told["classifiers"][name]["area"] for name in told["classifiers"])
    assert summary.minus(summary).area == 0 and not summary.minus(summary).can_be_told
    assert summary.minus(Summary(runs[:1])).standard_error is None, "one run does not tell what noise does"
    assert told["distances"]["tables_2"]["value"] == pytest.approx(np.mean([run.distances["tables_2"] for run in runs]))
    assert told["distances"]["coverage"] == {"value": None, "standard_error": None}


def test_fine_grids_count_on_the_usual_cells_and_numbers_stay_between_their_bounds():
    mapping = small_mapping()
    mapping["attributes"]["income"] = {"kind": "numerical", "bounds": [0, 99_999], "missing": 0, "held_by": "bank"}
    agreement = agreement_from_mapping(mapping)
    assert agreement.domains["income"].size > 1024
    baseline = ClassTables.beside(agreement)
    assert baseline.domains["income"].size < 30
    assert baseline.domains["age"] == agreement.domains["age"]
    generator = np.random.default_rng(1)
    drawn = baseline.draw(random_table(agreement, 200, generator), generator)
    assert drawn["income"].between(0, 99_999).all()
