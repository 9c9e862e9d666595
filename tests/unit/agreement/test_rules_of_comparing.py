"""Who compares people: the agreement names a party without data, or the owners do it among themselves."""

from __future__ import annotations

from typing import Any

import pytest

import copublish as cp
from copublish.errors import AgreementError
from support import repartition, small_mapping
from support.messages import masked_agreement


def mapping_of(partition: str, owners: int = 3, compared_by: str | None = "helper", **records: Any) -> dict[str, Any]:
    mapping = repartition(small_mapping(), partition, owners)
    mapping["parties"]["helper"] = {"data": False}
    mapping["records"] = {"identifier": "id", "expected": 100, **records}
    if compared_by is not None:
        mapping["records"]["compared_by"] = compared_by
    return mapping


def refusal(mapping: dict[str, Any]) -> str:
    with pytest.raises(AgreementError) as caught:
        cp.agreement_from_mapping(mapping)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_a_party_without_data_compares_if_it_is_named_and_only_then(partition):
    assert cp.agreement_from_mapping(mapping_of(partition)).helper == "helper"
    assert cp.agreement_from_mapping(mapping_of(partition, compared_by=None)).helper is None


def test_an_owner_a_stranger_and_one_with_nothing_to_compare_are_refused():
    assert refusal(mapping_of("vertical", compared_by="p1")).startswith(
        "records.compared_by: 'p1' holds data, so it has the key of the pseudonyms that it would compare."
    )
    assert "'nobody' is not a party of this agreement" in refusal(mapping_of("vertical", compared_by="nobody"))
    in_order = mapping_of("vertical", alignment="row-order")
    del in_order["records"]["identifier"]
    apart = mapping_of("horizontal")
    del apart["records"]["identifier"]
    for mapping in (in_order, apart):
        assert refusal(mapping) == "records.compared_by: nobody's identifiers are compared here. Remove it"


def test_with_masked_sums_whoever_adds_up_without_data_compares_unless_another_one_is_named():
    assert masked_agreement(3, helper=True, identifier=True).helper == "helper"
    assert masked_agreement(3, helper=True).helper is None  # nobody is compared
    mapping = mapping_of("horizontal", compared_by="other")
    mapping["parties"]["other"], mapping["mechanism"] = {"data": False}, {"name": "copula"}
    mapping["engine"] = {"name": "masked-sum", "aggregator": "helper"}
    assert cp.agreement_from_mapping(mapping).helper == "other"


def test_naming_somebody_is_another_agreement():
    named, unnamed = (cp.agreement_from_mapping(mapping_of("vertical", compared_by=who)) for who in ("helper", None))
    assert named.hash != unnamed.hash
