"""What people ask of numbers first: means, medians, quantiles, standard deviations, correlations, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from copublish.types import FloatArray

QUANTILES = {"quantile_05": 0.05, "quantile_25": 0.25, "median": 0.5, "quantile_75": 0.75, "quantile_95": 0.95}
STATISTICS = ("mean", "standard_deviation", *QUANTILES)


def statistics_of(numbers: FloatArray) -> dict[str, float]:
    """Mean, standard deviation, median and other quantiles of some numbers; quantiles are values that occur."""
    found = {"mean": float(np.mean(numbers)), "standard_deviation": float(np.std(numbers))}
    quantiles = np.quantile(numbers, list(QUANTILES.values()), method="inverted_cdf")
    return found | dict(zip(QUANTILES, map(float, quantiles), strict=True))


def number_statistics(
    released: pd.DataFrame, data: pd.DataFrame, columns: Sequence[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """For every column and statistic the released value, that of the data, and the error.

    The error is the distance of the two in standard deviations of the data. Missing values are left out; so is a column
    with no spread in the data, or with no value in one of the frames.

    Returns:
        By column, then by statistic: `released`, `data` and `error`.
    """
    found = {}
    for name in columns:
        one, other = (frame[name].dropna().to_numpy(dtype=float) for frame in (released, data))
        if not len(one) or not len(other) or not np.std(other) > 0:
            continue
        own, true = statistics_of(one), statistics_of(other)
        found[name] = {
            what: {
                "released": own[what],
                "data": true[what],
                "error": abs(own[what] - true[what]) / true["standard_deviation"],
            }
            for what in STATISTICS
        }
    return found


def mean_errors(statistics: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, float | None]:
    """The mean error over columns of every statistic, in standard deviations; quantiles beside the median as one."""

    def mean(names: Sequence[str]) -> float | None:
        errors = [column[name]["error"] for column in statistics.values() for name in names]
        return float(np.mean(errors)) if errors else None

    others = [name for name in QUANTILES if name != "median"]
    return {
        "mean": mean(["mean"]),
        "median": mean(["median"]),
        "quantiles": mean(others),
        "standard_deviation": mean(["standard_deviation"]),
    }


def correlation_error(
    released: pd.DataFrame, data: pd.DataFrame, columns: Sequence[str], method: Any = "pearson"
) -> float | None:
    """The mean error of correlations over all pairs of numerical columns, or nothing without a pair.

    Args:
        released: Records that are compared.
        data: The records that they shall resemble.
        columns: Numerical ones. One that does not vary is correlated with nothing: its correlations are 0.
        method: `pearson`, or `spearman` for ranks.
    """
    pairs = list(combinations(columns, 2))
    if not pairs:
        return None
    one, other = (frame[list(columns)].corr(method=method).fillna(0.0) for frame in (released, data))
    return float(np.mean([abs(one.loc[pair] - other.loc[pair]) for pair in pairs]))
