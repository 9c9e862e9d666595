"""The papers' own set-ups on the secure engine: the bytes of the ideal engine.

Ten owners with one column of Adult each, of whom one holds only the class; eleven numbers of Wine at two or three
owners, and two-valued items in whole rows, both without a class. Wine at three owners is released by threads of this
process, one run after the other with the same workers, and all else with each party in a process of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import copublish as cp
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from support import seeded, simulate_with
from support.owners import Nodes, coins_of_nodes, ideal_release
from support.papers_tables import divided, made_up, owners_of_items, owners_of_wine, ten_owners_of_adult

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")]

N_RECORDS = 60
TIMEOUT_SECONDS = 180

BETWEEN_PROCESSES = {
    "ten owners, vhdp": lambda: ten_owners_of_adult("vhdp", in_order=True),
    "wine, marginals": lambda: owners_of_wine("marginals", owners=2),
    "items, hpdp": lambda: owners_of_items("hpdp", owners=3),
}
BETWEEN_THREADS = {
    "wine, vhdp": lambda: owners_of_wine("vhdp", in_order=True),
    "wine, idp-ir": lambda: owners_of_wine("idp-ir", in_order=True),
    "wine, copula": lambda: owners_of_wine("copula"),
}
"""By an identifier the secure engine has records in an order of its own, so where each gets noise of its own they are
joined by the order of rows."""


@pytest.fixture(scope="module")
def nodes():
    found = Nodes(("o1", "o2"), "CHEETAH", timeout_seconds=TIMEOUT_SECONDS, joins=True)
    yield found
    found.close()


def coins_for(agreement: cp.Agreement) -> dict[str, Any]:
    """Of every party where owners draw their own noise."""
    return seeded(agreement.party_names, 4) if agreement.publishes_each_record else coins_of_nodes(agreement, 4)


@pytest.mark.parametrize("name", BETWEEN_PROCESSES)
def test_a_set_up_of_the_papers_gives_between_processes_the_release_of_the_ideal_engine(name, tmp_path):
    agreement = BETWEEN_PROCESSES[name]()
    frames, coins = divided(agreement, made_up(agreement, N_RECORDS)), coins_for(agreement)
    release = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=coins, timeout_seconds=TIMEOUT_SECONDS
    )
    is_the_release_of_the_ideal_engine(agreement, frames, coins, release, tmp_path)


@pytest.mark.parametrize("name", BETWEEN_THREADS)
def test_a_set_up_of_the_papers_gives_every_party_the_release_of_the_ideal_engine(name, nodes, tmp_path):
    agreement = BETWEEN_THREADS[name]()
    frames, coins = divided(agreement, made_up(agreement, N_RECORDS)), coins_for(agreement)
    for party, release in nodes.release(agreement, frames, seed=4, coins=coins).items():
        if isinstance(release, Exception):
            raise release
        is_the_release_of_the_ideal_engine(agreement, frames, coins_for(agreement), release, tmp_path / party)


def is_the_release_of_the_ideal_engine(
    agreement: cp.Agreement, frames: Any, coins: dict[str, Any], release: cp.Release, folder: Path
) -> None:
    ideal = simulate_with(agreement, frames, coins) if agreement.publishes_each_record else None
    ideal = ideal or ideal_release(agreement, frames, seed=4)
    for file, content in ideal.data_files().items():
        assert release.files()[file] == content, file
    assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
    assert release.certificate.to_json()["engine"]["name"] == "spu"
    release.write(folder / "release")
    assert cp.verify_release(folder / "release").findings[0].is_well
    stored = cp.load_release(folder / "release")
    assert stored.to_pandas().columns.tolist() == list(agreement.columns)
    assert stored.published.columns.class_name == agreement.class_name
