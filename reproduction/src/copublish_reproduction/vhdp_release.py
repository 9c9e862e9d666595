"""The VHDP paper's scores of a release of copublish's own `vhdp`: IGR, bias error and ILPG of every column.

What is compared with are private records, so scores are for experiments with public tables, not for publication.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from copublish.errors import EvaluationError
from copublish.release.folder import Release
from copublish_reproduction.vhdp import IgrSlip, entropies


@dataclass(frozen=True)
class ReleasedScore:
    """One column's information gain ratio about the label, before and after noise.

    Attributes:
        epsilon: The column's own part of the budget.
        before: Of the private column and the private label.
        after: Of the published column and the published label, which carries noise as well.
    """

    epsilon: float
    before: float
    after: float

    @property
    def bias(self) -> float:
        """How far the score moved, either way; the paper's "bias error"."""
        return abs(self.after - self.before)

    @property
    def ilpg(self) -> float:
        """Information loss per privacy gain (Definition 14): the change of the score over 1 + 1 / epsilon."""
        return (self.after - self.before) / (1 + 1 / self.epsilon)


def scores_of_release(release: Release, private_rows: pd.DataFrame, slip: IgrSlip = "none") -> dict[str, ReleasedScore]:
    """The scores of every column but the label.

    Args:
        release: A release of `vhdp`.
        private_rows: The records it was made of, in any order.
        slip: How the information gain ratio is read.

    Raises:
        EvaluationError: If it is a release of another mechanism, or nothing says which column is the label.
    """
    division = release.published.model.division
    if release.published.rows is None or division is None:
        raise EvaluationError("ILPG is about epsilon per column of perturbed records: a release of 'vhdp'.")
    if division.label is None:
        raise EvaluationError("ILPG is about what columns tell of a label, and the release has none.")
    label, published = division.label, release.to_pandas()
    found = {}
    for name, part in division.columns.items():
        if name != label:
            before, after = (_score(rows[name], rows[label], slip) for rows in (private_rows, published))
            found[name] = ReleasedScore(float(Fraction(part.epsilon)), before, after)
    return found


def _score(column: pd.Series, label: pd.Series, slip: IgrSlip) -> float:
    """Algorithm 1 for values of any kind; a missing one is a value."""
    codes, labels = (pd.factorize(values, use_na_sentinel=False)[0] for values in (column, label))
    return entropies(codes.astype(np.float64), labels.astype(np.int64)).gain_ratio(slip)
