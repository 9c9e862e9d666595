"""A marginals release is the same on the secure engine as on the ideal one, however the table is divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.engine.spu.engine import SpuEngine
from copublish.fragments.reading import read_fragment
from copublish.local.simulation import throwaway_ledger
from copublish.mechanisms.registry import plan_of
from copublish.progress import no_progress
from copublish.release.main_path import publish_release
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.spu import run_parties

CASES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "vertical, Gaussian": ("vertical", {"rounds": 3}, "1e-6"),
    "vertical, Laplace, without class tables": ("vertical", {"rounds": 2, "first": "columns"}, None),
    "arbitrary, Gaussian, triples": ("arbitrary", {"rounds": 2, "tables": "class-triples"}, "1e-6"),
    "horizontal, Laplace": ("horizontal", {"rounds": 3}, None),
}
"""Partition, keys of the mechanism, delta."""


def agreement_of(case: str) -> cp.Agreement:
    partition, keys, delta = CASES[case]
    mapping = small_mapping(mechanism={"name": "marginals", "records": 200, **keys}, **{"records.identifier": None})
    mapping = repartition(mapping, partition)
    if partition != "horizontal":
        mapping["records"]["alignment"] = "row-order"
    mapping["privacy"]["epsilon"] = 2
    if delta is not None:
        mapping["privacy"]["delta"] = delta
    return cp.agreement_from_mapping(mapping)


def frames_for(agreement: cp.Agreement) -> dict[str, pd.DataFrame]:
    generator = np.random.default_rng(11)
    return fragment_frames(agreement, random_table(agreement, 300, generator), generator)


def release_all(engine: SpuEngine) -> dict[str, cp.Release]:
    """Release every case under seeded coins: starting the engine takes seconds."""
    releases = {}
    for case in CASES:
        agreement = agreement_of(case)
        engine.own_coins = seeded(agreement.party_names, 7)[engine.party]
        fragment = read_fragment(agreement, engine.party, frames_for(agreement)[engine.party])
        plan = plan_of(agreement)
        releases[case] = publish_release(plan, fragment, engine, throwaway_ledger(plan), no_progress)
    return releases


@pytest.fixture(scope="module")
def secure() -> list[dict[str, cp.Release]]:
    results = run_parties(release_all)
    assert not isinstance(results[0], str), results[0]
    return results


@pytest.mark.parametrize("case", CASES)
def test_releases_are_identical_for_the_same_coins(case, secure):
    agreement = agreement_of(case)
    ideal = simulate_with(agreement, frames_for(agreement), seeded(agreement.party_names, 7))
    for releases in secure:
        release = releases[case]
        for name in ("records.parquet", "records.csv", "tables.parquet", "marginals.json"):
            assert release.files()[name] == ideal.files()[name]
        assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
        assert release.certificate.to_json()["engine"]["name"] == "spu"


def test_other_coins_give_another_release():
    agreement = agreement_of("horizontal, Laplace")
    one, other = (simulate_with(agreement, frames_for(agreement), seeded(agreement.party_names, n)) for n in (7, 8))
    assert one.files()["tables.parquet"] != other.files()["tables.parquet"]
