"""One authenticated connection between two parties: TLS 1.3 with both certificates checked against the agreement.

The library decides nothing about trust here. A handshake proves that the peer holds the key of the certificate it
shows; whether that is the certificate in the agreement is decided by `certificate_problem`, before a byte of content is
read or sent. OpenSSL's own check needs the peer's certificate beforehand, and parties know its fingerprint alone.
"""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import struct
import time
from typing import Any

from cryptography import x509
from OpenSSL import SSL

from copublish.agreement.model import Agreement
from copublish.agreement.protocol.message import Word, read_word, wrong_word
from copublish.errors import MeetingError
from copublish.party.keys.identity import Identity, certificate_problem

HANDSHAKE_SECONDS = 10.0
LENGTH = struct.Struct(">I")
"""Before every word stands its length."""

CHUNK = 256 * 1024
RECORD = 16 * 1024
"""What TLS sends at once."""
MAX_POLL_MILLISECONDS = 2**31 - 1


class RefusedError(MeetingError):
    """A peer is not who the agreement says, or says that we are not: trying again does not help."""


class UnprovenPeerError(RefusedError):
    """Who answers does not prove to be the agreed party: it speaks no TLS, or shows another certificate."""


class UnreachableError(MeetingError):
    """Nobody answers at the other party's address: trying again may help."""


class SilentError(UnreachableError):
    """There is no answer at all, where others are not there or refuse."""

    def __init__(self, whom: str) -> None:
        super().__init__(f"no answer from {whom}")


class ChannelClosedError(MeetingError):
    """The other side closed the connection or it broke."""


class Channel:
    """A connection, with the plain socket's ways of waiting and TLS's ways of reading and writing.

    Without TLS (`--insecure`) it is the socket alone; only loopback addresses get that far.
    """

    def __init__(self, sock: socket.socket, secure: SSL.Connection | None) -> None:
        self._socket, self._secure = sock, secure

    def fileno(self) -> int:
        """The file to wait for."""
        return self._socket.fileno()

    @property
    def key_exchange(self) -> str | None:
        """The group with which both ends agreed on a key, as OpenSSL names it; none without TLS.

        Of what both know OpenSSL takes X25519MLKEM768 first, since 3.5: who records what is sent now, and has a quantum
        computer later, has to break ML-KEM and X25519.
        """
        return None if self._secure is None else self._secure.get_group_name()

    def pending(self) -> bool:
        """Whether bytes were decrypted already, which waiting for the file would not show."""
        return self._secure is not None and self._secure.pending() > 0

    def try_read(self) -> bytes | None:
        """Bytes that are there, none if there are none yet.

        Raises:
            ChannelClosedError: If the other side has ended the connection, or it broke.
        """
        try:
            data = (self._secure or self._socket).recv(CHUNK)
        except (SSL.WantReadError, SSL.WantWriteError, BlockingIOError):
            return None
        except (SSL.Error, OSError) as exc:
            raise ChannelClosedError("The connection was closed.") from exc
        if not data:
            raise ChannelClosedError("The connection was closed.")
        return bytes(data)

    def try_write(self, data: bytes | bytearray | memoryview) -> int:
        """Send what can be sent now, at most one record, and return how much that was."""
        try:
            return int((self._secure or self._socket).send(bytes(data[:RECORD])))
        except (SSL.WantReadError, SSL.WantWriteError, BlockingIOError):
            return 0
        except (SSL.Error, OSError) as exc:
            raise ChannelClosedError("The connection was closed.") from exc

    def has_something(self, seconds: float) -> bool:
        """Whether something can be read within some seconds: content, or the end."""
        if self.pending():
            return True
        try:
            return _is_ready(self._socket, seconds, write=False)
        except (OSError, ValueError):
            return True

    def is_idle(self) -> bool:
        """Whether more could be sent now: if not, the other side has not taken yet what was sent before."""
        try:
            return _is_ready(self._socket, 0, write=True)
        except (OSError, ValueError):
            return True  # whoever sends now finds out

    def has_ended(self) -> bool:
        """Whether the other side has closed a connection on which it never says anything."""
        if not self.has_something(0):
            return False
        try:
            return self.try_read() is not None  # it has no business to speak here
        except ChannelClosedError:
            return True

    def send_word(self, word: Word, content: object = True, *, seconds: float = HANDSHAKE_SECONDS) -> None:
        """Send one small public message.

        Raises:
            ChannelClosedError: If the connection ends before.
            MeetingError: If it takes too long.
        """
        body = word.spelled(content)
        self.send_bytes(LENGTH.pack(len(body)) + body, seconds=seconds)

    def send_bytes(self, content: bytes | memoryview, *, seconds: float) -> None:
        """Send all of something.

        Raises:
            ChannelClosedError: If the connection ends before.
            MeetingError: If it takes too long.
        """
        data, deadline = memoryview(content), time.monotonic() + seconds
        while data:
            sent = self.try_write(data)
            data = data[sent:]
            if data and not sent:
                self._wait(deadline, write=True)

    def receive_word(self, *expected: Word, sender: str, seconds: float) -> tuple[Word, Any]:
        """Wait for one of some messages; return which one came, and its content.

        Args:
            *expected: Those that may come now.
            sender: The other side, at the beginning of a sentence.
            seconds: How long to wait.

        Raises:
            ChannelClosedError: If the connection ends before.
            MeetingError: If it takes too long.
            WrongWordError: If something else comes, or it does not have its type and bound.
        """
        deadline = time.monotonic() + seconds
        (length,) = LENGTH.unpack(self._receive_exactly(LENGTH.size, deadline))
        if length > max(word.max_bytes for word in expected):  # before a byte of it is read
            raise wrong_word(expected, sender)
        return read_word(self._receive_exactly(length, deadline), expected, sender)

    def receive_bytes(self, length: int, *, seconds: float) -> bytes:
        """Wait for so many bytes.

        Raises:
            ChannelClosedError: If the connection ends before.
            MeetingError: If it takes too long.
        """
        return self._receive_exactly(length, time.monotonic() + seconds)

    def _receive_exactly(self, length: int, deadline: float) -> bytes:
        found = bytearray()
        while len(found) < length:
            try:
                # Exactly as much as is wanted: what follows a message may belong to the engine.
                data = (self._secure or self._socket).recv(min(CHUNK, length - len(found)))
            except (SSL.WantReadError, SSL.WantWriteError, BlockingIOError):
                self._wait(deadline, write=False)
                continue
            except (SSL.Error, OSError) as exc:
                raise ChannelClosedError("The other side closed the connection.") from exc
            if not data:
                raise ChannelClosedError("The other side closed the connection.")
            found += data
        return bytes(found)

    def _wait(self, deadline: float, *, write: bool) -> None:
        left = deadline - time.monotonic()
        try:
            is_ready = _is_ready(self._socket, left, write=write)
        except (OSError, ValueError) as exc:
            raise ChannelClosedError("The connection was closed.") from exc
        if left <= 0 or not is_ready:
            raise MeetingError("The other side did not answer in time.")

    def break_off(self) -> None:
        """End the connection under whoever uses it now, from another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the connection; the other side sees that it ended."""
        if self._secure is not None:
            with contextlib.suppress(SSL.Error, OSError):
                self._secure.shutdown()
        self.break_off()
        self._socket.close()


def _is_ready(sock: socket.socket, seconds: float, *, write: bool) -> bool:
    """Whether a socket can be read or written within some seconds, or has ended.

    By poll, because select takes no file beyond the first thousand.
    """
    poll = select.poll()
    poll.register(sock, select.POLLOUT if write else select.POLLIN)
    return bool(poll.poll(min(MAX_POLL_MILLISECONDS, max(0, round(1000 * seconds)))))


def secure_channel(sock: socket.socket, identity: Identity, *, is_server: bool) -> tuple[Channel, Chain]:
    """Do the handshake and return the channel with the certificates that the peer showed, not yet checked.

    Raises:
        RefusedError: If the peer does not speak TLS 1.3 or shows no certificate.
        ChannelClosedError: If the connection ends meanwhile.
    """
    try:
        connection = SSL.Connection(_context(identity), sock)
    except SSL.Error as exc:
        raise MeetingError(f"Your key '{identity.key_file}' can no longer be used. Nothing was sent.") from exc
    (connection.set_accept_state if is_server else connection.set_connect_state)()
    _shake_hands(connection, sock)
    try:
        chain = connection.get_peer_cert_chain(as_cryptography=True) or []
        # A server's list of what the peer sent does not start with the peer's own certificate in every version.
        own = connection.get_peer_certificate(as_cryptography=True)
    except (ValueError, x509.InvalidVersion) as exc:
        raise RefusedError("showed a certificate that cannot be read") from exc
    others = [certificate for certificate in chain if certificate != own]
    return Channel(sock, connection), (() if own is None else (own, *others))


def outer_channel(sock: socket.socket, server_name: str) -> Channel:
    """A channel to whoever answers there, which is trusted with nothing: what matters inside has TLS of its own.

    Firewalls see an ordinary TLS connection to a named host.

    Raises:
        RefusedError: If it does not speak TLS 1.3.
        ChannelClosedError: If the connection ends meanwhile.
    """
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_min_proto_version(SSL.TLS1_3_VERSION)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    connection = SSL.Connection(context, sock)
    if not _is_address(server_name):
        connection.set_tlsext_host_name(server_name.encode())
    connection.set_connect_state()
    _shake_hands(connection, sock)
    return Channel(sock, connection)


def _shake_hands(connection: SSL.Connection, sock: socket.socket) -> None:
    sock.setblocking(False)
    deadline = time.monotonic() + HANDSHAKE_SECONDS
    while True:
        try:
            connection.do_handshake()
            break
        except SSL.WantReadError:
            write = False
        except SSL.WantWriteError:
            write = True
        except (SSL.SysCallError, SSL.ZeroReturnError, OSError) as exc:
            raise ChannelClosedError("the connection ended during the handshake") from exc
        except SSL.Error as exc:
            raise RefusedError(_handshake_problem(exc)) from exc
        left = deadline - time.monotonic()
        if left <= 0 or not _is_ready(sock, left, write=write):
            raise ChannelClosedError("the handshake took too long")


Chain = tuple[x509.Certificate, ...]


def peer_problem(agreement: Agreement, party: str, chain: Chain) -> str | None:
    """Reason why certificates are not those of a party of the agreement; nothing if they are."""
    agreed = agreement.parties[party]
    if agreed.certificate is None and agreed.authority is None:
        return f"could not be checked: the agreement has no certificate for '{party}'"
    return certificate_problem(chain, party, pinned=agreed.certificate, authority=agreed.authority)


def _context(identity: Identity) -> SSL.Context:
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_min_proto_version(SSL.TLS1_3_VERSION)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)  # every connection proves its key anew
    context.set_options(SSL.OP_NO_TICKET)
    if identity.key is None:
        context.use_privatekey_file(str(identity.key_file))
    else:
        context.use_privatekey(identity.key)
    context.use_certificate(identity.certificate)
    for issuer in identity.chain[1:]:
        context.add_extra_chain_cert(issuer)
    # A certificate is demanded; any is let through the handshake, because `peer_problem` decides, and can say why.
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, lambda *_: True)
    return context


NOT_TLS = ("http request", "wrong version number", "unexpected message", "packet length", "record layer", "record type")
"""How OpenSSL says that what came is no TLS at all."""


def _handshake_problem(error: SSL.Error) -> str:
    reasons = " ".join(str(part) for entry in (error.args[0] if error.args else []) for part in entry)
    if "certificate required" in reasons or "did not return a certificate" in reasons:
        return "showed no certificate"
    if any(words in reasons for words in NOT_TLS):
        return "does not speak TLS"
    if "unsupported protocol" in reasons or "version" in reasons:
        return "does not speak TLS 1.3"
    return "failed the TLS handshake"


def means_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name; others can resolve to one address now and to another later."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def plain_channel(sock: socket.socket) -> Channel:
    """A channel without TLS, to and from this machine alone.

    Raises:
        RefusedError: If the other end is on another machine.
    """
    if not ipaddress.ip_address(sock.getpeername()[0]).is_loopback:
        raise RefusedError("is not on this machine, and --insecure is for loopback alone")
    sock.setblocking(False)
    return Channel(sock, None)
