"""A stranger on another host: finds its open ports and posts plaintext to each. `python stranger.py HOST PORT`."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time


def is_open(host: str, port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex((host, port)) == 0


def post_plaintext(host: str, port: int) -> bytes:
    """Say what SPU's own port would take for a message of the other party; return what is answered."""
    answer = b""
    with socket.create_connection((host, port), timeout=30) as sock, contextlib.suppress(OSError):
        sock.sendall(b"POST /org.interconnection.link.ReceiverService/Push HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        while data := sock.recv(4096):
            answer += data
    return answer


def main(host: str, expected: str) -> None:
    deadline = time.monotonic() + 60
    while not is_open(host, int(expected)) and time.monotonic() < deadline:
        time.sleep(0.1)
    found = [port for port in range(1, 65_536) if is_open(host, port)]
    answers = [post_plaintext(host, port) for port in found]
    print(json.dumps({"open": found, "taken": [b"HTTP/1.1 200" in answer for answer in answers]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
