"""Distances between a release and data: of marginals, of statistics of numbers, and of whole columns of numbers.

Marginals of all sets of columns of one size are compared by total variation, numbers by means, quantiles and
correlations, by Wasserstein distance, rank correlation and what generalizing a record costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as typed
from scipy.stats import wasserstein_distance

from copublish.release.generalization import Generalization, GeneralizedValue
from copublish.types import FloatArray, TypedJson

LARGEST_DENSE_TABLE = 2**20
"""Larger tables of counts are kept as lists of the cells that occur."""

WAYS = (1, 2, 3)


@typed(frozen=True)
class MarginalErrors(TypedJson):
    """Total variation distances of the marginals of one size.

    Attributes:
        marginals: How many were compared.
        mean: Their mean distance: 0 is equal, 1 is nothing in common.
        largest: The largest of them.
        worst: The columns that have it.
    """

    marginals: int
    mean: float
    largest: float
    worst: tuple[str, ...]


def marginal_errors(
    one: pd.DataFrame, other: pd.DataFrame, sizes: Mapping[str, int], ways: int, most: int | None = None
) -> MarginalErrors | None:
    """Compare marginals over `ways` columns of two frames of codes.

    Args:
        one: Codes, one row per record.
        other: The same columns of other records; neither may be empty.
        sizes: The columns to use and how many codes each has.
        ways: How many columns a marginal has.
        most: Of more than so many marginals only so many are compared, at equal steps through all of them.

    Returns:
        The errors, or nothing if there are fewer columns than `ways`.
    """
    both = {name: np.concatenate([one[name], other[name]]) for name in sizes}
    sets = list(combinations(sizes, ways))
    if most is not None and len(sets) > most:
        sets = [sets[number * len(sets) // most] for number in range(most)]
    distances = {
        names: _distance([both[name] for name in names], [sizes[name] for name in names], len(one)) for names in sets
    }
    if not distances:
        return None
    worst = max(distances, key=lambda names: distances[names])
    return MarginalErrors(len(distances), float(np.mean(list(distances.values()))), distances[worst], worst)


def _distance(columns: Sequence[NDArray[np.int64]], sizes: Sequence[int], n_one: int) -> float:
    cells = np.ravel_multi_index(tuple(columns), tuple(sizes))
    n_cells = math.prod(sizes)
    if n_cells > LARGEST_DENSE_TABLE:
        found, cells = np.unique(cells, return_inverse=True)
        n_cells = len(found)
    shares = [np.bincount(part, minlength=n_cells) / len(part) for part in (cells[:n_one], cells[n_one:])]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


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


def wasserstein_errors(released: pd.DataFrame, data: pd.DataFrame, columns: Sequence[str]) -> dict[str, float]:
    """For each column the first Wasserstein distance, in standard deviations of the data.

    Missing values are left out; so is a column with no spread in the data, or with no value in one of the frames.
    """
    found = {}
    for name in columns:
        one, other = released[name].dropna().to_numpy(dtype=float), data[name].dropna().to_numpy(dtype=float)
        if len(one) and len(other) and (deviation := float(np.std(other))) > 0:
            found[name] = float(wasserstein_distance(one, other)) / deviation
    return found


def rank_correlation_error(released: pd.DataFrame, data: pd.DataFrame, columns: Sequence[str]) -> float | None:
    """The mean error of Spearman's rank correlations over all pairs of columns, or nothing without a pair.

    A column that does not vary is correlated with nothing: its correlations are 0.
    """
    return correlation_error(released, data, columns, "spearman")


def mean_sse(data: pd.DataFrame, cut: Generalization, columns: Sequence[str]) -> float | None:
    """The mean squared distance of records to the centers of the intervals that stand for them.

    The distance of a record is (1/l) * sqrt(sum over its l numerical attributes of (difference / standard
    deviation)^2). It measures what generalizing costs, not noise: no record of a release belongs to a record of the
    data. Missing values, and columns without spread, add nothing.
    """
    squares = np.zeros(len(data))
    for name in columns:
        numbers = data[name].to_numpy(dtype=float)
        deviation = float(np.nanstd(numbers)) if not np.isnan(numbers).all() else 0.0
        if deviation > 0:
            squares += np.nan_to_num((numbers - _centers(numbers, cut.values[name])) / deviation) ** 2
    return float(np.mean(squares / len(columns) ** 2)) if columns and len(data) else None


def mean_sse_of_sorted_columns(released: pd.DataFrame, data: pd.DataFrame, columns: Sequence[str]) -> float | None:
    """The mean squared distance of records after both frames were sorted column by column.

    The distance is that of `mean_sse`. No record of a release belongs to a record of the data; however they were
    matched, they would be at least this far apart. Frames of other lengths are compared quantile by quantile. Missing
    values, and columns without spread, add nothing.
    """
    total = 0.0
    for name in columns:
        one, other = (np.sort(frame[name].dropna().to_numpy(dtype=float)) for frame in (released, data))
        if len(one) and len(other) and (deviation := float(np.std(other))) > 0:
            steps = np.unique([*(np.arange(len(one) + 1) / len(one)), *(np.arange(len(other) + 1) / len(other))])
            middles = (steps[1:] + steps[:-1]) / 2
            apart = one[(middles * len(one)).astype(int)] - other[(middles * len(other)).astype(int)]
            total += float(np.sum(np.diff(steps) * apart**2)) / deviation**2
    return total / len(columns) ** 2 if columns and len(released) and len(data) else None


def _centers(numbers: np.ndarray[Any, Any], values: Sequence[GeneralizedValue]) -> np.ndarray[Any, Any]:
    intervals = [(float(v.lower), float(v.upper)) for v in values if v.lower is not None and v.upper is not None]
    inner_edges = [lower for lower, _ in intervals[1:]]
    centers = np.array([(lower + upper) / 2 for lower, upper in intervals])
    return np.asarray(centers[np.searchsorted(inner_edges, numbers, side="right")])
