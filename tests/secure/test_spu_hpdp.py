"""An hpdp release is the same on the secure engine as on the ideal one, and its Gaussian noise has the right law there.

The two-sided test takes 2,000 samples; its error rate is 10^-6 on each side of the variance and for the mean. It misses
a deviation that is 20 % off in fewer than one of a million runs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

import copublish as cp
from copublish.engines.spu.engine import SpuEngine
from copublish.kernel.accounting.cost import cost_of
from copublish.kernel.accounting.disclosures import GaussianMeasure
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.kernel.secrets.computer import ProgramComputer
from copublish.kernel.secrets.gate import RevealGate
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import throwaway_ledger
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows.reading import read_fragment
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.spu import run_parties

SAMPLES, ERROR_RATE = 2000, 1e-6


def agreement_with(noise: str) -> cp.Agreement:
    mapping = small_mapping(mechanism={"name": "hpdp", "noise": noise}, **{"records.identifier": None})
    mapping = repartition(mapping, "horizontal")
    if noise == "gaussian":
        mapping["privacy"]["delta"] = "1e-6"
    return cp.agreement_from_mapping(mapping)


def frames_for(agreement: cp.Agreement) -> dict[str, pd.DataFrame]:
    generator = np.random.default_rng(11)
    return fragment_frames(agreement, random_table(agreement, 300, generator), generator)


def release_and_draw(engine: SpuEngine) -> tuple[dict[str, cp.Release], np.ndarray]:
    """Release with either noise under seeded coins, then draw noise under the system's: starting takes seconds."""
    releases, systems = {}, engine.own_coins
    for noise in ("laplace", "gaussian"):
        agreement = agreement_with(noise)
        engine.own_coins = seeded(agreement.party_names, 7)[engine.party]
        fragment = read_fragment(agreement, engine.party, frames_for(agreement)[engine.party])
        plan = plan_of(agreement)
        releases[noise] = publish_release(plan, fragment, engine, throwaway_ledger(plan), no_progress)
    engine.own_coins = systems
    return releases, draw(engine)


@pytest.fixture(scope="module")
def secure() -> list[tuple[dict[str, cp.Release], np.ndarray]]:
    results = run_parties(release_and_draw)
    assert not isinstance(results[0], str), results[0]
    return results


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_hpdp_releases_are_identical_for_the_same_coins(noise, secure):
    agreement = agreement_with(noise)
    ideal = simulate_with(agreement, frames_for(agreement), seeded(agreement.party_names, 7))
    for releases, _ in secure:
        release = releases[noise]
        assert {"measurements.json", "model.json", "records.parquet", "records.csv"} <= ideal.data_files().keys()
        for name, content in ideal.data_files().items():
            assert release.files()[name] == content, name
        assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
        assert release.certificate.to_json()["engine"]["name"] == "spu"


MEASURE = GaussianMeasure(
    label="noise",
    budget=Fraction(1),
    agreed_delta=Fraction(1, 10**6),
    calibrated_to="add-remove",
    squared_l2_sensitivity={"add-remove": 9, "replace": 36},
    entries=SAMPLES,
)


def draw(engine: ProgramComputer) -> np.ndarray:
    """Open nothing but noise."""
    ledger = Ledger(":memory:")
    ledger.set_limit("nobody", Limit(Fraction(10), "replace", delta=Fraction(1, 10**5)))
    cost = cost_of([MEASURE], number_of_records_is_public=False)
    with ledger.reserve("nobody", "noise", "0", cost) as charge:
        gate = RevealGate(engine, engine.opener, charge, False)
        return gate.reveal_gaussian_measurement(engine.share(np.zeros((SAMPLES, 1), dtype=np.int64)), MEASURE)


def chances(sample: np.ndarray, variance: float) -> tuple[float, float, float]:
    """Chances of so large a mean, so small and so large a spread, of normal noise, which discrete noise is near."""
    spread = float((sample.astype(float) ** 2).sum()) / variance
    mean = abs(float(sample.mean())) / np.sqrt(variance / len(sample))
    return 2 * norm.sf(mean), chi2.cdf(spread, len(sample)), chi2.sf(spread, len(sample))


def test_gaussian_noise_of_the_secure_engine_has_the_right_spread_and_no_other(secure):
    (_, one), (_, other) = secure
    assert np.array_equal(one, other)
    assert min(chances(one, MEASURE.noise.variance)) > ERROR_RATE
    for wrong in (1.2, 1 / 1.2):  # of the deviation
        assert min(chances(one, MEASURE.noise.variance * wrong**2)) < ERROR_RATE
