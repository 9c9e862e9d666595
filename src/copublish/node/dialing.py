"""Reaching another party: where the agreement says it is, and only if it is who the agreement says."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from copublish.agreement.model import Agreement
from copublish.errors import MeetingError, plain_text
from copublish.node.channel import (
    HANDSHAKE_SECONDS,
    Channel,
    ChannelClosedError,
    RefusedError,
    means_loopback,
    peer_problem,
    plain_channel,
    secure_channel,
)
from copublish.node.identity import Identity

PROTOCOL = 2
DIAL_SECONDS = 5.0

NO_ANSWER = "no answer from"
"""How messages begin about a party that is silent, where others are not there or refuse."""


class UnreachableError(MeetingError):
    """Nobody answers at the other party's address: trying again may help."""


def dial(
    agreement: Agreement,
    party: str,
    identity: Identity | None,
    peer: str,
    purpose: str,
    *,
    run: str | None = None,
    timeout_seconds: int = 60,
) -> Channel:
    """Connect to another party and say what for: `meeting`, `status`, or in a run `engine` or `messages`.

    Raises:
        UnreachableError: If nobody answers there.
        RefusedError: If it is somebody else, or does not accept us.
    """
    host, port = agreement.parties[peer].address
    try:
        sock = socket.create_connection((host, port), timeout=DIAL_SECONDS)
    except (OSError, UnicodeError) as exc:
        raise UnreachableError(f"{_dial_problem(exc)} {host}:{port}") from exc
    try:
        tune(sock, timeout_seconds)
        channel = _checked(sock, agreement, identity, peer)
        channel.send_message({"copublish": PROTOCOL, "purpose": purpose, "party": party, "run": run})
        # In a run the other party waits that long itself: it may hear the number of the run a moment after us.
        answer = channel.receive_message(seconds=HANDSHAKE_SECONDS if run is None else 2 * HANDSHAKE_SECONDS)
    except RefusedError:
        sock.close()
        raise
    except ChannelClosedError as exc:
        sock.close()
        raise UnreachableError(f"the connection was closed by {host}:{port}") from exc
    except (MeetingError, OSError) as exc:  # connected and silent: it may be busy
        sock.close()
        raise UnreachableError(f"{NO_ANSWER} {host}:{port}") from exc
    if answer.get("ok") is not True:
        channel.close()
        raise RefusedError(f"Party '{peer}' refuses: {plain_text(answer.get('refused', 'it does not say why'))}.")
    return channel


def _checked(sock: socket.socket, agreement: Agreement, identity: Identity | None, peer: str) -> Channel:
    """A channel to a peer whose certificate is the agreed one."""
    who = f"Who answers at {agreement.parties[peer].host} as '{peer}'"
    try:
        if identity is None:
            return plain_channel(sock)
        channel, chain = secure_channel(sock, identity, is_server=False)
    except RefusedError as exc:
        raise RefusedError(f"{who} {exc}. Nothing was sent.") from exc
    if problem := peer_problem(agreement, peer, chain):
        channel.close()
        raise RefusedError(f"{who} {problem}. Nothing was sent.")
    return channel


def refuse_unfit_hosts(agreement: Agreement, party: str, identity: Identity | None) -> None:
    """Raise unless the agreement says where and who the parties are, or all of them are on loopback.

    Raises:
        MeetingError: With every problem.
    """
    problems = []
    for name, other in agreement.parties.items():
        if other.host is None:
            problems.append(f'parties.{name}: say where the others reach it, like host = "{name}.example:7700"')
        elif identity is None and not means_loopback(other.address[0]):
            problems.append(f"parties.{name}.host: --insecure is for loopback alone, like localhost:7700")
        elif identity is not None and other.certificate is None and other.authority is None:
            problems.append(f"parties.{name}: 'certificate' is missing. 'copublish identity show' prints it there")
    if not problems and identity is not None and (problem := peer_problem(agreement, party, identity.chain)):
        problems.append(f"your own identity does not fit: it {problem}. Choose it with --identity FOLDER")
    if problems:
        raise MeetingError("\n  - ".join(["The agreement cannot be run between machines:", *problems]))


PROBES = 4
"""How many signs of life in a row have to be lost before a silent link counts as dead."""

LONGEST_IDLE_SECONDS, LONGEST_INTERVAL_SECONDS = 10, 5


@dataclass(frozen=True)
class Keepalive:
    """When the system asks whether a silent peer is still there.

    Attributes:
        idle: Seconds of silence before it asks.
        interval: Seconds before it asks again, if there was no answer.
        probes: How often it asks before the link counts as dead, where no timeout says that.
    """

    idle: int
    interval: int
    probes: int

    @staticmethod
    def within(timeout_seconds: int) -> Keepalive:
        """Settings with which a link is given up after the timeout, and not for one packet that was lost.

        Linux ends a connection at the first look after the timeout at which a probe was not answered. So the timeout
        has room for several of them: the first after a third of it, the others in what is left.
        """
        idle = min(LONGEST_IDLE_SECONDS, max(1, timeout_seconds // 3))
        interval = min(LONGEST_INTERVAL_SECONDS, max(1, (timeout_seconds - idle) // PROBES))
        return Keepalive(idle, interval, min(MAX_KEEPCNT, max(PROBES, (timeout_seconds - idle) // interval)))


MAX_KEEPCNT = 127
"""Linux takes no more."""


def tune(sock: socket.socket, timeout_seconds: int) -> None:
    """Send at once, and notice a dead link even if nothing is sent."""
    keepalive = Keepalive.within(timeout_seconds)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_USER_TIMEOUT", 1000 * timeout_seconds),
        ("TCP_KEEPIDLE", keepalive.idle),
        ("TCP_KEEPINTVL", keepalive.interval),
        ("TCP_KEEPCNT", keepalive.probes),
    ):
        if hasattr(socket, option):  # Linux
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _dial_problem(error: OSError | UnicodeError) -> str:
    if isinstance(error, socket.gaierror | UnicodeError):
        return "the name is not known:"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens at"
    if isinstance(error, TimeoutError):
        return NO_ANSWER
    return f"cannot reach ({error.strerror})"
