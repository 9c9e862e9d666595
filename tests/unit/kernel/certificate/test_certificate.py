"""The certificate states the right epsilon to the right people, never less than it costs, and all that a reader needs.

The table of epsilons below is written out by hand: a release calibrated to add/remove at epsilon costs twice
as much under replace, one calibrated to replace half as much under add/remove; a public number of records leaves no
finite epsilon under add/remove, nor do insiders who know who is in the table.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copublish import Agreement, agreement_from_mapping
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.accounting.formatting import show_bound, show_exact, state_disclosure
from copublish.kernel.certificate.build import Circumstances, build_certificate
from copublish.kernel.certificate.certificate import Certificate
from copublish.mechanisms.specialization.plan import SpecializationPlan
from copublish.release.render.privacy_words import epsilon_rows
from support import fragment_frames, random_table, repartition, seeded, simulate_with, small_mapping
from support.profiles import examples

KNOWN = "not protected: the parties know who is in the table"
NONE = "not protected"

# partition, calibrated to, n public -> public (add-remove, replace), insiders (add-remove, replace); epsilon 0.3
EPSILONS = {
    ("horizontal", "add-remove", False): ("0.3", "0.6", "0.3", "0.6"),
    ("horizontal", "replace", False): ("0.15", "0.3", "0.15", "0.3"),
    ("horizontal", "replace", True): (NONE, "0.3", NONE, "0.3"),
    ("vertical", "add-remove", False): ("0.3", "0.6", KNOWN, "0.6"),
    ("vertical", "replace", False): ("0.15", "0.3", KNOWN, "0.3"),
    ("vertical", "replace", True): (NONE, "0.3", KNOWN, "0.3"),
    ("arbitrary", "add-remove", False): ("0.3", "0.6", KNOWN, "0.6"),
    ("arbitrary", "replace", False): ("0.15", "0.3", KNOWN, "0.3"),
    ("arbitrary", "replace", True): (NONE, "0.3", KNOWN, "0.3"),
}


def agreement_for(partition: str, neighbors: str, public: bool, **changes: Any) -> Agreement:
    mapping = repartition(small_mapping(**{"privacy.epsilon": Decimal("0.3"), **changes}), partition)
    mapping["privacy"]["neighbors"] = neighbors
    mapping["records"]["public"] = public
    return agreement_from_mapping(mapping)


def certificate_for(agreement: Agreement) -> Certificate:
    total = 40 if agreement.records.public else None
    plan = SpecializationPlan.of(agreement)
    circumstances = Circumstances(
        mechanism="specialization",
        method=plan.method(),
        engine="ideal",
        secrecy="None.",
        engine_assumptions=["The engine is sound."],
        software={"copublish": "0"},
        publication_date="2026-01-01",
        public_total=total,
    )
    return build_certificate(agreement, plan.disclosures(), circumstances)


def simulated_certificate(agreement: Agreement) -> Certificate:
    generator = np.random.default_rng(5)
    frames = fragment_frames(agreement, random_table(agreement, 40, generator), generator)
    return simulate_with(agreement, frames, seeded(agreement.party_names, 5)).certificate


@pytest.mark.parametrize("make", [certificate_for, simulated_certificate], ids=["planned", "simulated"])
@pytest.mark.parametrize("case", EPSILONS, ids=str)
def test_epsilon_is_stated_for_both_relations_to_the_public_and_to_insiders(case, make) -> None:
    epsilon = make(agreement_for(*case)).epsilon
    told = [said for _, *by_relation in epsilon_rows(epsilon) for said in by_relation]
    assert tuple(told) == EPSILONS[case]
    stated = (
        epsilon.public["add-remove"],
        epsilon.public["replace"],
        epsilon.insiders["add-remove"],
        epsilon.insiders["replace"],
    )
    assert stated == tuple(NONE if said == KNOWN else said for said in EPSILONS[case])
    assert epsilon.insiders_know_members == (KNOWN in EPSILONS[case])
    for who, said in (("public", EPSILONS[case][:2]), ("insiders", EPSILONS[case][2:])):
        exact = [None if words in (NONE, KNOWN) else Fraction(words) for words in said]
        assert [epsilon.exact(who, relation) for relation in NEIGHBORS] == exact
    assert epsilon.calibrated_to == case[1]
    assert epsilon.agreed == "0.3"


@pytest.mark.parametrize("case", EPSILONS, ids=str)
def test_what_others_learn_is_said_where_it_applies_and_nowhere_else(case) -> None:
    partition, neighbors, public = case
    certificate = certificate_for(agreement_for(*case))
    not_protected, views = " ".join(certificate.not_protected), certificate.views
    assert ("who is in the table" in not_protected) == (partition != "horizontal")
    assert ("which party holds which cell" in not_protected) == (partition == "arbitrary")
    assert ("whether any person is at two of them" in not_protected) == (partition == "horizontal")
    assert ("the class, which all of them hold" in not_protected) == (partition != "horizontal")
    assert ("number of records, which the agreement makes public" in not_protected) == public
    assert certificate.public_facts.number_of_records == (40 if public else None)
    assert ("is in the data at all" in certificate.protected[0]) == (neighbors == "add-remove")
    assert set(views) == {"p0", "p1"}
    for view in views.values():
        seen = " ".join(view)
        assert ("common to all parties" in seen) == (partition != "horizontal")
        assert ("number of common records" in seen) == (partition != "horizontal")
        assert ("number of records of every party" in seen) == (partition == "horizontal" and public)
        assert ("whether any person is at two parties" in seen) == (partition == "horizontal")
        assert ("how many records each party has" in seen) == (partition != "horizontal")
        assert ("which party holds which cell" in seen) == (partition == "arbitrary")
        assert "digest" not in seen  # nothing about class columns is compared


def test_a_class_that_one_party_holds_is_not_said_to_be_known_by_all() -> None:
    mapping = repartition(small_mapping(), "vertical")
    mapping["class"]["held_by"] = "p0"
    certificate = certificate_for(agreement_from_mapping(mapping))
    assert not any("class, which all of them hold" in line for line in certificate.not_protected)


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_records_without_an_identifier_are_an_assumption(partition: str) -> None:
    mapping = repartition(small_mapping(**{"records.identifier": None}), partition)
    if partition != "horizontal":
        mapping["records"]["alignment"] = "row-order"
    certificate = certificate_for(agreement_from_mapping(mapping))
    expected = "listed by two parties" if partition == "horizontal" else "same people in the same order"
    assert any(expected in line for line in certificate.assumptions)
    assert not any("whether any person is at two of them" in line for line in certificate.not_protected)
    assert not any("at two parties" in line for view in certificate.views.values() for line in view)
    assert "The engine is sound." in certificate.assumptions


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_how_people_are_told_apart_is_said_to_whoever_asks_what_is_learned_or_assumed(partition: str) -> None:
    plain = certificate_for(agreement_for(partition, "add-remove", False))
    rules = ["ignore-leading-zeros", "ignore-case", "ignore-spaces", "ignore-punctuation"]
    ruled = certificate_for(agreement_for(partition, "add-remove", False, **{"records.identifier_rules": rules}))
    words = "by 'id' ignoring upper and lower case, spaces, punctuation, leading zeros of numbers"
    for certificate, expected in ((plain, "by 'id'"), (ruled, words)):
        assert certificate.assumptions[0].endswith(f"exactly if they agree {expected}.")
        (line,) = [line for line in certificate.views["p0"] if "by 'id'" in line]
        assert expected in line
        assert ("ignoring" in line) == (certificate is ruled)
        assert line.startswith("whether any person" if partition == "horizontal" else "which of its")


def test_the_length_that_hides_how_many_people_a_horizontal_party_lists_is_said() -> None:
    named = certificate_for(agreement_for("horizontal", "add-remove", False, **{"records.expected": 3000}))
    assert any("of one length, 6,000" in line and "padded" in line for line in named.views["p0"])
    assert any("No party lists more than 6,000 people" in line for line in named.assumptions)
    for partition in ("vertical", "arbitrary"):
        other = certificate_for(agreement_for(partition, "add-remove", False))
        assert not any("padded" in line for line in other.views["p0"])
    nameless = certificate_for(agreement_for("horizontal", "add-remove", False, **{"records.identifier": None}))
    assert not any("padded" in line for line in nameless.views["p0"])
    assert nameless.assumptions[0] == "One person is one record."


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_row_order_shows_numbers_of_rows_and_no_intersection(partition: str) -> None:
    agreement = agreement_for(
        partition, "add-remove", False, **{"records.alignment": "row-order", "records.identifier": None}
    )
    seen = certificate_for(agreement).views["p1"]
    assert "every party's number of rows" in seen
    assert not any("common" in line for line in seen)


@pytest.mark.parametrize("case", EPSILONS, ids=str)
def test_a_certificate_is_json_and_has_everything_that_a_reader_needs(case) -> None:
    agreement = agreement_for(*case)
    certificate = simulated_certificate(agreement).to_json()
    assert json.loads(json.dumps(certificate, allow_nan=False)) == certificate
    assert set(certificate) >= {
        "certificate_format",
        "release",
        "mechanism",
        "agreement_hash",
        "epsilon",
        "delta_bound",
        "disclosures",
        "protected",
        "not_protected",
        "public_facts",
        "assumptions",
        "views",
        "engine",
        "deployment",
        "software",
    }
    assert certificate["release"] == agreement.name
    assert certificate["agreement_hash"] == agreement.hash
    assert set(certificate["engine"]) == {"name", "secrecy"}
    assert "simulation" in certificate["engine"]["secrecy"]
    assert set(certificate["deployment"]) == {
        "basic",
        "dp_variant",
        "privacy_loss",
        "deployment_model",
        "implementation",
    }
    assert certificate["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 0.3
    assert certificate["deployment"]["deployment_model"]["model_name"] == "Simulated"
    assert {"copublish", "numpy", "pyarrow", "mechanism"} <= set(certificate["software"])
    for made in certificate["disclosures"]:
        assert set(made) >= {"kind", "what", "known_to", "epsilon", "delta_bound", "noise", "values_opened"}
        assert set(made["epsilon"]) == {"add-remove", "replace"}


def test_disclosures_are_described_with_their_noise_and_their_price() -> None:
    *selections, leaves = SpecializationPlan.of(agreement_for("vertical", "replace", False)).disclosures()
    chosen = state_disclosure(selections[0])
    assert chosen.noise.to_json() == {"law": "geometric", "scale_in_people": round(2 * len(selections) / 0.12, 3)}
    assert (chosen.kind, chosen.values_opened) == ("select", 1)
    assert chosen.candidates == selections[0].candidates
    counted = state_disclosure(leaves)
    # Pr[|X| <= t] = 1 - 2 p^(t+1) / (1 + p) with p = e^-0.09
    p = np.exp(-0.09)
    within = next(t for t in range(1000) if 1 - 2 * p ** (t + 1) / (1 + p) >= 0.95)
    expected = {"law": "discrete Laplace", "scale_in_people": 11.111, "within_95_percent": within}
    assert counted.noise.to_json() == expected
    assert counted.epsilon == {"add-remove": "0.09", "replace": "0.18"}
    assert counted.values_opened == leaves.entries


@pytest.mark.parametrize("case", EPSILONS, ids=str)
def test_the_stated_delta_is_at_least_the_sum_of_all_deltas(case) -> None:
    agreement = agreement_for(*case)
    disclosures = SpecializationPlan.of(agreement).disclosures()
    exact = sum(max(made.delta("add-remove"), made.delta("replace")) for made in disclosures)
    certificate = certificate_for(agreement)
    assert exact <= Fraction(certificate.delta_bound) <= exact * Fraction(111, 100)
    assert exact > 0
    for made, described in zip(disclosures, certificate.disclosures, strict=True):
        assert Fraction(described.delta_bound) >= max(made.delta("add-remove"), made.delta("replace"))


small_numbers = st.builds(
    lambda digits, exponent: Fraction(digits) / Fraction(10) ** exponent, st.integers(1, 10**25), st.integers(20, 60)
)


@given(small_numbers)
@example(Fraction(995, 10**8))
@example(Fraction(1, 2**60))
@example(Fraction(99999, 10**9))
@examples(300)
def test_a_bound_is_never_rounded_down_and_hardly_up(number: Fraction) -> None:
    assert number <= Fraction(show_bound(number)) <= number * Fraction(11, 10)


def test_the_usual_formatting_would_round_down() -> None:
    number = Fraction(1, 2**60)  # 8.67e-19
    assert Fraction(f"{float(Fraction(104, 100)):.1e}") < Fraction(104, 100)
    assert Fraction(show_bound(Fraction(104, 100))) == Fraction(11, 10)
    assert Fraction(show_bound(number)) == Fraction("8.7e-19")
    assert show_bound(Fraction(0)) == "0"


@given(small_numbers)
@example(Fraction(991, 10**7))
@examples(300)
def test_a_bound_has_one_digit_before_the_point(number: Fraction) -> None:
    assert re.fullmatch(r"\d\.\de[+-]\d+", show_bound(number))


@given(st.fractions(min_value=0, max_value=20) | small_numbers | st.decimals(0, 20, places=6).map(Fraction))
@examples(300)
def test_an_exact_number_reads_back_as_itself(number: Fraction) -> None:
    assert Fraction(show_exact(number)) == number


@pytest.mark.parametrize(
    ("number", "shown"),
    [(Fraction(1), "1"), (Fraction(1, 10), "0.1"), (Fraction(1, 3), "1/3"), (Fraction(1, 10**6), "1e-06")],
)
def test_exact_numbers_are_decimals_where_that_is_short(number: Fraction, shown: str) -> None:
    assert show_exact(number) == shown


@pytest.mark.parametrize("score", ["max", "tv-gain", "balanced-gain"])
def test_a_certificate_says_how_splits_were_compared_and_what_that_opened(score: str) -> None:
    agreement = agreement_from_mapping(small_mapping(**{"mechanism.score": score, "mechanism.max_cells": 512}))
    certificate = simulated_certificate(agreement)
    implementation = certificate.deployment.implementation
    assert f"the score {score} " in implementation.mechanisms
    opens_classes = score != "max"
    assert ("the class counts" in implementation.mechanisms) == opens_classes
    assert ("of every class" in implementation.post_processing) == opens_classes
    first = certificate.disclosures[0]
    assert (first.kind == "measure") == opens_classes
    assert ("of every class" in first.what) == opens_classes


def test_noise_of_a_selection_is_stated_in_people_whatever_the_points_of_the_score() -> None:
    scale = {}
    for score in ("max", "tv-gain", "balanced-gain"):
        changes = {"mechanism.score": score, "mechanism.max_cells": 512, "mechanism.specializations": 5}
        certificate = certificate_for(agreement_from_mapping(small_mapping(**changes)))
        scale[score] = next(d.noise.scale_in_people for d in certificate.disclosures if d.kind == "select")
    # Five rounds share 0.4; the gains give a twentieth of it to the class counts.
    assert scale == {"max": 12.5, "balanced-gain": round(2 * 5 / 0.38, 3), "tv-gain": round(4 * 5 / 0.38, 3)}


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_what_becomes_of_odd_values_is_said_among_the_assumptions(partition: str) -> None:
    said = " ".join(certificate_for(agreement_for(partition, "add-remove", False)).assumptions)
    rules = (
        "end no run",
        "is the nearer bound",
        "the number that the agreement names",
        "makes the record count nowhere",
    )
    for rule in (*rules, "the smallest in codes"):
        assert rule in said
    assert ("that two parties hold" in said) == (partition == "arbitrary")
