"""Audits of whole marginals runs on worst-case neighbors: a lower bound on epsilon from what was opened.

The neighbors are one record and none. Runs: 1,000 on each side for every case (2,000 in one), on seeded coins, so they
pass always or never. An event that the record makes likely is counted on both sides; by exact binomial limits (Clopper
and Pearson), each at 97.5 %, epsilon is at least log(lower limit with / upper limit without) with 95 % confidence.
With Gaussian noise events that tell more are too rare to be counted: there the two limits bound the distance mu of two
normal laws, and epsilon follows from it at the agreed delta.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, norm

import copublish as cp
from copublish.engines.ideal import Room
from copublish.kernel.accounting.concentrated import ConcentratedMeasure
from copublish.kernel.accounting.disclosures import Disclosure, GaussianMeasure, Measure, Select
from copublish.kernel.noise.discrete_gaussian import gaussian_noise
from copublish.kernel.noise.geometric import geometric_noise
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.marginals.measurements import CHOSEN
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments
from copublish.progress import no_progress
from copublish.tools.auditing.game import FreeCharge
from support import SeededCoins, with_first_values

RUNS = 1000
LIMIT = 0.975
TOO_LITTLE = 0.7
"""Noise that is 30 % too small."""

Opened = list[tuple[Disclosure, np.ndarray]]


def agreement_of(attributes: int, epsilon: str, *, rounds: int, delta: str | None) -> cp.Agreement:
    column = {"kind": "categorical", "values": ["no", "yes"]}
    return cp.agreement_from_mapping(
        {
            "format": 1,
            "name": "audit",
            "dataset": "audit",
            "partition": "horizontal",
            "parties": {"p0": {}, "p1": {}},
            "records": {"expected": 10**6},  # a public guess: noise is small beside it, so there are rounds
            "class": {"name": "default", "values": ["no", "yes"]},
            "attributes": with_first_values({f"a{number}": column for number in range(attributes)}),
            "privacy": {"epsilon": epsilon, **({"delta": delta} if delta else {})},
            "mechanism": {"name": "marginals", "rounds": rounds, "records": 1},
        }
    )


def runs(agreement: cp.Agreement, records: int, how_many: int) -> list[Opened]:
    """What every run opens; one party alone runs it, because the other has no records and all noise is joint."""
    plan = plan_of(agreement)
    frame = pd.DataFrame({name: ["yes"] * records for name in agreement.columns})
    data = {"p0": frame, "p1": frame.iloc[:0]}
    fragment = read_fragments(agreement, data)["p0"]

    def job(engine: Any) -> Opened:
        gate = RevealGate(engine, engine.opener, FreeCharge(), number_of_records_is_public=False)
        plan.run(JointTable(agreement, fragment), engine, gate, no_progress)
        return gate.opened

    return [Room(("p0",), {"p0": SeededCoins(10_000 * records + run)}).run(job)["p0"] for run in range(how_many)]


def evidence(opened: Opened) -> float:
    """How much more likely what was opened is with the record than without it, as a logarithm; choices left out.

    The record is in the last cell of each table of two columns with two values.
    """
    found = 0.0
    for disclosure, values in opened:
        if isinstance(disclosure, Select):
            continue
        is_chosen = disclosure.place.step == CHOSEN  # one table, with zeros that pad it
        counts = values[3:4] if is_chosen else values.reshape(-1, 4)[:, 3]
        if isinstance(disclosure, GaussianMeasure):
            found += float((counts - 0.5).sum()) / disclosure.noise.variance
        else:
            assert isinstance(disclosure, Measure)
            found += float(np.where(counts >= 1, 1, -1).sum()) * float(disclosure.noise.rate)
    return found


def limits(agreement: cp.Agreement, threshold: float, how_many: int = RUNS) -> tuple[float, float]:
    """A lower limit on how often the evidence reaches a threshold with the record, an upper one without it."""
    with_record, without = ([evidence(opened) for opened in runs(agreement, records, how_many)] for records in (1, 0))
    hits, misses = (int(np.sum(np.array(found) >= threshold - 1e-9)) for found in (with_record, without))
    return float(beta.ppf(1 - LIMIT, hits, how_many - hits + 1)), float(beta.ppf(LIMIT, misses + 1, how_many - misses))


def shrink_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw noise that is 30 % too small, and state what the right one would cost."""
    # The filter would refuse it: what noise costs is computed from the noise that is drawn.
    monkeypatch.setattr(RevealGate, "_charge", lambda self, disclosure: None)
    rate: Callable[..., Any] = Measure.noise.func
    variance: Callable[..., Any] = ConcentratedMeasure.noise.func

    monkeypatch.setattr(Measure, "noise", property(lambda self: geometric_noise(rate(self).rate / 7 * 10)))
    monkeypatch.setattr(
        ConcentratedMeasure,
        "noise",
        property(lambda self: gaussian_noise(variance(self).variance * 49 / 100)),
    )


def epsilon_of_normal_laws(mu: float, delta: float) -> float:
    """Epsilon at a delta of two normal laws at distance mu (Balle and Wang, arXiv:1805.06530v2, Theorem 8)."""

    def excess(epsilon: float) -> float:
        first, second = norm.cdf(mu / 2 - epsilon / mu), norm.cdf(-mu / 2 - epsilon / mu)
        return float(first - np.exp(epsilon) * second - delta)

    return float(brentq(excess, 0, 50)) if excess(0) > 0 else 0.0


def test_one_table_with_laplace_noise_keeps_its_epsilon_and_uses_it_up() -> None:
    low, high = limits(agreement_of(1, "2", rounds=0, delta=None), 0)
    assert 1 <= np.log(low / high) <= 2


def test_thirty_percent_too_little_laplace_noise_is_noticed(monkeypatch) -> None:
    agreement = agreement_of(1, "2", rounds=0, delta=None)
    shrink_noise(monkeypatch)
    low, high = limits(agreement, 0)
    assert np.log(low / high) > 2


def test_a_run_with_rounds_keeps_its_epsilon_and_uses_half_of_it() -> None:
    """All tables show the record; what the choice tells is left out."""
    agreement = agreement_of(2, "3", rounds=1, delta=None)
    plan = plan_of(agreement)
    first, last = plan.first.budget, plan.purse.next_round().table
    low, high = limits(agreement, float(first + last))
    assert 1.5 <= np.log(low / high) <= 3


def test_a_run_with_rounds_and_gaussian_noise_keeps_its_epsilon_and_uses_half_of_it() -> None:
    low, high = limits(agreement_of(2, "4", rounds=1, delta="1e-6"), 0)
    assert 2 <= epsilon_of_normal_laws(float(norm.ppf(low) - norm.ppf(high)), 1e-6) <= 4


def test_thirty_percent_too_little_gaussian_noise_is_noticed(monkeypatch) -> None:
    agreement = agreement_of(1, "4", rounds=0, delta="1e-6")
    shrink_noise(monkeypatch)
    # Twice as many runs: converting rho to epsilon leaves a margin that has to be bridged.
    low, high = limits(agreement, 0, 2 * RUNS)
    assert epsilon_of_normal_laws(float(norm.ppf(low) - norm.ppf(high)), 1e-6) > 4
