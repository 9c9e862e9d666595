"""Intervals read from a release hold the joint table's own value as often as they say.

A release without noise is given fresh noise of the law that its certificate states, drawn here by NumPy and not by the
package, 100 times; `benchmarks/interval_coverage.py` asks whole releases. Of the intervals of one kind, which
depend on each other within a release, at least 88 % must hold the value that the records give: with a true coverage of
95 % that fails once in 700 cases for each of the 55 kinds, were coins fresh. They are seeded, so it is always or
never. With noise 1.6 times as large as stated some kinds of every mechanism fail.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import copublish as cp
from copublish.kernel.accounting.statements import Law, Noise
from copublish.mechanisms.published import Measured, PerturbedRows, Published
from copublish.party.local.simulation import read_fragments, simulate_fragments
from copublish.release.questions.build import estimate_share
from copublish.release.questions.noisy import NoisyNumber
from interval_coverage import EPSILONS, MECHANISMS, made_up, questions
from support import no_noise

RUNS, LEAST = 100, 0.88


def laplace(generator: np.random.Generator, scale: float, size: int) -> np.ndarray:
    stop = 1 - math.exp(-1 / scale)
    return generator.geometric(stop, size) - generator.geometric(stop, size)


def noise_of(law: Noise, points: int, generator: np.random.Generator, factor: float, size: int) -> np.ndarray:
    scale = factor * law.scale_in_people * points
    if law.law is Law.GAUSSIAN:
        return np.rint(generator.normal(0, scale, size)).astype(np.int64)
    return laplace(generator, scale, size)


def fresh_measured(measured: Measured, generator: np.random.Generator, factor: float) -> Measured:
    noise = noise_of(measured.noise, measured.points, generator, factor, measured.values.size)
    return replace(measured, values=measured.values + noise)


def fresh_rows(published: Published, generator: np.random.Generator, factor: float) -> PerturbedRows:
    domains, columns = published.columns.domains, {}
    for name, noise in published.rows.noise.items():
        own = TABLE.records[name]
        if noise.kept is not None:
            values = np.array(domains[name].values, dtype=object)
            codes = np.array([domains[name].values.index(str(value)) for value in own])
            lie = generator.random(len(own)) > 1 - (1 - noise.kept) * factor
            other = (codes + generator.integers(1, len(values), len(own))) % len(values)
            columns[name] = pa.array(values[np.where(lie, other, codes)].tolist())
        else:
            moved = own.to_numpy(dtype=np.int64) + laplace(generator, factor * noise.scale_in_own_unit, len(own))
            columns[name] = pa.array(np.clip(moved, int(domains[name].lower), int(domains[name].upper)))
    return replace(published.rows, records=pa.table(columns))


def with_fresh_noise(release: cp.Release, generator: np.random.Generator, factor: float) -> cp.Release:
    published = release.published
    measured = tuple(fresh_measured(own, generator, factor) for own in published.measured)
    rows = None if published.rows is None else fresh_rows(published, generator, factor)
    return replace(release, published=replace(published, measured=measured, rows=rows), stored_records=None)


TABLE = made_up(1500)


def without_noise(mechanism: str) -> cp.Release:
    agreement = TABLE.agreement(mechanism, EPSILONS.get(mechanism, ("1",))[-1])
    halves = {"p0": TABLE.records.iloc[::2], "p1": TABLE.records.iloc[1::2]}
    return simulate_fragments(agreement, read_fragments(agreement, halves), no_noise(agreement.party_names))


def coverage(mechanism: str, runs: int, factor: float = 1.0) -> dict[str, float]:
    """For every kind of question the share of intervals that hold the true value."""
    release, generator = without_noise(mechanism), np.random.default_rng(3)
    held: dict[str, list[bool]] = {}
    for _ in range(runs):
        noisy = with_fresh_noise(release, generator, factor)
        for kind, ask, truth in questions(noisy, TABLE.records):
            try:
                said = ask()
            except cp.ReleaseError:
                continue
            if said.tells:
                value = truth()
                held.setdefault(kind, []).append(said.low - 1e-9 <= value <= said.high + 1e-9)
    return {kind: float(np.mean(found)) for kind, found in held.items() if len(found) >= runs / 2}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_intervals_hold_the_truth_as_often_as_they_say(mechanism):
    found = coverage(mechanism, RUNS)
    assert {"share", "mean", "median"} <= found.keys()
    assert {kind: share for kind, share in found.items() if share < LEAST} == {}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_noise_that_is_larger_than_stated_is_noticed(mechanism):
    assert min(coverage(mechanism, 30, factor=1.6).values()) < LEAST


@pytest.mark.parametrize(("deviation", "told"), [(40.0, False), (5.0, True)])
def test_where_noise_puts_a_share_does_not_decide_whether_it_is_told(deviation, told):
    whole = NoisyNumber(100.0, np.array([0.0, 1.0]), np.zeros(2))
    for value in (-80.0, 0.0, 50.0, 150.0, 250.0):  # cut off at 0 and 1, intervals of the outer ones are short
        part = NoisyNumber(value, np.array([deviation, 0.0]), np.zeros(2))
        assert estimate_share(part, whole, 0.95, "").tells is told
