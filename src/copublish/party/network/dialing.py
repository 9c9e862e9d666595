"""Reaching another party where the agreement says it is, and only if it is who the agreement says.

Sockets at this party's own end are here, too: the one port that listens, and the way to the engine's worker.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import threading
import time
from pathlib import Path
from typing import Any, cast

from copublish.agreement.model import Agreement
from copublish.agreement.parties import way_between
from copublish.agreement.protocol.message import WrongWordError
from copublish.agreement.protocol.table import ACCEPTED, GREETING, PROTOCOL, REFUSED, STATUS
from copublish.errors import MeetingError, plain_text
from copublish.files.home import home_folder, make_private_folder
from copublish.party.keys.identity import Identity
from copublish.party.network.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    ChannelClosedError,
    RefusedError,
    SilentError,
    UnprovenPeerError,
    UnreachableError,
    means_loopback,
    peer_problem,
    plain_channel,
    secure_channel,
)
from copublish.party.network.proxy import DIAL_SECONDS, DIRECT, WayOut
from copublish.party.network.relay_talk import call_at_relay

ENGINE_PATIENCE_SECONDS = 120.0
"""How long a connection of the engine waits for the worker at its end, which may still be loading."""


class AlreadyRunningError(MeetingError):
    """Another run of this party with this agreement is under way."""


def listen_at(listen: tuple[str, int] | None, own: tuple[str, int], *, secure: bool) -> socket.socket:
    """Listen where told, on loopback if that is the host's very name, else on every interface."""
    host, port = listen or own
    if not secure and not means_loopback(host):
        raise MeetingError("--insecure is for loopback alone, and so is its --listen.")
    host = "127.0.0.1" if host == "localhost" else host
    everywhere = listen is None and not means_loopback(host)
    try:
        if everywhere and socket.has_dualstack_ipv6():
            with contextlib.suppress(OSError):  # a machine without IPv6
                return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        host = "0.0.0.0" if everywhere else host  # noqa: S104  # the port is what a party offers
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as exc:
        raise MeetingError(
            f"Cannot listen at {host}:{port} ({getattr(exc, 'strerror', 'no address')}). Is another run using it? "
            "--listen ADDRESS:PORT chooses another one."
        ) from exc


class OnlyOneHere:
    """What one run of a party that opens no port holds while it lasts, as others hold their port.

    A second one would be called in its place. It is a locked file beside the ledger, which containers of one party
    share, unlike ports and sockets. The lock is gone with the process, however that ends; the empty file stays.

    Raises:
        AlreadyRunningError: If another run holds it.
        MeetingError: If the file cannot be written.
    """

    def __init__(self, agreement: Agreement, party: str) -> None:
        name = hashlib.sha256(f"copublish {agreement.hash} {party}".encode()).hexdigest()
        file = home_folder() / "runs" / f"{name}.lock"
        try:
            make_private_folder(file.parent)
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as exc:
            raise MeetingError(f"'{file}' cannot be written ({exc.strerror}), which marks a run under way.") from exc
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            os.close(self._file)
            raise AlreadyRunningError(f"Another run of '{party}' with this agreement is under way.") from exc
        except OSError as exc:
            os.close(self._file)
            raise MeetingError(f"'{file}' cannot be locked ({exc.strerror}), which marks a run under way.") from exc

    def close(self) -> None:
        """Let others run."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def connect_patiently(path: Path, closed: threading.Event) -> socket.socket:
    """Connect to our worker, which may not listen yet."""
    deadline = time.monotonic() + ENGINE_PATIENCE_SECONDS
    while not closed.is_set():
        local = socket.socket(socket.AF_UNIX)
        try:
            local.connect(str(path))
        except OSError:
            local.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return local
    raise ChannelClosedError("the run has ended")


def dial(
    agreement: Agreement,
    party: str,
    identity: Identity | None,
    peer: str,
    purpose: str,
    *,
    run: str | None = None,
    way_out: WayOut = DIRECT,
) -> Channel:
    """Connect to another party, at its host or at the relay, and say what for.

    That is `meeting`, `status`, `measure`, `parked` for a connection that the other one may use to call us, or in a run
    `engine` or `messages`.

    Raises:
        UnreachableError: If nobody answers there.
        RefusedError: If it is somebody else, or does not accept us.
    """
    where = where_in_words(agreement, party, peer)
    sock = _reach(agreement, party, peer, way_out)
    try:
        channel = _checked(sock, agreement, identity, peer, where)
    except (ChannelClosedError, OSError) as exc:
        sock.close()
        raise UnreachableError(f"the connection was closed by {where}") from exc
    except BaseException:
        sock.close()
        raise
    return say_what_for(channel, party, peer, purpose, run=run, where=where)


def say_what_for(
    channel: Channel, party: str, peer: str, purpose: str, *, run: str | None = None, where: str
) -> Channel:
    """Say on a connection to another party what it is for, and wait until the other one accepts that.

    Raises:
        UnreachableError: If the connection ends, or there is no answer.
        RefusedError: If the other one refuses, or answers something that is neither.
    """
    # In a run the other party waits that long itself: it may hear the id of the run a moment after us.
    patience = HANDSHAKE_SECONDS if run is None else 2 * HANDSHAKE_SECONDS
    try:
        channel.send_word(GREETING, {"protocol": PROTOCOL, "purpose": purpose, "party": party, "run": run})
        answer, content = channel.receive_word(ACCEPTED, REFUSED, sender=f"Party '{peer}'", seconds=patience)
    except ChannelClosedError as exc:
        channel.close()
        raise UnreachableError(f"the connection was closed by {where}") from exc
    except WrongWordError as exc:
        channel.close()
        raise RefusedError(str(exc)) from exc
    except (MeetingError, OSError) as exc:  # connected and silent: it may be busy
        channel.close()
        raise SilentError(where) from exc
    if answer is REFUSED:
        channel.close()
        raise RefusedError(f"Party '{peer}' refuses: {plain_text(content)}.")
    return channel


def status_of(channel: Channel, peer: str) -> dict[str, Any]:
    """What a party that was asked for its status says after its greeting: its clock and what it has agreed to.

    Raises:
        MeetingError: If it says nothing in time, or something else.
    """
    try:
        _, status = channel.receive_word(STATUS, sender=f"Party '{peer}'", seconds=HANDSHAKE_SECONDS)
        return cast(dict[str, Any], status)
    finally:
        channel.close()


def own_run_listens(agreement: Agreement, party: str, identity: Identity, at: tuple[str, int] | None = None) -> bool:
    """Whether what listens at this party's own port is a run of its own: it shows the agreed certificate.

    Args:
        agreement: Names the certificate.
        party: Who asks.
        identity: Its key and certificate.
        at: Where it would listen, if not at the port of its host.
    """
    host, port = at or agreement.parties[party].address
    if at is None or not host.strip("0.:"):  # at every address
        host = host if means_loopback(host) else "127.0.0.1"
    try:
        with socket.create_connection((host, port), timeout=DIAL_SECONDS) as sock:
            _, chain = secure_channel(sock, identity, is_server=False)
    except (OSError, UnicodeError, MeetingError):
        return False
    return peer_problem(agreement, party, chain) is None


def where_in_words(agreement: Agreement, party: str, peer: str) -> str:
    """Where a party dials another one, for messages."""
    way = way_between(agreement, party, peer)
    if way == "relay":
        return f"'{peer}' over the relay {agreement.network.relay}"
    return f"'{peer}', which dials in itself" if way == "call back" else str(agreement.parties[peer].host)


def _reach(agreement: Agreement, party: str, peer: str, way_out: WayOut) -> socket.socket:
    """A socket that leads to another party; who is at its end has to be checked."""
    way = way_between(agreement, party, peer)
    if way == "relay":
        return call_at_relay(agreement, party, peer, way_out)
    if way == "call back":
        raise UnreachableError(f"'{peer}' cannot be dialed: it dials you, while your own 'copublish run' waits")
    host, port = agreement.parties[peer].address
    return way_out.connect(host, port, f"{host}:{port}")


def _checked(sock: socket.socket, agreement: Agreement, identity: Identity | None, peer: str, where: str) -> Channel:
    """A channel to a peer whose certificate is the agreed one."""
    over_relay = agreement.parties[peer].host is None
    who = f"Who answers at {f'the relay {agreement.network.relay}' if over_relay else where} as '{peer}'"
    try:
        if identity is None:
            return plain_channel(sock)
        channel, chain = secure_channel(sock, identity, is_server=False)
    except RefusedError as exc:
        raise UnprovenPeerError(f"{who} {exc}. Nothing was sent.") from exc
    if problem := peer_problem(agreement, peer, chain):
        channel.close()
        raise UnprovenPeerError(f"{who} {problem}. Nothing was sent.")
    return channel


def refuse_unfit_hosts(agreement: Agreement, party: str, identity: Identity | None) -> None:
    """Raise unless the agreement says where and who the parties are, or all of them are on loopback.

    Raises:
        MeetingError: With every problem.
    """
    problems = []
    for name, other in agreement.parties.items():
        if other.dials_out and identity is None:
            problems.append(f"parties.{name}.reach: --insecure is for loopback alone, where everybody can be dialed")
        elif other.host is None and not other.dials_out:
            problems.append(
                f'parties.{name}: say where the others reach it, like host = "{name}.example:7700", or that they '
                'cannot: reach = "dial-out"'
            )
        elif identity is None and not means_loopback(other.address[0]):
            problems.append(f"parties.{name}.host: --insecure is for loopback alone, like localhost:7700")
        elif identity is not None and other.certificate is None and other.authority is None:
            problems.append(f"parties.{name}: 'certificate' is missing. 'copublish identity show' prints it there")
    if not problems and identity is not None and (problem := peer_problem(agreement, party, identity.chain)):
        problems.append(f"your own identity does not fit: it {problem}. Choose it with --identity FOLDER")
    if problems:
        raise MeetingError("\n  - ".join(["The agreement cannot be run between machines:", *problems]))
