"""Connections on which nobody has anything to say, through a proxy that ends what is idle."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from copublish.party.network import forwarding as pump
from copublish.party.network import meeting, messenger, proxy, relay_talk, rendezvous
from copublish.party.network import offered_connections as offers
from copublish.party.network.forwarding import Frames
from copublish.party.network.messenger import PortMessenger
from copublish.party.network.port import Port
from copublish.party.network.proxy import Proxy, WayOut
from copublish.party.network.relay import Limits
from support.circle import SECONDS, Circle
from support.engine_frames import frame
from support.http_proxy import HttpProxy
from support.protocol import ANYTHING
from support.relays import running_relay

IDLE_SECONDS, SIGN_SECONDS = 5.0, 0.2
"""A busy machine may be late with 20 signs of life one after another, and nothing is idle."""

RUN_SECONDS = 1.5 * IDLE_SECONDS


def often(monkeypatch, seconds: float) -> None:
    for module in (meeting, messenger, offers, pump, relay_talk, rendezvous):
        monkeypatch.setattr(module, "SIGN_OF_LIFE_SECONDS", seconds)
    monkeypatch.setattr(rendezvous, "RETRY_SECONDS", SIGN_SECONDS / 2)
    monkeypatch.setattr(proxy, "means_loopback", lambda host: False)


class EngineLink:
    """What stands for the engine's worker at two parties, and their link."""

    def __init__(self, one: Port, other: Port, folder: Path) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(folder / "other.sock"))
        server.listen()
        other.carry_engine("a" * 64, folder / "other.sock", folder / "unused.sock", one.party)
        one.carry_engine("a" * 64, folder / "unused2.sock", folder / "bridge.sock", other.party)
        self._client = socket.socket(socket.AF_UNIX)
        self._client.connect(str(folder / "bridge.sock"))
        server.settimeout(SECONDS)
        self._at_other, _ = server.accept()
        self._at_other.settimeout(SECONDS)

    def says(self, content: bytes) -> bool:
        """Whether something arrives."""
        try:
            self._client.sendall(content)
            return self._at_other.recv(len(content)) == content
        except OSError:
            return False


@pytest.mark.parametrize("seconds", [SIGN_SECONDS, 60], ids=["with signs of life", "without"])
def test_signs_of_life_keep_what_a_proxy_would_end(identities, monkeypatch, tmp_path, seconds):
    """p0 can be dialed, p1 and p2 dial out through a proxy; p2 is late; they meet, wait, speak.

    Without signs of life they fail.
    """
    often(monkeypatch, seconds)
    gate = HttpProxy(idle_seconds=IDLE_SECONDS).start()
    way_out = WayOut(proxy=Proxy(gate.address[0], gate.address[1]), timeout_seconds=SECONDS)
    limits = Limits(sign_seconds=seconds, call_seconds=SIGN_SECONDS)
    with running_relay(limits) as relay, Circle(identities, 3) as circle:
        circle.hide("p1", "p2", relay=relay.address)
        ports, meetings = {}, {}
        for name in circle.names:
            if name == "p2":
                time.sleep(1.5 * IDLE_SECONDS)
                assert (gate.ended_idle == 0) == (seconds == SIGN_SECONDS)
            ports[name] = circle._stack.enter_context(
                Port(circle.agreement, name, circle.identities[name], way_out=way_out)
            )
            meetings[name] = circle.meet(ports[name])
        meetings = {name: future.result(SECONDS) for name, future in meetings.items()}
        messengers = {
            name: circle._stack.enter_context(PortMessenger(port, meetings[name].run, SECONDS))
            for name, port in ports.items()
        }
        pairs = [(one, other) for one in circle.names for other in circle.names if one != other]
        for one, other in pairs:
            messengers[one].send(other, ANYTHING, b"hello")
            assert messengers[other].receive(one, ANYTHING) == b"hello"
        engine = EngineLink(ports["p1"], ports["p2"], tmp_path)
        assert engine.says(frame(b"before"))
        ended = gate.ended_idle
        time.sleep(RUN_SECONDS)
        lost = [name for name in circle.names if meetings[name]._lost is not None]
        if seconds == SIGN_SECONDS:
            assert (lost, gate.ended_idle - ended) == ([], 0)
            assert engine.says(frame(b"after"))
            for one, other in pairs:
                messengers[one].send(other, ANYTHING, b"hello")
                assert messengers[other].receive(one, ANYTHING) == b"hello"
        else:
            assert lost and gate.ended_idle > ended
            assert not engine.says(frame(b"after"))
        if seconds == SIGN_SECONDS:  # what is said of a link that ends then is the same as without signs
            meetings["p2"]._lines["p1"][0].break_off()
            assert meetings["p1"].loss() == f"Party 'p2' stopped (the connection over the relay {relay.address} ended)."


def test_content_is_cut_into_pieces_and_found_again_wherever_the_network_cuts_it():
    frames, pieces = Frames(), [b"a", b"bc" * 1000, b"d"]
    sent = Frames.SIGN_OF_LIFE.join(frames.wrap(piece) for piece in pieces) + frames.wrap(b"")
    for step in (1, 2, 3, 7, 5000):
        taken = Frames()
        found = b"".join(taken.unwrap(sent[at : at + step]) for at in range(0, len(sent), step))
        assert found == b"".join(pieces), step
