"""TCP connections out of this machine, directly or through an HTTP proxy that passes them on (CONNECT).

A proxy sees where the connection goes, when and how much. What is inside has TLS of its own, end to end. `WayOut` has
the proxy, if there is one, and after how long a dead link counts as broken.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import re
import socket
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from copublish.errors import MeetingError, plain_text
from copublish.party.network.channel import RefusedError, SilentError, UnreachableError, means_loopback
from copublish.party.network.sockets import tune

VARIABLES, EXEMPTIONS = ("https_proxy", "HTTPS_PROXY"), ("no_proxy", "NO_PROXY")
"""In the order in which other programs look."""

DIAL_SECONDS = 5.0
ANSWER_SECONDS = 15.0
"""How long a proxy may take, which itself has to reach somebody first."""

MAX_ANSWER_BYTES = 16 * 1024
MAX_CREDENTIALS_BYTES = 4096

NO_PROXY = "none"
"""What `--proxy` is told to use none, whatever the environment says."""


class OwnProxyError(MeetingError):
    """This party's own proxy is in the way. Where that is concerns nobody else."""


class ProxyError(OwnProxyError, RefusedError):
    """The proxy refuses, or is none: trying again does not help."""


class ProxyUnreachableError(OwnProxyError, UnreachableError):
    """The proxy is not reached, or reaches nobody: trying again may help."""


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy of the organization.

    Attributes:
        host, port: Where it is.
        credentials: User and password, as `user:password`; never shown.
        exempt: Names, domains and networks that are reached without it.
    """

    host: str
    port: int
    credentials: str | None = field(default=None, repr=False)
    exempt: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How messages and logs name it: without user and password."""
        return f"{self.host}:{self.port}"

    def is_for(self, host: str, port: int) -> bool:
        """Whether a connection goes through the proxy."""
        # As in other programs: this machine is never reached through a proxy.
        return not means_loopback(host) and not any(_is_exempt(host, port, rule) for rule in self.exempt)


def proxy_from(
    option: str | None = None, credentials_file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Proxy | None:
    """The proxy that was named, or the one of the environment; none if there is none.

    Args:
        option: What `--proxy` says, like `http://proxy.example:3128`; `none` for no proxy at all.
        credentials_file: A file with `user:password` that its owner alone can read.
        environment: Variables; `HTTPS_PROXY` may hold user and password, `NO_PROXY` says who is reached without.

    Raises:
        MeetingError: If it is no proxy that can be used. Messages never show user or password.
    """
    said = option or next((environment[name] for name in VARIABLES if environment.get(name)), None)
    if said is None or said == NO_PROXY:
        if credentials_file is not None:
            raise MeetingError("--proxy-credentials is for a proxy, and none is named: use --proxy or HTTPS_PROXY.")
        return None
    source = "--proxy" if option else "HTTPS_PROXY"
    address = _split(said, source)
    if option and (address.username or address.password):
        raise MeetingError(
            "--proxy: others on this machine can see command lines, so user and password do not belong there. Put "
            "them into a file that you alone can read, as user:password, and name it with --proxy-credentials."
        )
    exempt = next((environment[name] for name in EXEMPTIONS if environment.get(name)), "")
    return Proxy(
        str(address.hostname),
        address.port or 80,
        _credentials(credentials_file) if credentials_file else _credentials_in(address),
        tuple(rule.strip() for rule in exempt.split(",") if rule.strip()),
    )


def _split(said: str, source: str) -> SplitResult:
    problem = f"{source}: write the proxy like http://proxy.example:3128"
    try:
        address = urlsplit(said if "://" in said else f"http://{said}")
        is_complete = bool(address.hostname) and (address.port is None or address.port > 0)
    except ValueError:
        raise MeetingError(f"{problem}.") from None
    if address.scheme != "http":
        raise MeetingError(f"{problem}. Proxies that are spoken to in another way than http are not supported.")
    if not is_complete or address.path not in ("", "/") or not re.fullmatch(r"[A-Za-z0-9.:_-]+", str(address.hostname)):
        raise MeetingError(f"{problem}.")
    return address


def _credentials_in(address: SplitResult) -> str | None:
    if address.username is None:
        return None
    return f"{unquote(address.username)}:{unquote(address.password or '')}"


def _credentials(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(MAX_CREDENTIALS_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        raise MeetingError(f"--proxy-credentials: '{file}' cannot be read as text.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise MeetingError(f"Others can read the proxy's password in '{file}'. Take that right away: chmod 600 {file}")
    if ":" not in content or "\n" in content:
        raise MeetingError(f"--proxy-credentials: '{file}' must hold one line, user:password.")
    return content


def _is_exempt(host: str, port: int, rule: str) -> bool:
    name, _, of_port = rule.rpartition(":") if re.search(r"(?<!:):\d+$", rule) else (rule, "", "")
    if of_port and of_port != str(port):
        return False
    if name == "*":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(name.strip("[]"), strict=False)
    domain = name.lstrip("*").lstrip(".").lower()
    return bool(domain) and (host.lower() == domain or host.lower().endswith(f".{domain}"))


def connect_out(host: str, port: int, proxy: Proxy | None) -> socket.socket:
    """Connect to an address, through the proxy if there is one for it.

    Raises:
        OSError, UnicodeError: If nobody is reached, where no proxy is used.
        ProxyUnreachableError: If the proxy is not reached, or reaches nobody.
        ProxyError: If the proxy refuses.
    """
    if proxy is None or not proxy.is_for(host, port):
        return socket.create_connection((host, port), timeout=DIAL_SECONDS)
    try:
        sock = socket.create_connection((proxy.host, proxy.port), timeout=DIAL_SECONDS)
    except (OSError, UnicodeError) as exc:
        raise ProxyUnreachableError(f"the proxy {proxy.name} is not reached ({_why(exc)})") from exc
    try:
        _ask_to_connect(sock, host, port, proxy)
    except BaseException:
        sock.close()
        raise
    return sock


def not_reached(error: OSError | UnicodeError, where: str) -> UnreachableError:
    """What it means that a connection to somewhere could not be opened."""
    if isinstance(error, TimeoutError):
        return SilentError(where)
    if isinstance(error, socket.gaierror | UnicodeError):
        return UnreachableError(f"the name is not known: {where}")
    if isinstance(error, ConnectionRefusedError):
        return UnreachableError(f"nobody listens at {where}")
    return UnreachableError(f"cannot reach ({error.strerror}) {where}")


def _ask_to_connect(sock: socket.socket, host: str, port: int, proxy: Proxy) -> None:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
    if proxy.credentials is not None:
        request += f"Proxy-Authorization: Basic {base64.b64encode(proxy.credentials.encode()).decode()}\r\n"
    answer, deadline = b"", time.monotonic() + ANSWER_SECONDS
    try:
        sock.sendall(f"{request}\r\n".encode())
        while b"\r\n\r\n" not in answer and len(answer) < MAX_ANSWER_BYTES:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            if not (data := sock.recv(4096)):
                break
            answer += data
    except TimeoutError:
        raise ProxyUnreachableError(f"the proxy {proxy.name} gave no answer about {target}") from None
    except OSError as exc:
        raise ProxyUnreachableError(f"the proxy {proxy.name} ended the connection ({_why(exc)})") from exc
    _refuse_unless_connected(answer, target, proxy)
    sock.settimeout(None)


def _refuse_unless_connected(answer: bytes, target: str, proxy: Proxy) -> None:
    head, end, rest = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})(?: ([^\r\n]*))?", head)
    if not answer:
        raise ProxyUnreachableError(f"the proxy {proxy.name} ended the connection without an answer about {target}")
    # Whoever is behind it does not speak before it is spoken to.
    if status is None or not end or (rest and status[1].startswith(b"2")):
        raise ProxyError(f"What answers at {proxy.name} is no HTTP proxy. Is --proxy or HTTPS_PROXY right?")
    code, said = int(status[1]), plain_text((status[2] or b"").decode("latin-1"), 80)
    if 200 <= code < 300:
        return
    if code == 407:
        raise ProxyError(_about_credentials(head, proxy))
    if code >= 500:
        raise ProxyUnreachableError(f"the proxy {proxy.name} does not reach {target} ({code} {said})")
    raise ProxyError(
        f"The proxy {proxy.name} does not let you connect to {target} ({code} {said}). Ask your network team to allow "
        f"CONNECT to {target}; many proxies allow port 443 alone."
    )


def _about_credentials(head: bytes, proxy: Proxy) -> str:
    ways = re.findall(r"(?im)^proxy-authenticate:\s*([A-Za-z0-9-]+)", head.decode("latin-1"))
    if ways and "basic" not in [way.lower() for way in ways]:
        return (
            f"The proxy {proxy.name} wants to know who you are by {', '.join(ways)}, and copublish knows user and "
            "password alone (Basic). Ask your network team for that, or for an exemption."
        )
    if proxy.credentials is not None:
        return f"The proxy {proxy.name} does not accept this user and password (407)."
    return (
        f"The proxy {proxy.name} asks for user and password (407). Put them into a file that you alone can read, as "
        "user:password, and name it with --proxy-credentials."
    )


def _why(error: OSError | UnicodeError) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "its name is not known"
    if isinstance(error, TimeoutError):
        return "no answer"
    return (error.strerror or "no connection").lower()


@dataclass(frozen=True, kw_only=True)
class WayOut:
    """Settings of the connections that one party opens.

    Attributes:
        proxy: The proxy, if there is one.
        timeout_seconds: How long a connection may be dead before it counts as broken.
    """

    proxy: Proxy | None = None
    timeout_seconds: int = 60

    def connect(self, host: str, port: int, name: str) -> socket.socket:
        """A connection to an address.

        Args:
            host: Its name or number.
            port: Its port.
            name: The words for it in messages.

        Raises:
            UnreachableError: If nobody answers there.
            RefusedError: If a proxy refuses.
        """
        try:
            sock = connect_out(host, port, self.proxy)
        except (OSError, UnicodeError) as exc:
            raise not_reached(exc, name) from exc
        try:
            self.tune(sock)
        except OSError as exc:  # it has been closed already
            sock.close()
            raise UnreachableError(f"the connection was closed by {name}") from exc
        return sock

    def tune(self, sock: socket.socket) -> None:
        """Have a connection send at once, and notice a dead link."""
        tune(sock, self.timeout_seconds)


DIRECT = WayOut()
