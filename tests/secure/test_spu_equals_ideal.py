"""The law of engines: with the same coins the secure engine and the ideal one give the same release, byte for byte."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import copublish as cp
from copublish.processes import simulate_in_processes
from copublish.simulation import no_progress
from support import SMALL, fragment_frames, random_table, repartition, seeded, simulate_with

CASES = {
    "vertical, 2 classes": ("vertical", 2, None, "max"),
    "horizontal, 5 classes": ("horizontal", 5, None, "max"),
    "arbitrary, 2 classes": ("arbitrary", 2, None, "max"),
    "vertical, 5 classes, class at one party, balanced-gain": ("vertical", 5, "p0", "balanced-gain"),
    "arbitrary, 5 classes, tv-gain": ("arbitrary", 5, None, "tv-gain"),
}


@pytest.mark.parametrize("case", CASES)
def test_releases_are_identical_for_the_same_coins(case):
    partition, classes, holder, score = CASES[case]
    generator = np.random.default_rng(len(case))
    mapping = copy.deepcopy(SMALL)
    mapping["class"]["values"] = [f"class{number}" for number in range(classes)]
    mapping["mechanism"] |= {"specializations": 4, "score": score}
    mapping = repartition(mapping, partition)
    if holder:
        mapping["class"]["held_by"] = holder
    agreement = cp.agreement_from_mapping(mapping)
    table = random_table(agreement, 700, generator)
    frames = fragment_frames(agreement, table, generator)
    # People whom one party alone knows: the private set intersection leaves them out.
    if partition != "horizontal":
        frames["p0"] = frames["p0"].iloc[20:]
    ideal = simulate_with(agreement, frames, seeded(agreement.party_names, 7))
    secure = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=seeded(agreement.party_names, 7), timeout_seconds=120
    )
    assert secure.cut == ideal.cut
    assert secure.counts.equals(ideal.counts)
    for name in ("counts.csv", "counts.parquet", "records.parquet", "cut.json"):
        assert secure.files()[name] == ideal.files()[name]
    assert secure.certificate["disclosures"] == ideal.certificate["disclosures"]
    assert secure.certificate["engine"]["name"] == "spu"
    assert "CHEETAH" in secure.certificate["engine"]["secrecy"]
    assert any("semi-honest" in line for line in secure.certificate["assumptions"])
    json.dumps(secure.certificate)


def test_other_coins_give_another_release():
    generator = np.random.default_rng(1)
    agreement = cp.agreement_from_mapping(repartition(SMALL, "vertical"))
    frames = fragment_frames(agreement, random_table(agreement, 300, generator), generator)
    one, other = (simulate_with(agreement, frames, seeded(agreement.party_names, seed)) for seed in (1, 2))
    assert not one.counts.equals(other.counts)
