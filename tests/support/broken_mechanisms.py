"""Mechanisms that break their promise, each in one way: what an audit has to find.

A variant changes the engine or the gate for as long as a `with` lasts. Counts are the leaf counts of a small release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

import copublish as cp
from copublish.engines.ideal import IdealEngine
from copublish.errors import FragmentError
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, GaussianMeasure, Measure, Select
from copublish.kernel.noise.discrete_gaussian import DiscreteGaussian, gaussian_noise
from copublish.kernel.noise.geometric import SystemCoins, geometric_noise
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.kernel.programs.packing import add
from copublish.kernel.secrets.gate import RevealGate
from copublish.kernel.secrets.secret import SecretCounts
from copublish.tools.auditing import odd_records as symbols
from copublish.tools.auditing.odd_records import symbols_of
from copublish.tools.auditing.single_disclosures import Part
from copublish.tools.auditing.statistics import Tested
from copublish.tools.auditing.tables import invalid_pairs
from support.protocol import exchange as entry_for_tests

ROWS_FOR_PROGRESS = entry_for_tests("rows, for progress")

SMALL: dict[str, Any] = {
    "format": 1,
    "name": "audited",
    "dataset": "audited",
    "partition": "horizontal",
    "parties": {"p0": {}, "p1": {}},
    "records": {"expected": 200, "identifier": "id"},
    "class": {"name": "y", "values": ["no", "yes"]},
    "attributes": {
        "age": {"kind": "numerical", "bounds": [0, 100], "grid": {"edges": [25, 50, 75]}, "missing": 50},
        "job": {"kind": "categorical", "values": ["a", "b", "c"], "missing": "a", "unlisted": "a"},
    },
    "privacy": {"epsilon": 1},
    "mechanism": {"name": "specialization", "specializations": 3},
}

COUNTS = Measure(
    label="counts",
    budget=Fraction(3, 5),
    calibrated_to="add-remove",
    l1_sensitivity=HISTOGRAM_L1,
    changed_entries=HISTOGRAM_L1,
    entries=12,
)

GAUSSIAN = GaussianMeasure(
    label="sums",
    budget=Fraction(1),
    agreed_delta=Fraction(1, 10**6),
    calibrated_to="add-remove",
    squared_l2_sensitivity={"add-remove": 1, "replace": 2},
    entries=3,
)

CHOICE = Select(
    label="choice",
    budget=Fraction(1, 2),
    calibrated_to="add-remove",
    score_range={"add-remove": 1, "replace": 2},
    candidates=3,
)


def part_of(made: Any, first: Any, second: Any, relation: Any = "add-remove", people: int = 1) -> Part:
    """A disclosure with what it measures on two tables."""
    return Part(made, (np.array(first), np.array(second)), ("p0", "p1"), relation, people)


LEAVES = part_of(COUNTS, [5] * 12, [6] + [5] * 11)
SUMS = part_of(GAUSSIAN, [0, 0, 0], [9, 0, 0], people=9)
CHOSEN = part_of(CHOICE, [10, 10, 10], [10, 14, 10], people=4)
SHARED = replace(
    part_of(replace(COUNTS, shares=NoiseShares(("p0", "p1", "p2"), 1)), [5] * 12, [6] + [5] * 11),
    parties=("p0", "p1", "p2"),
)

Draw = Callable[[Any, int], np.ndarray]


def laplace(noise: Any, n: int) -> np.ndarray:
    """Discrete Laplace noise from floating point: enough for a variant."""
    p = np.exp(-float(noise.rate))
    uniform = (SystemCoins().words((2, n)).astype(np.float64) / 2.0**64 + 0.5).clip(1e-12, 1 - 1e-12)
    return np.subtract(*np.floor(np.log(uniform) / np.log(p))).astype(np.int64)


@contextmanager
def noise_drawn_by(draw: Draw) -> Iterator[None]:
    """Let the engine's noise of counts be drawn otherwise than is stated."""

    def add_noise(self: IdealEngine, counts: SecretCounts, noise: Any, *, offset: int) -> Any:
        own = np.zeros(counts.secret.shape, dtype=np.int64)
        if self.party == self.parties[0]:
            own = (draw(noise, counts.n_cells) + offset).reshape(counts.secret.shape)
        return self.compute(add, counts.secret, self.share(own))

    with (
        patch.object(IdealEngine, "add_noise", add_noise),
        patch.object(RevealGate, "draw_measurement_noise", lambda self, disclosure: None),
    ):
        yield


@contextmanager
def less_gaussian_noise() -> Iterator[None]:
    """Let Gaussian noise have 30 % less deviation than is stated."""
    take = RevealGate._take_gaussian

    def take_less(self: RevealGate, noise: DiscreteGaussian, entries: int, ahead: int) -> Any:
        return take(self, gaussian_noise(noise.variance * 49 / 100), entries, ahead)

    with patch.object(RevealGate, "_take_gaussian", take_less):
        yield


@contextmanager
def half_the_noise_of_choices() -> Iterator[None]:
    """Let a choice be drawn with twice the budget that is charged."""
    draw = RevealGate.draw_selection_noise

    def draw_less(self: RevealGate, disclosure: Select, places: int, *, times: int) -> None:
        less = replace(disclosure, budget=disclosure.budget * 2)
        draw(self, less, places, times=times)
        self._drawn[disclosure.noise.rate, places] = self._drawn.pop((less.noise.rate, places))

    with patch.object(RevealGate, "draw_selection_noise", draw_less):
        yield


@dataclass(frozen=True)
class Variant:
    """A way to break a promise.

    Attributes:
        words: What is wrong.
        runs: With so many runs it is accused.
        audit: Audits it with a number of runs.
    """

    words: str
    runs: int
    audit: Callable[[int], Tested]


def _of_counts(draw: Draw) -> Callable[[int], Tested]:
    def audit(runs: int) -> Tested:
        with noise_drawn_by(draw):
            return LEAVES.audit(runs)

    return audit


def _of_sums(runs: int) -> Tested:
    with less_gaussian_noise():
        return SUMS.audit(runs)


def _of_choice(runs: int) -> Tested:
    with half_the_noise_of_choices():
        return CHOSEN.audit(runs)


def _of_a_coalition(runs: int) -> Tested:
    """One owner more than was agreed puts its share to the others'."""
    return replace(SHARED, coalition=("p0", "p1")).audit(runs)


VARIANTS = (
    Variant("30 % less noise", 200, _of_counts(lambda noise, n: laplace(geometric_noise(noise.rate * 10 / 7), n))),
    Variant("half the noise", 50, _of_counts(lambda noise, n: laplace(geometric_noise(noise.rate * 2), n))),
    Variant("one draw for all cells", 50, _of_counts(lambda noise, n: np.repeat(laplace(noise, 1), n))),
    Variant(
        "the second half of the cells reuses noise",
        100,
        _of_counts(lambda noise, n: np.tile(laplace(noise, n // 2), 2)),
    ),
    Variant("one class without noise", 100, _of_counts(lambda noise, n: laplace(noise, n) * (np.arange(n) % 2))),
    Variant("noise is cut at 3", 400, _of_counts(lambda noise, n: np.clip(laplace(noise, n), -3, 3))),
    Variant("30 % less Gaussian noise", 1600, _of_sums),
    Variant("a choice with half its noise", 800, _of_choice),
    Variant("one colluder more than agreed", 100, _of_a_coalition),
)


@contextmanager
def an_error_that_depends_on_data() -> Iterator[None]:
    """Let a run end with an error if a value is out of bounds."""
    read = symbols.read_fragments

    def strict(agreed: Any, frames: Any) -> Any:
        if any((frame["age"] > 100).any() for frame in frames.values()):
            raise FragmentError("p1", ["age is out of bounds"])
        return read(agreed, frames)

    with patch.object(symbols, "read_fragments", strict):
        yield


@contextmanager
def a_message_that_depends_on_data() -> Iterator[None]:
    """Let every party tell the others how many rows it has."""
    publish = symbols.publish_release

    def talking(plan: Any, fragment: Any, engine: Any, *rest: Any, **named: Any) -> Any:
        engine.exchange(ROWS_FOR_PROGRESS, fragment.n_records)
        return publish(plan, fragment, engine, *rest, **named)

    with patch.object(symbols, "publish_release", talking):
        yield


TELLING = {
    "an error that depends on data": (an_error_that_depends_on_data, "public"),
    "a message that depends on data": (a_message_that_depends_on_data, "p0"),
}
"""What whole runs find, and who sees it."""


def symbol_of(variant: str, runs: int) -> symbols.Symbol:
    """Compare whole runs with and without a record that is out of bounds, for the view that a variant tells."""
    broken, view = TELLING[variant]
    agreement = cp.agreement_from_mapping(SMALL)
    pair = next(p for p in invalid_pairs(agreement, "add-remove") if "beyond" in p.record)
    with broken(), patch.object(symbols, "RUNS", runs):
        (found,) = symbols_of(agreement, pair, [view])
    return found
