"""Getting out through an HTTP proxy: whose it is, what it refuses and how that is said, and what it never shows."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import pytest

from copublish.errors import MeetingError
from copublish.party.network.channel import UnreachableError
from copublish.party.network.proxy import Proxy, ProxyError, connect_out, proxy_from
from support.http_proxy import HttpProxy
from support.node import free_port

SECRET = "pa55:w@rd"
TARGET = ("192.0.2.1", 7700)
"""An address for documents, which nobody has."""


def proxy_at(address: tuple[str, int], credentials: str | None = None) -> Proxy:
    return Proxy(address[0], address[1], credentials)


@contextmanager
def answering(answer: bytes):
    """Somebody who answers everything with the same."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            client.recv(4096)
            client.sendall(answer)
            client.close()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[:2]


@pytest.fixture
def echo(monkeypatch):
    """A server on loopback that a proxy is used for."""
    monkeypatch.setattr("copublish.party.network.proxy.means_loopback", lambda host: False)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                client.sendall(client.recv(100))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[:2]


@pytest.mark.parametrize("credentials", [None, f"user:{SECRET}"])
def test_a_connection_goes_through_the_proxy(echo, credentials):
    proxy = HttpProxy(credentials=credentials).start()
    with connect_out(*echo, proxy_at(proxy.address, credentials)) as sock:
        sock.sendall(b"hello")
        assert sock.recv(100) == b"hello"
    assert proxy.asked == [(f"127.0.0.1:{echo[1]}", 200)]


REFUSALS = {
    "403": (
        b"HTTP/1.1 403 Forbidden\r\n\r\n",
        ProxyError,
        r"does not let you connect to 192.0.2.1:7700 \(403 Forb.*443",
    ),
    "407": (b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\n\r\n", ProxyError, "asks for user and password"),
    "407 by tickets": (
        b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n",
        ProxyError,
        "by Negotiate, NTLM, and copublish knows user and password alone",
    ),
    "503": (b"HTTP/1.1 503 Down\r\n\r\n", UnreachableError, r"does not reach 192.0.2.1:7700 \(503 Down\)"),
    "nothing": (b"", UnreachableError, "without an answer"),
    "garbage": (b"\x16\x03\x01 what?\r\n\r\n", ProxyError, "is no HTTP proxy"),
    "half an answer": (b"HTTP/1.1 200 OK\r\n", ProxyError, "is no HTTP proxy"),
    "an answer without end": (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 5000, ProxyError, "is no HTTP proxy"),
    "who speaks before it is spoken to": (b"HTTP/1.1 200 OK\r\n\r\nhello", ProxyError, "is no HTTP proxy"),
    "terminal controls": (b"HTTP/1.1 403 \x1b[31mred\r\n\r\n", ProxyError, r"403  \[31mred\)"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_what_a_proxy_refuses_is_said_clearly(kind):
    answer, error, words = REFUSALS[kind]
    with answering(answer) as address, pytest.raises(error, match=words) as caught:
        connect_out(*TARGET, proxy_at(address))
    assert f"{address[0]}:{address[1]}" in str(caught.value)


def test_a_wrong_password_is_said_and_never_shown():
    proxy = HttpProxy(credentials="user:other").start()
    ours = proxy_at(proxy.address, f"user:{SECRET}")
    with pytest.raises(ProxyError, match="does not accept this user and password") as caught:
        connect_out(*TARGET, ours)
    for shown in (str(caught.value), repr(caught.value), repr(ours), str(ours), ours.name):
        assert SECRET not in shown


def test_a_silent_proxy_and_one_that_is_not_there_are_said(monkeypatch):
    monkeypatch.setattr("copublish.party.network.proxy.ANSWER_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(UnreachableError, match=r"gave no answer about 192.0.2.1:7700"),
    ):
        connect_out(*TARGET, proxy_at(server.getsockname()[:2]))
    with pytest.raises(UnreachableError, match=r"is not reached .connection refused"):
        connect_out(*TARGET, proxy_at(("127.0.0.1", free_port())))
    with pytest.raises(UnreachableError, match="its name is not known"):
        connect_out(*TARGET, proxy_at(("no-such-proxy.invalid", 3128)))


def test_the_proxy_is_the_option_s_or_that_of_the_environment():
    environment = {"HTTPS_PROXY": f"http://me:{SECRET.replace('@', '%40')}@proxy.example:3128"}
    found = proxy_from(environment=environment)
    assert found == Proxy("proxy.example", 3128, f"me:{SECRET}")
    assert proxy_from("http://other.example:8080", environment=environment) == Proxy("other.example", 8080)
    assert proxy_from("none", environment=environment) is None
    assert proxy_from(environment={}) is None
    assert proxy_from(environment={"https_proxy": "proxy.example:1", "HTTPS_PROXY": "http://b:2"}).port == 1


MISTAKES = {
    "a password on the command line": (f"http://me:{SECRET}@proxy.example:3128", "do not belong there"),
    "another way": ("socks5://proxy.example:1080", "another way than http"),
    "no host": ("http://:3128", "write the proxy like"),
    "a path": ("http://proxy.example:3128/x", "write the proxy like"),
    "no number": ("http://proxy.example:port", "write the proxy like"),
    "another line": ("http://proxy.example\r\nX: y:1", "write the proxy like"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_proxy_that_cannot_be_used_is_refused_without_showing_a_password(kind):
    said, words = MISTAKES[kind]
    with pytest.raises(MeetingError, match=words) as caught:
        proxy_from(said, environment={})
    assert SECRET not in str(caught.value)


def test_credentials_come_from_a_file_that_its_owner_alone_can_read(tmp_path):
    file = tmp_path / "credentials"
    file.write_text(f"me:{SECRET}\n")
    with pytest.raises(MeetingError, match="chmod 600"):
        proxy_from("http://proxy.example:3128", file, {})
    file.chmod(0o600)
    assert proxy_from("http://proxy.example:3128", file, {}).credentials == f"me:{SECRET}"
    with pytest.raises(MeetingError, match="none is named"):
        proxy_from(None, file, {})
    with pytest.raises(MeetingError, match="cannot be read"):
        proxy_from("http://proxy.example:3128", tmp_path / "missing", {})
    file.write_text("no colon")
    with pytest.raises(MeetingError, match="one line, user:password"):
        proxy_from("http://proxy.example:3128", file, {})


EXEMPT = [
    ("bank.example", "bank.example", True),
    ("bank.example", ".example", True),
    ("bank.example", "*.example", True),
    ("bank.example", "example", True),
    ("bank.example", "ank.example", False),
    ("bank.example", "bank.example:7700", True),
    ("bank.example", "bank.example:443", False),
    ("10.1.2.3", "10.0.0.0/8", True),
    ("10.1.2.3", "10.1.2.3", True),
    ("11.1.2.3", "10.0.0.0/8", False),
    ("2001:db8::1", "2001:db8::/32", True),
    ("BANK.example", "bank.EXAMPLE", True),
    ("bank.example", "*", True),
    ("bank.example", "", False),
    ("localhost", "", True),
    ("127.0.0.1", "", True),
]


@pytest.mark.parametrize(("host", "rule", "is_exempt"), EXEMPT)
def test_no_proxy_says_who_is_reached_without(host, rule, is_exempt):
    found = proxy_from(environment={"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": f"other.test, {rule}"})
    assert found.is_for(host, 7700) is not is_exempt
