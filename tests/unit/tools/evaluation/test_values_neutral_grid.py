"""Tables compared on quantiles of the data, and what is said of numbers; against loops and by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copublish import agreement_from_mapping
from copublish.tools.evaluation.distances import correlation_error, marginal_errors, mean_errors, number_statistics
from copublish.tools.evaluation.values import NeutralGrid, codes_of, neutral_errors
from support import random_table, small_mapping

AGREEMENT = agreement_from_mapping(small_mapping())


def table(n: int, seed: int) -> pd.DataFrame:
    return random_table(AGREEMENT, n, np.random.default_rng(seed)).drop(columns="id")


def test_a_cell_holds_a_tenth_and_a_value_that_many_share_has_its_own():
    data = table(1000, 1).assign(age=np.arange(1000) / 15, income=[0.0] * 600 + [40.0] * 200 + list(range(1, 201)))
    grid = NeutralGrid.of(data, AGREEMENT.columns)
    codes = grid.codes(data)
    assert codes["age"].value_counts().tolist() == [100] * 10
    income = codes["income"].to_numpy()
    assert set(income[:600]) == {0} and (income[600:] > 0).all()
    assert set(income[600:800]) == {income[839]} and (income == income[839]).sum() == 201  # 40 occurs once more
    assert (np.bincount(income, minlength=grid.sizes["income"])[1:-1] > 0).all()
    assert grid.codes(data.assign(age=np.nan))["age"].unique().tolist() == [grid.sizes["age"] - 1] == [10]
    assert codes["job"].tolist() == codes_of(AGREEMENT.columns, data)["job"].tolist()


def test_a_coarse_grid_does_not_hide_what_it_loses():
    """Values are spread over their agreed cells: on those cells nothing is wrong, and yet nothing within is right."""
    data = table(2000, 1).assign(income=np.repeat([0.0, 10.0], 1000))
    spread = data.assign(income=np.repeat([0.0, 10.0], 1000) + np.tile(np.linspace(0, 0.9, 1000), 2))
    sizes = {name: domain.size for name, domain in AGREEMENT.columns.items()}
    agreed = marginal_errors(codes_of(AGREEMENT.columns, spread), codes_of(AGREEMENT.columns, data), sizes, 1)
    assert agreed.mean == 0
    found = neutral_errors(spread, data, AGREEMENT.columns)
    assert found[1].worst == ("income",) and found[1].largest == pytest.approx(0.4995)
    assert all(errors.mean == 0 for errors in neutral_errors(data, data, AGREEMENT.columns).values())


def test_statistics_of_numbers_are_compared_in_standard_deviations_of_the_data():
    data, released = pd.DataFrame({"a": [1.0, 2, 3, 10], "flat": 1.0}), pd.DataFrame({"a": [2.0, 4, 6], "flat": 1.0})
    found = number_statistics(released, data, ["a", "flat"])
    assert list(found) == ["a"], "a column without spread has no unit"
    deviation = np.sqrt(((1 - 4) ** 2 + (2 - 4) ** 2 + (3 - 4) ** 2 + (10 - 4) ** 2) / 4)
    assert found["a"]["mean"] == {"released": 4, "data": 4, "error": 0}
    assert found["a"]["median"] == {"released": 4, "data": 2, "error": pytest.approx(2 / deviation)}
    spread = np.sqrt(8 / 3)
    assert found["a"]["standard_deviation"]["error"] == pytest.approx((deviation - spread) / deviation)
    ends = [(2 - 1) / deviation, (2 - 1) / deviation, (6 - 3) / deviation, (10 - 6) / deviation]
    summary = mean_errors(found)
    assert summary["quantiles"] == pytest.approx(np.mean(ends))
    assert summary["mean"] == 0 and mean_errors({})["mean"] is None


def test_correlations_are_those_of_numpy():
    data, released = (table(200, seed)[["age", "income"]] for seed in (1, 2))
    expected = abs(np.corrcoef(data.T)[0, 1] - np.corrcoef(released.T)[0, 1])
    assert correlation_error(released, data, ["age", "income"]) == pytest.approx(expected)
    assert correlation_error(released, data, ["age"]) is None
