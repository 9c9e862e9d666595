"""What `copublish doctor` finds, says and asks for: links that work, and every way in which one does not."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.party import doctor as doctors
from copublish.party.doctor import Diagnosis, Doctor
from copublish.party.network.port import Port
from copublish.party.network.proxy import Proxy
from copublish.party.network.relay import Limits
from copublish.tools.planning.costs import how_much_slower, measured_coefficients
from copublish.tools.planning.links import predict_over_link
from support import small_mapping
from support.circle import SECONDS, Circle
from support.http_proxy import HttpProxy
from support.node import free_port, on_loopback
from support.relays import running_relay


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("copublish.party.network.port.DIAL_SECONDS", 0.3)
    monkeypatch.setattr(doctors, "LINGER_SECONDS", 0)


def look(circle: Circle, party: str, **settings: object) -> dict[str, Diagnosis]:
    folder = circle.identities[party].key_file.parent
    settings = {"wait_seconds": 0.1, **settings}
    return {finding.what: finding for finding in Doctor(circle.agreement, party, folder, **settings).look()}


def test_all_is_well_where_every_other_party_waits(circle):
    circle.ports(["p1", "p2"])
    found = look(circle, "p0", wait_seconds=SECONDS)
    assert [finding.what for finding in found.values() if finding.ok is not True] == []
    assert {
        f"{what} {peer}" for what in ("node of", "clock of", "agreement of", "link to") for peer in ("p1", "p2")
    } < {*found}
    link = found["link to p1"].link
    assert {finding.peer for finding in found.values()} == {None, "p1", "p2"}
    assert 0 < link.round_trip_seconds < 5 and min(link.bytes_per_second) > 1000
    assert "reaches you at 127.0.0.1" in found["way back from p1"].found
    assert "way back from p2" not in found, "it has dialed in already"


def test_a_party_that_dials_out_is_told_that_it_is_called_back(circle):
    circle.ports(["p0", "p1"])
    found = look(circle, "p2", wait_seconds=SECONDS)
    assert [finding.what for finding in found.values() if finding.ok is not True] == []
    assert found["own port"].found == "none: by the agreement you only dial out"
    assert found["way back from p0"].found == "it reaches you on connections that you dialed"


def test_a_port_where_nobody_listens_is_told_from_silence(circle, monkeypatch):
    host = circle.agreement.parties["p1"].host
    refused = look(circle, "p0")["way to p1: connection"]
    assert refused.ok is False
    assert refused.found == f"{host} was reached and refused: nobody listens there now, or a firewall rejects."
    port = host.rpartition(":")[2]
    for words in ("First ask the other side", "this machine (127.0.0.1)", f"TCP port {port}, outgoing", "TLS 1.3"):
        assert words in refused.ask

    def drop(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(doctors, "connect_out", drop)
    silent = look(circle, "p0")["way to p1: connection"]
    assert "a firewall drops in silence" in silent.found
    assert "First ask" not in silent.ask and "outgoing" in silent.ask


def test_a_party_that_does_not_dial_in_is_named_with_what_has_to_be_let_in(circle):
    found = look(circle, "p0")["node of p2"]
    assert found.ok is False and "'p2', which dials in itself and has not done so" in found.found
    assert "incoming" in found.ask and "let connections of 'p2' in" in found.ask


def test_a_way_that_works_in_one_direction_alone_is_found(circle):
    port = circle.port("p1")
    port.dial = lambda *_: (_ for _ in ()).throw(doctors.UnreachableError("no answer from it"))
    found = look(circle, "p0")["way back from p1"]
    assert found.ok is False and "does not reach you at 127.0.0.1" in found.found and "no answer from it" in found.found
    assert "incoming" in found.ask and 'reach = "dial-out"' in found.ask


def test_another_certificate_and_another_agreement_are_told_apart(circle):
    theirs = {**circle.mapping, "privacy": {"epsilon": 2}}
    with Port(cp.agreement_from_mapping(theirs), "p1", circle.identities["p1"]):
        found = look(circle, "p0")
    assert found["node of p1"].ok is True
    assert found["agreement of p1"].ok is False and "privacy" in found["agreement of p1"].found
    swapped = {"p1": "p2", "p2": "p1"}
    theirs["parties"] = {
        name: {**party, "certificate": circle.identities[swapped.get(name, name)].fingerprint}
        for name, party in theirs["parties"].items()
    }
    with Port(cp.agreement_from_mapping(theirs), "p1", circle.identities["p2"]):
        found = look(circle, "p0")["node of p1"]
    assert found.ok is False and "showed another certificate" in found.found and "decrypts" in found.ask


def test_clocks_are_compared(circle):
    looks = Doctor(circle.agreement, "p0", circle.identities["p0"].key_file.parent)
    facts = doctors.facts_of(circle.agreement)
    for seconds, ok, words in ((0.2, True, "agrees"), (600, True, "600 s ahead"), (-200_000, False, "200000 s behind")):
        (clock, _) = looks._compare("p1", {"time": 1e9 + seconds, "facts": facts}, 1e9)
        assert (clock.ok, words in clock.found) == (ok, True), clock


def test_a_port_that_cannot_be_opened_is_told_from_that_of_ones_own_run(circle):
    folder, (host, port) = circle.identities["p0"].key_file.parent, circle.agreement.parties["p0"].address

    def own_port(**settings: object) -> Diagnosis:
        findings = Doctor(circle.agreement, "p0", folder, **settings).look()
        return next(finding for finding in findings if finding.what == "own port")

    with socket.create_server((host, port)) as other:
        other.settimeout(SECONDS)

        def hang_up() -> None:
            other.accept()[0].close()

        hangs_up = circle.do(hang_up)
        found = own_port()
        hangs_up.result(SECONDS)
        assert (found.ok, "Address already in use" in found.found) == (False, True)
        assert own_port(listen=(host, free_port())).ok is True
    ours = circle.port("p0")
    assert own_port() == Diagnosis("own port", True, "your own run listens there; the others ask it instead")
    ours.close()
    assert own_port().ok is True
    circle.port("p2")
    hidden = look(circle, "p2")["own port"]
    assert hidden.ok is True and "Another run of 'p2' with this agreement is under way" in hidden.found


def test_a_machine_before_its_certificate_has_a_wrong_clock(tmp_path):
    from copublish.party.keys.identity import Identity, new_identity

    who = new_identity("p0", tmp_path / "p0", days=1)
    assert doctors._own_clock(who).ok is True

    class Early:
        not_valid_before_utc = datetime.now(UTC) + timedelta(days=400)

    found = doctors._own_clock(Identity("p0", who.key_file, (Early(),)))
    assert found.ok is False and "before your certificate was made" in found.found


def test_a_name_that_is_not_known_and_a_proxy_that_refuses_are_said(circle, monkeypatch):
    circle.mapping["parties"]["p1"]["host"] = "no-such-host.invalid:7700"
    circle.agreement = cp.agreement_from_mapping(circle.mapping)
    found = look(circle, "p0")
    name = found["way to p1: name"]
    assert name.ok is False and "'no-such-host.invalid' is not known here" in name.found
    gate = HttpProxy(ports=(443,)).start()
    found = look(circle, "p0", proxy=Proxy(*gate.address))
    assert "looked up by the proxy" in found["way to p1: name"].found
    refused = found["way to p1: connection"]
    assert refused.ok is False and "(403" in refused.found
    assert f"use the proxy {gate.address[0]}:{gate.address[1]} for CONNECT to no-such-host.invalid" in refused.ask


def test_two_that_dial_out_are_examined_over_their_relay(identities):
    with running_relay(Limits(call_seconds=0.3)) as relay, Circle(identities, 2) as circle:
        circle.hide("p0", "p1", relay=relay.address)
        alone = look(circle, "p0", wait_seconds=0)["node of p1"]
        assert alone.ok is False and "does not wait at the relay" in alone.found and "hashes" in alone.ask
        circle.port("p1")
        found = look(circle, "p0", wait_seconds=SECONDS)
        assert [finding.what for finding in found.values() if finding.ok is not True] == []
        assert {"relay to p1: name", "relay to p1: connection", "link to p1", "way back from p1"} < {*found}


def test_the_command_ends_with_0_only_if_a_run_could_begin(tmp_path, monkeypatch):
    parties = on_loopback(tmp_path)
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    words = ["doctor", str(home / "agreement.toml"), "--party", "bank", "--wait", "1"]
    alone = CliRunner().invoke(app, [*words, "--format", "json"])
    assert alone.exit_code == 8, alone.output
    assert json.loads(alone.stdout)["could_begin"] is False
    with parties.port("loans"):
        found = CliRunner().invoke(app, [*words, "--format", "json"])
        text = CliRunner().invoke(app, words)
    assert found.exit_code == text.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["could_begin"] is True
    assert {finding["ok"] for finding in said["findings"]} == {True}
    known = measured_coefficients()
    # A session alone takes that on this machine, before it does anything.
    starting = how_much_slower() * known.fixed_ratio * known.cpu_seconds.starts
    assert said["secure_run"]["seconds"] > starting and "waiting for messages" in said["secure_run"]["why"]
    assert "ok  way back from loans" in text.stdout and "over this link" in text.stdout
    agreement = cp.load_agreement(home / "agreement.toml")
    kept = cp.planning.measured_link(agreement, "bank")  # of the second look, which took the place of the first
    measured = float(text.stdout.partition("link to loans: round trip ")[2].split(" ms")[0])
    assert 1000 * kept.round_trip_seconds == pytest.approx(measured, abs=0.051) and "Mbit/s" in kept.words
    assert cp.planning.measured_link(agreement, "loans") is None, "nobody measured it from there"
    assert CliRunner().invoke(app, [*words[:3], "nobody"]).exit_code == 2


def test_the_prediction_grows_with_round_trip_and_with_less_bandwidth_as_the_model_says():
    agreement = cp.agreement_from_mapping(small_mapping())
    near = predict_over_link(agreement, round_trip_seconds=0.0, bytes_per_second=1e12)
    far = predict_over_link(agreement, round_trip_seconds=0.1, bytes_per_second=1e12)
    slow = predict_over_link(agreement, round_trip_seconds=0.0, bytes_per_second=1e5)
    known = measured_coefficients().round_trips
    trips = known.starts + known.rounds * 8 + known.products  # 8 selections, one product
    assert far.seconds - near.seconds == pytest.approx(0.1 * trips, rel=0.5)
    assert slow.seconds - near.seconds == pytest.approx(near.mib_sent * 2**20 / 1e5, rel=0.02)
    many = cp.agreement_from_mapping({**small_mapping(), "engine": {}, "mechanism": {"name": "copula"}})
    assert predict_over_link(many, round_trip_seconds=0.0, bytes_per_second=1.0).seconds is None
