"""Everything that a certificate says in words is said before anybody agrees, and the most important of it first."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import copublish as cp
from copublish.release.consent import BeforeConsent
from support.any_release import any_release
from support.consent import KNOWN_IN_THE_RUN, certificate_of_a_run, unsaid
from support.described_releases import DESCRIBED
from support.recorded_releases import CASES, COPULA, SUMS, VHDP, agreed, clusters, marginals, specialization

MECHANISMS: dict[str, dict[str, Any]] = {
    "marginals": marginals(),
    "specialization": specialization("max"),
    "copula": COPULA,
    "hpdp": {"name": "hpdp", "noise": "laplace"},
    "vhdp": VHDP,
    "idp-ir": clusters(),
}
ENGINES: dict[str, dict[str, Any]] = {
    "cheetah": {"name": "spu", "protocol": "cheetah"},
    "aby3": {"name": "spu", "protocol": "aby3"},
    "masked-sum": SUMS,
}
PEOPLE = {
    "identifier": {},
    "helper": {"helper": True},
    "no identifier": {"identifier": False},
    "row order": {"row_order": True},
    "hidden": {},
    "hidden by a helper": {"helper": True},
}


def agreement_of(
    mechanism: str, partition: str, engine: str, parties: int, people: str = "identifier", **more: Any
) -> cp.Agreement:
    """An agreement with these traits.

    Raises:
        AgreementError: If they do not go together.
    """
    publishes_each = mechanism in ("vhdp", "idp-ir")
    keys: dict[str, Any] = {"public": publishes_each, "privacy": {"epsilon": 8}, **PEOPLE[people], **more}
    if mechanism == "idp-ir" and partition != "horizontal":
        keys["class_at"] = "p0"
    mapping = agreed(partition, MECHANISMS[mechanism], parties=parties, engine=ENGINES[engine], **keys)
    if "helper" in people:
        mapping["records"]["compared_by"] = "helper"
    if "hidden" in people:
        owners = [name for name in mapping["parties"] if name != "helper"]
        mapping["records"] |= {"membership": "hidden", "at_most": dict.fromkeys(owners, 400)}
        mapping["privacy"] |= {} if "helper" in people else {"membership_epsilon": "0.05"}
        if parties == 5:  # there are four columns, and every owner holds one
            mapping["attributes"]["height"] = mapping["attributes"]["age"] | {"held_by": "p4"}
    return cp.agreement_from_mapping(mapping)


@cache
def shapes() -> dict[str, cp.Agreement]:
    """All that can be agreed."""
    found = {}
    for mechanism in MECHANISMS:
        for partition in ("horizontal", "vertical", "arbitrary"):
            for engine in ENGINES:
                for parties in (2, 3, 5):
                    for people in PEOPLE:
                        try:
                            agreement = agreement_of(mechanism, partition, engine, parties, people)
                            cp.describe(agreement)
                        except cp.AgreementError:
                            continue
                        found[f"{mechanism} {partition} {engine} {parties} {people}"] = agreement
    return found


@pytest.mark.slow
def test_shapes_have_every_mechanism_engine_partition_and_number_of_parties():
    words = [name.split() for name in shapes()]
    assert {one[0] for one in words} == set(MECHANISMS)
    assert {one[1] for one in words} == {"horizontal", "vertical", "arbitrary"}
    assert {(one[2], one[3]) for one in words} >= {
        *(("cheetah", number) for number in "235"),
        *(("masked-sum", number) for number in "235"),
        *(("aby3", number) for number in "35"),
    }
    assert len(words) > 100
    assert {name.partition(" vertical ")[2] for name in shapes() if "hidden" in name} == {
        "cheetah 2 hidden",
        *(f"cheetah {owners} hidden by a helper" for owners in "235"),
        *(f"aby3 {owners} hidden by a helper" for owners in "235"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_everything_that_a_certificate_says_is_said_before(mechanism):
    for name, agreement in shapes().items():
        if not name.startswith(mechanism):
            continue
        certificate, described = certificate_of_a_run(agreement), cp.describe(agreement)
        assert unsaid(certificate, str(described)) == [], name
        assert described.views == certificate.views, name
        assert described.assumptions == certificate.assumptions, name
        assert described.to_dict()["assumptions"] == list(certificate.assumptions), name


@pytest.mark.slow
@pytest.mark.parametrize("case", DESCRIBED)
def test_what_a_finished_release_says_was_said_before(case):
    # A simulation has an engine that shows all data to the process that runs it. Nobody agrees to that with others.
    certificate = any_release(case).certificate
    of_simulation = {certificate.engine.secrecy, "Whoever ran the simulation may see all parties' data."}
    said = str(cp.describe(cp.agreement_from_mapping(CASES[case].agreement)))
    assert set(unsaid(certificate, said)) <= of_simulation


@pytest.mark.parametrize("engine", ENGINES)
def test_a_description_that_leaves_out_a_sentence_is_found(engine):
    agreement = agreement_of("marginals" if engine != "masked-sum" else "copula", "horizontal", engine, 3)
    certificate, said = certificate_of_a_run(agreement), " ".join(str(cp.describe(agreement)).split())
    sentences = [*certificate.assumptions, *certificate.not_protected, *certificate.protected]
    sentences += [item for seen in certificate.views.values() for item in seen if len(item.split()) > 2]
    for sentence in sentences:
        assert sentence in unsaid(certificate, said.replace(f"- {sentence}", ""))


def test_parts_of_a_certificate_that_nobody_can_know_before_have_a_reason():
    certificate = any_release(DESCRIBED[1]).certificate.to_json()
    before = cp.describe(cp.agreement_from_mapping(CASES[DESCRIBED[1]].agreement)).to_dict()
    known = {*before, "certificate_format", "deployment", "engine", "contributions", "samplers_delta"}
    assert set(certificate) - known <= set(KNOWN_IN_THE_RUN)
    assert all(len(reason.split()) > 3 for reason in KNOWN_IN_THE_RUN.values())


def first(agreement: cp.Agreement, party: str | None = None) -> BeforeConsent:
    return cp.describe(agreement, party=party).before_consent


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_first_lines_are_short_and_the_certificates_own_words(mechanism):
    for name, agreement in shapes().items():
        if not name.startswith(mechanism):
            continue
        certificate = certificate_of_a_run(agreement)
        for party in (None, *agreement.parties):
            before = first(agreement, party)
            assert 5 <= len(before.lines) <= 17, name
            assert set(before.rests_on) <= set(certificate.assumptions), name
            assert certificate.engine.secrecy in before.learned, name
            assert any("semi-honest" in line for line in before.rests_on), name
            said = " ".join(before.learned).lower()
            for sentence in certificate.not_protected:
                about_parties = sentence.startswith(("From", "Anything from")) and "is released besides" not in sentence
                assert not about_parties or "the class" in sentence or sentence.lower() in said, name


def test_joining_tells_others_whose_people_they_share():
    two = agreement_of("marginals", "vertical", "cheetah", 2)
    assert first(two).learned[0] == "p0 and p1 will learn which of their people the other one has, too."
    assert first(two, "p1").learned[0] == (
        "p0 will learn which of its people are in your data, and you which of yours are in its data."
    )
    three = agreement_of("marginals", "vertical", "cheetah", 3)
    assert first(three).learned[0] == "p0, p1 and p2 will learn which of their people are in the data of all of them."
    assert first(three, "p1").learned[0] == (
        "p0 and p2 will learn which of their people are in the data of all owners, yours among them."
    )
    ordered = agreement_of("marginals", "vertical", "cheetah", 2, "row order")
    assert first(ordered, "p0").learned[0] == (
        "By the agreement all parties list the same people in the same order, so p1 will know who is in your data."
    )


def test_who_hides_membership_is_told_what_another_owner_can_learn():
    two = agreement_of("marginals", "vertical", "cheetah", 2, "hidden", privacy={"epsilon": 1})
    assert first(two).learned[0] == (
        "No owner will learn which of its people another owner has (one person added or removed: epsilon 1.05)."
    )
    assert first(two, "p1").learned[0] == (
        "p0 will not learn which of its people are in your data (one person added or removed: epsilon 1.05)."
    )
    # 3 / 0.05 = 60: 95 of 100 draws of Laplace noise are within about ln(20) / epsilon.
    assert first(two).learned[1] == (
        "Each owner will learn how many people the two have in common, with noise: off by at most 60 in 95 of 100 runs."
    )
    assert first(two, "p1").learned[1] == (
        "p0 will learn how many people you both have in common, with noise: off by at most 60 in 95 of 100 runs."
    )
    assert any("a factor of at most 2.86 (one person" in line for line in first(two).learned)  # e^1.05 is 2.858
    assert any("changed its software where people are compared" in line for line in first(two).learned)
    three = agreement_of("marginals", "vertical", "cheetah", 3, "hidden by a helper", privacy={"epsilon": 1})
    assert first(three, "p1").learned[0] == (
        "p0 and p2 will not learn which of their people are in your data (one person added or removed: epsilon 1)."
    )
    assert not any("in common" in line for line in first(three, "p1").learned)
    assert any("for each pseudonym which owners list it" in line for line in first(three).learned)
    assert any("cost that person up to 3 times as much" in line for line in first(three).rests_on)
    for told in (str(cp.describe(two)), str(cp.describe(three))):
        assert "who is in the table" not in told and "commitment" not in told and "common records" not in told


def test_owners_of_rows_are_told_that_others_do_not_learn_who_they_have():
    compared = " They learn whether any of their people is among yours; a party that lists one person alone learns it"
    compared += " of that person."
    secret = agreement_of("marginals", "horizontal", "cheetah", 2)
    assert first(secret, "p1").learned[0] == (
        f"Besides the release, p0 will not learn who is in your data, nor how many people those are.{compared}"
    )
    public = agreement_of("marginals", "horizontal", "cheetah", 2, public=True)
    assert first(public, "p1").learned[0] == (
        f"Besides the release, p0 will not learn who is in your data, but how many records you have.{compared}"
    )
    for party, agreement in (("p1", secret), (None, secret)):
        assert any("'p0' then learns how many, and not who" in line for line in first(agreement, party).learned)


def coalition(agreement: cp.Agreement, party: str | None = None) -> list[str]:
    return [line for line in first(agreement, party).learned if " together " in line and "No party sees" not in line]


def test_each_party_is_told_who_could_see_its_data_together():
    guest = agreement_of("marginals", "horizontal", "cheetah", 3, "no identifier")
    assert coalition(guest) == ["p0 and p1 together could see all data of p2."]
    assert coalition(guest, "p2") == ["p0 and p1 together could see all of your data."]
    assert coalition(guest, "p0") == [
        "p1 and p2 together could see no value of your data.",
        "p0 and p1 together could see all data of p2.",
    ]
    three = agreement_of("marginals", "horizontal", "aby3", 3, "no identifier")
    assert coalition(three) == ["Any two of p0, p1 and p2 together could see everybody's data."]
    assert coalition(three, "p1") == ["p0 and p2 together could see all of your data."]
    five = agreement_of("marginals", "horizontal", "aby3", 5, "no identifier")
    assert coalition(five, "p4") == ["Any two of p0, p1 and p2 together could see all of your data."]
    assert coalition(agreement_of("marginals", "vertical", "cheetah", 2), "p0") == []


def test_owners_who_add_noise_in_shares_are_told_how_many_others_are_too_many():
    def sums(parties: int, colluders: int) -> cp.Agreement:
        engine = SUMS | {"colluders": colluders}
        mapping = agreed("horizontal", COPULA, parties=parties, identifier=False, engine=engine)
        return cp.agreement_from_mapping(mapping)

    assert coalition(sums(2, 1), "p1") == []
    assert coalition(sums(3, 1), "p1") == [
        "Any 2 other owners of data together could learn more about your people than epsilon allows."
    ]
    assert coalition(sums(3, 2), "p1") == [
        "All other owners of data together learn no more about your people than epsilon allows."
    ]
    assert coalition(sums(5, 2)) == [
        "Any 3 owners of data together could learn more about the others' people than epsilon allows."
    ]


def test_a_helper_that_compares_people_is_named_with_what_it_could_do():
    agreement = agreement_of("marginals", "horizontal", "cheetah", 2, "helper")
    assert coalition(agreement, "p0") == [
        "p1 and helper together could see no value of your data.",
        "helper and any one other owner together could find out by trial who your people are.",
    ]
    assert coalition(agreement, "helper")[-1] == (
        "helper and any one owner together could find out by trial who every owner's people are."
    )


def test_values_that_owners_perturb_alone_need_no_coalition():
    assert coalition(agreement_of("vhdp", "vertical", "cheetah", 3), "p2") == []


def test_who_is_no_party_gets_the_lines_for_all():
    agreement = agreement_of("marginals", "vertical", "cheetah", 2)
    assert first(agreement, "stranger") == first(agreement)


def test_where_people_are_compared_the_first_line_says_what_a_list_of_one_person_tells() -> None:
    compared = agreement_of("marginals", "horizontal", "cheetah", 2)
    (first, *_), said = cp.describe(compared, party="p0").before_consent.learned, cp.describe(compared)
    assert "They learn whether any of their people is among yours; a party that lists one person alone" in first
    assert any("whoever lists one person alone learns" in sentence for sentence in said.before_consent.rests_on)
    alone = agreement_of("marginals", "horizontal", "cheetah", 2, "no identifier")
    assert "They learn whether" not in cp.describe(alone, party="p0").before_consent.learned[0]


def test_owners_of_masked_sums_that_compare_people_learn_how_many_are_on_their_lists() -> None:
    for identifier in (True, False):
        engine = SUMS | {"colluders": 2}
        mapping = agreed("horizontal", COPULA, parties=3, identifier=identifier, engine=engine)
        (said,) = coalition(cp.agreement_from_mapping(mapping), "p1")
        assert said.endswith("but for how many people of their own lists are among them.") == identifier


def test_columns_are_named_by_who_holds_them() -> None:
    agreement = agreement_of("marginals", "vertical", "cheetah", 2)
    described = cp.describe(agreement)
    together = {name for columns in described.columns.values() for name in columns}
    assert together == set(agreement.columns) and set(described.columns["p1"]) <= set(agreement.columns_of("p1"))
    assert all(name in described.facts["Columns"] for name in together)
