"""A small HTTP proxy as organizations have them: passes CONNECT on to allowed ports, and ends what is idle."""

from __future__ import annotations

import base64
import select
import socket
import threading
import time
from dataclasses import dataclass, field


@dataclass
class HttpProxy:
    """A proxy that listens; `serve` runs for ever, `start` in the background.

    Attributes:
        address: Where it listens.
        ports: The ports it lets people connect to; all of them if none are listed.
        credentials: The `user:password` it asks for.
        idle_seconds: How long it keeps a connection on which nobody says anything.
        asked: What it was asked for, and what it answered.
        ended_idle: How many connections it has ended because they were idle.
    """

    address: tuple[str, int] = ("127.0.0.1", 0)
    ports: tuple[int, ...] = ()
    credentials: str | None = None
    idle_seconds: float | None = None
    asked: list[tuple[str, int]] = field(default_factory=list)
    ended_idle: int = 0

    def start(self) -> HttpProxy:
        self._listener = socket.create_server(self.address)
        self.address = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def serve(self) -> None:
        self.start()
        threading.Event().wait()

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            if not (data := client.recv(1000)):
                return
            request += data
        lines = request.decode().split("\r\n")
        target = lines[0].split(" ")[1]
        host, _, port = target.rpartition(":")
        code, server = self._answer(lines, host, int(port))
        self.asked.append((target, code))
        asks = 'Proxy-Authenticate: Basic realm="us"\r\n' if code == 407 else ""
        client.sendall(f"HTTP/1.1 {code} Said so\r\n{asks}\r\n".encode())
        if server is None:
            client.close()
        else:
            self._pass_on(client, server)

    def _answer(self, lines: list[str], host: str, port: int) -> tuple[int, socket.socket | None]:
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        wanted = f"basic {base64.b64encode((self.credentials or '').encode()).decode()}".lower()
        if not lines[0].startswith("CONNECT "):
            return 405, None
        if self.credentials is not None and headers.get("proxy-authorization") != wanted:
            return 407, None
        if self.ports and port not in self.ports:
            return 403, None
        try:
            return 200, socket.create_connection((host.strip("[]"), port), timeout=300)
        except OSError:
            return 503, None

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        last, other = time.monotonic(), {client: server, server: client}
        try:
            while True:
                ready, _, _ = select.select(list(other), [], [], 0.05)
                for side in ready:
                    if not (data := side.recv(65536)):
                        return
                    other[side].sendall(data)
                    last = time.monotonic()
                if self.idle_seconds is not None and time.monotonic() - last > self.idle_seconds:
                    self.ended_idle += 1
                    return
        except OSError:
            return
        finally:
            client.close()
            server.close()
