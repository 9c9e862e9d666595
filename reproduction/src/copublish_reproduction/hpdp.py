"""HPDP-DP as published: noisy scatter matrices, principal components, and every owner's records sent through them.

Gu, Zhang and Yang, "Horizontally Partitioned Data Publication with Differential Privacy", Security and Communication
Networks 2022. Not differentially private: a published record is a linear map of its own raw record, plus noise that is
calibrated to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from copublish.errors import AgreementError
from copublish_reproduction.plain_table import Floats

NoiseScale = Literal["theorem", "printed"]
"""`printed`: the Gamma scale of Algorithm 1, M times too small; `theorem`: the one that Theorem 2 and eq. (6) need."""

SMALLEST_VARIANCE = 1e-6
"""What sigma^2 becomes where it is 0, negative or 0/0; the paper is silent."""

Add = Callable[[Sequence[Floats]], Floats]
"""How the curator adds the owners' matrices: in the clear, or as `hpdp_paillier.PaillierSum` does."""


def add_in_the_clear(matrices: Sequence[Floats]) -> Floats:
    """The sum of the owners' matrices."""
    total: Floats = np.sum(matrices, axis=0)
    return total


def scatter_matrix(values: Floats) -> Floats:
    """The scatter of records around their own mean (line 3)."""
    centered = values - values.mean(axis=0)
    scatter: Floats = centered.T @ centered
    return scatter


def gamma_scale(n_columns: int, n_owners: int, epsilon: float, noise_scale: NoiseScale) -> float:
    """The scale of an owner's Gamma variables; infinite epsilon means no noise."""
    scale = n_columns * (n_columns + 1) / epsilon
    return scale / n_owners if noise_scale == "printed" else scale


def noise_share(n_columns: int, n_owners: int, scale: float, generator: np.random.Generator) -> Floats:
    """One owner's symmetric noise: differences of Gamma(1/M) variables above and on the diagonal (line 2)."""
    upper = np.triu_indices(n_columns)
    first, second = generator.gamma(1 / n_owners, scale, size=(2, len(upper[0])))
    share = np.zeros((n_columns, n_columns))
    share[upper] = first - second
    return share + np.triu(share, 1).T


def first_that_reaches(eigenvalues: Floats, contribution: float) -> int:
    """The smallest k whose eigenvalues have a share c of the sum; the printed loop has no break and ends at p.

    The sum has all eigenvalues, negative ones too, as printed.
    """
    shares = np.cumsum(eigenvalues) / eigenvalues.sum()
    reached = shares >= contribution - 1e-12  # rounding must not ask for one more
    return int(np.argmax(reached)) + 1 if reached.any() else len(eigenvalues)


@dataclass(frozen=True)
class Model:
    """What the curator returns: principal components of a noisy covariance matrix.

    Attributes:
        eigenvalues: All of them, descending, shape (p,); with noise some are negative.
        directions: Eigenvectors of the first k, shape (p, k).
        variance: sigma^2, the mean of the discarded eigenvalues, or `SMALLEST_VARIANCE`.
        is_floored: Whether that mean was not positive.
    """

    eigenvalues: Floats
    directions: Floats
    variance: float
    is_floored: bool

    @property
    def loadings(self) -> Floats:
        """W of Theorem 1, shape (p, k); nothing along a direction with less variance than the noise."""
        k = self.directions.shape[1]
        weights: Floats = self.directions * np.sqrt(np.maximum(self.eigenvalues[:k] - self.variance, 0))
        return weights

    def image(self, values: Floats) -> Floats:
        """Reconstruction of raw records, before mean and noise: `(X U_k) W'` (line 24)."""
        image: Floats = (values @ self.directions) @ self.loadings.T
        return image

    def generate(self, values: Floats, generator: np.random.Generator) -> Floats:
        """One owner's synthetic records, one for each of its raw ones, in their order."""
        noise = generator.normal(0, math.sqrt(self.variance), values.shape)
        records: Floats = self.image(values) + values.mean(axis=0) + noise
        return records


def principal_components(
    covariance: Floats, contribution: float, n_components: int | None = None, floor: float = SMALLEST_VARIANCE
) -> Model:
    """Decompose the curator's matrix (lines 15 to 22).

    Args:
        covariance: The noisy one, symmetric.
        contribution: c, the share of the eigenvalues' sum to keep.
        n_components: k, instead of the first that reaches c.
        floor: What sigma^2 becomes where it is not positive.
    """
    ascending, vectors = np.linalg.eigh(covariance)
    eigenvalues = ascending[::-1]
    k = n_components or first_that_reaches(eigenvalues, contribution)
    rest = eigenvalues[k:]
    variance = float(rest.mean()) if len(rest) else 0.0
    is_floored = not variance > 0
    return Model(eigenvalues, vectors[:, ::-1][:, :k], floor if is_floored else variance, is_floored)


def label_by_share(scores: Floats, share: float) -> Floats:
    """1 for the given share of records with the highest scores, 0 for the others."""
    labels = np.zeros(len(scores))
    n_positive = round(share * len(scores))
    labels[np.argsort(-scores, kind="stable")[:n_positive]] = 1
    return labels


@dataclass(frozen=True)
class Published:
    """What HPDP-DP publishes.

    Attributes:
        values: Synthetic records of all owners, one below the other; the last column is the class, 0 or 1.
        model: Where they come from.
    """

    values: Floats
    model: Model


@dataclass(frozen=True)
class Hpdp:
    """The algorithm that owners and curator run.

    Attributes:
        epsilon: What the paper promises; infinite for no noise.
        contribution: c, the share of the eigenvalues' sum to keep.
        noise_scale: Whether Gamma variables have the printed scale or the one that the proof needs.
        n_components: k, instead of the first that reaches c.

    Privacy:
        Protects: nothing that can be relied on. Theorem 5 covers the matrix alone, and with the printed scale only for
            M times epsilon.
        Reveals: to everybody, one synthetic record for each raw one, a linear map of it, in the original order; the
            exact means and class shares of every owner. To each owner, its own share of the noise. To the curator,
            every owner's matrix but for a constant (`hpdp_paillier.strip_factor`).
    """

    epsilon: float
    contribution: float
    noise_scale: NoiseScale = "printed"
    n_components: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        problems = []
        if not self.epsilon > 0:
            problems.append(f"epsilon must be positive, got epsilon = {self.epsilon}.")
        if not 0 < self.contribution <= 1:
            problems.append(f"the contribution c must be in (0, 1], got c = {self.contribution}.")
        if self.n_components is not None and self.n_components < 1:
            problems.append(f"k must be at least 1, got k = {self.n_components}.")
        if problems:
            raise AgreementError("HPDP-DP", problems)

    def noisy_matrix(self, values: Floats, n_owners: int, generator: np.random.Generator) -> Floats:
        """Plaintext of one owner: its scatter matrix and its share of the noise (line 4)."""
        p = values.shape[1]
        scale = gamma_scale(p, n_owners, self.epsilon, self.noise_scale)
        noisy: Floats = scatter_matrix(values) + noise_share(p, n_owners, scale, generator)
        return noisy

    def fit(self, owners: Sequence[Floats], generator: np.random.Generator, add: Add = add_in_the_clear) -> Model:
        """The principal components that the curator sends back (lines 1 to 22)."""
        refuse_unusable(owners, self.n_components)
        matrices = [self.noisy_matrix(values, len(owners), generator) for values in owners]
        n = sum(len(values) for values in owners)
        return principal_components(add(matrices) / n, self.contribution, self.n_components)

    def publish(
        self, owners: Sequence[Floats], generator: np.random.Generator, add: Add = add_in_the_clear
    ) -> Published:
        """The synthetic records of all owners; the last column is a class and becomes 0 or 1.

        The paper does not say how a real-valued label becomes a class: here each owner gives its share of positive
        records, exact like its means, to those with the highest values.

        Args:
            owners: Each owner's records with values in [0, 1], shape (n_m, p).
            generator: Where noise comes from.
            add: How the curator adds matrices.

        Raises:
            AgreementError: If there are fewer than two owners, their columns differ, or k is above their number.
        """
        model = self.fit(owners, generator, add)
        parts = []
        for values in owners:
            part = model.generate(values, generator)
            part[:, -1] = label_by_share(part[:, -1], float(values[:, -1].mean()))
            parts.append(part)
        return Published(np.concatenate(parts), model)


def refuse_unusable(owners: Sequence[Floats], n_components: int | None) -> None:
    """Refuse owners that cannot run the algorithm together.

    Raises:
        AgreementError: If they cannot.
    """
    problems = []
    if len(owners) < 2:
        problems.append(f"there must be at least 2 owners, got {len(owners)}.")
    if any(len(values) == 0 for values in owners):
        problems.append("every owner needs records: without any it has no mean.")
    widths = {values.shape[1] for values in owners}
    if len(widths) > 1:
        problems.append("all owners must have the same columns.")
    if n_components is not None and widths and n_components > min(widths):
        problems.append(f"k must be at most the number of columns, {min(widths)}, got k = {n_components}.")
    if problems:
        raise AgreementError("HPDP-DP", problems)


def split_at_random(values: Floats, n_owners: int, generator: np.random.Generator) -> list[Floats]:
    """The records of M owners with about as many each."""
    return [values[part] for part in np.array_split(generator.permutation(len(values)), n_owners)]
