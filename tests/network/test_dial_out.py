"""A party that nobody can dial: what it offers to others, who may use that, and that it opens no port."""

from __future__ import annotations

import dataclasses
import fcntl

import psutil
import pytest

import copublish as cp
from copublish.agreement.protocol.table import ACCEPTED, ALIVE, GREETING, PROBLEM, PROTOCOL
from copublish.errors import MeetingError
from copublish.party.network import proxy
from copublish.party.network.channel import Channel, RefusedError, UnreachableError
from copublish.party.network.dialing import AlreadyRunningError, dial
from copublish.party.network.measuring import answer_measurements
from copublish.party.network.offered_connections import MAX_PARKED, SPARE
from copublish.party.network.port import Port
from copublish.party.network.proxy import ProxyError, ProxyUnreachableError, connect_out
from support.circle import SECONDS, Circle
from support.waiting import wait_until


def parked(port: Port, peer: str) -> list[Channel]:
    return port._parked._waiting[peer]


def open_ports() -> set[int]:
    found = psutil.Process().net_connections(kind="inet")
    return {connection.laddr.port for connection in found if connection.status == psutil.CONN_LISTEN}


def park(circle: Circle, party: str = "p2", identity: str | None = None) -> Channel:
    return dial(circle.agreement, party, circle.identities[identity or party], "p0", "parked")


def test_it_opens_no_port_and_is_called_on_connections_that_it_dialed(circle):
    p0 = circle.port("p0")
    before = open_ports()
    circle.port("p2")
    assert open_ports() == before
    for _ in range(3 * SPARE):  # each one that is used is replaced
        p0.dial("p2", "status").close()
    wait_until(lambda: len(parked(p0, "p2")) == SPARE)
    assert ("listening" in dict(circle.log["p2"]), "dialing out" in dict(circle.log["p2"])) == (False, True)


def test_all_meet_in_any_order_also_if_one_is_started_again(circle):
    again = circle.port("p2")
    wait_until(lambda: any(event == "cannot be called" for event, _ in circle.log["p2"]))
    again.close()
    ports = circle.ports()
    meetings = circle.all_meet(ports)
    assert len({meeting.run for meeting in meetings.values()}) == 1


def test_it_has_no_place_to_listen_and_runs_once(circle):
    with pytest.raises(MeetingError, match="you only dial out, and open no port"):
        Port(circle.agreement, "p2", circle.identities["p2"], listen=("127.0.0.1", 7700))
    circle.port("p2").close()
    circle.port("p2")
    with pytest.raises(MeetingError, match="Another run of 'p2' with this agreement is under way"):
        Port(circle.agreement, "p2", circle.identities["p2"])
    other = cp.agreement_from_mapping({**circle.mapping, "name": "another"})
    Port(other, "p2", circle.identities["p2"]).close()


def test_who_holds_the_run_is_told_by_the_partys_folder_which_its_containers_share(circle, monkeypatch, tmp_path):
    """A lock of the machine's network would neither hold between containers nor let two folders be."""
    circle.port("p2")
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    Port(circle.agreement, "p2", circle.identities["p2"]).close()
    (lock,) = (tmp_path / "runs").iterdir()
    with lock.open("w") as held_by_another_container:
        fcntl.flock(held_by_another_container, fcntl.LOCK_EX)
        with pytest.raises(AlreadyRunningError):
            Port(circle.agreement, "p2", circle.identities["p2"])
    Port(circle.agreement, "p2", circle.identities["p2"]).close()


def test_only_the_agreed_certificate_may_park_and_only_a_party_that_dials_out(circle):
    p0 = circle.port("p0")
    with pytest.raises(RefusedError, match="another party's name"):
        park(circle, identity="p1")
    with pytest.raises(RefusedError, match="by the agreement it can be dialed"):
        park(circle, party="p1")
    assert parked(p0, "p2") == []


def test_of_many_parked_the_newest_are_kept_and_one_that_ended_is_passed_over(circle):
    p0 = circle.port("p0")
    channels = [park(circle) for _ in range(MAX_PARKED + 2)]
    wait_until(lambda: [channel.has_ended() for channel in channels[:2]] == [True, True])
    for channel in channels[3:]:
        channel.close()
    called = circle.do(p0.dial, "p2", "status")
    _, greeting = channels[2].receive_word(GREETING, sender="It", seconds=SECONDS)
    assert (greeting["purpose"], greeting["party"], greeting["protocol"]) == ("status", "p0", PROTOCOL)
    channels[2].send_word(ACCEPTED)
    called.result(SECONDS).close()


def test_one_that_has_parked_and_is_silent_is_told_from_one_that_has_not(circle, monkeypatch):
    monkeypatch.setattr("copublish.party.network.dialing.HANDSHAKE_SECONDS", 0.3)
    monkeypatch.setattr("copublish.party.network.port.DIAL_SECONDS", 0.3)
    p0 = circle.port("p0")
    with pytest.raises(UnreachableError, match="no answer from 'p2', which dials in itself and has not done so"):
        p0.dial("p2", "status")
    silent = park(circle)
    with pytest.raises(UnreachableError, match="no answer from 'p2' on a connection that it dialed"):
        p0.dial("p2", "status")
    silent.close()


def test_who_calls_on_a_parked_connection_cannot_pass_for_somebody_else(circle, monkeypatch):
    """p0 calls p2 and says that it is p1: the certificate of the connection says otherwise."""
    monkeypatch.setattr("copublish.party.network.port.DOOR_SECONDS", 0.2)
    p0 = circle.port("p0")
    circle.port("p2")
    wait_until(lambda: bool(parked(p0, "p2")))
    with pytest.raises(RefusedError, match="another party's name"):
        p0._parked.call("p1", "p2", "meeting", run=None, seconds=SECONDS)
    with pytest.raises(RefusedError, match="a run that is not under way here"):
        p0._parked.call("p0", "p2", "engine", run=None, seconds=SECONDS)


def test_what_a_party_parks_says_nothing_and_answers_signs_of_life_alone(circle, monkeypatch):
    monkeypatch.setattr("copublish.party.network.offered_connections.SIGN_OF_LIFE_SECONDS", 0.2)
    monkeypatch.setattr("copublish.party.network.offered_connections.ANSWER_SECONDS", SECONDS)
    p0 = circle.port("p0")
    silent, answers = park(circle), park(circle)
    for _ in range(3):  # the silent one is asked first and keeps the other one from nothing
        answers.receive_word(ALIVE, sender="It", seconds=SECONDS / 2)
        answers.send_word(ALIVE)
    silent.receive_word(ALIVE, sender="It", seconds=SECONDS)
    silent.close()
    wait_until(lambda: len(parked(p0, "p2")) == 1)


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (ProxyError("The proxy inner.bank.example:3128 does not let you connect."), "a proxy of its own is in the way"),
        (ProxyUnreachableError("inner.bank.example:3128 is not reached"), "a proxy of its own is in the way"),
        (MeetingError("Your key '/secret/key.pem' can no longer be used."), "something on its own side is in the way"),
        (UnreachableError("nobody listens at proxy.example:7700"), "nobody listens at proxy.example:7700"),
    ],
)
def test_what_is_in_the_way_on_ones_own_side_is_told_to_others_without_its_name(problem, told):
    class Other:
        def __init__(self) -> None:
            self.said, self.heard = [{"what": "dial back", "bytes": 0}], []

        def receive_word(self, *expected, sender, seconds):
            if not self.said:
                raise MeetingError("over")
            return expected[0], self.said.pop()

        def send_word(self, word, content):
            self.heard.append((word, content))

        def close(self):
            pass

    def refused() -> None:
        raise problem

    other = Other()
    answer_measurements(other, refused)
    assert other.heard == [(PROBLEM, told)]


def test_a_key_that_can_no_longer_be_used_leaves_no_connection_behind(circle, tmp_path, monkeypatch):
    circle.port("p0")
    opened = []
    monkeypatch.setattr(proxy, "connect_out", lambda *where: opened.append(connect_out(*where)) or opened[-1])
    gone = dataclasses.replace(circle.identities["p1"], key_file=tmp_path / "gone.pem", key=None)
    with pytest.raises(MeetingError, match="can no longer be used"):
        dial(circle.agreement, "p1", gone, "p0", "status")
    assert [sock.fileno() for sock in opened] == [-1]
