"""An idp-ir release is the same on the secure engine as on the ideal one: owners' own noise, joined by position."""

from __future__ import annotations

import numpy as np

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import fragment_frames, random_table, seeded, simulate_with
from support.idp_ir import idp_ir_mapping


def test_idp_ir_releases_are_identical_for_the_same_coins():
    mapping = idp_ir_mapping("vertical", 2)
    mapping["records"]["alignment"] = "row-order"
    agreement = cp.agreement_from_mapping(mapping)
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    frames = {party: frame.sort_index() for party, frame in frames.items()}
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    for name in ("records.parquet", "idp-ir.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert next(iter(secure.certificate)) == "warning" and secure.certificate["engine"]["name"] == "spu"
