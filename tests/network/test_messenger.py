"""Messages between parties over mutual TLS: what arrives, what is refused, and what ends every wait."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish.agreement.protocol.message import MAX_LETTER_BYTES, MAX_TOPIC_BYTES
from copublish.engines.messages import Messenger
from copublish.errors import EngineError, PartyLostError, ProgramMismatchError
from copublish.party.network import messenger as messenger_module
from copublish.party.network.channel import RefusedError
from copublish.party.network.dialing import dial
from copublish.party.network.messenger import HEADER, PortMessenger
from support.circle import SECONDS, Circle, identities_in
from support.profiles import examples
from support.protocol import ANYTHING, letter
from support.waiting import wait_until

RUN = "a" * 64


@pytest.fixture(scope="module")
def identities(tmp_path_factory):
    return identities_in(tmp_path_factory.mktemp("identities"), 10)


class Talk:
    """A circle whose parties have agreed on a run, and a messenger for each."""

    def __init__(self, identities, how_many: int, seconds: float = SECONDS) -> None:
        self.circle = Circle(identities, how_many)
        self.ports = self.circle.ports()
        self.messengers = {name: PortMessenger(port, RUN, seconds) for name, port in self.ports.items()}

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *_: object) -> None:
        for messenger in self.messengers.values():
            messenger.close()
        self.circle.__exit__()

    def __getitem__(self, name: str) -> PortMessenger:
        return self.messengers[name]

    def raw(self, sender: str, to: str, run: str = RUN):
        """A connection of an agreed party that does not keep to the rules."""
        return dial(self.circle.agreement, sender, self.circle.identities[sender], to, "messages", run=run)


@pytest.fixture
def pair(identities):
    with Talk(identities, 2) as talk:
        yield talk


@pytest.mark.parametrize("how_many", [3, 10])
def test_everybody_hears_everybody_in_order_and_every_byte_is_counted(identities, how_many):
    with Talk(identities, how_many) as talk:

        def converse(name: str) -> None:
            own: Messenger = talk[name]
            peers = [peer for peer in own.parties if peer != name]
            for number in range(3):
                for peer in peers:
                    own.send(peer, letter(f"step {number}"), f"{name} to {peer}, {number}".encode())
            for number in range(3):
                for peer in peers:
                    assert own.receive(peer, letter(f"step {number}")) == f"{peer} to {name}, {number}".encode()

        for done in [talk.circle.do(converse, name) for name in talk.circle.names]:
            done.result(SECONDS)
        each = sum(HEADER.size + len(f"step {n}") + len(f"p0 to p1, {n}") for n in range(3))
        for port in talk.ports.values():
            assert (port.bytes_sent, port.bytes_received) == ((how_many - 1) * each,) * 2


def test_messages_of_several_mib_go_both_ways_at_once(pair):
    """More than all buffers of the system hold, so that either side would wait for ever if nobody took it in."""
    payloads = {name: bytes([number]) + bytes(range(256)) * 32_768 for number, name in enumerate(pair.messengers)}

    def converse(name: str, peer: str) -> bytes:
        for _ in range(2):
            pair[name].send(peer, letter("large"), payloads[name])
        return pair[name].receive(peer, letter("large")) + pair[name].receive(peer, letter("large"))

    ends = {name: pair.circle.do(converse, name, peer) for name, peer in (("p0", "p1"), ("p1", "p0"))}
    assert ends["p0"].result(SECONDS) == 2 * payloads["p1"]
    assert ends["p1"].result(SECONDS) == 2 * payloads["p0"]


@examples(30)
@given(st.text(max_size=40), st.binary(max_size=3000))
def test_any_topic_and_any_bytes_arrive_unchanged(talk, topic, content):
    talk["p0"].send("p1", letter(topic), content)
    assert talk["p1"].receive("p0", letter(topic)) == content


@pytest.fixture(scope="module")
def talk(identities):
    with Talk(identities, 2) as found:
        yield found


def test_another_topic_than_the_one_waited_for_is_refused(pair):
    pair["p0"].send("p1", letter("sums"), b"1")
    with pytest.raises(ProgramMismatchError, match="different steps"):
        pair["p1"].receive("p0", letter("masks"))


def test_what_is_too_long_is_not_sent(pair):
    short = letter("short", max_bytes=1000)
    with pytest.raises(EngineError, match="not sent"):
        pair["p0"].send("p1", short, bytes(1001))
    pair["p0"].send("p1", short, bytes(1000))
    assert pair["p1"].receive("p0", short) == bytes(1000)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (HEADER.pack(6, MAX_LETTER_BYTES + 1) + b"opened", "was about to send, more as 'opened'"),
        (HEADER.pack(6, 257) + b"budget", "was about to send, more as 'budget'"),
        (HEADER.pack(6, 1) + b"gossip", "sent what is no message"),
        (HEADER.pack(MAX_TOPIC_BYTES + 1, 1) + bytes(MAX_TOPIC_BYTES + 1), "sent what is no message"),
    ],
)
def test_a_frame_that_announces_too_much_ends_the_connection_before_it_is_read(pair, header, words):
    channel = pair.raw("p0", "p1")
    channel.send_bytes(header, seconds=SECONDS)
    with pytest.raises(ProgramMismatchError, match=f"'p0' .*{words}"):
        pair["p1"].receive("p0", ANYTHING)
    wait_until(channel.has_ended)


def test_half_a_message_is_no_message(pair):
    channel = pair.raw("p0", "p1")
    channel.send_bytes(HEADER.pack(8, 100) + b"anything" + bytes(50), seconds=SECONDS)
    channel.close()
    with pytest.raises(PartyLostError, match="'p0' stopped"):
        pair["p1"].receive("p0", ANYTHING)


def test_nobody_gets_in_under_another_run_or_another_name(identities):
    with Talk(identities, 3) as talk:
        with pytest.raises(RefusedError, match="not under way"):
            talk.raw("p0", "p1", run="b" * 64)
        with pytest.raises(RefusedError, match="another party's name"):  # p2 would like to speak for p0
            agreement, stranger = talk.circle.agreement, talk.circle.identities["p2"]
            dial(agreement, "p0", stranger, "p1", "messages", run=RUN)
        talk["p0"].send("p1", ANYTHING, b"true")
        assert talk["p1"].receive("p0", ANYTHING) == b"true"


def test_a_second_connection_of_the_same_party_is_not_listened_to(pair):
    pair["p0"].send("p1", ANYTHING, b"first")
    wait_until(lambda: pair["p1"]._inboxes["p0"].channel is not None)
    second = pair.raw("p0", "p1")
    wait_until(second.has_ended)
    pair["p0"].send("p1", ANYTHING, b"next")
    assert [pair["p1"].receive("p0", ANYTHING) for _ in range(2)] == [b"first", b"next"]


def test_a_compute_node_s_engine_lets_no_other_party_in(identities, tmp_path, monkeypatch):
    monkeypatch.setattr("copublish.party.network.port.DOOR_SECONDS", 0.3)
    with Circle(identities, 3) as circle:
        circle.port("p0").carry_engine(RUN, tmp_path / "own.sock", tmp_path / "1.sock", "p1")
        with pytest.raises(RefusedError, match="not under way"):
            dial(circle.agreement, "p2", circle.identities["p2"], "p0", "engine", run=RUN)


def test_who_does_not_answer_is_named_after_the_timeout(identities):
    with Talk(identities, 3, seconds=0.2) as talk, pytest.raises(PartyLostError, match=r"'p2' did not answer in 0.2 s"):
        talk["p0"].receive("p2", ANYTHING)


def test_what_was_sent_before_leaving_still_arrives_and_then_the_party_is_lost(pair):
    large = bytes(2**20)
    assert not pair["p1"].has_left("p0")
    pair["p0"].send("p1", ANYTHING, large)
    pair["p0"].close()
    assert pair["p1"].receive("p0", ANYTHING) == large
    for _ in range(2):
        with pytest.raises(PartyLostError, match="'p0' stopped"):
            pair["p1"].receive("p0", ANYTHING)
    assert pair["p1"].has_left("p0")


def test_who_sends_more_than_is_asked_for_waits_and_nothing_is_lost(pair, monkeypatch):
    monkeypatch.setattr(messenger_module, "MAX_WAITING_BYTES", 2**20)
    content = [bytes([number]) * 2**20 for number in range(12)]
    sending = pair.circle.do(lambda: [pair["p0"].send("p1", ANYTHING, part) for part in content])
    wait_until(lambda: pair["p1"]._inboxes["p0"].n_bytes > 0)
    time.sleep(0.2)
    assert 2**20 < pair["p1"]._inboxes["p0"].n_bytes < 2**20 + 1000  # one, with its topic and place
    assert [pair["p1"].receive("p0", ANYTHING) for _ in content] == content
    sending.result(SECONDS)


def test_a_party_that_stops_ends_every_wait_of_all_others_at_once(identities):
    with Circle(identities, 4) as circle:
        ports = circle.ports()
        meetings = circle.all_meet(ports)
        # Their own timeout is beyond what the test waits.
        messengers = {name: PortMessenger(port, meetings[name].run, 10 * SECONDS) for name, port in ports.items()}
        waiting = threading.Barrier(4)

        def wait_for_others(name: str) -> str:
            meetings[name].on_loss(messengers[name].abort)
            waiting.wait(SECONDS)
            with pytest.raises(PartyLostError):  # p0, which is well and says nothing
                messengers[name].receive("p0" if name != "p0" else "p1", ANYTHING)
            return str(meetings[name].loss())

        ends = [circle.do(wait_for_others, name) for name in ("p0", "p1", "p2")]
        waiting.wait(SECONDS)
        meetings["p3"].say_stop("its ledger refuses")
        assert {end.result(SECONDS) for end in ends} == {"Party 'p3' stopped: its ledger refuses."}


def test_a_send_that_nobody_takes_ends_when_the_run_does(pair, monkeypatch):
    monkeypatch.setattr(messenger_module, "MAX_WAITING_BYTES", 1000)
    stuck = pair.circle.do(lambda: [pair["p0"].send("p1", ANYTHING, bytes(2**22)) for _ in range(8)])
    wait_until(lambda: pair["p1"]._inboxes["p0"].n_bytes > 0)
    pair["p0"].abort()
    with pytest.raises(PartyLostError):
        stuck.result(SECONDS)
    with pytest.raises(PartyLostError):
        pair["p0"].receive("p1", ANYTHING)
