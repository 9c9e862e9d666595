"""Reaching another party: where the agreement says it is, and only if it is who the agreement says."""

from __future__ import annotations

import socket
from typing import Any, cast

from copublish.agreement.model import Agreement
from copublish.agreement.network import way_between
from copublish.errors import MeetingError, plain_text
from copublish.kernel.protocol.message import WrongWordError
from copublish.kernel.protocol.table import ACCEPTED, GREETING, PROTOCOL, REFUSED, STATUS
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
from copublish.party.network.proxy import DIAL_SECONDS
from copublish.party.network.relay_talk import call_at_relay
from copublish.party.network.way_out import DIRECT, WayOut


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
