"""How far published records are from the original ones: the paper's MeanSSE as printed, and corrected.

As printed, a difference is divided by the *variance* of its attribute, so the result depends on units: one column with
small numbers can be nearly all of it. Corrected, it is divided by the standard deviation, and squares are averaged over
attributes: 1 is what a column of means costs, 2 a column of other people's values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copublish.errors import EvaluationError
from copublish_reproduction.microdata import Attribute, Microdata
from copublish_reproduction.plain_table import Bools, Floats


@dataclass(frozen=True)
class Loss:
    """Information loss of a release.

    Attributes:
        printed: MeanSSE with the formula of the paper.
        corrected: The same with standard deviations, as a mean over attributes.
        wrong_categories: Share of categorical cells that are not what they were; none without such cells.
    """

    printed: float
    corrected: float
    wrong_categories: float | None


@dataclass(frozen=True)
class LossMeter:
    """What the loss is measured against.

    Attributes:
        variances: Sample variance of every attribute of the original records; of places in schema order for categories.
        is_categorical: Which attributes are.
    """

    variances: Floats
    is_categorical: Bools

    @staticmethod
    def of(original: Microdata) -> LossMeter:
        """Prepare for releases of some records.

        Raises:
            EvaluationError: If an attribute is constant.
        """
        variances: Floats = original.values.var(axis=0, ddof=1)
        constant = [a.name for a, variance in zip(original.attributes, variances, strict=True) if not variance > 0]
        if constant:
            raise EvaluationError(f"MeanSSE divides by the variance, and {', '.join(constant)} has none. Leave it out.")
        return LossMeter(variances, np.array([_is_categorical(a) for a in original.attributes]))

    def measure(self, original: Floats, published: Floats) -> Loss:
        """The loss of published records, in the order of the original ones; shapes (n, n_attributes)."""
        difference = published - original
        squares = np.einsum("ng,ng->g", difference, difference)
        return self.summarize(len(original), squares, np.count_nonzero(difference, axis=0).astype(np.float64))

    def summarize(self, n: int, squares: Floats, unequal: Floats) -> Loss:
        """The loss from sums over records.

        Args:
            n: Number of records.
            squares: Sum of squared differences, for every attribute.
            unequal: Number of differences other than 0, for every attribute.
        """
        n_attributes = len(self.variances)
        printed = float((squares / self.variances**2).sum() / n / n_attributes**2)  # 1/l stands outside the root
        corrected = float((squares / self.variances).mean() / n)
        wrong = float(unequal[self.is_categorical].mean() / n) if self.is_categorical.any() else None
        return Loss(printed, corrected, wrong)


def _is_categorical(attribute: Attribute) -> bool:
    return attribute.categories is not None
