"""A vhdp release is the same on the secure engine as on the ideal one: owners draw noise, the engine counts tables."""

from __future__ import annotations

import numpy as np

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import SMALL, fragment_frames, random_table, seeded, simulate_with, small_mapping


def test_vhdp_releases_are_identical_for_the_same_coins():
    # Noise goes record by record, and by identifier the secure engine aligns records in an order of its own.
    mapping = small_mapping(
        records={"alignment": "row-order", "expected": 200, "public": True},
        attributes={name: SMALL["attributes"][name] for name in ("job", "age")},
        mechanism={"name": "vhdp"},
        budget={"allocation": "information-gain", "label": "job"},
        **{"privacy.neighbours": "replace"},
    )
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(11)
    shuffled = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    frames = {party: frame.sort_values("id") for party, frame in shuffled.items()}
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    for name in ("records.parquet", "records.csv", "vhdp.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert secure.certificate["engine"]["name"] == "spu"
    assert secure.certificate["deployment"]["deployment_model"]["model_name"] == "Noise added by each owner"
