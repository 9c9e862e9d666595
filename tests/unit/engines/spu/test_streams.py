"""Connections that are carried as streams arrive whole, both ways, and end when either side does."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from copublish.engines.spu.streams import Streams
from support.waiting import SECONDS


@pytest.fixture
def ends(tmp_path):
    """Two ends with a thread each way in the place of what carries them; a server listens behind either."""
    paths = {name: tmp_path / f"{name}.sock" for name in ("bridge", "worker", "stands for worker", "stands for bridge")}
    here = Streams(paths["stands for worker"], paths["bridge"], first=0)
    there = Streams(paths["stands for bridge"], paths["worker"], first=1)
    over = threading.Event()

    def carry(one: Streams, other: Streams) -> None:
        while not over.is_set():
            other.put(one.take())

    for pair in ((here, there), (there, here)):
        threading.Thread(target=carry, args=pair, daemon=True).start()
    yield paths
    over.set()
    here.close()
    there.close()


def listening(path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.settimeout(SECONDS)
    server.bind(str(path))
    server.listen()
    return server


def received(connection: socket.socket, n_bytes: int) -> bytes:
    content = b""
    while len(content) < n_bytes and (piece := connection.recv(2**16)):
        content += piece
    return content


@pytest.mark.parametrize(("dialed", "behind"), [("stands for worker", "worker"), ("stands for bridge", "bridge")])
def test_what_is_sent_arrives_in_order_and_the_end_as_well(dialed, behind, ends):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(SECONDS)
    client.connect(str(ends[dialed]))
    content = os.urandom(20 * 2**20)  # more than may wait on the way
    sender = threading.Thread(target=client.sendall, args=(content,), daemon=True)
    sender.start()
    connection = listening(ends[behind]).accept()[0]  # it listens after the first byte is on its way
    connection.settimeout(SECONDS)
    assert received(connection, len(content)) == content
    connection.sendall(b"an answer")
    assert received(client, 9) == b"an answer"
    connection.close()
    assert client.recv(1) == b""


def test_two_connections_do_not_mix(ends):
    server = listening(ends["worker"])
    clients = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for number, client in enumerate(clients):
        client.connect(str(ends["stands for worker"]))
        client.sendall(f"client {number}".encode())
    heard = {received(server.accept()[0], 8) for _ in clients}
    assert heard == {b"client 0", b"client 1"}


def test_nothing_is_left_open_when_an_end_closes(tmp_path):
    only = Streams(tmp_path / "own.sock", tmp_path / "nobody.sock", first=0)
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(SECONDS)
    client.connect(str(tmp_path / "own.sock"))
    client.sendall(b"hello")
    assert any(only.take() for _ in range(6))  # each waits some seconds
    only.close()
    assert client.recv(1) == b""
    with pytest.raises(OSError, match="refused"):
        socket.socket(socket.AF_UNIX).connect(str(tmp_path / "own.sock"))
