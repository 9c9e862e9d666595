"""Parties that meet at a relay: one that does its work, one that is hostile, one that dies, and strangers at it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copublish as cp
from copublish.agreement.protocol.table import RELAY_PROTOCOL
from copublish.errors import MeetingError, PartyLostError
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party import session as node_run
from copublish.party.network.channel import RefusedError, UnreachableError
from copublish.party.network.dialing import dial
from copublish.party.network.proxy import Proxy, ProxyError
from copublish.party.network.relay import Limits
from copublish.party.network.relay_talk import place_of
from copublish.party.session import RunSettings, ready_party, run_party
from support import random_table
from support.circle import SECONDS, Circle
from support.http_proxy import HttpProxy
from support.node import free_port, source_path
from support.profiles import examples
from support.protocol import ANYTHING
from support.relays import RunningRelay, running_relay
from support.waiting import wait_until

MARK = b"private content " * 64


@contextmanager
def hidden_parties(identities, relay: str, how_many: int = 2) -> Iterator[Circle]:
    """Parties that all dial out and meet at a relay."""
    with Circle(identities, how_many) as circle:
        circle.mapping["engine"], circle.mapping["mechanism"] = {"name": "masked-sum"}, {"name": "copula"}
        del circle.mapping["records"]["identifier"]
        circle.hide(*circle.names, relay=relay)
        yield circle


class TalkingEngine(AbstractContextManager):
    """Stands for an engine that needs a messenger alone."""

    def __init__(self, messenger) -> None:
        self.messenger = messenger

    def __exit__(self, *_: object) -> None:
        pass

    def abort(self) -> None:
        pass


def run_all(
    circle: Circle,
    tmp_path,
    monkeypatch,
    rounds: int,
    timeout_seconds: int = SECONDS,
    wait_seconds: int = 8,
    proxy: Proxy | None = None,
):
    """Run parties whose release is to hear the mark from everybody, some times; return how each ends, and ledgers."""
    monkeypatch.setattr(
        node_run, "engine_for", lambda a, party, addresses, messenger, *_, **__: TalkingEngine(messenger)
    )
    table = random_table(circle.agreement, 30, np.random.default_rng(0))
    begun = threading.Event()
    ledgers = {}

    def publish(plan, fragment, engine, ledger, *_, **__):
        own, heard = engine.messenger, set()
        with ledger.reserve(plan.agreement.dataset, plan.agreement.name, plan.agreement.hash, plan.cost()):
            for number in range(rounds):
                for peer in (peer for peer in own.parties if peer != own.party):
                    own.send(peer, ANYTHING, MARK)
                    heard.add(own.receive(peer, ANYTHING))
                if number == 1:
                    begun.set()
        return heard

    monkeypatch.setattr(node_run, "publish_release", publish)

    def party(name: str):
        ledger = ledgers[name] = Ledger(tmp_path / f"{name}.db")
        ledger.set_limit(circle.agreement.dataset, Limit(Fraction(100), "add-remove"))
        settings = RunSettings(tmp_path / name, wait_seconds=wait_seconds, timeout_seconds=timeout_seconds, proxy=proxy)
        ready = ready_party(circle.agreement, name, table, circle.identities[name], ledger, settings)
        return run_party(
            ready, progress=lambda *_: None, waiting=circle.told[name].append, log=lambda event, **facts: None
        )

    return {name: circle.do(party, name) for name in circle.names}, begun, ledgers


def test_what_two_parties_say_through_a_recording_relay_is_not_in_what_it_recorded(identities, tmp_path, monkeypatch):
    recorded = []

    async def record(data: bytes, before: int) -> bytes:
        recorded.append(data)
        return data

    with running_relay(meddle=record) as relay, hidden_parties(identities, relay.address) as circle:
        ends, _, _ = run_all(circle, tmp_path, monkeypatch, rounds=3)
        for end in ends.values():
            assert end.result(SECONDS).release == {MARK}
        whole = b"".join(recorded)
        certificates = [identity.certificate.fingerprint(_sha256()) for identity in circle.identities.values()]
        words = (MARK[:16], b"purpose", b"meeting", b"nonce", circle.agreement.hash.encode(), *certificates)
        # The same relay records what two say who have no TLS of their own, and there the search finds every word.
        waits, calls = joined(relay)
        calls.sock.sendall(b" ".join(words))
        waits._exactly(len(b" ".join(words)))
        in_the_clear = b"".join(recorded)[len(whole) :]
    assert len(whole) > 6 * len(MARK)
    assert [word in whole for word in words] == [False] * len(words)
    assert [word in in_the_clear for word in words] == [True] * len(words)


def _sha256():
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def meddling(kind: str):
    """Ways to change what is passed on once parties have met, which takes less than 10,000 bytes from either side."""
    held: list[bytes] = []

    async def meddle(data: bytes, before: int) -> bytes | None:
        if kind == "delays":
            await asyncio.sleep(0.05)
            return data
        if before + len(data) < 10_000:
            return data
        if kind == "injects":
            return data + b"\x17\x03\x03\x00\x20" + os.urandom(32)
        if kind == "changes a bit":
            return bytes([*data[:-1], data[-1] ^ 1])
        if kind == "truncates":
            return None
        held.append(data)  # reorders
        return b"" if len(held) % 2 else held[-1] + held[-2]

    return meddle


@pytest.mark.parametrize("kind", ["injects", "changes a bit", "truncates", "reorders"])
def test_a_relay_that_meddles_ends_the_run_and_the_link_is_named(identities, tmp_path, monkeypatch, kind):
    with running_relay(meddle=meddling(kind)) as relay, hidden_parties(identities, relay.address) as circle:
        ends, _, ledgers = run_all(circle, tmp_path, monkeypatch, rounds=200, timeout_seconds=20)
        for name, end in ends.items():
            with pytest.raises(PartyLostError) as caught:
                end.result(SECONDS)
            peer = next(other for other in circle.names if other != name)
            assert f"Party '{peer}'" in str(caught.value)
            assert "Nothing is published" in str(caught.value)
        assert any(f"over the relay {relay.address}" in str(end.exception()) for end in ends.values())
    for ledger in ledgers.values():
        assert [entry.state for entry in ledger.entries()] == ["ended early, spent"]


def test_a_relay_that_only_delays_changes_nothing(identities, tmp_path, monkeypatch):
    with running_relay(meddle=meddling("delays")) as relay, hidden_parties(identities, relay.address) as circle:
        ends, _, _ = run_all(circle, tmp_path, monkeypatch, rounds=3)
        assert [end.result(SECONDS).release for end in ends.values()] == [{MARK}, {MARK}]


def test_a_relay_killed_in_mid_run_ends_it_at_once_and_is_named(identities, tmp_path, monkeypatch):
    port = free_port()
    command = [sys.executable, "-c", "from copublish.cli import main; main()", "relay", "--listen", f"127.0.0.1:{port}"]
    environment = {**os.environ, "PYTHONPATH": source_path()}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert json.loads(process.stdout.readline())["event"] == "listening"
    with hidden_parties(identities, f"127.0.0.1:{port}") as circle:
        ends, begun, _ = run_all(circle, tmp_path, monkeypatch, rounds=10**6, timeout_seconds=4 * SECONDS)
        assert begun.wait(SECONDS)
        process.send_signal(signal.SIGKILL)
        for end in ends.values():
            with pytest.raises(PartyLostError, match=rf"over the relay 127.0.0.1:{port} (ended|broke)"):
                end.result(SECONDS)  # not at the timeout
    process.communicate()


def test_a_relay_that_is_not_there_is_named_and_nothing_is_spent(identities, tmp_path, monkeypatch):
    relay = f"127.0.0.1:{free_port()}"
    with hidden_parties(identities, relay) as circle:
        ends, _, ledgers = run_all(circle, tmp_path, monkeypatch, rounds=1, wait_seconds=1)
        for name, end in ends.items():
            peer = next(other for other in circle.names if other != name)
            with pytest.raises(MeetingError, match=f"'{peer}' .nobody listens at the relay {relay}. did not come"):
                end.result(SECONDS)
            assert ledgers[name].entries() == []


@pytest.mark.parametrize(
    ("ports", "password", "words"), [((443,), None, "let you connect"), ((), "a:b", "asks for user")]
)
def test_a_proxy_that_refuses_ends_the_run_before_anything_is_spent(
    identities, tmp_path, monkeypatch, ports, password, words
):
    monkeypatch.setattr("copublish.party.network.proxy.means_loopback", lambda host: False)
    gate = HttpProxy(ports=ports, credentials=password).start()
    with running_relay() as relay, hidden_parties(identities, relay.address) as circle:
        ends, _, ledgers = run_all(circle, tmp_path, monkeypatch, rounds=1, proxy=Proxy(*gate.address))
        for name, end in ends.items():
            with pytest.raises(ProxyError, match=rf"The proxy {gate.address[0]}:{gate.address[1]} .*{words}"):
                end.result(SECONDS)
            assert ledgers[name].entries() == []


def test_a_relay_that_answers_nothing_may_be_tried_again(identities, monkeypatch):
    """It may be busy, or stopped for a moment: that is no refusal, which would end a run that waits."""
    monkeypatch.setattr("copublish.party.network.relay_talk.HANDSHAKE_SECONDS", 0.2)
    with (
        running_relay(Limits(call_seconds=SECONDS)) as relay,
        hidden_parties(identities, relay.address) as circle,
        pytest.raises(UnreachableError, match=f"no answer from the relay {relay.address}"),
    ):
        dial(circle.agreement, "p0", circle.identities["p0"], "p1", "status")


def test_a_web_server_that_is_named_as_relay_is_refused(identities):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            client.recv(1000)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        relay = f"127.0.0.1:{server.getsockname()[1]}"
        with hidden_parties(identities, relay) as circle, pytest.raises(RefusedError, match="does not speak TLS"):
            dial(circle.agreement, "p0", circle.identities["p0"], "p1", "status")


def test_an_impostor_at_the_relay_who_knows_the_agreement_is_told_nothing(identities):
    """It waits at the right place, with a certificate that is not the agreed one: who calls finds that out first."""
    with running_relay() as relay, hidden_parties(identities, relay.address) as circle:
        theirs = cp.agreement_from_mapping(circle.mapping)
        waiting = circle.do(_wait_as_impostor, theirs, circle.identities["p2" if "p2" in circle.identities else "p0"])
        with pytest.raises(RefusedError, match=r"at the relay .* showed another certificate .* Nothing was sent"):
            for _ in range(20):
                try:
                    dial(circle.agreement, "p0", circle.identities["p0"], "p1", "status")
                except UnreachableError:
                    time.sleep(0.1)
        assert waiting.result(SECONDS) == b""


def _wait_as_impostor(agreement, identity) -> bytes:
    from copublish.errors import CopublishError
    from copublish.party.network.channel import secure_channel
    from copublish.party.network.relay_talk import enter_relay, wait_to_be_called

    waiting = enter_relay(agreement, "wait", caller="p0", callee="p1")
    channel, _ = secure_channel(wait_to_be_called(waiting), identity, is_server=True)
    try:
        return channel.receive_bytes(1, seconds=SECONDS)
    except CopublishError:
        return b""


def test_places_depend_on_the_agreement_and_on_who_calls_whom(identities):
    with hidden_parties(identities, "relay.example:443", 3) as circle:
        one = circle.agreement
        circle.mapping["privacy"]["epsilon"] = 2
        other = cp.agreement_from_mapping(circle.mapping)
        places = [
            place_of(agreement, caller=caller, callee=callee)
            for agreement in (one, other)
            for caller, callee in itertools.permutations(circle.names, 2)
        ]
    assert len(set(places)) == len(places) == 12
    assert not any(one.hash[:16] in place for place in places)


class Stranger:
    """Somebody who speaks to a relay by hand."""

    def __init__(self, relay: RunningRelay, word: object = None) -> None:
        host, _, port = relay.address.rpartition(":")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection((host, int(port)), timeout=SECONDS)
        self.sock = context.wrap_socket(plain, server_hostname="relay.example")
        if word is not None:
            self.say(word)

    def say(self, word: object) -> None:
        body = json.dumps(word).encode()
        self.sock.sendall(struct.pack(">I", len(body)) + body)

    def hear(self) -> dict[str, object] | None:
        try:
            (length,) = struct.unpack(">I", self._exactly(4))
            return json.loads(self._exactly(length))
        except (OSError, struct.error):
            return None

    def _exactly(self, length: int) -> bytes:
        found = b""
        while len(found) < length and (data := self.sock.recv(length - len(found))):
            found += data
        return found


def hello(role: str, place: str = "a" * 64) -> dict[str, object]:
    return {"copublish relay": {"protocol": RELAY_PROTOCOL, "role": role, "place": place}}


NOT_UNDERSTOOD = {
    "another version": {"copublish relay": {"protocol": 99}},
    "no role": hello("look"),
    "a place that is none": hello("wait", "../../etc"),
    "a list": ["wait"],
    "two words": {**hello("wait"), "alive": True},
    "too long": {"copublish relay": {"protocol": 99, "more": "x" * 1000}},
}


@pytest.mark.parametrize("word", NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_who_does_not_speak_as_parties_do_is_told_and_let_go(word):
    with running_relay() as relay:
        stranger = Stranger(relay, word)
        assert set(stranger.hear() or {"refused": ""}) == {"refused"}
        assert stranger.hear() is None
        wait_until(lambda: len(relay.events("refused")) == 1)


@pytest.fixture(scope="module")
def fuzzed():
    with running_relay(Limits(hello_seconds=SECONDS, log_lines=10**6)) as relay:
        yield relay


@examples(40)
@given(st.binary(max_size=600), st.booleans())
def test_whatever_a_stranger_sends_ends_its_own_connection_and_nothing_else(fuzzed, noise, inside_tls):
    host, _, port = fuzzed.address.rpartition(":")
    stranger = Stranger(fuzzed).sock if inside_tls else socket.create_connection((host, int(port)), timeout=SECONDS)
    with contextlib.suppress(OSError):
        stranger.sendall(noise)
    stranger.close()
    waits, calls = joined(fuzzed)
    waits.sock.close()
    calls.sock.close()
    wait_until(lambda: not fuzzed.relay._room._taken and not fuzzed.relay._joined._taken)


def test_two_who_know_a_place_are_joined_and_bytes_pass_unchanged_both_ways():
    with running_relay() as relay:
        waits, calls = joined(relay)
        content = os.urandom(1_000_000)
        for one, other in ((waits, calls), (calls, waits)):
            sender = threading.Thread(target=one.sock.sendall, args=(content,))
            sender.start()
            assert other._exactly(len(content)) == content
            sender.join()
        calls.sock.close()
        assert waits.sock.recv(1) == b""
        wait_until(lambda: len(relay.events("ended")) == 1)
        assert relay.events("ended")[0]["from_caller"] == relay.events("ended")[0]["from_called"] == len(content)
        assert relay.events("joined")[0]["place"] == "a" * 8


def test_a_call_to_another_place_joins_nobody():
    with running_relay(Limits(call_seconds=0.2)) as relay:
        waits, calls = Stranger(relay, hello("wait")), Stranger(relay, hello("call", "b" * 64))
        assert calls.hear() == {"refused": "nobody waits there"}
        waits.sock.settimeout(0.3)
        assert waits.hear() is None
        assert relay.events("joined") == []


def test_those_who_wait_are_bounded_by_address_and_by_place_and_make_room_for_newer_ones():
    with running_relay(Limits(of_one_address=3, at_one_place=2)) as relay:
        old = Stranger(relay, hello("wait"))
        wait_until(lambda: len(relay.relay._places.get("a" * 64, [])) == 1)
        newer = [Stranger(relay, hello("wait")) for _ in range(2)]
        assert old.hear() is None, "the oldest at a place makes room"
        wait_until(lambda: relay.relay._room._taken["127.0.0.1"] == 2)
        third = Stranger(relay, hello("wait", "b" * 64))
        with pytest.raises((OSError, ssl.SSLError)):
            Stranger(relay, hello("wait"))
        wait_until(lambda: ("refused", {"address": "127.0.0.1", "reason": "too many connections wait"}) in relay.log)
        third.sock.close()
        del newer


def test_who_says_nothing_or_gives_no_sign_of_life_loses_its_place():
    with running_relay(Limits(hello_seconds=2, sign_seconds=2)) as relay:
        silent, deaf, alive = Stranger(relay), Stranger(relay, hello("wait")), Stranger(relay, hello("wait", "b" * 64))
        for _ in range(3):
            assert alive.hear() == {"alive": True}
            alive.say({"alive": True})
        assert silent.hear() is None
        assert deaf.hear() == {"alive": True}
        assert deaf.hear() is None
        assert Stranger(relay, hello("call", "b" * 64)).hear() == {"joined": True}


def joined(relay: RunningRelay) -> tuple[Stranger, Stranger]:
    waits = Stranger(relay, hello("wait"))
    calls = Stranger(relay, hello("call"))
    assert (waits.hear(), calls.hear()) == ({"joined": True}, {"joined": True})
    return waits, calls


def test_nothing_that_strangers_do_without_end_fills_the_log(monkeypatch):
    now = [100.0]  # one minute, however slow the machine is
    monkeypatch.setattr("copublish.party.log.time", mock.Mock(monotonic=lambda: now[0]))
    with running_relay(Limits(log_lines=3)) as relay:
        for times in range(1, 6):
            for stranger in (Stranger(relay, ["noise"]), *joined(relay)):
                stranger.sock.close()
            wait_until(lambda n=times: relay.relay._log._times["refused"] == relay.relay._log._times["ended"] == n)
        assert [len(relay.events(kind)) for kind in ("refused", "joined", "ended")] == [3, 3, 3]
        now[0] += 60
        Stranger(relay, ["noise"]).hear()
        wait_until(lambda: len(relay.events("refused")) == 4)
        assert relay.events("joined in all") == relay.events("ended in all") == [{"times": 5}]


def test_a_larger_relay_lets_one_address_have_more_and_a_smaller_one_no_less_than_usual():
    assert Limits.of(waiting=Limits.waiting, pairs=Limits.pairs) == Limits()
    larger, smaller = Limits.of(waiting=4096, pairs=8192), Limits.of(waiting=8, pairs=4)
    assert (larger.of_one_address, larger.joined_of_one_address) == (1024, 4096)
    assert (smaller.of_one_address, smaller.joined_of_one_address) == (128, 512)


def test_connections_that_are_joined_are_bounded_by_address_and_who_waits_keeps_its_place():
    with running_relay(Limits(joined_of_one_address=2, call_seconds=2)) as relay:
        pair = joined(relay)
        waits = Stranger(relay, hello("wait"))
        assert Stranger(relay, hello("call")).hear() == {"refused": "too many connections are joined"}
        pair[0].sock.close()
        wait_until(lambda: not relay.relay._joined._taken)
        assert (Stranger(relay, hello("call")).hear(), waits.hear()) == ({"joined": True}, {"joined": True})


def test_a_pair_ends_that_is_silent_or_there_for_too_long_and_one_that_is_held_up_does_not():
    with running_relay(Limits(silent_seconds=3)) as relay:
        held_up = joined(relay)
        held_up[1].sock.settimeout(0.3)
        with pytest.raises(TimeoutError):  # its other end reads nothing
            held_up[1].sock.sendall(bytes(2**26))
        silent = joined(relay)
        assert silent[0].hear() is None and silent[1].hear() is None
        assert [entry["why"] for entry in relay.events("ended")] == ["silent"]
        time.sleep(0.5)
        assert len(relay.events("ended")) == 1
    with running_relay(Limits(pair_seconds=3)) as relay:
        waits, calls = joined(relay)
        while not relay.events("ended"):
            with contextlib.suppress(OSError):
                calls.sock.sendall(b"a word")
            time.sleep(0.05)
        assert relay.events("ended")[0]["why"] == "too long"
        assert waits.sock.recv(6) == b"a word"


def test_firewalls_see_tls_to_the_name_of_the_relay(identities):
    """The first bytes that leave a party are a TLS ClientHello with the relay's name in it, and not the place."""
    first = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            client, _ = server.accept()
            first.append(client.recv(4096))
            client.close()

        threading.Thread(target=listen, daemon=True).start()
        with hidden_parties(identities, f"localhost:{server.getsockname()[1]}") as circle:
            with pytest.raises(UnreachableError, match="closed by the relay"):
                dial(circle.agreement, "p0", circle.identities["p0"], "p1", "status")
            place = place_of(circle.agreement, caller="p0", callee="p1")
    assert first[0][:3] == b"\x16\x03\x01"
    assert b"localhost" in first[0]
    assert bytes.fromhex(place) not in first[0] and place.encode() not in first[0]
