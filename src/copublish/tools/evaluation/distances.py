"""Distances between numerical columns: Wasserstein, rank correlations, and what generalizing a record costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from copublish.mechanisms.shared.generalization import Generalization, GeneralizedValue
from copublish.tools.evaluation.number_statistics import correlation_error


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
            squares += np.nan_to_num((numbers - _centers(numbers, cut.attributes[name].values)) / deviation) ** 2
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
