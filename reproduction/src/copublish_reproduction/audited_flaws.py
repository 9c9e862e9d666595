"""The flaws of the published algorithms as views that can be audited: what somebody sees of two neighboring tables.

Each flaw is a function from coins to outputs, as `copublish.tools.auditing.coalitions` plays them, with the epsilon
that the paper promises of it. The numbers are those of the findings (docs/results).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.mechanisms.idp_ir.run_microaggregation import by_frequency
from copublish.tools.auditing.coalitions import View, audit_outputs
from copublish.tools.auditing.statistics import Claim, Tested
from copublish_reproduction.arbdistdp import noisy_cells
from copublish_reproduction.findings_noise import UNIFORM_BITS, possible, scale_if_variance, textbook_laplace
from copublish_reproduction.findings_selections import TABLE_1_AGES, TABLE_1_CLASSES, split_point_law
from copublish_reproduction.findings_views import half_noise
from copublish_reproduction.hpdp import gamma_scale, noise_share, principal_components
from copublish_reproduction.idp_ir import IdpIr, rank_column
from copublish_reproduction.leaks import majorities, merge_transcript
from copublish_reproduction.microdata import Attribute
from copublish_reproduction.plain_table import Floats
from copublish_reproduction.selection import floored, literal_law, log_weights, segment_law
from copublish_reproduction.vhdp import Vhdp, entropies

Bools = NDArray[np.bool_]
Seen = Callable[[Bools, np.random.Generator], NDArray[Any]]


@dataclass(frozen=True)
class Flaw:
    """One published flaw.

    Attributes:
        number: What the findings call it.
        words: What is seen, and by whom.
        epsilon: What the paper promises of it.
        runs: With so many runs it is accused.
        seen: Outputs on the tables that coins name.
        people: In how many people the tables differ.
    """

    number: str
    words: str
    epsilon: float
    runs: int
    seen: Seen
    people: int = 1

    def audit(self, runs: int, generator: np.random.Generator) -> Tested:
        """Audit it with so many runs."""
        view: View = partial(self._view, generator)
        return audit_outputs(view, Claim(self.epsilon, people=self.people), runs)

    def _view(self, generator: np.random.Generator, coins: Bools) -> NDArray[Any]:
        return self.seen(coins, generator)


def _of_laws(laws: tuple[Floats, Floats]) -> Seen:
    """Draws from one of two laws on whole numbers."""

    def seen(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
        drawn = [generator.choice(len(law), size=len(coins), p=law / law.sum()) for law in laws]
        return np.where(coins, drawn[1], drawn[0])

    return seen


def _exact(first: Any, second: Any) -> Seen:
    """Something that is told as it is."""
    return lambda coins, generator: np.where(coins[:, None], np.atleast_1d(second), np.atleast_1d(first))


def _split_points() -> tuple[Floats, Floats]:
    laws = []
    for ages, classes in ((TABLE_1_AGES, TABLE_1_CLASSES), ((*TABLE_1_AGES, 30), (*TABLE_1_CLASSES, 1))):
        law = np.zeros(100)
        for point, probability in split_point_law(ages, classes, 0.5).items():
            law[point] = probability
        laws.append(law)
    return laws[0], laws[1]


def _classes_without_noise(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    leaves = np.where(coins[:, None], [9, 1], [10, 0])
    return np.asarray(noisy_cells(leaves, 2 / 0.1, generator, class_in_leaf=False)[:, 1] > 0).astype(np.int64)


def _textbook_noise(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """Which counts a floating-point output can be of; the auditor knows the sampler."""
    half, scale = 2 ** (UNIFORM_BITS - 1), 10.0
    outputs = coins + textbook_laplace(generator.integers(-half + 1, half, len(coins)), scale)
    return np.stack([possible(outputs, count, scale) for count in (0, 1)], axis=1).astype(np.int64)


def _sum_of_shares(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """Three entries of a scatter matrix that one record moves by 1 each, with ten owners' printed noise."""
    scale, upper = gamma_scale(2, 10, 1.0, "printed"), np.triu_indices(2)
    noise = [sum(noise_share(2, 10, scale, generator) for _ in range(10)) for _ in coins]
    return np.asarray(coins[:, None] + np.array([np.asarray(one)[upper] for one in noise]))


def _one_share(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """What the curator finds of one of ten owners: its matrix with its own share of the noise."""
    scale, upper = gamma_scale(2, 10, 1.0, "theorem"), np.triu_indices(2)
    return np.asarray(coins[:, None] + np.array([noise_share(2, 10, scale, generator)[upper] for _ in coins]))


def _others_shares(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """What an owner of three sees of a count once it takes its own share off, with noise for epsilon 1."""
    first, second = generator.gamma(2 / 3, 1.0, size=(2, len(coins)))
    return np.asarray(coins + first - second)


def _image_of_a_record(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """A synthetic record: a linear map of a raw one, with k = p as printed; the matrix has the noise of the proof."""
    scale = gamma_scale(2, 3, 1.0, "theorem")
    covariance = np.array([[20.0, 5.0], [5.0, 20.0]]) + noise_share(2, 3, scale, generator)
    model = principal_components(covariance, 1.0, n_components=2)
    return model.generate(np.repeat(coins[:, None], 2, axis=1).astype(np.float64), generator)


def _copies_of_a_bit(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    return Vhdp.homogeneous(1.0, 14).perturb(np.repeat(coins[:, None], 14, axis=1).astype(np.float64), generator)


def _amounts(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """Ages 17 and 90 with the noise of a count."""
    return Vhdp(0.1, (1.0,)).perturb(np.where(coins, 90.0, 17.0)[:, None], generator)


def _gain_ratio(labels_of: tuple[int, ...]) -> float:
    values = np.zeros(10)
    values[list(labels_of)] = 1
    found = entropies(values, np.arange(10) % 2).gain_ratio()
    return -1.0 if math.isnan(found) else found


def _clusters(coins: Bools, generator: np.random.Generator) -> NDArray[Any]:
    """Whether a person's published value is that of the lowest or of the highest of all others, at epsilon 0.01."""
    attribute, mechanism = Attribute("age", 0.0, 100.0), IdpIr(0.01, 3, clamp=False)
    found = []
    for coin in coins:
        values = np.array([0.0, 0.0, 100.0, 100.0, 100.0, 100.0 if coin else 0.0])
        ranked = rank_column(attribute, values, "schema")
        clustered = mechanism.cluster(ranked)
        published = np.empty(len(values))
        published[ranked.order] = np.repeat(clustered.noisy_values(0.01, generator, clamp=False), clustered.sizes)
        found.append(published[5] == published[4])
    return np.array(found, dtype=np.int64)


FLAWS = (
    Flaw(
        "E1",
        "the winner as printed: the first cut whose own weight is above R",
        0.5,
        1600,
        _of_laws(
            (literal_law(log_weights(np.array([20, 20]), 0.5)), literal_law(log_weights(np.array([20, 21]), 0.5)))
        ),
    ),
    Flaw(
        "E5",
        "majorities that both parties learn",
        1.0,
        120,
        _exact(majorities(np.array([[6, 5]])), majorities(np.array([[6, 7]]))),
    ),
    Flaw(
        "E7",
        "comparisons while lists are merged, to either party",
        1.0,
        120,
        _exact(merge_transcript([30], [30]), merge_transcript([30], [31])),
    ),
    Flaw("E8", "a split point that is one of the values that occur", 0.5, 3200, _of_laws(_split_points())),
    Flaw("E15", "classes of leaves without noise", 0.1, 400, _classes_without_noise),
    Flaw(
        "E16",
        "noise of which sqrt(1 / epsilon) is the variance, epsilon 0.1",
        0.05,
        1600,
        lambda coins, generator: 20 * coins + generator.laplace(0, scale_if_variance(0.1), len(coins)),
        20,
    ),
    Flaw(
        "E17",
        "a count without the squares that a party added itself, epsilon 1",
        0.5,
        16_000,
        lambda coins, generator: coins + half_noise(1.0, (len(coins),), generator),
    ),
    Flaw("E19", "noise in floating point", 0.1, 120, _textbook_noise),
    Flaw(
        "E23",
        "weights cut to one digit, scores 9 and 10",
        0.0192,
        100_000,
        _of_laws(
            (segment_law(floored(0.0096 * np.array([9, 10]), 1)), segment_law(floored(0.0096 * np.array([10, 9]), 1)))
        ),
    ),
    Flaw("E39", "sums with the printed noise of ten owners, epsilon 1", 1.0, 800, _sum_of_shares),
    Flaw("E41", "a synthetic record, epsilon 1", 1.0, 120, _image_of_a_record),
    Flaw("E42", "an owner's exact mean", 1.0, 120, _exact(0.5, 0.6)),
    Flaw("E43", "one owner's sums, to the curator, epsilon 1", 1.0, 400, _one_share),
    Flaw("E44", "sums without one's own share, to one of three owners, epsilon 1", 1.0, 30_000, _others_shares),
    Flaw("E50", "14 attributes that carry one bit, epsilon 1", 1.0, 400, _copies_of_a_bit),
    Flaw("E51", "an age with the noise of a count, epsilon 0.1", 0.1, 400, _amounts),
    Flaw("E52", "scores of attributes, from raw data", 1.0, 120, _exact(_gain_ratio(()), _gain_ratio((0,)))),
    Flaw("E56", "the label, which has no noise", 1.0, 120, _exact(0, 1)),
    Flaw("E29", "who has the same published value as whom, epsilon 0.01", 0.01, 120, _clusters),
    Flaw("E33", "the end of the domain, twice the largest value", 1.0, 120, _exact(63.2, 131.6)),
    Flaw(
        "E34",
        "the order of categories, by how often they occur",
        1.0,
        120,
        _exact(by_frequency(np.array([0, 0, 1]), 2), by_frequency(np.array([0, 1, 1]), 2)),
    ),
)
"""Every published flaw that is seen in outputs or messages, but those of accuracy and of definitions."""
