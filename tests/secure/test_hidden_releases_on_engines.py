"""Releases of hidden membership on the secure engine: those of the ideal one, where other parties help or only watch.

Two owners that compute multiply what they hold; with more owners, or a party without data, all owners mark every row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.kernel.records.joint_table import JointTable
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from copublish.tools.auditing.secure import RepeatedCoins
from support import simulate_with
from support.messages import all_of
from support.owners import Nodes, ideal_release

pytestmark = pytest.mark.slow  # the engine's workers are started, and compile programs


def agreement_of(owners: int, *, helped: bool, relay: bool = True) -> cp.Agreement:
    """Return an agreement of owners of one column each, and a party without data that helps them or only watches."""
    names = [f"p{number}" for number in range(owners)]
    columns = ["x", "y", "z"][:owners]
    mapping: dict[str, Any] = {
        "format": 1,
        "name": "tiny",
        "dataset": "people",
        "partition": "vertical",
        "parties": {name: {} for name in names} | ({"relay": {"data": False}} if relay else {}),
        "records": {
            "identifier": "id",
            "expected": 40,
            "membership": "hidden",
            "at_most": dict.fromkeys(names, 70),
        },
        "attributes": {
            column: {"kind": "categorical", "values": ["a", "b"], "missing": "a", "unlisted": "a", "held_by": name}
            for column, name in zip(columns, names, strict=True)
        },
        "privacy": {"epsilon": 4},
        "mechanism": {"name": "marginals", "tables": [["x", "y"], ["x"]]},
        "engine": {"nodes": ["p0", "p1"]} if relay else {},
    }
    if helped:
        mapping["records"]["compared_by"] = "relay"
    else:
        mapping["privacy"]["membership_epsilon"] = 5
    return cp.agreement_from_mapping(mapping)


def frames_of(agreement: cp.Agreement) -> dict[str, pd.DataFrame]:
    """Return lists of 60 people each, of whom 40 are common to all owners."""
    generator, frames = np.random.default_rng(4), {}
    for number, owner in enumerate(agreement.owners):
        people = [*(f"common {k}" for k in range(40)), *(f"of {number}: {k}" for k in range(20))]
        (column,) = agreement.columns_of(owner)
        values = generator.choice(["a", "b"], len(people))
        frames[owner] = pd.DataFrame({"id": people, column: values}).sample(frac=1, random_state=number)
    return frames


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    found = Nodes(("p0", "p1"), "CHEETAH", joins=True)
    yield found
    found.close()


@pytest.mark.parametrize(("owners", "helped"), [(2, False), (2, True), (3, True)])
def test_the_secure_engine_counts_the_rows_where_all_owners_are_present(
    nodes: Nodes, owners: int, helped: bool
) -> None:
    agreement = agreement_of(owners, helped=helped)
    frames = frames_of(agreement)
    expected = ideal_release(agreement, frames, 3).data_files()
    releases = all_of(nodes.release(agreement, frames, 3))
    assert len(expected) > 2
    assert all(release.data_files() == expected for release in releases.values())


def test_counting_rows_where_some_owner_is_not_present_is_noticed(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreement = agreement_of(2, helped=True)
    frames = frames_of(agreement)
    expected = ideal_release(agreement, frames, 3).data_files()
    everywhere = lambda table, rows: np.ones(rows.stop - rows.start, dtype=np.bool_)  # noqa: E731
    monkeypatch.setattr(JointTable, "presence", everywhere)
    releases = all_of(nodes.release(agreement, frames, 3))
    assert all(release.data_files() != expected for release in releases.values())


def test_two_owners_alone_release_what_the_ideal_engine_does() -> None:
    agreement = agreement_of(2, helped=False, relay=False)
    frames, keys = frames_of(agreement), {party: os.urandom(32) for party in agreement.parties}
    ideal, secure = ({party: RepeatedCoins(key) for party, key in keys.items()} for _ in range(2))
    expected = simulate_with(agreement, frames, ideal).data_files()
    release = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=secure, ledger_files=None, timeout_seconds=300
    )
    assert release.data_files() == expected
