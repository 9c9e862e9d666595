"""A copula release is the same on the secure engine as on the ideal one, however the table is partitioned."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_copula_releases_are_identical_for_the_same_coins(partition):
    agreement = cp.agreement_from_mapping(repartition(small_mapping(mechanism={"name": "copula"}), partition))
    generator = np.random.default_rng(11)
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    for name in ("records.parquet", "records.csv", "copula.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert secure.certificate["engine"]["name"] == "spu"


def test_the_same_table_gives_the_same_values_however_it_is_partitioned():
    """With the same joint coins: what is opened depends on the joined table alone."""
    released = []
    for partition in ("horizontal", "vertical", "arbitrary"):
        agreement = cp.agreement_from_mapping(repartition(small_mapping(mechanism={"name": "copula"}), partition))
        generator = np.random.default_rng(11)
        table = random_table(agreement, 300, generator)
        frames = fragment_frames(agreement, table, generator)
        release = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
        released.append((release.details, release.files()["records.csv"]))
    assert released[0] == released[1] == released[2]
