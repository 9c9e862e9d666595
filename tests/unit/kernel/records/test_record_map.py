"""Maps of one party's rows to published records: right for every owner, and no part of what leaves a party."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.kernel.records.record_map import digest_of_rows
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from support import fragment_frames, no_noise, random_table, simulate_with, small_mapping
from support.idp_ir import idp_ir_agreement, idp_ir_mapping

pytestmark = pytest.mark.filterwarnings("ignore:THIS IS NOT DIFFERENTIAL PRIVACY")
COLUMNS = ("job", "region", "age", "income", "default")


def released_with_maps(agreement, frames, coins=None):
    """The release, and the map that every party kept, by party; none for a party that has none."""
    plan, maps = plan_of(agreement), {}
    fragments = read_fragments(agreement, {party: frames[party] for party in frames})

    def job(engine):
        def keep(release, own):
            maps[engine.party] = own
            return nullcontext()

        ledger = throwaway_ledger(plan)
        return publish_release(plan, fragments[engine.party], engine, ledger, no_progress, keep=keep)

    releases = Room(agreement.party_names, coins).run(job)
    return releases[agreement.party_names[0]], maps


def exact(partition, parties=2, **more):
    """An agreement whose release without noise is the data: plain iDP."""
    return idp_ir_agreement(partition, parties, k=1, **more)


def data(agreement, n=61, seed=3):
    generator = np.random.default_rng(seed)
    return fragment_frames(agreement, random_table(agreement, n, generator), generator)


def cells(frame, columns):
    return frame[list(columns)].astype({c: int for c in ("age", "income") if c in columns}).to_numpy().tolist()


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("parties", [2, 3])
def test_every_row_finds_its_own_record_whoever_holds_it_and_whatever_its_order(partition, parties):
    agreement = exact(partition, parties)
    frames = data(agreement)
    release, maps = released_with_maps(agreement, frames, no_noise(agreement.party_names))
    records = release.to_pandas()
    for party, frame in frames.items():
        own = maps[party]
        columns = [column for column in COLUMNS if column in frame.columns]
        assert columns == [column for column in COLUMNS if column in own.columns]
        assert own.rows.tolist() == list(range(len(frame)))
        assert cells(records.iloc[own.records], columns) == cells(frame, columns)
    named = [record for own in maps.values() for record in own.records]
    if partition == "horizontal":
        assert sorted(named) == list(range(61)), "every record has one row, at one owner"
    else:
        assert all(sorted(own.records) == list(range(61)) for own in maps.values())


def test_the_published_order_is_not_that_of_the_rows():
    agreement = exact("horizontal")
    _, maps = released_with_maps(agreement, data(agreement), no_noise(agreement.party_names))
    assert (np.diff(maps["p0"].records) < 0).any()


def test_rows_that_do_not_come_into_the_release_are_not_in_the_map():
    """A second row of one person, a person that only one owner has, and a row with a missing number."""
    agreement = exact("vertical")
    frames = data(agreement)
    alone = frames["p0"].iloc[4]["id"]
    frames["p1"] = frames["p1"][frames["p1"]["id"] != alone].reset_index(drop=True)
    _, maps = released_with_maps(agreement, frames, no_noise(agreement.party_names))
    assert maps["p0"].rows.tolist() == [row for row in range(61) if row != 4]
    assert maps["p1"].rows.tolist() == list(range(60))

    mapping = idp_ir_mapping("horizontal", 2, k=1, drop_missing=True)
    mapping["attributes"]["age"]["missing"] = "category"
    agreement = cp.agreement_from_mapping(mapping)
    frames = data(agreement)
    frames["p1"] = frames["p1"].astype({"age": float}).reset_index(drop=True)
    frames["p1"].loc[[0, 3], "age"] = None
    release, maps = released_with_maps(agreement, frames, no_noise(agreement.party_names))
    left = [row for row in range(len(frames["p1"])) if row not in (0, 3)]
    assert maps["p1"].rows.tolist() == left
    columns = [column for column in COLUMNS if column != "id"]
    assert cells(release.to_pandas().iloc[maps["p1"].records], columns) == cells(frames["p1"].iloc[left], columns)


def test_a_party_without_data_and_releases_of_made_up_records_have_none():
    mapping = idp_ir_mapping("horizontal", 2, k=1)
    mapping["parties"]["helper"] = {"data": False}
    agreement = cp.agreement_from_mapping(mapping)
    frames = {party: frame for party, frame in data(agreement).items() if party != "helper"}
    _, maps = released_with_maps(agreement, frames, no_noise(agreement.party_names))
    assert maps["helper"] is None and maps["p0"] is not None and maps["p1"] is not None
    agreement = cp.agreement_from_mapping(small_mapping())
    _, maps = released_with_maps(agreement, data(agreement))
    assert set(maps.values()) == {None}


def test_the_map_follows_from_what_was_opened_and_own_rows_alone():
    """Two tables of the other owner that publish the same values give this owner the same map."""
    agreement = idp_ir_agreement("vertical", 2)
    frames = data(agreement)
    _, first = released_with_maps(agreement, frames, no_noise(agreement.party_names))
    others = frames["p1"].copy()
    # Two incomes of one cluster change places; without noise the published values stay as they are.
    by_income = others.sort_values(["income"], kind="stable").index
    one, other = next((a, b) for a, b in pairwise(by_income[:5]) if others.loc[a, "income"] != others.loc[b, "income"])
    others.loc[[one, other], "income"] = others.loc[[other, one], "income"].to_numpy()
    release, second = released_with_maps(agreement, {**frames, "p1": others}, no_noise(agreement.party_names))
    assert release.records.equals(simulate_with(agreement, frames, no_noise(agreement.party_names)).records)
    assert second["p0"].records.tolist() == first["p0"].records.tolist()
    assert second["p1"].rows_digest != first["p1"].rows_digest


def test_the_digest_notices_order_columns_and_values():
    codes = {"a": np.array([1, 2, 3]), "b": np.array([0, 0, 1])}
    found = [
        digest_of_rows(codes),
        digest_of_rows({"a": np.array([2, 1, 3]), "b": codes["b"]}),
        digest_of_rows({"a": codes["a"], "c": codes["b"]}),
        digest_of_rows({"a": codes["a"]}),
    ]
    assert len(set(found)) == 4
    assert digest_of_rows({name: column.astype(np.uint8) for name, column in codes.items()}) == found[0]
