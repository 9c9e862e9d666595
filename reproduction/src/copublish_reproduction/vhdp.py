"""VHDP as published: score attributes by what they tell of a label, weight them, add noise to every value.

Xia, Zhu, Ding, Jin and Zou, "Heterogeneous differential privacy for vertically partitioned databases", Concurrency and
Computation: Practice and Experience, 2019, e5607. Not differentially private: budgets of attributes of one person add
up, where the paper takes the largest (E50), and noise for a sensitivity of 1 goes on values that differ by more (E51).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from copublish.errors import AgreementError, EvaluationError
from copublish_reproduction.labeled_table import LabeledTable
from copublish_reproduction.plain_table import Floats, Ints

IgrSlip = Literal["none", "joint"]
"""`none` is Definitions 9 to 11. `joint` takes the joint entropy for the conditional one, which makes all scores
negative, as the paper's are: smaller by exactly 1, so order, differences and ILPG stay what they are."""

WEIGHTS = (0.25, 0.5, 1.0)
"""Of the three groups, from high to low scores (Section 5)."""


@dataclass(frozen=True)
class Entropies:
    """What Algorithm 1 computes of one attribute, in bits.

    Attributes:
        label: H(PL).
        conditional: H(PL | A).
        intrinsic: IV(PL, A), which is H(A).
    """

    label: float
    conditional: float
    intrinsic: float

    def gain_ratio(self, slip: IgrSlip = "none") -> float:
        """The information gain ratio; not a number for a constant attribute, where it is 0/0."""
        if self.intrinsic == 0:
            return float("nan")
        subtracted = self.conditional + (self.intrinsic if slip == "joint" else 0.0)
        return (self.label - subtracted) / self.intrinsic


def entropies(values: Floats, labels: Ints) -> Entropies:
    """Count the values of an attribute by label and return their entropies (Algorithm 1)."""
    places = np.unique(values, return_inverse=True)[1]
    n, n_labels = len(labels), int(labels.max()) + 1
    table = np.bincount(places * n_labels + labels, minlength=(places.max() + 1) * n_labels).reshape(-1, n_labels)
    of_values = table.sum(axis=1)
    rows, columns = np.nonzero(table)
    found = table[rows, columns]
    conditional = -(found / n * np.log2(found / of_values[rows])).sum()
    return Entropies(_entropy(table.sum(axis=0), n), float(conditional) + 0.0, _entropy(of_values, n))


def _entropy(counts: Ints, n: int) -> float:
    shares = counts[counts > 0] / n
    return float(-(shares * np.log2(shares)).sum()) + 0.0  # no minus zero


def gain_ratios(values: Floats, labels: Ints, slip: IgrSlip = "none") -> Floats:
    """The score of every attribute, shape (n_attributes,): Algorithm 1."""
    return np.array([entropies(column, labels).gain_ratio(slip) for column in values.T])


def privacy_weights(scores: Floats) -> Floats:
    """Divide the attributes into three groups, as equal in size as can be, and return the weight of each attribute.

    The paper's "intervals" of scores are not given. Equal scores keep the order of the attributes, and what does not
    divide by three goes to the groups of high scores.

    Raises:
        EvaluationError: If a score is not a number.
    """
    if np.isnan(scores).any():
        raise EvaluationError("A constant attribute has no information gain ratio (0/0). Leave it out.")
    weights = np.empty(len(scores))
    for group, weight in zip(np.array_split(np.argsort(-scores, kind="stable"), len(WEIGHTS)), WEIGHTS, strict=True):
        weights[group] = weight
    return weights


@dataclass(frozen=True)
class Vhdp:
    """The mechanism.

    Attributes:
        epsilon: What a record costs by the paper's reckoning.
        weights: Of every attribute; all 1 is what the paper calls homogeneous DP.

    Privacy:
        Protects: nothing that can be relied on; the label is published as it is.
        Guarantee: were every attribute in an interval of length 1, and the noise exact, the values without label would
            be private with the sum of the attributes' budgets, not with their largest.
        Reveals: every record's noisy values in their order, and scores and weights, which are data (E52).
    """

    epsilon: float
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check the parameters."""
        problems = []
        if not (self.epsilon > 0 and np.isfinite(self.epsilon)):
            problems.append(f"epsilon must be a positive number, got epsilon = {self.epsilon}.")
        if not all(0 < weight <= 1 for weight in self.weights):  # Definition 12, and 0 would be no budget at all
            problems.append("every weight must be above 0 and at most 1.")
        if problems:
            raise AgreementError("VHDP", problems)

    @staticmethod
    def heterogeneous(epsilon: float, table: LabeledTable) -> Vhdp:
        """The mechanism with weights by the table's own scores, as published."""
        return Vhdp(epsilon, tuple(privacy_weights(gain_ratios(table.values, table.labels)).tolist()))

    @staticmethod
    def homogeneous(epsilon: float, n_attributes: int) -> Vhdp:
        """The mechanism with all weights 1, which the paper calls DP."""
        return Vhdp(epsilon, (1.0,) * n_attributes)

    @property
    def budgets(self) -> Floats:
        """Epsilon of every attribute."""
        return self.epsilon * np.array(self.weights)

    @property
    def claimed_epsilon(self) -> float:
        """What Theorem 2 says a record costs: the largest budget."""
        return float(self.budgets.max())

    @property
    def epsilon_of_bits(self) -> float:
        """What a record costs if every attribute is a bit, where a sensitivity of 1 is right: the sum."""
        return float(self.budgets.sum())

    def perturb(self, values: Floats, generator: np.random.Generator) -> Floats:
        """The values with noise of scale 1 / budget on every one of them: Algorithm 2."""
        noisy = [
            column + laplace_noise(1 / budget, len(column), generator)
            for column, budget in zip(values.T, self.budgets, strict=True)
        ]
        return np.column_stack(noisy)

    def ilpg(self, scores: Floats, noisy_scores: Floats) -> Floats:
        """The change of every score over 1 + 1 / budget: Algorithm 3."""
        found: Floats = (noisy_scores - scores) / (1 + 1 / self.budgets)
        return found


def laplace_noise(scale: float, n: int, generator: np.random.Generator) -> Floats:
    """Noise as Definition 13 draws it; minus infinity, should `rand` be 0 (once in 2^53 draws)."""
    u = generator.random(n) - 0.5
    noise: Floats = -scale * np.sign(u) * np.log(1 - 2 * np.abs(u))
    return noise
