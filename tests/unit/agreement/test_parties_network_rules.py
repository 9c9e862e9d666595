"""Who can be dialed, who dials out, and where those meet: rules, hashes and words."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.agreement.parties import over_what, way_between
from support import repartition, small_mapping

RELAY = {"relay": "relay.example:443"}
OUT = {"reach": "dial-out"}


def mapping(*parties: dict[str, str], **sections: object) -> dict[str, object]:
    found = repartition(small_mapping(), "horizontal", len(parties))
    found["parties"] = {f"p{number}": party for number, party in enumerate(parties)}
    return {**found, **sections}


def host(number: int) -> dict[str, str]:
    return {"host": f"p{number}.example:7700"}


MISTAKES = {
    "a host that cannot be dialed": (
        mapping(host(0), {**host(1), **OUT}),
        'parties.p1: reach = "dial-out" says that nobody can dial it',
    ),
    "two that dial out": (mapping(OUT, OUT), "network.relay: p0 and p1 dial out alone"),
    "a relay for one": (mapping(host(0), OUT, network=RELAY), "network.relay: it is for two parties that dial out"),
    "a relay for none": (mapping(host(0), host(1), network=RELAY), "and the agreement has none"),
    "a relay without a port": (mapping(OUT, OUT, network={"relay": "relay.example"}), "network.relay: write name and"),
    "a relay that is a party": (
        mapping(host(0), OUT, OUT, network={"relay": "p0.example:7700"}),
        "parties.p0.host: it is the same as network.relay",
    ),
    "another word": (mapping(host(0), {"reach": "dial"}), "parties.p1.reach: 'dial' is not one of"),
    "another key": (mapping(OUT, OUT, network={"rely": "x:1"}), "network.rely: there is no such key; did you mean"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_named_with_what_to_write(kind):
    content, words = MISTAKES[kind]
    with pytest.raises(cp.AgreementError) as caught:
        cp.agreement_from_mapping(content)
    assert words in str(caught.value)


def test_the_hash_covers_reach_and_relay():
    plain = cp.agreement_from_mapping(mapping({}, {}, {}))
    said = cp.agreement_from_mapping(mapping({"reach": "listen"}, {}, {}, network={}))
    out = cp.agreement_from_mapping(mapping({}, OUT, OUT, network=RELAY))
    other = cp.agreement_from_mapping(mapping({}, OUT, OUT, network={"relay": "relay.example:444"}))
    assert plain.hash == said.hash
    assert len({plain.hash, out.hash, other.hash}) == 3
    different = {part for part, hash_ in other.parts().items() if hash_ != out.parts()[part]}
    assert different == {"network"}


def test_every_pair_has_a_way_in_both_directions():
    agreement = cp.agreement_from_mapping(mapping(host(0), host(1), OUT, OUT, network=RELAY))
    ways = {(a, b): way_between(agreement, a, b) for a in agreement.parties for b in agreement.parties if a != b}
    assert ways["p0", "p1"] == ways["p1", "p0"] == "dial"
    assert (ways["p2", "p0"], ways["p0", "p2"]) == ("dial", "call back")
    assert ways["p2", "p3"] == ways["p3", "p2"] == "relay"
    assert over_what(agreement, "p2", "p3") == " over the relay relay.example:443"
    assert over_what(agreement, "p2", "p0") == over_what(agreement, "p0", "p2") == ""


def test_check_and_describe_say_how_the_parties_meet():
    agreement = cp.agreement_from_mapping(mapping(host(0), host(1), OUT, OUT, network=RELAY))
    said = cp.describe(agreement)
    assert said.meeting == cp.check(agreement).meeting
    assert said.meeting == (
        "p0 (p0.example:7700) and p1 (p1.example:7700) dial each other.",
        "p2 and p3 open no port and dial p0 (p0.example:7700) and p1 (p1.example:7700); what goes the other way uses "
        "connections that were dialed so.",
        "p2 and p3 meet each other at the relay relay.example:443, which sees who, when and how much, and no content.",
    )
    assert said.to_dict()["meeting"] == list(said.meeting)
    assert "relay.example:443" in str(said)
    assert "meeting" not in cp.describe(cp.agreement_from_mapping(mapping({}, {}))).to_dict()
