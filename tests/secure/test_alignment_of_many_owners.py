"""People of three and more owners compared by an identifier: the ideal engine's release, byte for byte, or one end.

Every party is a thread of this process; SPU runs in a worker process for each compute node, as always.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.agreement.computation import Computation
from copublish.errors import FragmentError
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import simulate_in_processes, throwaway_ledger
from copublish.progress import no_progress
from support import ConstantCoins, fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.idp_ir import idp_ir_mapping
from support.messages import all_of, publish_by_masked_sums
from support.owners import Nodes, coins_of_nodes, ideal_release

SPLITS = {"name": "specialization", "specializations": 2}


@pytest.fixture(scope="module")
def joins():
    found = Nodes(("p0", "p1"), "CHEETAH", timeout_seconds=300, joins=True)
    yield found
    found.close()


@pytest.fixture(scope="module")
def sums():
    found = Nodes(("p0", "p1"), "CHEETAH", timeout_seconds=300)
    yield found
    found.close()


def agreement_of(
    partition: str, owners: int, mechanism: dict[str, Any] = SPLITS, *, helper: bool = False, **records: Any
) -> cp.Agreement:
    mapping = repartition(small_mapping(mechanism=mechanism), partition, owners)
    mapping["records"] = {"identifier": "id", "expected": 100, **records}
    if helper:
        mapping["parties"]["helper"] = {"data": False}
        mapping["records"]["compared_by"] = "helper"
    return cp.agreement_from_mapping(mapping)


def frames_of(agreement: cp.Agreement, n: int, *, lost: int = 9) -> dict[str, pd.DataFrame]:
    """Owners' tables, rows in different orders; where columns are joined every owner lacks some people of its own."""
    generator = np.random.default_rng(n)
    owners = agreement.model_copy(update={"parties": {name: agreement.parties[name] for name in agreement.owners}})
    frames = fragment_frames(owners, random_table(owners, n, generator), generator)
    if agreement.partition == "horizontal":
        return frames
    return {
        party: frame[~frame["id"].isin([str(lost * k + number) for k in range(n // lost)])]
        for number, (party, frame) in enumerate(frames.items())
    }


def assert_ideal(releases: dict[str, Any], ideal: cp.Release) -> None:
    for release in releases.values():
        if isinstance(release, Exception):
            raise release
        assert ideal.data_files()
        for name in ideal.data_files():
            assert release.files()[name] == ideal.files()[name], name
        assert release.certificate.to_json()["disclosures"] == ideal.certificate.to_json()["disclosures"]
        assert release.certificate.views == ideal.certificate.views


@pytest.mark.parametrize(
    ("partition", "owners", "helper"),
    [("vertical", 3, False), ("vertical", 4, True), ("arbitrary", 3, False), ("vertical", 2, True)],
)
def test_joins_by_an_identifier_give_every_party_the_release_of_the_ideal_engine(joins, partition, owners, helper):
    agreement = agreement_of(partition, owners, helper=helper)
    frames = frames_of(agreement, 120)
    assert len(set.intersection(*(set(frame["id"]) for frame in frames.values()))) < min(map(len, frames.values()))
    assert_ideal(joins.release(agreement, frames, seed=3), ideal_release(agreement, frames, seed=3))


@pytest.mark.parametrize("helper", [False, True])
def test_owners_of_whole_rows_none_of_whom_is_twice_get_the_release_of_the_ideal_engine(sums, helper):
    agreement = agreement_of("horizontal", 4, helper=helper)
    frames = frames_of(agreement, 80)
    assert_ideal(sums.release(agreement, frames, seed=4), ideal_release(agreement, frames, seed=4))


@pytest.mark.parametrize("helper", [False, True])
def test_a_person_at_two_owners_ends_the_run_in_the_same_words_and_only_the_comparison_is_in_the_ledgers(sums, helper):
    agreement = agreement_of("horizontal", 4, helper=helper)
    frames = frames_of(agreement, 80)
    frames["p3"] = pd.concat([frames["p3"], frames["p1"][:1]])
    ledgers = {party: throwaway_ledger(plan_of(agreement)) for party in agreement.parties}
    ended = sums.release(agreement, frames, seed=5, ledgers=ledgers)
    said = {str(error.problems) for error in ended.values() if isinstance(error, FragmentError)}
    assert len(said) == 1 and "some person is listed by two parties" in said.pop()
    assert all(isinstance(error, FragmentError) for error in ended.values()), ended
    for party, ledger in ledgers.items():
        assert ledger.entries() == []
        kinds = [entry.kind for entry in ledger.alignments()]
        assert kinds == (["people at two parties"] if party in agreement.owners else [])
        if kinds:
            (entry,) = ledger.alignments()
            assert set(entry.peers) == {*agreement.owners, *([agreement.helper] if helper else [])} - {party}


@pytest.mark.parametrize("lists", ["nobody in common", "an owner without records"])
def test_a_table_of_no_records_is_released_like_any_other(joins, lists):
    agreement = agreement_of("vertical", 3)
    frames = frames_of(agreement, 60)
    if lists == "nobody in common":
        frames["p1"]["id"] = [f"other {number}" for number in range(len(frames["p1"]))]
    else:
        frames["p1"] = frames["p1"][:0]
    assert_ideal(joins.release(agreement, frames, seed=6), ideal_release(agreement, frames, seed=6))


def test_an_owner_without_the_identifier_hears_it_before_anybody_is_called():
    agreement = agreement_of("vertical", 3)
    frames = frames_of(agreement, 60)
    with pytest.raises(FragmentError, match="'id'"):
        cp.simulate(agreement, {**frames, "p1": frames["p1"].drop(columns="id")})


def test_three_owners_in_processes_of_their_own_compare_people():
    """Guests and a compute node without data; `test_many_owners.py` has people compared where three nodes compute."""
    agreement = agreement_of("vertical", 3, helper=True)
    agreement = agreement.model_copy(update={"engine": Computation(nodes=("p1", "helper"))})
    frames = frames_of(agreement, 60)
    ideal, coins = ideal_release(agreement, frames, seed=9), coins_of_nodes(agreement, 9)
    assert_ideal({"all": simulate_in_processes(agreement, frames, progress=no_progress, coins=coins)}, ideal)


def records_of(mechanism: str, alignment: str) -> cp.Agreement:
    if mechanism == "idp-ir":
        mapping = idp_ir_mapping("vertical", 3)
    else:
        mapping = repartition(small_mapping(mechanism={"name": "vhdp"}), "vertical", 3)
        mapping["privacy"] = {"epsilon": 4, "neighbors": "replace"}
    mapping["records"] = {"expected": 60, "public": True, "alignment": alignment}
    if alignment == "identifier":
        mapping["records"]["identifier"] = "id"
    return cp.agreement_from_mapping(mapping)


@pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
@pytest.mark.parametrize("alignment", ["identifier", "row-order"])
@pytest.mark.parametrize("mechanism", ["vhdp", "idp-ir"])
def test_records_of_three_owners_of_columns_are_those_of_the_ideal_engine(joins, mechanism, alignment):
    agreement = records_of(mechanism, alignment)
    frames = frames_of(agreement, 60)
    for column in ("age", "income"):  # without ties: idp-ir breaks them by the order of records
        (party,) = agreement.holders(column)
        frames[party][column] = 18.0 + np.random.default_rng(1).permutation(len(frames[party]))
    if alignment == "row-order":
        people = set.intersection(*(set(frame["id"]) for frame in frames.values()))
        frames = {
            party: frame[frame["id"].isin(people)].sort_values("id").drop(columns="id")
            for party, frame in frames.items()
        }

    def coins() -> dict[str, Any]:
        # By an identifier records have another order every time, so every record gets the same coins.
        same = {party: ConstantCoins(1) for party in agreement.parties}
        return same if alignment == "identifier" else seeded(agreement.party_names, 7)

    ideal = simulate_with(agreement, frames, coins())
    assert len(ideal.to_pandas("records")) == 60 - 3 * (60 // 9)
    masked = agreement.model_copy(update={"engine": Computation(name="masked-sum")})
    secure = joins.release(agreement, frames, seed=7, coins=coins())
    for releases in (secure, all_of(publish_by_masked_sums(masked, frames, coins()))):
        if mechanism == "vhdp" or alignment == "row-order":
            assert_ideal(releases, ideal)
        for release in releases.values():  # categories have ties
            numbers = [sorted(one.to_pandas("records")[["age", "income"]].values.tolist()) for one in (release, ideal)]
            assert numbers[0] == numbers[1]
