"""A cable between two network namespaces, in user space: it carries IP packets with a delay and a rate.

Run as a process of its own (`python cable.py NAMESPACE NAMESPACE DELAY_SECONDS BITS_PER_SECOND`); `hosts.py` starts it.
It opens a TUN device called `wan` in each namespace and answers one line of JSON for each line on its standard input:
`count`, `cut`, `restore`. It ends, and both devices vanish, when its standard input does.

The devices hand over large TCP segments unsplit (what a network card would split at the MTU), so that 100 Mbit/s cost a
few percent of a core. The rate counts bytes as they would be on a wire: with headers for every packet of the MTU. Each
direction has its own rate. Nothing is lost but by a cut: what waits is bounded by the senders' windows.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import math
import os
import select
import struct
import sys
import time
from collections import deque
from dataclasses import dataclass, field

CLONE_NEWNET = 0x40000000
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4 = 0x01, 0x02
VNET_HEADER = struct.Struct("<BBHHHH")
"""Flags, kind of segmentation, length of headers, payload of one packet, where and how to put a checksum."""
LARGEST_PACKET = VNET_HEADER.size + 65_536
DEVICE = "wan"


@dataclass
class Direction:
    """Packets on their way from one host to the other."""

    source: int
    target: int
    queue: deque[tuple[float, int, bytes]] = field(default_factory=deque)
    is_free_at: float = 0.0
    packets: int = 0
    bytes: int = 0


class Cable:
    """Both directions, and how many times the conversation went to and fro."""

    def __init__(self, devices: tuple[int, int], delay_seconds: float, bits_per_second: float) -> None:
        self.delay, self.seconds_per_byte = delay_seconds, 8 / bits_per_second
        self.directions = (Direction(0, 1), Direction(1, 0))
        self.devices = devices
        self.is_cut = False
        self.dropped = 0
        self.heard = [0, 0]
        """The longest chain of messages, each sent after the one before it had come, that has reached each host."""

    def take(self, direction: Direction) -> None:
        """Read all packets that a host has ready."""
        while True:
            try:
                packet = os.read(self.devices[direction.source], LARGEST_PACKET)
            except BlockingIOError:
                return
            if self.is_cut:
                self.dropped += 1
                continue
            packets, wire_bytes, payload = measure(packet)
            direction.packets += packets
            direction.bytes += wire_bytes
            start = max(time.monotonic(), direction.is_free_at)
            direction.is_free_at = start + wire_bytes * self.seconds_per_byte
            chain = self.heard[direction.source] + 1 if payload else 0
            direction.queue.append((direction.is_free_at + self.delay, chain, packet))

    def deliver(self) -> float | None:
        """Hand over what is due; return in how many seconds the next packet is."""
        waits = []
        for direction in self.directions:
            while direction.queue and direction.queue[0][0] <= time.monotonic():
                _, chain, packet = direction.queue.popleft()
                self.heard[direction.target] = max(self.heard[direction.target], chain)
                os.write(self.devices[direction.target], packet)
            if direction.queue:
                waits.append(max(0.0, direction.queue[0][0] - time.monotonic()))
        return min(waits) if waits else None

    def obey(self, command: str) -> dict[str, object]:
        """Do what was asked and return the counters."""
        if command in ("cut", "restore"):
            self.is_cut = command == "cut"
            for direction in self.directions:
                self.dropped += len(direction.queue)
                direction.queue.clear()
        return {
            "packets": [direction.packets for direction in self.directions],
            "bytes": [direction.bytes for direction in self.directions],
            "dropped": self.dropped,
            "chain": max(self.heard),
        }

    def run(self) -> None:
        """Carry packets until the standard input ends."""
        places = dict(zip(self.devices, self.directions, strict=True))
        wait = None
        while True:
            ready, _, _ = select.select([*self.devices, 0], [], [], wait)
            for number in ready:
                if number in places:
                    self.take(places[number])
                elif line := sys.stdin.readline():
                    print(json.dumps(self.obey(line.strip())), flush=True)
                else:
                    return
            wait = self.deliver()


def measure(packet: bytes) -> tuple[int, int, int]:
    """Return how many packets a device would make of this one, their bytes, and how many of these are TCP payload."""
    _, kind, _, segment, _, _ = VNET_HEADER.unpack_from(packet)
    ip = packet[VNET_HEADER.size :]
    headers = 4 * (ip[0] & 15)
    is_tcp = len(ip) > headers + 12 and ip[9] == 6
    if is_tcp:
        headers += 4 * (ip[headers + 12] >> 4)
    payload = len(ip) - headers
    packets = math.ceil(payload / segment) if kind and segment else 1
    return packets, payload + packets * headers, payload if is_tcp else 0


def open_device(namespace: str) -> int:
    """Make the TUN device of one namespace; it belongs to that namespace wherever this process goes."""
    libc = ctypes.CDLL(None, use_errno=True)
    entrance = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(entrance, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter the namespace {namespace}")
    os.close(entrance)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", DEVICE.encode(), IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)
    return device


def main() -> None:
    first, second, delay_seconds, bits_per_second = sys.argv[1:]
    devices = (open_device(first), open_device(second))
    print(json.dumps("ready"), flush=True)
    Cable(devices, float(delay_seconds), float(bits_per_second)).run()


if __name__ == "__main__":
    main()
