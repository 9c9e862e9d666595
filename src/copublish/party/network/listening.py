"""Sockets at this party's own end: the one port that listens to others, and the way to our engine's worker."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import socket
import threading
import time
from pathlib import Path

from copublish.agreement.model import Agreement
from copublish.errors import MeetingError
from copublish.files.home import home_folder, make_private_folder
from copublish.party.network.channel import ChannelClosedError, means_loopback

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
