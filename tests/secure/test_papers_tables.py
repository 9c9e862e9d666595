"""The papers' own set-ups on the secure engine, each party in a process of its own: the bytes of the ideal engine.

Ten owners with one column of Adult each, of whom one holds only the class; eleven numbers of Wine at three owners, and
two-valued items in whole rows, both without a class.
"""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.party.local.processes import simulate_in_processes
from copublish.progress import no_progress
from support import seeded, simulate_with
from support.owners import coins_of_nodes, ideal_release
from support.papers_tables import divided, made_up, owners_of_items, owners_of_wine, ten_owners_of_adult

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")]

N_RECORDS = 60
TIMEOUT_SECONDS = 180

SETUPS = {
    "ten owners, vhdp": lambda: ten_owners_of_adult("vhdp", in_order=True),
    "wine, vhdp": lambda: owners_of_wine("vhdp", in_order=True),
    "wine, idp-ir": lambda: owners_of_wine("idp-ir", in_order=True),
    "wine, copula": lambda: owners_of_wine("copula"),
    "wine, marginals": lambda: owners_of_wine("marginals", owners=2),
    "items, hpdp": lambda: owners_of_items("hpdp", owners=3),
}
"""By an identifier the secure engine has records in an order of its own, so where each gets noise of its own they are
joined by the order of rows."""


@pytest.mark.parametrize("name", SETUPS)
def test_a_set_up_of_the_papers_gives_between_processes_the_release_of_the_ideal_engine(name, tmp_path):
    agreement = SETUPS[name]()
    frames = divided(agreement, made_up(agreement, N_RECORDS))
    coins: dict[str, Any] = coins_of_nodes(agreement, 4)
    if agreement.publishes_each_record:
        coins = seeded(agreement.party_names, 4)  # every owner draws its own noise
    release = simulate_in_processes(
        agreement, frames, progress=no_progress, coins=coins, timeout_seconds=TIMEOUT_SECONDS
    )
    ideal = simulate_with(agreement, frames, coins) if agreement.publishes_each_record else None
    ideal = ideal or ideal_release(agreement, frames, seed=4)
    for file, content in ideal.data_files().items():
        assert release.files()[file] == content, file
    assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
    assert release.certificate.to_json()["engine"]["name"] == "spu"
    release.write(tmp_path / "release")
    assert cp.verify_release(tmp_path / "release").findings[0].is_well
    stored = cp.load_release(tmp_path / "release")
    assert stored.to_pandas().columns.tolist() == list(agreement.columns)
    assert stored.published.columns.class_name == agreement.class_name
