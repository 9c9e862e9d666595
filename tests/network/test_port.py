"""Who gets through the one port that a party opens, and who does not: strangers, impostors, plaintext, noise."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import struct
import threading
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.protocol.table import GREETING, PROTOCOL
from copublish.errors import MeetingError, plain_text
from copublish.party.keys.identity import Identity, fingerprint, load_identity, new_identity
from copublish.party.network.channel import Channel, RefusedError, UnreachableError
from copublish.party.network.dialing import dial
from copublish.party.network.forwarding import Frames
from copublish.party.network.port import Port
from copublish.party.network.sockets import MAX_OF_ONE_PARTY, Places
from support import small_mapping
from support.certificates import Authority, self_signed
from support.engine_frames import frame, frames
from support.node import free_port
from support.profiles import examples
from support.waiting import SECONDS, wait_until

NAMES = ("bank", "loans")
"""Long enough for a slow machine; nothing here should take longer."""


class Meeting:
    """An agreement with certificates, a port of the bank, and what it logged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.identities = {name: new_identity(name, folder / name, days=30) for name in NAMES}
        self.mapping = small_mapping(
            parties={
                name: {"host": f"127.0.0.1:{free_port()}", "certificate": self.identities[name].fingerprint}
                for name in NAMES
            }
        )
        self.agreement = cp.agreement_from_mapping(self.mapping)
        self.log: list[tuple[str, dict[str, object]]] = []
        self.opened: Port

    def port(self, party: str = "bank", **options: object) -> Port:
        return Port(
            self.agreement,
            party,
            self.identities[party],
            log=lambda event, **facts: self.log.append((event, facts)),
            **options,
        )

    def address(self, party: str = "bank") -> tuple[str, int]:
        return self.agreement.parties[party].address

    def dial(self, identity: Identity | None = None, purpose: str = "status", run: str | None = None) -> None:
        who = identity or self.identities["loans"]
        dial(self.agreement, "loans", who, "bank", purpose, run=run).close()

    def wait_until_quiet(self) -> None:
        """Until nobody is attended to, so that what comes next has places enough."""
        wait_until(lambda: not self.opened._strangers._taken and not self.opened._places._taken)

    def wait_for(self, words: str) -> str:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            for event, facts in self.log:
                if words in f"{event} {facts.get('reason', '')}":
                    return f"{event} {facts.get('reason', '')}"
            time.sleep(0.02)
        raise AssertionError(f"'{words}' was not logged: {self.log}")


@pytest.fixture
def meeting(tmp_path):
    return Meeting(tmp_path)


def test_the_agreed_party_gets_through(meeting):
    with meeting.port():
        meeting.dial()


def test_another_certificate_is_refused_and_both_sides_say_so(meeting, tmp_path):
    stranger = new_identity("loans", tmp_path / "stranger", days=30)
    with meeting.port():
        with pytest.raises(RefusedError, match="you showed another certificate"):
            meeting.dial(stranger)
        meeting.wait_for("showed another certificate")


def test_no_certificate_is_refused(meeting):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    answer = b""
    with meeting.port():
        with (
            socket.create_connection(meeting.address(), timeout=SECONDS) as plain,
            contextlib.suppress(OSError),
            context.wrap_socket(plain) as secure,
        ):
            secure.sendall(b"hello")
            answer = secure.recv(100)
        meeting.wait_for("showed no certificate")
    assert answer == b""


def test_an_expired_certificate_is_refused_and_named(tmp_path):
    meeting = Meeting(tmp_path)
    old = self_signed("loans", tmp_path / "old", ended_days_ago=5)
    meeting.mapping["parties"]["loans"]["certificate"] = fingerprint(old)
    meeting.agreement = cp.agreement_from_mapping(meeting.mapping)
    expired = Identity("loans", tmp_path / "old" / "key.pem", (old,))
    with meeting.port():
        with pytest.raises(RefusedError, match="you showed a certificate that expired on"):
            meeting.dial(expired)
        meeting.wait_for("expired on")


def test_a_server_that_is_somebody_else_is_told_nothing(meeting, tmp_path):
    impostor = new_identity("bank", tmp_path / "impostor", days=30)
    theirs = small_mapping(parties=meeting.mapping["parties"])
    theirs["parties"]["bank"]["certificate"] = impostor.fingerprint
    with (
        Port(cp.agreement_from_mapping(theirs), "bank", impostor),
        pytest.raises(RefusedError, match=r"showed another certificate .* Nothing was sent"),
    ):
        meeting.dial()


def test_the_bank_s_own_certificate_does_not_open_its_own_port(meeting):
    """One party's certificate is not any party's: the bank's does not pass for the lender's."""
    with meeting.port(), pytest.raises(RefusedError, match="another certificate"):
        meeting.dial(meeting.identities["bank"])


def test_an_authority_s_certificates_work_for_the_names_in_them(tmp_path):
    meeting, authority = Meeting(tmp_path), Authority("statistics office")
    for name in NAMES:
        authority.issue(name, tmp_path / "issued" / name)
        meeting.identities[name] = load_identity(tmp_path / "issued" / name)
        meeting.mapping["parties"][name].pop("certificate")
        meeting.mapping["parties"][name]["authority"] = fingerprint(authority.certificate)
    meeting.agreement = cp.agreement_from_mapping(meeting.mapping)
    with meeting.port():
        meeting.dial()
        with pytest.raises(RefusedError, match="another name"):
            meeting.dial(meeting.identities["bank"])
        stranger = Authority("statistics office")
        stranger.issue("loans", tmp_path / "forged")
        with pytest.raises(RefusedError, match="without that of the authority"):
            meeting.dial(load_identity(tmp_path / "forged"))


def test_tls_below_1_3_is_refused(meeting):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        meeting.port(),
        socket.create_connection(meeting.address(), timeout=SECONDS) as plain,
        pytest.raises((ssl.SSLError, OSError)),
    ):
        context.wrap_socket(plain)


def test_plaintext_is_refused_at_every_open_port_even_with_the_engine_running(meeting, tmp_path):
    """SPU's own port would take this POST as a message of the other party; ours takes it for noise."""
    before = open_ports()
    with meeting.port() as port:
        engine = tmp_path / "engine.sock"
        arrived = listen_as_engine(engine)
        port.carry_engine("a" * 64, engine, tmp_path / "bridge.sock", "loans")
        opened = open_ports() - before
        assert opened == {meeting.address()[1]}, "one port and no other"
        for number in opened:
            connection = http.client.HTTPConnection("127.0.0.1", number, timeout=SECONDS)
            body = json.dumps({"sender_rank": 1, "key": "k", "value": "dg=="})
            with pytest.raises((http.client.HTTPException, OSError)):
                connection.request("POST", "/org.interconnection.link.ReceiverService/Push", body)
                connection.getresponse()
        meeting.wait_for("does not speak TLS")
        assert arrived == []


def test_the_engine_s_link_needs_the_certificate_and_the_run(meeting, tmp_path):
    with meeting.port() as port:
        engine = tmp_path / "engine.sock"
        arrived = listen_as_engine(engine)
        port.carry_engine("a" * 64, engine, tmp_path / "bridge.sock", "loans")
        with pytest.raises(RefusedError, match="not under way"):
            meeting.dial(purpose="engine", run="b" * 64)
        with pytest.raises(RefusedError, match="not under way"):
            meeting.dial(purpose="engine")
        assert arrived == []
        channel = dial(meeting.agreement, "loans", meeting.identities["loans"], "bank", "engine", run="a" * 64)
        channel.try_write(Frames().wrap(frame(b"hello engine")))
        wait_until(lambda: b"".join(arrived) == frame(b"hello engine"))
        channel.close()


def test_an_agreed_party_that_speaks_http_to_the_engine_is_named_and_the_engine_hears_nothing(meeting, tmp_path):
    """SPU's own port answers HTTP and reads JSON, and JSON that is nested deeply enough ends its process."""
    blamed: list[tuple[str, str]] = []
    request = b"POST /org.interconnection.link.ReceiverService/Push HTTP/1.1\r\n\r\n" + b"[" * 300_000
    with meeting.port() as port:
        engine = tmp_path / "engine.sock"
        arrived = listen_as_engine(engine)
        port.carry_engine("a" * 64, engine, tmp_path / "b.sock", "loans", blame=lambda *said: blamed.append(said))
        channel = dial(meeting.agreement, "loans", meeting.identities["loans"], "bank", "engine", run="a" * 64)
        channel.try_write(Frames().wrap(request[:10_000]))
        wait_until(lambda: bool(blamed))
        wait_until(channel.has_ended)
        channel.close()
        assert blamed == [("loans", "sent no frame of the secure engine")]
        assert "sent no frame" in meeting.wait_for("engine connection refused")
        assert b"".join(arrived) == b""


def test_a_party_that_opens_engine_connections_without_end_gets_so_many_and_no_more(meeting, tmp_path):
    run = "a" * 64
    with meeting.port() as port:
        listen_as_engine(tmp_path / "engine.sock")
        port.carry_engine(run, tmp_path / "engine.sock", tmp_path / "bridge.sock", "loans")

        def open_one() -> Channel:
            return dial(meeting.agreement, "loans", meeting.identities["loans"], "bank", "engine", run=run)

        opened = [open_one() for _ in range(MAX_OF_ONE_PARTY)]
        for purpose in ("engine", "messages", "status"):
            with pytest.raises(RefusedError, match="too many connections of one party"):
                meeting.dial(purpose=purpose, run=run)
        meeting.wait_for("too many connections")
        for channel in opened[:2]:
            channel.close()
        wait_until(lambda: port._places._taken["loans"] == MAX_OF_ONE_PARTY - 2)
        opened += [open_one(), open_one()]
        with pytest.raises(RefusedError, match="too many"):
            open_one()
        for channel in opened:
            channel.close()


def test_connections_of_one_party_take_no_place_of_another():
    places = Places(2, in_all=3)
    assert [places.enter("a") for _ in range(3)] == [True, True, False]
    assert [places.enter("b") for _ in range(2)] == [True, False]
    places.leave("a")
    assert [places.enter("b"), places.enter("a")] == [True, False]


def test_bytes_are_carried_unchanged_in_both_directions_at_once(meeting, tmp_path):
    """More than all buffers hold, so that both sides have to wait for each other."""
    payloads = {name: frames(bytes([number]) * 3 + bytes(range(256)) * 40_000) for number, name in enumerate(NAMES)}
    received = {name: bytearray() for name in NAMES}
    with meeting.port("bank") as bank, meeting.port("loans") as loans:
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(tmp_path / "bank.sock"))
        server.listen()
        bank.carry_engine("a" * 64, tmp_path / "bank.sock", tmp_path / "unused.sock", "loans")
        loans.carry_engine("a" * 64, tmp_path / "unused2.sock", tmp_path / "to-bank.sock", "bank")
        client = socket.socket(socket.AF_UNIX)
        client.connect(str(tmp_path / "to-bank.sock"))
        at_bank, _ = server.accept()
        ends = {"loans": client, "bank": at_bank}

        def send(name):
            ends[name].sendall(payloads[name])

        def receive(name):
            while len(received[name]) < len(payloads[name]):
                received[name] += ends[name].recv(100_000)

        threads = [threading.Thread(target=work, args=(name,)) for name in NAMES for work in (send, receive)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert bytes(received["bank"]) == payloads["loans"]
        assert bytes(received["loans"]) == payloads["bank"]
        # A step is counted after its bytes were passed on.
        for name, port in (("loans", bank), ("bank", loans)):
            wait_until(lambda port=port, name=name: port.bytes_received >= len(payloads[name]))
        for name, port in (("bank", bank), ("loans", loans)):
            wait_until(lambda port=port, name=name: port.bytes_sent >= len(payloads[name]))
        assert bank.bytes_received == loans.bytes_sent == len(payloads["loans"])
        assert loans.bytes_received == bank.bytes_sent == len(payloads["bank"])
        client.close()
        at_bank.settimeout(SECONDS)
        assert at_bank.recv(1) == b"", "the end of one side is the end of the other"


def test_a_hundred_silent_strangers_do_not_keep_the_agreed_party_out_for_good(meeting, monkeypatch):
    monkeypatch.setattr("copublish.party.network.channel.HANDSHAKE_SECONDS", 2.0)
    with meeting.port():
        strangers = [socket.create_connection(meeting.address(), timeout=SECONDS) for _ in range(100)]
        deadline, through = time.monotonic() + SECONDS, False
        while not through and time.monotonic() < deadline:
            with contextlib.suppress(UnreachableError):
                meeting.dial()
                through = True
        assert through
        for stranger in strangers:
            stranger.close()


def test_without_tls_nobody_but_this_machine_is_listened_to(meeting):
    for host in ("0.0.0.0", "::", "192.0.2.7"):
        with pytest.raises(MeetingError, match="loopback alone"):
            Port(meeting.agreement, "bank", None, listen=(host, free_port()))
    with Port(meeting.agreement, "bank", None) as port:
        assert port._listener.getsockname()[0] == "127.0.0.1"


def test_a_host_name_is_listened_to_on_every_interface_even_if_it_resolves_to_loopback_here(meeting, monkeypatch):
    """As on machines whose own name stands for 127.0.1.1 in their list of hosts."""
    meeting.mapping["parties"]["bank"]["host"] = f"bank.example:{free_port()}"
    meeting.agreement = cp.agreement_from_mapping(meeting.mapping)
    with meeting.port() as port:
        assert port._listener.getsockname()[0] in ("::", "0.0.0.0")


def test_refusals_beyond_a_number_are_counted_and_not_logged_each(meeting):
    with meeting.port():
        for _ in range(70):
            with socket.create_connection(meeting.address(), timeout=SECONDS) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                with contextlib.suppress(OSError):
                    while stranger.recv(100):  # it is closed after it was counted
                        pass
        meeting.dial()
    refusals = [facts for event, facts in meeting.log if event == "refused"]
    assert len(refusals) == 50
    assert next(facts["times"] for event, facts in meeting.log if event == "refused in all") >= 70


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    meeting = Meeting(tmp_path_factory.mktemp("fuzzed"))
    with pytest.MonkeyPatch.context() as patch, meeting.port() as port:
        patch.setattr("copublish.party.network.port.DOOR_SECONDS", 0)  # no run will be under way
        meeting.opened = port
        yield meeting


@examples(60)
@given(st.binary(max_size=2000))
def test_random_bytes_before_the_handshake_end_their_own_connection_alone(fuzzed, noise):
    with socket.create_connection(fuzzed.address(), timeout=SECONDS) as stranger, contextlib.suppress(OSError):
        stranger.sendall(noise)
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(4096):
            pass
    fuzzed.wait_until_quiet()
    fuzzed.dial()


greetings = st.one_of(
    st.binary(max_size=500),
    st.binary(max_size=200).map(lambda body: struct.pack(">I", len(body)) + body),
    st.integers(0, 2**32 - 1).map(lambda length: struct.pack(">I", length) + b"{}"),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    ).map(lambda content: (lambda body: struct.pack(">I", len(body)) + body)(json.dumps(content).encode())),
    st.fixed_dictionaries(
        {
            "protocol": st.sampled_from([PROTOCOL, PROTOCOL + 1, "1", None]),
            "purpose": st.sampled_from(["engine", "meeting", "status", "", 7]),
            "party": st.sampled_from(["bank", "loans", "nobody", None, ["loans"]]),
            "run": st.sampled_from([None, "a" * 64, 5]),
        }
    ).map(
        lambda content: (lambda body: struct.pack(">I", len(body)) + body)(
            json.dumps({GREETING.topic: content}).encode()
        )
    ),
)


@examples(60)
@given(greetings, st.integers(0, 60))
def test_random_messages_after_the_handshake_are_clean_errors(fuzzed, greeting, keep):
    """An agreed party whose software is broken, or cut off in the middle of a message."""
    from copublish.party.network.channel import secure_channel

    plain = socket.create_connection(fuzzed.address(), timeout=SECONDS)
    channel, _ = secure_channel(plain, fuzzed.identities["loans"], is_server=False)
    with contextlib.suppress(MeetingError):
        channel.try_write(greeting[: len(greeting) - keep] if keep < 30 else greeting)
    channel.close()
    fuzzed.wait_until_quiet()
    fuzzed.dial()
    reasons = " ".join(str(facts) for _, facts in fuzzed.log)
    assert "Traceback" not in reasons
    key = (fuzzed.folder / "bank" / "key.pem").read_text().splitlines()[1]
    assert key not in reasons


def test_what_a_peer_says_cannot_play_with_the_terminal():
    assert plain_text("\x1b[31mred\nnext\x07") == " [31mred next "
    assert len(plain_text("x" * 10_000)) == 200


def open_ports() -> set[int]:
    found = psutil.Process().net_connections(kind="inet")
    return {connection.laddr.port for connection in found if connection.status == psutil.CONN_LISTEN}


def listen_as_engine(path: Path) -> list[bytes]:
    """Stand for SPU at its unix socket; return what arrives there."""
    arrived: list[bytes] = []
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            local, _ = server.accept()
            while data := local.recv(4096):
                arrived.append(data)

    threading.Thread(target=serve, daemon=True).start()
    return arrived
