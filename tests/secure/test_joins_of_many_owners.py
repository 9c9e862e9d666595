"""Columns of three and more owners on the secure engine: the release of the ideal one, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import copublish as cp
from support import fragment_frames, random_table, repartition, small_mapping
from support.owners import Nodes, ideal_release

CASES: dict[str, tuple[str, int, str | None, dict[str, Any]]] = {
    "vertical, 3 owners, class at all": ("vertical", 3, None, {"name": "specialization", "specializations": 3}),
    "vertical, 5 owners, class at one": ("vertical", 5, "p2", {"name": "specialization", "specializations": 2}),
    "arbitrary, 3 owners": ("arbitrary", 3, None, {"name": "specialization", "specializations": 2}),
    "arbitrary, 4 owners, class at one": ("arbitrary", 4, "p3", {"name": "specialization", "specializations": 2}),
    "copula, vertical, 3 owners": ("vertical", 3, "p0", {"name": "copula"}),
    "copula, arbitrary, 3 owners": ("arbitrary", 3, None, {"name": "copula"}),
    "marginals, vertical, 3 owners": ("vertical", 3, "p1", {"name": "marginals", "rounds": 2}),
}


@pytest.fixture(scope="module")
def nodes():
    found = Nodes(("p0", "p1"), "CHEETAH", timeout_seconds=300, joins=True)
    yield found
    found.close()


def agreement_of(case: str) -> cp.Agreement:
    partition, parties, holder, mechanism = CASES[case]
    mapping = small_mapping(mechanism=mechanism)
    mapping["attributes"]["floor"] = {"kind": "categorical", "values": ["low", "high"]}  # so that five hold something
    mapping = repartition(mapping, partition, parties)
    mapping["records"] = {"alignment": "row-order", "expected": 150}
    if holder:
        mapping["class"]["held_by"] = holder
    return cp.agreement_from_mapping(mapping)


@pytest.mark.parametrize("case", CASES)
def test_every_owner_gets_the_release_of_the_ideal_engine(nodes, case):
    agreement = agreement_of(case)
    generator = np.random.default_rng(len(case))
    frames = fragment_frames(agreement, random_table(agreement, 150, generator), generator)
    frames = {party: frame.sort_values("id").drop(columns="id") for party, frame in frames.items()}
    releases = nodes.release(agreement, frames, seed=3)
    ideal = ideal_release(agreement, frames, seed=3)
    for release in releases.values():
        if isinstance(release, Exception):
            raise release
        for name in ideal.data_files():
            assert release.files()[name] == ideal.files()[name], name
        assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
