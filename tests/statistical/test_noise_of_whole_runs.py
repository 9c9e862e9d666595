"""The noise of whole simulated runs, with coins from where a release takes them, has the stated laws.

At least a thousand values of each kind of run are compared with the exact values that the gate was given. Tests:
chi-square of 20 equal bins by the stated law; correlations of values that are 1, 2 or half a table apart, at 6
deviations; and no more residuals of zero than the law has, at 6 deviations. Bytes are seeded (`conftest.py`), so tests
pass always or never. With fresh ones a sound run would fail with probability below 10^-5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

import copublish as cp
from copublish.engines.ideal import in_the_clear
from copublish.kernel.accounting.disclosures import GaussianMeasure, Measure
from copublish.kernel.secrets.gate import RevealGate
from copublish.party.local.simulation import read_fragments, simulate_fragments
from support import fragment_frames, random_table, repartition, small_mapping
from support.broken_generators import draws_repeat, rows_repeat, system_words_by

ALPHA, DEVIATIONS, BINS = 1e-6, 6, 20

Law = Callable[[np.ndarray], np.ndarray]


@dataclass
class Residuals:
    """What noise was added, measurement by measurement: where each value lies in the stated law, and zeros."""

    places: list[np.ndarray] = field(default_factory=list)
    zeros: list[tuple[int, float, int]] = field(default_factory=list)

    def note(self, made: Measure | GaussianMeasure, exact: np.ndarray, opened: np.ndarray) -> None:
        noise, law = opened - exact, law_of(made)
        at, below = law(noise), law(noise - 1)
        spread = np.random.default_rng(len(self.places)).random(len(noise))  # a discrete law is spread evenly
        self.places.append(below + (at - below) * spread)
        self.zeros.append((int((noise == 0).sum()), float(law(np.zeros(1))[0] - law(-np.ones(1))[0]), len(noise)))

    def check(self) -> None:
        """Assert that they are as stated."""
        every = np.concatenate(self.places)
        assert len(every) > 1000
        seen = np.histogram(every, BINS, (0, 1))[0]
        assert stats.chisquare(seen).pvalue > ALPHA
        found, expected = sum(n for n, _, _ in self.zeros), sum(n * zero for _, zero, n in self.zeros)
        assert found < expected + DEVIATIONS * math.sqrt(expected + 1)
        for apart in ("1", "2", "half"):
            self._check_unrelated(lambda n, apart=apart: n // 2 if apart == "half" else int(apart))
        for one, other in zip(self.places, self.places[1:], strict=False):  # nor does one table have another's noise
            n = min(len(one), len(other))
            assert n < 8 or not np.allclose(np.floor(one[:n] * 64), np.floor(other[:n] * 64))

    def _check_unrelated(self, distance: Callable[[int], int]) -> None:
        products = [
            (own[d:] - 0.5) * (own[:-d] - 0.5) * 12 for own in self.places if len(own) > (d := distance(len(own))) > 0
        ]
        pairs = np.concatenate(products)
        assert abs(pairs.sum()) < DEVIATIONS * math.sqrt(len(pairs))


def law_of(made: Measure | GaussianMeasure) -> Law:
    """The chance of at most so much noise, by closed form or by a sum."""
    if isinstance(made, GaussianMeasure):
        reach = math.ceil(12 * math.sqrt(made.noise.variance))
        masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * made.noise.variance))
        total = np.concatenate([[0.0], np.cumsum(masses / masses.sum())])
        return lambda x: total[np.clip(x.astype(int) + reach + 1, 0, len(total) - 1)]
    p = math.exp(-float(made.noise.rate))
    return lambda x: np.where(x < 0, p ** np.maximum(-x, 0.0) / (1 + p), 1 - p ** (np.maximum(x, 0.0) + 1) / (1 + p))


@contextmanager
def listening() -> Iterator[Residuals]:
    """Note the noise of all that the gate opens at the first party."""
    found = Residuals()

    def noting(name: str) -> Callable[..., Any]:
        original = getattr(RevealGate, name)

        def reveal(self: RevealGate, secret: Any, disclosure: Any, **ahead: int) -> Any:
            opened = original(self, secret, disclosure, **ahead)
            if self.computer.party == self.computer.parties[0]:
                found.note(disclosure, in_the_clear(secret).reshape(-1), np.asarray(opened))
            return opened

        return reveal

    names = ("reveal_measurement", "reveal_gaussian_measurement")
    with patch.multiple(RevealGate, **{name: noting(name) for name in names}):
        yield found


GAUSSIAN = {"privacy.delta": "1e-6", "privacy.epsilon": 3}
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "specialization": ("horizontal", {"mechanism": {"name": "specialization", "specializations": 8}}, 8),
    "marginals": ("horizontal", {"mechanism": {"name": "marginals", "rounds": 4}, "privacy.epsilon": 3}, 15),
    "marginals, columns": ("vertical", {"mechanism": {"name": "marginals", "rounds": 4}, "privacy.epsilon": 3}, 15),
    "marginals, Gaussian": ("horizontal", {"mechanism": {"name": "marginals", "rounds": 4}, **GAUSSIAN}, 20),
    "copula": ("horizontal", {"mechanism": {"name": "copula"}}, 35),
    "hpdp": ("horizontal", {"mechanism": {"name": "hpdp"}}, 13),
}
"""Partition, changes and how many runs there are."""


def residuals_of(case: str, runs: int | None = None) -> Residuals:
    partition, changes, usual = CASES[case]
    agreement = cp.agreement_from_mapping(repartition(small_mapping(**changes), partition))
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 100, generator), generator)
    fragments = read_fragments(agreement, frames)
    with listening() as found:
        for _ in range(runs or usual):
            simulate_fragments(agreement, fragments)
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_simulated_run_has_the_noise_that_is_stated(case: str) -> None:
    residuals_of(case).check()


@pytest.mark.parametrize(("case", "fault"), [("marginals", rows_repeat), ("copula", draws_repeat)])
def test_noise_of_words_that_repeat_is_noticed_even_if_the_start_up_test_is_left_out(case: str, fault: Any) -> None:
    with patch("copublish.kernel.main_path.refuse_broken_generator"), system_words_by(fault):
        found = residuals_of(case)
    with pytest.raises(AssertionError):
        found.check()


def test_noise_that_is_a_third_too_small_is_noticed() -> None:
    found = Residuals()
    fewer = np.random.default_rng(1).laplace(0, 0.7, 3000)
    found.places = [stats.laplace.cdf(fewer)]
    with pytest.raises(AssertionError):
        found.check()
