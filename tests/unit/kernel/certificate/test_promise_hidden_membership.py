"""What certificates promise where owners hide from each other which people they have in common."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import copublish as cp
from copublish.kernel.accounting.statements import EpsilonStatement
from copublish.kernel.certificate.certificate import Certificate
from copublish.kernel.certificate.comparing import way_of
from copublish.release.metadata.croissant import description_of
from copublish.release.metadata.deployment import deployment_entry
from copublish.release.metadata.nist import nist_claims
from support import repartition, small_mapping
from support.consent import certificate_of_a_run

GAUSSIAN = {"epsilon": 1, "delta": "1e-6"}


def agreement_of(owners: int = 2, *, helped: bool = False, idle: bool = False, **privacy: Any) -> cp.Agreement:
    """An agreement of owners of columns; between two of them the number of common people costs 0.05."""
    mapping = repartition(small_mapping(), "vertical", owners)
    mapping["records"] = {"identifier": "id", "expected": 100, "membership": "hidden"}
    mapping["records"]["at_most"] = {f"p{number}": 1000 * (number + 1) for number in range(owners)}
    mapping["privacy"] = {"epsilon": 1} | ({} if helped else {"membership_epsilon": "0.05"}) | privacy
    if helped or idle:
        mapping["parties"]["helper"] = {"data": False}
    if helped:
        mapping["records"]["compared_by"] = "helper"
    if "delta" in privacy:
        mapping["mechanism"] = {"name": "marginals"}
    return cp.agreement_from_mapping(mapping)


def shared(agreement: cp.Agreement) -> cp.Agreement:
    """The same agreement, of owners who learn who is common."""
    mapping = agreement.model_dump(mode="json", exclude_none=True, by_alias=True)
    del mapping["records"]["membership"], mapping["records"]["at_most"]
    mapping["privacy"].pop("membership_epsilon", None)
    return cp.agreement_from_mapping(mapping)


def epsilon_of(agreement: cp.Agreement) -> EpsilonStatement:
    return certificate_of_a_run(agreement).epsilon


def from_another_owner(certificate: Certificate) -> str:
    (said,) = [line for line in certificate.protected if line.startswith("From another owner, too")]
    return said


def test_two_owners_pay_for_the_number_of_common_people_towards_each_other_and_nobody_else() -> None:
    certificate = certificate_of_a_run(agreement_of())
    epsilon = certificate.epsilon
    assert epsilon.public == {"add-remove": "1", "replace": "2"}
    assert epsilon.insiders == {"add-remove": "1.05", "replace": "2"}
    assert epsilon.exact("insiders", "add-remove") == 1 + Fraction(5, 100)
    assert not epsilon.insiders_know_members
    assert from_another_owner(certificate) == (
        "From another owner, too, whatever people it lists: who is on an owner's list. One person added or removed: "
        "epsilon 1.05, delta 1.0e-10. One person exchanged for another: epsilon 2, delta 1.0e-10. Other values of one "
        "person: epsilon 2."
    )


def test_what_hides_membership_is_stated_for_programs() -> None:
    membership = epsilon_of(agreement_of()).membership
    assert membership is not None
    said = membership.to_json()
    assert Fraction(said.pop("delta_bound")) >= Fraction(1, 10**10)
    assert said == {
        "at_most": {"p0": 1000, "p1": 2000},
        "size_epsilon": "0.05",
        "size_delta_bound": "1.0e-10",
        "another_person": "2",
    }


@pytest.mark.parametrize("owners", [2, 3])
def test_with_a_helper_owners_learn_nothing_besides_the_release(owners: int) -> None:
    certificate = certificate_of_a_run(agreement_of(owners, helped=True))
    epsilon = certificate.epsilon
    assert epsilon.insiders == epsilon.public == {"add-remove": "1", "replace": "2"}
    assert epsilon.membership is not None and epsilon.membership.helper == "helper"
    assert (epsilon.membership.size_epsilon, epsilon.membership.size_delta_bound) == ("0", "0")
    assert epsilon.membership.delta_bound == certificate.delta_bound
    assert "One person added or removed: epsilon 1. One person exchanged for another: epsilon 2." in from_another_owner(
        certificate
    )
    assert f"up to {owners} times as much" in " ".join(certificate.assumptions)
    (not_protected,) = [line for line in certificate.not_protected if "helper" in line]
    assert "which owners list it" in not_protected and "every owner's people, by trial" in not_protected


def test_a_large_price_of_the_number_counts_for_an_exchange_too() -> None:
    """An exchange of people of whom the other owner lists one moves the number and brings or takes one record."""
    epsilon = epsilon_of(agreement_of(membership_epsilon=3))
    assert epsilon.insiders == {"add-remove": "4", "replace": "2"}
    assert epsilon.membership is not None and epsilon.membership.another_person == "4"  # max(2, 1 + 3)


def test_delta_towards_another_owner_is_the_sum() -> None:
    agreement = agreement_of(**GAUSSIAN)
    certificate = certificate_of_a_run(agreement)
    membership = certificate.epsilon.membership
    assert membership is not None
    exact = Fraction(1, 10**6) + Fraction(1, 10**10)
    assert Fraction(certificate.delta_bound) < exact <= Fraction(membership.delta_bound)
    assert "epsilon 1.05, delta 1.1e-06" in from_another_owner(certificate)  # 1.0001e-6, rounded up
    assert "Other values of one person: epsilon" in from_another_owner(certificate)


def test_noise_for_other_values_is_no_reason_to_say_less_of_added_people() -> None:
    certificate = certificate_of_a_run(agreement_of(neighbors="replace"))
    epsilon = certificate.epsilon
    assert epsilon.public["replace"] == "1"
    added = epsilon.exact("public", "add-remove")
    assert added is not None and epsilon.exact("insiders", "add-remove") == added + Fraction(5, 100)
    assert "who is on an owner's list" in from_another_owner(certificate)


@pytest.mark.parametrize(("owners", "helped"), [(2, False), (2, True), (3, True)])
def test_a_list_that_is_too_long_costs_what_is_stated(owners: int, helped: bool) -> None:
    """A person who is added takes part at all owners, and at each of them somebody else then does not."""
    (said,) = [
        line
        for line in certificate_of_a_run(agreement_of(owners, helped=helped)).protected
        if "longer than agreed" in line
    ]
    assert "which costs what an exchange costs" in said
    assert "As long as only one list is" in said
    assert said.endswith(f"As long as more are, up to {owners + 1} records change: epsilon {owners + 1}.")


def test_so_many_records_do_change_where_all_lists_are_too_long() -> None:
    """Two owners with room for two people, and digests by hand: one person more, and three common records change."""
    digests = ({"new": 0, "a": 1, "b": 2}, {"new": 0, "b": 1, "a": 2})

    def common(*people: str) -> set[str]:
        first, second = (set(sorted(people, key=digest.__getitem__)[:2]) for digest in digests)
        return first & second

    assert len(common("a", "b") ^ common("a", "b", "new")) == 3


def test_more_records_than_two_change_where_only_two_of_three_lists_are_too_long() -> None:
    """So an exchange is not what one more person costs as soon as some list is too long."""
    digests = ({"new": 0, "a": 1, "b": 2}, {"new": 0, "b": 1, "a": 2})

    def common(*people: str) -> set[str]:
        first, second = (set(sorted(people, key=digest.__getitem__)[:2]) for digest in digests)
        return first & second & set(people)  # the third owner has room for everybody

    assert len(common("a", "b") ^ common("a", "b", "new")) == 3


def test_a_party_without_data_learns_at_most_what_another_owner_does() -> None:
    """It sees the number of rows with the noise of both owners, and the release."""
    (said,) = [line for line in certificate_of_a_run(agreement_of(idle=True)).protected if "without data" in line]
    assert said == "From 'helper', without data: the same, at no more than from another owner."
    for agreement in (agreement_of(), agreement_of(helped=True)):
        assert "without data" not in " ".join(certificate_of_a_run(agreement).protected)


def test_without_hidden_membership_nothing_of_it_is_said() -> None:
    hidden = agreement_of()
    certificate = certificate_of_a_run(shared(hidden))
    assert "membership" not in certificate.epsilon.to_json()
    assert certificate.epsilon.insiders == {"add-remove": "not protected", "replace": "2"}
    said = " ".join([*certificate.protected, *certificate.not_protected, *certificate.assumptions])
    assert "From the other parties: who is in the table" in said
    assert "exchanged" not in said and "longer than agreed" not in said


def test_what_is_said_of_shared_membership_falls_away() -> None:
    for agreement in (agreement_of(), agreement_of(idle=True), agreement_of(3, helped=True)):
        certificate = certificate_of_a_run(agreement)
        views = [line for seen in certificate.views.values() for line in seen]
        said = " ".join([*certificate.not_protected, *certificate.assumptions, *views])
        for gone in ("who is in the table", "commitment", "lists the same people", "common records", "common to all"):
            assert gone not in said
        assert "The lengths that the agreement pads lists to: 'p0' 1,000, 'p1' 2,000" in said


def test_each_party_is_told_what_it_sees_of_the_number_of_common_people() -> None:
    rows = "the number of rows of the joined table, from which follows how many people are common, with "
    views = certificate_of_a_run(agreement_of(idle=True)).views
    assert f"{rows}noise that only the other owner knows" in views["p0"]
    assert f"{rows}noise that only the other owner knows" in views["p1"]
    assert f"{rows}the noise of both owners" in views["helper"]
    helped = certificate_of_a_run(agreement_of(helped=True)).views
    assert "a random row of the joined table for each of its people" in helped["p0"]
    assert [line for line in helped["helper"] if line.startswith("pseudonyms of every owner's people, padded")]
    assert not any(line.startswith(rows) for seen in helped.values() for line in seen)


def test_the_limit_of_changed_software_is_stated_where_it_holds() -> None:
    limit = "From another owner that changed its software where people are compared: which of the people that it lists "
    for agreement, is_stated in ((agreement_of(), True), (agreement_of(helped=True), False)):
        lines = certificate_of_a_run(agreement).not_protected
        assert any(line.startswith(limit) for line in lines) == is_stated


def test_ways_to_hide_membership_have_names() -> None:
    assert way_of(agreement_of()) == way_of(agreement_of(idle=True)) == "hidden"
    assert way_of(agreement_of(3, helped=True)) == "hidden-pseudonyms"
    assert way_of(shared(agreement_of())) == "intersection"


def test_a_certificate_with_hidden_membership_is_read_back_as_it_was() -> None:
    for agreement in (agreement_of(), agreement_of(3, helped=True)):
        certificate = certificate_of_a_run(agreement)
        assert Certificate.from_json(certificate.to_json()) == certificate


def test_a_certificate_whose_membership_is_no_number_is_refused() -> None:
    said = certificate_of_a_run(agreement_of()).to_json()
    said["epsilon"]["membership"]["size_epsilon"] = "little"
    with pytest.raises(ValueError, match="size_epsilon"):
        Certificate.from_json(said)


def test_odds_are_those_of_the_stated_epsilon() -> None:
    odds = [line for line in cp.describe(agreement_of()).before_consent.learned if line.startswith("For another owner")]
    assert f"a factor of at most {math.ceil(100 * math.exp(1.05)) / 100}" in odds[0]


def test_the_price_of_the_number_stands_beside_that_of_the_release() -> None:
    described = str(cp.describe(agreement_of()))
    facts = " ".join(described.split())
    assert "Cost epsilon 1 (add-remove)" in facts and "epsilon 0.05, delta 1.0e-10 besides" in facts
    helped = " ".join(str(cp.describe(agreement_of(3, helped=True))).split())
    assert "hidden by 'helper'" in helped and "besides, for the" not in helped


def test_files_for_programs_and_evaluators_have_the_numbers() -> None:
    certificate = certificate_of_a_run(agreement_of())
    (first, *_) = nist_claims(certificate)
    assert "epsilon 1 for the public, 1.05 for another owner, with delta at most 1.1e-10;" in first.value
    entry = deployment_entry(certificate, "counted")["deployment"]["privacy_loss"]
    assert entry["privacy_parameters"]["epsilon"] == 1.0
    assert "Epsilon for another owner: 1.05 (one person is added" in entry["privacy_parameters_details"]
    assert entry["privacy_parameters_details"].endswith("For another owner delta is at most 1.1e-10.")
    assert "one person added or removed: epsilon 1.05, delta 1.1e-10" in description_of(certificate)
    of_others = certificate_of_a_run(shared(agreement_of()))
    assert "another owner" not in description_of(of_others) + nist_claims(of_others)[0].value


def test_a_plan_says_what_an_epsilon_means_against_another_owner() -> None:
    meaning = cp.planning.meaning(agreement_of(), "2")
    assert "one person added or removed: epsilon 2.05" in meaning.another_owner
    assert cp.planning.meaning(shared(agreement_of()), "2").another_owner == ""
