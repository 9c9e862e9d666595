"""The way of connections out of this machine: a proxy, if there is one, and when a dead link counts as broken."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from copublish.party.network.channel import UnreachableError
from copublish.party.network.proxy import Proxy, connect_out, not_reached
from copublish.party.network.sockets import tune


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
