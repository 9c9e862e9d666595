"""Diagnosis of why parties do not meet, step by step from the name to the clock, with what to ask a network team.

Each finding is about this machine, about another party or about the way in between.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from copublish.agreement.model import Agreement
from copublish.agreement.parties import way_between
from copublish.engines.choice import WITHOUT_ENGINE, has_secure_engine, secure_engine_version
from copublish.errors import MeetingError, plain_text
from copublish.kernel.checks import differences
from copublish.party.keys.identity import CLOCK_TOLERANCE, Identity, Passphrase, load_identity
from copublish.party.network.channel import Channel, RefusedError, UnprovenPeerError, UnreachableError
from copublish.party.network.dialing import AlreadyRunningError, dial, own_run_listens, refuse_unfit_hosts, status_of
from copublish.party.network.measuring import MeasuredLink, ask_to_dial_back, measure
from copublish.party.network.port import Port
from copublish.party.network.proxy import Proxy, ProxyError, WayOut, connect_out
from copublish.release.prepare import facts_of

NOTABLE_SECONDS = 60.0
"""By how much clocks may differ before it is said."""

LAST_TIME = datetime.max.replace(tzinfo=UTC).timestamp()
"""No clock says more."""

RETRY_SECONDS = 0.5

LINGER_SECONDS = 3.0
"""How long to stay for others that look at this one at the same time, once all were seen."""

LINE_OF_WORDS = "not inspected or decrypted on the way, and kept open for hours while one word passes every 20 seconds"


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        what: What it was.
        ok: Whether it is well; none if that cannot be known now.
        found: What was found.
        ask: What to ask somebody for, in words for them.
        peer: Which other party it is about, if about one.
        link: What the link is like, where it was measured.
    """

    what: str
    ok: bool | None
    found: str
    ask: str | None = None
    peer: str | None = None
    link: MeasuredLink | None = None


@dataclass(frozen=True)
class Doctor:
    """Looks at the network of one party.

    Attributes:
        agreement: Names the parties.
        party: Who looks.
        identity_folder: Its key and certificate.
        proxy: The way out, if there is one.
        wait_seconds: How long the others may take to come.
        passphrase: Asked if the key has one.
        listen: Where a run would listen, if not at the port of the party's host.
    """

    agreement: Agreement
    party: str
    identity_folder: Path
    proxy: Proxy | None = None
    wait_seconds: float = 5.0
    passphrase: Passphrase | None = None
    listen: tuple[str, int] | None = None

    def look(self) -> Iterator[Diagnosis]:
        """Yield what is found, one thing after the other. Touches no data and costs nothing."""
        if self.agreement.engine.name == "spu" and self.party in self.agreement.compute_nodes:
            yield _secure_engine()
        try:
            who = load_identity(self.identity_folder, self.passphrase)
        except MeetingError as exc:
            yield Diagnosis("identity", False, str(exc))
            return
        valid = who.certificate.not_valid_before_utc.date(), who.certificate.not_valid_after_utc.date()
        yield Diagnosis("identity", True, f"{who.fingerprint}, valid from {valid[0]} to {valid[1]}")
        yield _own_clock(who)
        try:
            refuse_unfit_hosts(self.agreement, self.party, who)
        except MeetingError as exc:
            yield Diagnosis("agreement", False, str(exc))
            return
        yield Diagnosis("agreement", True, "says where the parties meet, and names their certificates")
        if self.proxy is not None:
            yield Diagnosis("proxy", True, f"{self.proxy.name} is used, but for what NO_PROXY lists")
        deadline = time.monotonic() + self.wait_seconds
        with contextlib.ExitStack() as stack:
            port, finding = self._own_port(who, stack)
            yield finding
            for peer in self.agreement.parties:
                if peer != self.party:
                    yield from (replace(found, peer=peer) for found in self._peer(peer, who, port, deadline))
            if port is not None:
                time.sleep(LINGER_SECONDS)

    def _own_port(self, who: Identity, stack: contextlib.ExitStack) -> tuple[Port | None, Diagnosis]:
        """Open the port as a run would, so that others can be asked to dial it."""
        own = self.agreement.parties[self.party]
        try:
            port = Port(self.agreement, self.party, who, listen=self.listen, way_out=WayOut(proxy=self.proxy))
        except AlreadyRunningError as exc:
            return None, Diagnosis("own port", True, f"none: by the agreement you only dial out. {exc}")
        except MeetingError as exc:
            if not own.dials_out and own_run_listens(self.agreement, self.party, who, self.listen):
                return None, Diagnosis("own port", True, "your own run listens there; the others ask it instead")
            ask = None if own.dials_out else "Ask whoever looks after this machine what uses the port."
            return None, Diagnosis("own port", False, str(exc), ask)
        stack.enter_context(port)
        number = (self.listen or own.address)[1] if not own.dials_out else None
        said = "none: by the agreement you only dial out" if number is None else f"{number} is free"
        return port, Diagnosis("own port", True, said)

    def _peer(self, peer: str, who: Identity, port: Port | None, deadline: float) -> Iterator[Diagnosis]:
        way = way_between(self.agreement, self.party, peer)
        if way == "call back":
            yield from self._one_that_dials_in(peer, port, deadline)
            return
        host, number = self.agreement.network.relay_address if way == "relay" else self.agreement.parties[peer].address
        what = f"relay to {peer}" if way == "relay" else f"way to {peer}"
        findings = list(self._way(what, host, number))
        while any(finding.ok is False for finding in findings) and time.monotonic() < deadline:
            time.sleep(RETRY_SECONDS)
            findings = list(self._way(what, host, number))
        yield from findings
        if any(finding.ok is False for finding in findings):
            return

        def connect(purpose: str) -> Channel:
            return dial(self.agreement, self.party, who, peer, purpose, way_out=WayOut(proxy=self.proxy))

        differs = (
            f"Ask '{peer}' to start 'copublish run' or 'copublish doctor', and to leave it waiting. If it does, "
            "compare the hashes that 'copublish check' prints: with different agreements you do not meet there."
        )
        yield from self._node(peer, connect, deadline, hears_back=True, asks=differs if way == "relay" else None)

    def _one_that_dials_in(self, peer: str, port: Port | None, deadline: float) -> Iterator[Diagnosis]:
        if port is None:
            yield Diagnosis(f"node of {peer}", None, "it dials in to your own run, which says whether it has come")
            return
        ask = self._incoming(f"'{peer}'")
        yield from self._node(peer, partial(port.dial, peer), deadline, hears_back=False, asks=ask)

    def _way(self, what: str, host: str, port: int) -> Iterator[Diagnosis]:
        """Look up a name and open a connection there."""
        if self.proxy is None or not self.proxy.is_for(host, port):
            try:
                addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, port)})
            except (OSError, UnicodeError):
                ask = f"Ask who runs it for the right name, and your network team whether '{host}' is known here."
                yield Diagnosis(f"{what}: name", False, f"'{host}' is not known here", ask)
                return
            yield Diagnosis(f"{what}: name", True, f"'{host}' is {', '.join(addresses)}")
        else:
            yield Diagnosis(f"{what}: name", True, f"'{host}' is looked up by the proxy {self.proxy.name}")
        start = time.monotonic()
        try:
            connect_out(host, port, self.proxy).close()
        except ProxyError as exc:
            yield Diagnosis(f"{what}: connection", False, str(exc), self._outgoing(host, port))
        except UnreachableError as exc:
            yield Diagnosis(f"{what}: connection", False, f"{exc}.", self._outgoing(host, port))
        except (OSError, UnicodeError) as exc:
            found, ask = _what_the_firewall_does(exc, f"{host}:{port}")
            yield Diagnosis(f"{what}: connection", False, found, ask + self._outgoing(host, port))
        else:
            took = 1000 * (time.monotonic() - start)
            yield Diagnosis(f"{what}: connection", True, f"{host}:{port} answers, after {took:.0f} ms")

    def _node(
        self,
        peer: str,
        connect: Callable[[str], Channel],
        deadline: float,
        *,
        hears_back: bool,
        asks: str | None = None,
    ) -> Iterator[Diagnosis]:
        """Look at who is at the end of a connection."""
        what = f"node of {peer}"
        try:
            start, status = _ask_patiently(peer, connect, deadline)
            took = time.time() - start
        except RefusedError as exc:
            ask = (
                "If the certificate is one of your own organization, a firewall decrypts the connection: ask your "
                f"network team to leave it alone. Otherwise ask '{peer}' for its fingerprint."
                if isinstance(exc, UnprovenPeerError)
                else None
            )
            yield Diagnosis(what, False, str(exc), ask)
            return
        except MeetingError as exc:
            ask = asks or f"Ask '{peer}' to start 'copublish run' or 'copublish doctor', and to leave it waiting."
            yield Diagnosis(what, False, f"{str(exc)[:1].upper()}{str(exc)[1:]}.", ask)
            return
        yield Diagnosis(what, True, "answers, over TLS 1.3 and with the agreed certificate")
        yield from self._compare(peer, status, start + took / 2)
        try:
            channel = connect("measure")
            link = measure(channel)
            problem = ask_to_dial_back(channel) if hears_back else None
            channel.close()
        except MeetingError as exc:
            yield Diagnosis(f"link to {peer}", None, f"could not be measured: {exc}")
            return
        there, back = (8 * rate / 1e6 for rate in link.bytes_per_second)
        found = (
            f"round trip {1000 * link.round_trip_seconds:.1f} ms, {there:.0f} Mbit/s there and {back:.0f} Mbit/s back"
        )
        yield Diagnosis(f"link to {peer}", True, found, link=link)
        if hears_back:
            yield self._way_back(peer, problem)

    def _way_back(self, peer: str, problem: str | None) -> Diagnosis:
        own = self.agreement.parties[self.party]
        where = "on connections that you dialed" if own.dials_out else f"at {own.host}"
        if problem is None:
            return Diagnosis(f"way back from {peer}", True, f"it reaches you {where}")
        can_ask = ' If they cannot, agree on reach = "dial-out" for yourself.'
        ask = None if own.dials_out else self._incoming(f"'{peer}'") + can_ask
        return Diagnosis(f"way back from {peer}", False, f"it does not reach you {where}: {problem}.", ask)

    def _compare(self, peer: str, status: dict[str, Any], now: float) -> Iterator[Diagnosis]:
        """Compare clocks, agreements and versions with another party."""
        yield _other_clock(peer, status["time"], now)
        different = differences(facts_of(self.agreement), status["facts"])
        if different is None:
            yield Diagnosis(f"agreement of {peer}", True, "the same agreement and the same versions")
        else:
            said = f"you differ in: {plain_text(different, 1000)}"
            yield Diagnosis(
                f"agreement of {peer}", False, said, "All parties need the same file and the same versions."
            )

    def _outgoing(self, host: str, port: int) -> str:
        """What to ask for, in words for people who look after a network."""
        if self.proxy is not None and self.proxy.is_for(host, port):
            return (
                f"Ask your network team: let this machine use the proxy {self.proxy.name} for CONNECT to {host}, TCP "
                f"port {port}; TLS 1.3, {LINE_OF_WORDS}."
            )
        return (
            f"Ask your network team: let this machine ({_own_address(host, port)}) open connections to {host}, TCP "
            f"port {port}, outgoing; TLS 1.3, {LINE_OF_WORDS}. If all has to go through a proxy, name it with --proxy."
        )

    def _incoming(self, whom: str) -> str:
        own = self.agreement.parties[self.party]
        host, port = own.address
        return (
            f"Ask your network team: let connections of {whom} in to this machine, which others know as {host}, TCP "
            f"port {port}, incoming; TLS 1.3, {LINE_OF_WORDS}. Ask {whom} for the addresses that it comes from."
        )


def _ask_patiently(peer: str, connect: Callable[[str], Channel], deadline: float) -> tuple[float, dict[str, Any]]:
    """When a party was asked for its status and what it said; one that is not there is asked again until it is."""
    while True:
        start = time.time()
        try:
            return start, status_of(connect("status"), peer)
        except RefusedError:
            raise
        except MeetingError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)


def _other_clock(peer: str, said: float, now: float) -> Diagnosis:
    """What another party's clock says."""
    what = f"clock of {peer}"
    ahead = said - now
    if abs(ahead) < NOTABLE_SECONDS:
        return Diagnosis(what, True, "agrees with yours")
    words = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} yours"
    is_tolerable = abs(ahead) < CLOCK_TOLERANCE.total_seconds()
    return Diagnosis(what, is_tolerable, f"is {words}. Certificates and ledgers go by clocks")


def _secure_engine() -> Diagnosis:
    if has_secure_engine():
        return Diagnosis("secure engine", True, f"SPU {secure_engine_version()} is installed")
    return Diagnosis("secure engine", False, f"{WITHOUT_ENGINE[:1].upper()}{WITHOUT_ENGINE[1:]}")


def _own_clock(who: Identity) -> Diagnosis:
    now, start = datetime.now(UTC), who.certificate.not_valid_before_utc
    if now < start - CLOCK_TOLERANCE:
        said = f"this machine says it is {now.date()}, before your certificate was made ({start.date()})"
        return Diagnosis("clock", False, said, "Ask whoever looks after this machine to set its clock.")
    return Diagnosis("clock", True, f"this machine says it is {now.isoformat(timespec='seconds')}")


def _what_the_firewall_does(error: OSError | UnicodeError, where: str) -> tuple[str, str]:
    """What a failed connection tells about who is in between, and whom to ask."""
    if isinstance(error, ConnectionRefusedError):
        return (
            f"{where} was reached and refused: nobody listens there now, or a firewall rejects.",
            "First ask the other side whether 'copublish run' or 'copublish doctor' waits there. ",
        )
    if isinstance(error, TimeoutError):
        return (
            f"Nothing comes back from {where}: a firewall drops in silence, yours or theirs, or the machine is off.",
            "",
        )
    return f"{where} cannot be reached ({getattr(error, 'strerror', None) or 'no way'}).", ""


def _own_address(host: str, port: int) -> str:
    """The address that this machine would use to get somewhere; nothing is sent to find out."""
    with contextlib.suppress(OSError, UnicodeError):
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as sock:
            sock.connect(address)
            return str(sock.getsockname()[0])
    return "this machine's address"
