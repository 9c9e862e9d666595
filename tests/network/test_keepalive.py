"""Signs of life on a silent link: several fit into every timeout, so that one that is lost ends nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest

from copublish.party.network.sockets import PROBES, Keepalive, tune
from support.hosts import TwoHosts, linked_hosts
from support.node import source_path

TIMEOUT_SECONDS = 8


@pytest.mark.parametrize("timeout", [*range(5, 61), 90, 120, 300, 599, 600])
def test_several_signs_of_life_fit_into_every_timeout_and_a_dead_link_is_noticed_soon_after_it(timeout):
    chosen = Keepalive.within(timeout)
    assert chosen.idle >= 1 and chosen.interval >= 1
    lost = [chosen.idle + number * chosen.interval for number in range(PROBES)]
    assert lost[-1] < timeout, "the last of them is sent before the timeout"
    looks = next(second for second in range(chosen.idle, 10**4, chosen.interval) if second >= timeout)
    assert looks <= timeout + chosen.interval <= timeout + 5, "when the link is given up"


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux's names")
@pytest.mark.parametrize("timeout", [5, 12, 30, 600, 10**5])
def test_the_system_takes_what_was_chosen(timeout):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sock:
        tune(sock, timeout)
        options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        found = [sock.getsockopt(socket.IPPROTO_TCP, option) for option in options]
    chosen = Keepalive.within(timeout)
    assert found == [chosen.idle, chosen.interval, chosen.probes, 1000 * timeout]


SERVER = f"""
import socket
from copublish.party.network.sockets import tune
server = socket.create_server(("0.0.0.0", 7000))
print("listening", flush=True)
peer, _ = server.accept()
tune(peer, {TIMEOUT_SECONDS})
print(peer.recv(1), flush=True)
peer.sendall(b"!")
"""

CLIENT = f"""
import socket, sys
from copublish.party.network.sockets import tune
peer = socket.create_connection((sys.argv[1], 7000), timeout=60)
tune(peer, {TIMEOUT_SECONDS})
print("connected", flush=True)
sys.stdin.readline()
peer.sendall(b"?")
print(peer.recv(1), flush=True)
"""


class Link:
    """A server and a client at two hosts, with a link between them that nobody says anything on."""

    def __init__(self, hosts: TwoHosts) -> None:
        self.hosts = hosts
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = {"env": {"PYTHONPATH": source_path()}}
        server = hosts.start(1, [sys.executable, "-c", SERVER], **pipes, **environment)
        assert server.stdout.readline() == "listening\n"
        self.client = hosts.start(0, [sys.executable, "-c", CLIENT, hosts.addresses[1]], **pipes, **environment)
        assert self.client.stdout.readline() == "connected\n"

    def answer(self) -> str:
        return self.client.communicate("go\n", timeout=60)[0]


def test_a_silent_link_outlives_signs_of_life_that_are_lost_and_a_dead_one_does_not():
    """Both are cut from the 5th second on. One is mended 3 seconds later, when some signs of life are lost."""
    with linked_hosts() as one, linked_hosts() as other:
        brief, dead = Link(one), Link(other)
        time.sleep(5)
        for link in (brief, dead):
            link.hosts.cut()
        time.sleep(3)
        brief.hosts.restore()
        time.sleep(2 * TIMEOUT_SECONDS - 3)
        dead.hosts.restore()
        assert brief.answer() == "b'!'\n"
        assert dead.answer() != "b'!'\n"
