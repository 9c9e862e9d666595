"""The test bed of two hosts on one machine: that its link is as slow as set, can be cut, and leaves nothing behind."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from support.cable import measure
from support.hosts import HostsUnavailableError, TwoHosts, WideArea, linked_hosts, namespaces
from support.waiting import alive, wait_until

TRIES = 5
"""TCP sends again what a busy machine carried too late, and makes a conversation longer: one of several is as it is."""

LINKS = {"pair": None, "wide area": WideArea()}

ECHO = """
import socket
server = socket.create_server(("0.0.0.0", 7000))
print("listening", flush=True)
while True:
    peer, _ = server.accept()
    while received := peer.recv(1 << 20):
        if received.endswith(b"?"):
            peer.sendall(b"!")
"""

ASK = """
import socket, sys, time
peer = socket.create_connection((sys.argv[1], 7000), timeout=60)
peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
size, times = int(sys.argv[2]), int(sys.argv[3])
for _ in range(times):
    start = time.monotonic()
    peer.sendall(bytes(size) + b"?")
    assert peer.recv(1) == b"!"
    print(time.monotonic() - start)
"""

SAY = "import socket, sys; socket.socket(type=socket.SOCK_DGRAM).sendto(b'word', (sys.argv[1], 7001))"

LISTEN = """
import socket, sys
listener = socket.socket(type=socket.SOCK_DGRAM)
listener.bind(("0.0.0.0", 7001))
print("listening", flush=True)
while True:
    print(listener.recv(100).decode(), flush=True)
"""


def ask(hosts: TwoHosts, size: int, times: int) -> list[float]:
    """Send so many bytes to the second host so many times; return the seconds until each answer."""
    server = hosts.start(1, [sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
    server.stdout.readline()
    done = hosts.run(0, [sys.executable, "-c", ASK, hosts.addresses[1], str(size), str(times)])
    return [float(line) for line in done.stdout.split()]


def test_a_round_trip_takes_at_least_as_long_as_set():
    with linked_hosts(WideArea(round_trip_seconds=0.060)) as hosts:
        assert min(ask(hosts, 0, 10)) >= 0.060


def test_the_chain_of_messages_is_as_long_as_the_conversation():
    with linked_hosts(WideArea(round_trip_seconds=0.010)) as hosts:
        ask(hosts, 0, 10)
        chains = []
        while 2 * 7 not in chains and len(chains) < TRIES:
            before = hosts.traffic()
            ask_again = hosts.run(0, [sys.executable, "-c", ASK, hosts.addresses[1], "0", "7"])
            assert len(ask_again.stdout.split()) == 7
            chains.append(hosts.traffic().since(before).chain)
        assert min(chains) == 2 * 7


def test_no_more_passes_than_the_rate_allows():
    link, size = WideArea(round_trip_seconds=0.002, bits_per_second=40e6), 2_000_000
    packets = -(-size // 1448)  # of 1500 bytes less 52 of headers
    most, sent = 1.02 * (size + 52 * packets), [math.inf]
    with linked_hosts(link) as hosts:
        server = hosts.start(1, [sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
        server.stdout.readline()
        while min(sent) > most and len(sent) <= TRIES:
            before = hosts.traffic()
            done = hosts.run(0, [sys.executable, "-c", ASK, hosts.addresses[1], str(size), "1"])
            assert float(done.stdout) >= 8 * size / link.bits_per_second
            sent.append(hosts.traffic().since(before).bytes[0])
    assert size + 52 * packets <= min(sent) <= most


def test_a_large_segment_counts_as_the_packets_it_would_be_split_into():
    # IPv4 with 20 bytes of header, TCP with 32, 3,000 bytes of payload in segments of 1,448.
    ip = bytes([0x45]) + bytes(8) + bytes([6]) + bytes(10)
    tcp = bytes(12) + bytes([8 << 4]) + bytes(19)
    segmented = struct.pack("<BBHHHH", 1, 1, 52, 1448, 20, 16) + ip + tcp + bytes(3000)
    assert measure(segmented) == (3, 3000 + 3 * 52, 3000)
    acknowledgement = struct.pack("<BBHHHH", 0, 0, 0, 0, 0, 0) + ip + tcp
    assert measure(acknowledgement) == (1, 52, 0)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_nothing_passes_a_cut_link_and_everything_after_it_is_restored(link):
    with linked_hosts(link) as hosts:
        listener = hosts.start(1, [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True)
        assert listener.stdout.readline() == "listening\n"
        say = [sys.executable, "-c", SAY, hosts.addresses[1]]
        hosts.run(0, say)
        assert listener.stdout.readline() == "word\n"
        hosts.cut()
        hosts.run(0, [*say[:2], say[2].replace("word", "lost"), say[3]])  # the sender is told nothing
        time.sleep(0.2)
        hosts.restore()
        hosts.run(0, say)
        assert listener.stdout.readline() == "word\n"


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_a_connection_outlives_a_short_cut(link):
    with linked_hosts(link) as hosts:
        server = hosts.start(1, [sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
        server.stdout.readline()
        command = [sys.executable, "-c", ASK, hosts.addresses[1], "0", "3"]
        slow = ASK.replace("start =", "time.sleep(0.3); start =")
        asking = hosts.start(0, [*command[:2], slow, *command[3:]], stdout=subprocess.PIPE, text=True)
        asking.stdout.readline()
        hosts.cut()
        time.sleep(0.5)
        hosts.restore()
        answers, _ = asking.communicate(timeout=60)
        assert len(answers.split()) == 2
        assert asking.returncode == 0


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_hosts_reach_each_other_and_nobody_else(link):
    with linked_hosts(link) as hosts:
        for host in (0, 1):
            routes = hosts.run(host, ["ip", "route"]).stdout.splitlines()
            assert len(routes) == 1
            assert routes[0].startswith("10.83.0.0/24 dev wan")


def test_two_pairs_do_not_see_each_other():
    with linked_hosts() as one, linked_hosts(WideArea(round_trip_seconds=0.002)) as other:
        assert len({*one.names, *other.names}) == 4
        before = other.traffic()
        assert len(ask(one, 0, 3)) == 3
        assert other.traffic() == before


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_nothing_is_left_after_a_failure(link):
    with pytest.raises(ZeroDivisionError), linked_hosts(link) as hosts:
        names = hosts.names
        forgotten = hosts.start(0, ["sleep", "1000"])
        cable = hosts._cable
        assert set(names) <= namespaces()
        raise ZeroDivisionError
    assert not set(names) & namespaces()
    assert forgotten.returncode is not None
    assert cable is None or cable.returncode is not None


def test_what_a_killed_process_left_behind_is_removed_by_the_next_one():
    with linked_hosts():  # skips where there are no hosts
        pass
    code = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
from support.hosts import TwoHosts, WideArea
hosts = TwoHosts(WideArea()).__enter__()
sleeper = hosts.start(0, ["sleep", "1000"], stdout=subprocess.DEVNULL)
print(*hosts.names, sleeper.pid, hosts._cable.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    tests = str(Path(__file__).parents[1])
    killed = subprocess.Popen([sys.executable, "-c", code, tests], stdout=subprocess.PIPE, text=True)
    *names, sleeper, cable = killed.communicate()[0].split()
    with linked_hosts():
        assert not set(names) & namespaces()
    for process in (sleeper, cable):
        with suppress(psutil.NoSuchProcess):
            left = psutil.Process(int(process))
            wait_until(lambda left=left: not alive([left]))


def test_without_root_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostsUnavailableError, match="root"), TwoHosts():
        pass
