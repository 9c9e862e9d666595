"""Rules about hiding which people owners have in common: each refusal says what to do, and doing it helps."""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.agreement.membership import MOST_OWNERS_WITH_A_HELPER
from copublish.agreement.model import MAX_LISTED
from copublish.engines.choice import refuse_unfit_engine
from copublish.errors import AgreementError
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.secrets.placement import HiddenJoin
from support import repartition, small_mapping

Content = dict[str, Any]

HIDDEN = {"membership": "hidden", "identifier": "id", "expected": 100}


def mapping_of(partition: str = "vertical", owners: int = 2, *, helper: bool = False, **changes: Any) -> Content:
    """An agreement that hides membership; `records__x` and `privacy__x` change keys of sections, None removes one."""
    content = small_mapping()
    column = next(iter(content["attributes"].values()))
    content["attributes"] |= {f"more{number}": dict(column) for number in range(owners - len(content["attributes"]))}
    content = repartition(content, partition, owners)
    names = list(content["parties"])
    content["records"] = {**HIDDEN, "at_most": dict.fromkeys(names, 150)}
    if helper:
        content["parties"]["helper"] = {"data": False}
        content["records"]["compared_by"] = "helper"
    else:
        content["privacy"]["membership_epsilon"] = "0.05"
    for name, value in changes.items():
        section, _, key = name.partition("__")
        if not key:
            content[section] = value
        elif value is None:
            del content[section][key]
        else:
            content[section][key] = value
    return content


def refusals(content: Content) -> list[str]:
    with pytest.raises(AgreementError) as caught:
        cp.agreement_from_mapping(content)
    return list(caught.value.problems)


def refusal(content: Content) -> str:
    (sentence,) = refusals(content)
    return sentence


@pytest.mark.parametrize(("owners", "helper"), [(2, False), (2, True), (3, True), (10, True)])
def test_two_owners_hide_it_by_themselves_and_up_to_ten_with_a_party_without_data(owners, helper):
    agreement = cp.agreement_from_mapping(mapping_of(owners=owners, helper=helper))
    assert agreement.hides_membership and (agreement.membership_epsilon > 0) is not helper


def test_a_public_number_of_records_is_refused():
    content = mapping_of(records__public=True, privacy__neighbors="replace")
    assert refusal(content) == (
        'records.membership: public = true publishes the number of common people, so it cannot be "hidden". Write '
        'public = false, or membership = "shared"'
    )
    cp.agreement_from_mapping(mapping_of(records__public=False, privacy__neighbors="replace"))


@pytest.mark.parametrize(("name", "is_public"), [("vhdp", True), ("idp-ir", False)])
def test_a_row_for_each_common_person_is_refused(name, is_public):
    content = mapping_of(mechanism={"name": name}, records__public=is_public, privacy__neighbors="replace")
    assert [one for one in refusals(content) if one.startswith("records.membership")] == [
        f"records.membership: '{name}' publishes a row for each common person, so their number cannot be \"hidden\". "
        "Take 'marginals', or write membership = \"shared\""
    ]


def test_cells_here_and_there_are_refused():
    assert refusal(mapping_of("arbitrary")) == (
        "records.membership: in an arbitrary release the parties tell each other who holds which cell of a record, so "
        'it cannot be "hidden". Write membership = "shared"'
    )


def test_whole_rows_and_records_in_order_have_nobody_to_hide():
    assert refusal(mapping_of("horizontal")) == (
        'records.membership: in a horizontal release every party has other people, so there is nobody to be "hidden". '
        "Remove the key"
    )
    assert refusal(mapping_of(records__identifier=None, records__alignment="row-order")).endswith(
        'know it, so these cannot be "hidden". Join by an identifier, or remove the key'
    )


def test_more_than_two_owners_need_a_party_without_data_and_more_than_ten_are_too_many():
    assert refusal(mapping_of(owners=3)) == (
        'records.membership: for more than two owners "hidden" needs a party without data that puts people into rows. '
        'Add one with data = false and name it in compared_by, or write membership = "shared"'
    )
    too_many = MOST_OWNERS_WITH_A_HELPER + 1
    for helper in (False, True):
        assert refusal(mapping_of(owners=too_many, helper=helper)) == (
            f'records.membership: "hidden" works for up to 10 owners, and {too_many} hold data. Write membership = '
            '"shared"'
        )


def test_masked_sums_are_refused():
    content = mapping_of(mechanism={"name": "copula"}, engine={"name": "masked-sum"})
    assert any("the engine 'masked-sum' cannot count people who are common" in one for one in refusals(content))


def test_every_owner_needs_a_length_and_the_sentence_has_one_to_write():
    owners = list(mapping_of()["parties"])
    sentence = refusal(mapping_of(records__at_most={owners[0]: 150}))
    assert f"there is none for '{owners[1]}'" in sentence and "certainly enough" in sentence
    assert f"at_most = {{ {owners[0]} = 150, {owners[1]} = 200 }}" in sentence  # twice what is expected
    cp.agreement_from_mapping(mapping_of(records__at_most={owners[0]: 150, owners[1]: 200}))
    assert "there is none for" in refusal(mapping_of(records__at_most=None))


def test_a_stranger_and_a_party_without_data_have_no_length():
    content = mapping_of(helper=True)
    content["records"]["at_most"] |= {"nobody": 5, "helper": 5}
    assert refusals(content) == [
        "records.at_most.nobody: there is no party 'nobody'. Parties: 'p0', 'p1', 'helper'",
        "records.at_most.helper: 'helper' holds no data, so it has no list. Remove it",
    ]


@pytest.mark.parametrize("length", [0, -1, MAX_LISTED + 1, 1.5, True, "many"])
def test_a_length_is_a_number_of_people(length):
    assert refusal(mapping_of(records__at_most={"p0": length, "p1": 5})).startswith("records.at_most.p0: ")


def test_the_number_of_common_people_has_a_price_exactly_where_two_owners_learn_it():
    assert refusal(mapping_of(privacy__membership_epsilon=None)).endswith(
        "and its price is missing. Write one, like membership_epsilon = 0.05"
    )
    assert refusal(mapping_of(helper=True, privacy__membership_epsilon="0.05")) == (
        "privacy.membership_epsilon: 'helper' puts people into rows, so owners learn nothing of the number of common "
        "people and nothing is paid for it. Remove the key"
    )


@pytest.mark.parametrize("said", [None, "shared"])
def test_keys_for_hiding_are_refused_where_nothing_is_hidden(said):
    assert refusals(mapping_of(records__membership=said)) == [
        'records.at_most: lists are padded only where membership = "hidden". Write that, or remove the key',
        "privacy.membership_epsilon: it is paid only where two owners hide membership from each other. Write "
        'membership = "hidden" in [records], or remove the key',
    ]


@pytest.mark.parametrize("epsilon", ["0", "0.009", "-1", "10.5"])
def test_a_price_that_is_zero_or_too_large_is_refused(epsilon):
    assert refusal(mapping_of(privacy__membership_epsilon=epsilon)).startswith(
        f"privacy.membership_epsilon: must be from 0.01 to 10, got {epsilon}; 0.05 or 0.1 is usual"
    )


def test_to_say_shared_is_to_say_nothing():
    plain = mapping_of(records__membership=None, records__at_most=None, privacy__membership_epsilon=None)
    said = {**plain, "records": {**plain["records"], "membership": "shared"}}
    assert cp.agreement_from_mapping(plain).hash == cp.agreement_from_mapping(said).hash


def test_lists_that_do_not_fit_into_a_message_are_refused_with_the_longest_that_does():
    longest = 2**31 // 32  # 2 GiB of points of 32 bytes
    agreement = cp.agreement_from_mapping(mapping_of())
    pool = HiddenSize(agreement.membership_epsilon, agreement.membership_delta).pool
    most = longest - 2 * pool
    refuse_unfit_engine(cp.agreement_from_mapping(mapping_of(records__at_most={"p0": most, "p1": 5})))
    too_long = cp.agreement_from_mapping(mapping_of(records__at_most={"p0": most + 1, "p1": 5}))
    with pytest.raises(AgreementError) as caught:
        refuse_unfit_engine(too_long)
    assert caught.value.problems == (
        f"records.at_most: a list may have {most:,} people, and 'p0' has {most + 1:,}. Write a smaller number, or "
        'membership = "shared"',
    )


def test_the_rows_of_a_table_are_bounded_by_what_everybody_knows():
    """Of two owners: their people, two pools each, and padding in the place of entries that were not drawn."""
    agreement = cp.agreement_from_mapping(mapping_of())
    join = HiddenJoin.of(agreement)
    assert join is not None and join.size is not None
    assert join.most_rows == 2 * 150 + 4 * join.size.pool
    with_helper = HiddenJoin.of(cp.agreement_from_mapping(mapping_of(owners=3, helper=True)))
    assert with_helper is not None and with_helper.most_rows == 3 * 150
