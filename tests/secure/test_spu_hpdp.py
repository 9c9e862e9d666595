"""An hpdp release is the same on the secure engine as on the ideal one, with either noise."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_hpdp_releases_are_identical_for_the_same_coins(noise):
    mapping = repartition(
        small_mapping(mechanism={"name": "hpdp", "noise": noise}, **{"records.identifier": None}), "horizontal"
    )
    if noise == "gaussian":
        mapping["privacy"] = {**mapping["privacy"], "delta": "1e-6"}
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    for name in ("records.parquet", "records.csv", "hpdp.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert secure.certificate["engine"]["name"] == "spu"
