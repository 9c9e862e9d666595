"""A vhdp release is the same on the secure engine as on the ideal one: owners draw noise, the engine counts tables."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping


@pytest.mark.parametrize(
    ("partition", "budget"),
    [("vertical", {"allocation": "information-gain"}), ("horizontal", {"allocation": "uniform"})],
)
def test_vhdp_releases_are_identical_for_the_same_coins(partition, budget):
    mapping = small_mapping(
        mechanism={"name": "vhdp"}, budget=budget, **{"records.public": True, "privacy.neighbours": "replace"}
    )
    if partition == "vertical":
        # Noise goes record by record, and by identifier the secure engine aligns records in an order of its own.
        mapping["records"] |= {"alignment": "row-order", "identifier": None}
    agreement = cp.agreement_from_mapping(repartition(mapping, partition))
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 200, generator), generator)
    if partition == "vertical":
        frames = {party: frame.sort_values("id") for party, frame in frames.items()}
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    for name in ("records.parquet", "records.csv", "vhdp.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert secure.certificate["engine"]["name"] == "spu"
    assert secure.certificate["deployment"]["deployment_model"]["model_name"] == "Noise added by each owner"
