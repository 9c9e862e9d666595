"""Whether published error bars keep what they say: how many of them hold the true count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from copublish.mechanisms.base import Publication
from copublish.tools.evaluation.published import Published


@dataclass(frozen=True)
class Coverage:
    """How many published error bars hold the truth.

    Attributes:
        counts: How many counts have one.
        covered: The share of them whose true count lies within; 0.95 is what they say.
    """

    counts: int
    covered: float


def coverage(release: Publication, published: Published, raw: pd.DataFrame) -> Coverage | None:
    """Compare every published count that has an error bar with the count of the records.

    Args:
        release: The release.
        published: What it published, in the terms of scores.
        raw: The very records that were released, values of the domains. Others have other counts.

    Returns:
        The coverage, or nothing if no error bars are published.
    """
    labels = published.labels(raw)
    is_within: list[bool] = []
    for measured in release.mechanism.measured_counts(release):
        cells = measured.cells.to_pandas().astype(str)
        names = list(cells.columns)
        true_counts = labels[names].value_counts(sort=False)
        index = pd.MultiIndex.from_frame(cells)
        true = true_counts.reindex(index, fill_value=0).to_numpy()
        errors = np.abs(true - np.array(measured.noisy_counts))
        is_within += (errors <= np.array(measured.within_95_percent)).tolist()
    return Coverage(len(is_within), float(np.mean(is_within))) if is_within else None
