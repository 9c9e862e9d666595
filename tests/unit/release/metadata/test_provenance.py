"""PROV: the format's own tool reads who contributed what, and it is what the agreement says."""

from __future__ import annotations

import json
from typing import Any

import prov.model as w3c
import pytest
from prov.serializers.provjson import ProvJSONException

from support.any_release import any_release
from support.described_releases import DESCRIBED, files_of
from support.recorded_releases import CASES

pytestmark = pytest.mark.slow  # another library

RELATIONS = {
    "used": ("activity", "entity"),
    "wasAssociatedWith": ("activity", "agent", "plan"),
    "wasGeneratedBy": ("entity", "activity"),
    "wasDerivedFrom": ("generatedEntity", "usedEntity", "activity"),
    "wasAttributedTo": ("entity", "agent"),
    "hadMember": ("collection", "entity"),
}
"""What the relations that are used connect, by the definitions of PROV-DM."""

KINDS = {"generatedEntity": "entity", "usedEntity": "entity", "collection": "entity", "plan": "entity"}


def document(case: str) -> w3c.ProvDocument:
    read = w3c.ProvDocument.deserialize(content=files_of(case)["prov.json"].decode(), format="json")
    assert isinstance(read, w3c.ProvDocument)
    return read


def about(record: w3c.ProvRecord, name: str) -> list[str]:
    return sorted(str(value) for key, value in record.attributes if key.localpart == name)


def dangling(said: dict[str, Any]) -> list[str]:
    """Ends of relations that are no element of the kind that the relation connects."""
    return [
        f"{relation}: {key}"
        for relation, ends in RELATIONS.items()
        for statement in said[relation].values()
        for end in ends
        if (key := statement.get(f"prov:{end}")) is not None and key not in said[KINDS.get(end, end)]
    ]


@pytest.mark.parametrize("case", DESCRIBED)
def test_the_formats_own_tool_reads_it_and_writes_the_same_again(case):
    read = document(case)
    again = w3c.ProvDocument.deserialize(content=read.serialize(format="json"), format="json")
    assert again == read
    said = json.loads(files_of(case)["prov.json"])
    assert len(list(read.get_records())) == sum(len(found) for key, found in said.items() if key != "prefix")
    assert dangling(said) == []


def test_an_end_that_is_not_there_would_be_noticed():
    said = json.loads(files_of(DESCRIBED[0])["prov.json"])
    del said["entity"]["release:agreement"], said["agent"]["release:party-p1"]
    assert {end.split(": ")[1] for end in dangling(said)} == {"release:agreement", "release:party-p1"}


def test_the_tool_refuses_what_is_no_provenance():
    said = json.loads(files_of(DESCRIBED[0])["prov.json"])
    said["wasPublishedBy"] = {"_:p": {"prov:entity": "release:dataset"}}
    with pytest.raises((ProvJSONException, KeyError, ValueError)):
        w3c.ProvDocument.deserialize(content=json.dumps(said), format="json")


@pytest.mark.parametrize("case", DESCRIBED)
def test_every_party_is_named_with_the_columns_that_the_agreement_gives_it(case):
    agreed, read = CASES[case].agreement, document(case)
    owners = [party for party, told in agreed["parties"].items() if told.get("data", True)]
    columns = {**agreed["attributes"], agreed["class"]["name"]: agreed["class"]}
    held = {
        party: sorted(name for name, column in columns.items() if party in listed(column.get("held_by", owners)))
        for party in owners
    }
    data = {
        str(relation.attributes[1][1]).removeprefix("release:party-"): about(entity, "column")
        for relation in read.get_records(w3c.ProvAttribution)
        for entity in read.get_record(relation.attributes[0][1])
        if about(entity, "column")
    }
    assert data == held
    roles = {
        str(record.args[1]).removeprefix("release:party-"): about(record, "role")
        for record in read.get_records(w3c.ProvAssociation)
    }
    helpers = agreed["parties"].keys() - owners
    assert roles == {
        **{party: ["owner of data"] for party in owners},
        **{party: ["helps to compute"] for party in helpers},
        "release:software": [],
    }


def listed(held_by: Any) -> list[str]:
    return [held_by] if isinstance(held_by, str) else list(held_by)


def test_the_cases_have_a_party_without_data_and_all_partitions():
    agreements = [CASES[case].agreement for case in DESCRIBED]
    assert {agreed["partition"] for agreed in agreements} == {"horizontal", "vertical", "arbitrary"}
    assert any(not told.get("data", True) for agreed in agreements for told in agreed["parties"].values())


def without_digests(said: Any) -> Any:
    if isinstance(said, dict):
        return {
            key: without_digests(value) for key, value in said.items() if key not in ("copublish:sha256", "release")
        }
    return said


def test_other_people_change_nothing_but_the_digests_of_what_is_published():
    case = "copula horizontal uniform missing decimals"
    one, other = (json.loads(any_release(case, share).files()["prov.json"]) for share in (1.0, 0.5))
    assert one != other
    assert without_digests(one) == without_digests(other)
