"""Columns of three and more owners on the secure engine: the release of the ideal one, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import copublish as cp
from support import fragment_frames, random_table, repartition, small_mapping, with_first_values
from support.owners import Nodes, ideal_release

CASES: dict[str, tuple[str, int, str | None, dict[str, Any]]] = {
    "vertical, 5 owners, class at one": ("vertical", 5, "p2", {"name": "specialization", "specializations": 2}),
    "arbitrary, 4 owners, class at one": ("arbitrary", 4, "p3", {"name": "specialization", "specializations": 2}),
    "copula, vertical, 3 owners": ("vertical", 3, "p0", {"name": "copula"}),
    "copula, arbitrary, 3 owners": ("arbitrary", 3, None, {"name": "copula"}),
    "marginals, vertical, 3 owners": ("vertical", 3, "p1", {"name": "marginals", "rounds": 2}),
}

BETWEEN_THREE_NODES: dict[str, tuple[str, int, str | None, dict[str, Any]]] = {
    "arbitrary, 3 nodes and a guest": ("arbitrary", 4, "p3", {"name": "specialization", "specializations": 2}),
    "marginals, arbitrary, 3 nodes": ("arbitrary", 3, None, {"name": "marginals", "rounds": 2}),
}


@pytest.fixture(scope="module")
def nodes():
    found = Nodes(("p0", "p1"), "CHEETAH", timeout_seconds=300, joins=True)
    yield found
    found.close()


@pytest.fixture(scope="module")
def three_nodes():
    found = Nodes(("p0", "p1", "p2"), "ABY3", timeout_seconds=300, joins=True)
    yield found
    found.close()


def agreement_of(
    partition: str, parties: int, holder: str | None, mechanism: dict[str, Any], protocol: str
) -> cp.Agreement:
    mapping = small_mapping(mechanism=mechanism)
    mapping["attributes"] |= with_first_values(
        {"floor": {"kind": "categorical", "values": ["low", "high"]}}
    )  # for a fifth
    mapping = repartition(mapping, partition, parties)
    mapping["records"] = {"alignment": "row-order", "expected": 150}
    if holder:
        mapping["class"]["held_by"] = holder
    mapping["engine"] = {"protocol": protocol}
    return cp.agreement_from_mapping(mapping)


@pytest.mark.parametrize("case", CASES)
def test_every_owner_gets_the_release_of_the_ideal_engine(nodes, case):
    everyone_gets_the_release_of_the_ideal_engine(nodes, agreement_of(*CASES[case], protocol="cheetah"))


@pytest.mark.parametrize("case", BETWEEN_THREE_NODES)
def test_every_owner_gets_the_release_of_the_ideal_engine_from_three_nodes(three_nodes, case):
    agreement = agreement_of(*BETWEEN_THREE_NODES[case], protocol="aby3")
    everyone_gets_the_release_of_the_ideal_engine(three_nodes, agreement)


def everyone_gets_the_release_of_the_ideal_engine(nodes: Nodes, agreement: cp.Agreement) -> None:
    generator = np.random.default_rng(len(agreement.parties))
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
