"""Which engine a party runs on, which agreements the secure engine refuses, and parties without data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import copublish as cp
from copublish.engines import choice as engines
from copublish.engines.choice import engine_for, refuse_unfit_engine
from copublish.engines.spu.input_parties import GuestEngine, MarkingGuest
from copublish.engines.spu.process import WorkerProcess
from copublish.engines.spu.requests import FirstUses
from copublish.errors import AgreementError, EngineError, FragmentError, SourceError
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.party.local.messenger import PipeMessenger, pipes_between
from copublish.party.local.simulation import simulate
from copublish.rows.reading import check_columns, read_fragment
from support import ConstantCoins, fragment_frames, random_table, repartition, simulate_with, small_mapping
from support.hidden import check_placements
from support.messages import Post, all_of, masked_agreement
from support.owners import TINY, ideal_release, tiny_agreement, tiny_frames


def agreement_of(partition: str, parties: int, **changes):
    return cp.agreement_from_mapping(repartition(small_mapping(**changes), partition, parties))


NOTHING_READ = {f"p{number}": "no such file" for number in range(3)}


ROW_ORDER = {"records": {"alignment": "row-order", "expected": 100}}


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
@pytest.mark.parametrize("parties", [3, 4])
def test_people_of_any_number_of_owners_may_be_compared_by_an_identifier(partition, parties):
    agreement = agreement_of(partition, parties)
    refuse_unfit_engine(agreement)
    assert engines.needs_messenger(agreement)
    assert engines.needs_messenger(agreement_of(partition, 2)) == (partition == "horizontal")


def test_lists_that_are_too_long_to_be_compared_are_refused_before_data_are_read():
    longest = 2**26 // 2  # of points of 32 bytes in 2 GiB, and twice the expected number is compared
    refuse_unfit_engine(agreement_of("horizontal", 3, **{"records.expected": longest}))
    refuse_unfit_engine(agreement_of("vertical", 3, **{"records.expected": longest + 1}))
    with pytest.raises(AgreementError, match=r"may have 67,108,864 entries. Leave 'identifier' out"):
        refuse_unfit_engine(agreement_of("horizontal", 3, **{"records.expected": longest + 1}))


def hidden(owners: int, at_most: int, *, helper: bool = False):
    mapping = repartition(small_mapping(), "vertical", owners)
    mapping["records"] |= {"membership": "hidden", "at_most": {f"p{number}": at_most for number in range(owners)}}
    if helper:
        mapping["parties"]["helper"] = {"data": False}
        mapping["records"]["compared_by"] = "helper"
    else:
        mapping["privacy"]["membership_epsilon"] = "0.1"
    return cp.agreement_from_mapping(mapping)


def test_two_parties_that_hide_membership_need_messages_beside_their_engine():
    assert not engines.needs_messenger(agreement_of("vertical", 2))
    assert engines.needs_messenger(hidden(2, 50)) and engines.needs_messenger(hidden(3, 50, helper=True))


@pytest.mark.parametrize("helper, longest", [(False, 2**26 - 2 * 402), (True, 10**8)])
def test_public_lengths_that_no_message_can_carry_are_refused_before_data_are_read(helper, longest):
    refuse_unfit_engine(hidden(2, longest, helper=helper))
    if not helper:
        with pytest.raises(AgreementError, match=r"records.at_most: a list may have 67,108,060 people"):
            refuse_unfit_engine(hidden(2, longest + 1))


def test_a_helper_takes_lists_of_the_agreed_length_however_many_people_are_expected_to_be_common(monkeypatch):
    monkeypatch.setattr(engines, "MarkingNode", lambda *given, **named: MarkingGuest(named["messenger"], given[1]))
    agreement = hidden(2, 4001, helper=True)
    assert agreement.records.expected == 2000
    lists = {"p0": ["x", "y"], "p1": ["y"]}

    def place(messenger):
        engine = engine_for(agreement, messenger.party, ("x", "y"), messenger)
        return engine.place(lists.get(messenger.party), HiddenJoin.of(agreement))

    found = all_of(Post(agreement.party_names).run(place))
    check_placements(lists, found)
    assert found["helper"].n_rows == 2 * 4001


def test_three_nodes_that_compare_people_need_messages_beside_their_engine():
    assert not engines.needs_messenger(tiny_agreement(3, protocol="aby3"))
    agreement = agreement_of("horizontal", 3, engine={"protocol": "aby3"})
    assert engines.needs_messenger(agreement) and agreement.guests == ()


def test_two_class_columns_are_compared_by_two_parties_that_both_compute_and_no_more():
    changes = {"privacy": {"epsilon": 1, "class_disagreement": "0.1"}}
    refuse_unfit_engine(agreement_of("vertical", 2, **changes))
    mapping = repartition(small_mapping(**changes), "vertical", 2)
    mapping["parties"]["helper"] = {"data": False}
    with pytest.raises(AgreementError, match=r"privacy.class_disagreement: .* Remove it"):
        refuse_unfit_engine(cp.agreement_from_mapping(mapping))


@pytest.mark.parametrize("protocol", ["cheetah", "aby3"])
@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_up_to_ten_owners_may_join_columns_in_row_order(partition, protocol):
    refuse_unfit_engine(agreement_of(partition, 4, **ROW_ORDER, engine={"protocol": protocol}))


def test_more_owners_than_can_join_are_refused_by_check_and_describe():
    attributes = {f"a{number}": {"kind": "categorical", "values": ["x", "y"]} for number in range(11)}
    agreement = agreement_of("vertical", 11, attributes=attributes, **ROW_ORDER)
    for refuse in (cp.check, cp.describe):
        with pytest.raises(AgreementError, match="columns of up to 10 owners are joined, and 11 hold some"):
            refuse(agreement)


def test_another_engine_of_the_agreement_is_not_replaced_by_this_one():
    with pytest.raises(EngineError, match="'spu' was asked for, and the agreement says 'masked-sum'"):
        simulate(masked_agreement(3), NOTHING_READ, engine="spu")


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_two_parties_may_do_everything(partition):
    refuse_unfit_engine(agreement_of(partition, 2))


@pytest.mark.parametrize("mechanism", ["specialization", "copula"])
def test_any_number_of_owners_of_whole_rows_may_add_up(mechanism):
    refuse_unfit_engine(tiny_agreement(10, mechanism))
    refuse_unfit_engine(tiny_agreement(3, mechanism, protocol="aby3"))


def test_nodes_compute_and_the_others_are_guests(monkeypatch):
    agreement = tiny_agreement(4, protocol="aby3", nodes=["p3", "p1", "p0"])
    assert agreement.compute_nodes == ("p0", "p1", "p3")  # in agreed order, however they are written
    assert agreement.guests == ("p2",)
    asked = []
    for kind in ("SpuEngine", "SpuNode"):
        monkeypatch.setattr(engines, kind, lambda *given, kind=kind, **named: asked.append((kind, given, named)))
    ends = pipes_between(agreement.party_names)
    messenger = PipeMessenger("p2", agreement.party_names, ends["p2"])
    assert isinstance(engine_for(agreement, "p2", (), messenger), GuestEngine)
    engine_for(agreement, "p3", ("x", "y", "z"), messenger, None, 7)
    ((kind, given, named),) = asked
    assert kind == "SpuNode"
    assert given == ("p3", ("p0", "p1", "p3"), ("x", "y", "z"), None, 7)
    assert named == {
        "protocol": "ABY3",
        "messenger": messenger,
        "start_worker": WorkerProcess,
        "first_uses": FirstUses(coins=True),
    }
    messenger.close()
    with pytest.raises(ValueError, match="needs a messenger"):
        engine_for(agreement, "p2", (), None)


def test_only_two_parties_join_on_the_secure_engine(monkeypatch):
    asked = []
    for kind in ("SpuEngine", "SpuNode"):
        monkeypatch.setattr(engines, kind, lambda *given, kind=kind, **named: asked.append((kind, given[:2])))
    engine_for(agreement_of("vertical", 2), "p1", ("x", "y"), None)
    engine_for(tiny_agreement(3, protocol="aby3"), "p1", ("x", "y", "z"), None)
    assert asked == [("SpuEngine", ("p1", ("p0", "p1"))), ("SpuNode", ("p1", ("p0", "p1", "p2")))]


def test_describe_names_the_coalitions_before_anybody_takes_part():
    said = cp.describe(tiny_agreement(4, nodes=["p1", "p3"]))
    assert any("These coalitions do not form" in line and "'p1' and 'p3'" in line for line in said.assumptions)
    assert "The coins of the compute nodes 'p1', 'p3' are uniform and secret" in str(said.assumptions)
    assert any("one share of each input of 'p0', 'p2'" in line for line in said.views["p1"])
    assert not any("share of each input" in line for line in said.views["p0"])
    two = cp.describe(tiny_agreement(2))
    assert "Every party's coins are uniform and secret" in str(two.assumptions)


def with_helper(partition: str = "horizontal"):
    mapping = {**TINY, "parties": {"p0": {}, "helper": {"data": False}, "p2": {}}, "partition": partition}
    mapping["mechanism"] = {"name": "specialization", "specializations": 1}
    if partition == "vertical":
        mapping["records"] = {"identifier": "id", "expected": 100}
        held = zip(TINY["attributes"].items(), ("p0", "p2"), strict=True)
        mapping["attributes"] = {name: {**attribute, "held_by": party} for (name, attribute), party in held}
        mapping["class"] = {**TINY["class"], "held_by": "p0"}
    return cp.agreement_from_mapping(mapping)


def test_a_party_without_data_has_an_empty_fragment_and_adds_nothing():
    agreement = with_helper()
    fragment = read_fragment(agreement, "helper", None)
    assert (fragment.n_records, fragment.private_codes) == (0, {})
    frames = tiny_frames(agreement)
    release = ideal_release(agreement, frames, seed=1)
    assert release.certificate.engine.name == "ideal"
    assert simulate(agreement, frames).certificate.release == "tiny"


def test_data_of_a_party_without_data_and_missing_data_are_refused():
    agreement = with_helper()
    for read in (read_fragment, check_columns):
        with pytest.raises(FragmentError, match=r"By parties.helper.data in the agreement this party holds none"):
            read(agreement, "helper", pd.DataFrame({"age": [20]}))
        with pytest.raises(SourceError, match="no data of party 'p0'"):
            read(agreement, "p0", None)
    check_columns(agreement, "helper", None)
    with pytest.raises(FragmentError, match="exactly these parties: 'p0', 'p2'"):
        simulate(agreement, {**tiny_frames(agreement), "helper": "file.csv"})


def test_a_party_without_data_takes_part_in_a_join_and_adds_nothing():
    agreement = with_helper("vertical")
    owners = tuple(party for party in agreement.parties if party != "helper")
    alone = agreement.model_copy(update={"parties": {party: agreement.parties[party] for party in owners}})
    generator = np.random.default_rng(5)
    frames = fragment_frames(alone, random_table(alone, 60, generator), generator)
    helped = ideal_release(agreement, frames, seed=1)
    assert sum(helped.published.model.counts) > 0
    for release in (helped, simulate(agreement, frames)):
        assert release.certificate.release == "tiny"
    quiet = {party: ConstantCoins(int(party == "p0")) for party in agreement.parties}
    releases = [
        simulate_with(one, frames, {party: quiet[party] for party in one.parties}) for one in (agreement, alone)
    ]
    assert releases[0].tables == releases[1].tables
    for name in ("records", *releases[0].tables):
        pd.testing.assert_frame_equal(*(release.to_pandas(name) for release in releases))
