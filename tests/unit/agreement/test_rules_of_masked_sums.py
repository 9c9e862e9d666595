"""Agreements on masked sums: what goes with them is described with its price, the rest is refused before anything."""

from __future__ import annotations

import json
from typing import Any

import pytest

import copublish as cp
from copublish.engines.secrecy import ASSUMPTIONS_OF_TWO
from copublish.mechanisms.registry import plan_of
from support import repartition, small_mapping
from support.messages import masked_agreement


def refusal(partition: str, engine: dict[str, Any], **changes: Any) -> str:
    mapping = repartition(small_mapping(**changes), partition, 3)
    mapping["engine"] = {"name": "masked-sum", **engine}
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    return str(caught.value)


NO_IDENTIFIER = {"records.identifier": None}


def test_a_mechanism_that_needs_more_than_sums_is_refused():
    said = refusal("horizontal", {}, **NO_IDENTIFIER)
    assert "engine.name" in said
    assert "the mechanism 'specialization' needs more" in said
    assert '"spu"' in said


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_a_copula_of_columns_at_different_owners_is_refused(partition):
    rows = {"records": {"alignment": "row-order", "expected": 2000}}
    said = refusal(partition, {}, mechanism={"name": "copula"}, **rows)
    assert f"needs more where the partition is '{partition}'" in said


def test_identifiers_are_compared_by_whoever_adds_up_if_it_holds_no_data_and_else_by_the_owners():
    helped, alone = masked_agreement(3, helper=True, identifier=True), masked_agreement(3, identifier=True)
    assert (helped.aggregator, helped.helper) == ("helper", "helper")
    assert (alone.aggregator, alone.helper) == ("p0", None)
    assert masked_agreement(3).aggregator == "p0"


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ({"colluders": 3}, "at most 2 may collude, got 3"),
        ({"colluders": 3}, "The aggregator 'p0' owns data and counts as one of them"),
        ({"colluders": 0}, "engine.colluders"),
        ({"colluders": True}, "write a number"),
        ({"aggregator": "nobody"}, "'nobody' is not a party"),
        ({"nodes": ["p0", "p1"]}, "means nothing to the engine 'masked-sum'"),
    ],
)
def test_colluders_and_aggregators_that_cannot_be_are_refused(engine, text):
    assert text in refusal("horizontal", engine, mechanism={"name": "copula"}, **NO_IDENTIFIER)


def test_an_aggregator_that_owns_data_is_said_to_be_one_of_those_who_may_collude():
    """It knows a share of the noise: 't owners, with the aggregator' would be t + 1."""
    described = cp.describe(masked_agreement(3, 2))
    among = "'p0', which adds up the masked sums, counted among them"
    assert f"At most 2 of the 3 owners of data put together what they know, {among}." in described.assumptions
    assert any(f"more than 2 owners of data that collude, {among}:" in limit for limit in described.not_protected)
    helped = cp.describe(masked_agreement(3, 2, helper=True))
    assert "what they know, with 'helper', which adds up the masked sums and holds no data, or without it." in str(
        helped.assumptions
    )
    assert "counted among" not in str((helped.assumptions, helped.not_protected))


def test_a_description_names_the_colluders_the_aggregator_and_the_price():
    agreement = masked_agreement(3, 1, helper=True, identifier=True)
    described = cp.describe(agreement)
    assert json.loads(json.dumps(described.to_dict()))["noise_shares"] == {
        "owners": 3,
        "colluders": 1,
        "aggregator": "helper",
        "variance_factor": "3/2",
    }
    said = " ".join(described.assumptions)
    assert "At most 1 of the 3 owners" in said
    assert "at least 2, are uniform" in said
    assert "colludes with none of them" in said
    assert "Every party's coins" not in said
    assert any("two or more owners of data that collude" in limit for limit in described.not_protected)
    assert any("under masks" in seen for seen in described.views["helper"])
    assert not any("under masks" in seen for seen in described.views["p0"])
    assert any(seen.startswith("whether any person is at two parties") for seen in described.views["p0"])
    text = " ".join(str(described).split())
    assert "in shares of 3 owners, of whom 1 may collude" in text
    assert "variance times 3/2" in text


def test_error_bars_grow_with_the_variance_and_the_price_in_epsilon_does_not():
    plain = cp.agreement_from_mapping(
        repartition(small_mapping(mechanism={"name": "copula"}, **NO_IDENTIFIER), "horizontal", 3)
    )
    before, after = cp.describe(plain), cp.describe(masked_agreement(3, 2))
    assert before.noise_shares is None
    assert "noise_shares" not in before.to_dict()
    assert before.epsilon == after.epsilon
    for old, new in zip(before.disclosures, after.disclosures, strict=True):
        assert new.epsilon == old.epsilon
        assert new.noise.scale_in_people == pytest.approx(old.noise.scale_in_people * 3**0.5, rel=1e-4)
        assert 1.4 < new.noise.within_95_percent / old.noise.within_95_percent < 2
        assert new.noise.law != old.noise.law
    errors = [described.to_dict()["correlation_error"] for described in (before, after)]
    assert errors[1] == pytest.approx(errors[0] * 3**0.5, rel=0.01)
    assert 0 < plan_of(masked_agreement(3, 2)).cost().delta < plan_of(plain).cost().delta


def test_without_masked_sums_nothing_is_said_of_them_and_hashes_stay():
    mapping = repartition(small_mapping(), "horizontal", 2)
    agreement = cp.agreement_from_mapping(mapping)
    said = json.dumps(cp.describe(agreement).to_dict()).replace(json.dumps(ASSUMPTIONS_OF_TWO[1])[1:-1], "")
    assert not any(words in said for words in ("collu", "masked", "noise_shares"))
    assert cp.agreement_from_mapping({**mapping, "engine": {"name": "spu"}}).hash == agreement.hash
