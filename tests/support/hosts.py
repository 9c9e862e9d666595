"""Two hosts on one machine: two network namespaces with a link between them that can be cut.

The link is a pair of virtual Ethernet devices, or, with a `WideArea`, a cable in user space that adds a delay and
limits the rate (`cable.py`). The kernel's own emulation (`tc qdisc add ... netem`) is not used: many kernels come
without it, and a test bed that works in one way on some machines and in another way on others measures two things.

Needs root, Linux and `ip` (installed with apt-get if it is missing). All traffic stays inside the two namespaces: they
have no route to anywhere else.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from support.packages import install

ADDRESSES = ("10.83.0.1", "10.83.0.2")
"""The same in every pair: namespaces do not see each other's addresses."""

WIDE_AREA_MTU = 1500
PREFIX = "copublish"
NOBODY = "02:00:00:00:00:00"
_numbers = itertools.count()


class HostsUnavailableError(RuntimeError):
    """This machine cannot make network namespaces; the message says why."""


@dataclass(frozen=True)
class WideArea:
    """What a link between distant hosts is like: 40 ms there and back and 100 Mbit/s each way unless told otherwise."""

    round_trip_seconds: float = 0.040
    bits_per_second: float = 100e6


@dataclass(frozen=True)
class Traffic:
    """What has gone over a wide-area link so far.

    Attributes:
        packets: From the first and from the second host.
        bytes: The same, headers included.
        dropped: Packets that met a cut link.
        chain: The longest chain of TCP messages, each sent after the one before had come. Half of it are the rounds:
            no faster machine makes the conversation shorter than chain times half a round trip.
    """

    packets: tuple[int, int]
    bytes: tuple[int, int]
    dropped: int
    chain: int

    def since(self, earlier: Traffic) -> Traffic:
        """Return what was added since an earlier moment."""
        return Traffic(
            (self.packets[0] - earlier.packets[0], self.packets[1] - earlier.packets[1]),
            (self.bytes[0] - earlier.bytes[0], self.bytes[1] - earlier.bytes[1]),
            self.dropped - earlier.dropped,
            self.chain - earlier.chain,
        )


class TwoHosts:
    """Two linked namespaces, for a `with` statement; hosts are numbered 0 and 1.

    Args:
        link: What the link is like; without it, as fast as the machine.

    Attributes:
        names: The namespaces, different for every pair of every process.
        addresses: The hosts' addresses.
    """

    def __init__(self, link: WideArea | None = None) -> None:
        self.link = link
        number = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self.names = (f"{number}-a", f"{number}-b")
        self.addresses = ADDRESSES
        self._cable: subprocess.Popen[str] | None = None
        self._started: list[subprocess.Popen[Any]] = []
        self._stack = ExitStack()

    def __enter__(self) -> TwoHosts:
        refuse_if_unavailable()
        _remove_leftovers()
        try:
            for name in self.names:
                _ip("netns", "add", name)
                self._stack.callback(_remove_namespace, name)
                # Without IPv6 no host says anything before it is told to.
                _ip("netns", "exec", name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
                _ip("-n", name, "link", "set", "lo", "up")
            if self.link is None:
                self._add_pair()
            else:
                self._add_cable(self.link)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        for process in self._started:
            process.wait()  # its namespace is gone, and so is it

    def start(self, host: int, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a command at a host; options as for `subprocess.Popen`. It is killed with the hosts."""
        process = subprocess.Popen(["ip", "netns", "exec", self.names[host], *command], **options)
        self._started.append(process)
        return process

    def run(self, host: int, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command at a host to its end and return its output; options as for `subprocess.run`."""
        whole = ["ip", "netns", "exec", self.names[host], *command]
        return subprocess.run(whole, **{"capture_output": True, "text": True, "check": True, **options})

    def cut(self) -> None:
        """Cut the link: from now on nothing passes in either direction, and hosts are not told."""
        if self._cable is None:
            self._drop_everything(True)
        else:
            self._tell_cable("cut")

    def restore(self) -> None:
        """Mend the link."""
        if self._cable is None:
            self._drop_everything(False)
        else:
            self._tell_cable("restore")

    def traffic(self) -> Traffic:
        """Return what has gone over a wide-area link so far."""
        counters = self._tell_cable("count")
        return Traffic(tuple(counters["packets"]), tuple(counters["bytes"]), counters["dropped"], counters["chain"])

    def _add_pair(self) -> None:
        first, second = self.names
        _ip("link", "add", "wan", "netns", first, "type", "veth", "peer", "name", "wan", "netns", second)
        self._give_addresses()

    def _add_cable(self, link: WideArea) -> None:
        program = Path(__file__).with_name("cable.py")
        settings = (str(link.round_trip_seconds / 2), str(link.bits_per_second))
        self._cable = subprocess.Popen(
            [sys.executable, "-S", str(program), *self.names, *settings],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(self._end_cable)
        if self._answer_of_cable() != "ready":
            raise HostsUnavailableError("The cable between the hosts did not start.")
        self._give_addresses()

    def _give_addresses(self) -> None:
        for name, address in zip(self.names, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "wan")
            _ip("-n", name, "link", "set", "wan", "mtu", str(WIDE_AREA_MTU), "up")

    def _drop_everything(self, yes: bool) -> None:
        # Each host sends to a hardware address that nobody has: silence, where a device that is down would be an error.
        for name, other in zip(self.names, reversed(self.addresses), strict=True):
            if yes:
                _ip("-n", name, "neigh", "replace", other, "lladdr", NOBODY, "dev", "wan", "nud", "permanent")
            else:
                _ip("-n", name, "neigh", "del", other, "dev", "wan")

    def _tell_cable(self, command: str) -> Any:
        if self._cable is None or self._cable.stdin is None:
            raise ValueError("only a wide-area link counts its traffic")
        self._cable.stdin.write(f"{command}\n")
        self._cable.stdin.flush()
        return self._answer_of_cable()

    def _answer_of_cable(self) -> Any:
        line = self._cable.stdout.readline() if self._cable is not None and self._cable.stdout is not None else ""
        if not line:
            raise HostsUnavailableError("The cable between the hosts has ended.")
        return json.loads(line)

    def _end_cable(self) -> None:
        if self._cable is not None:
            self._cable.kill()
            self._cable.communicate()


@contextmanager
def linked_hosts(link: WideArea | None = None) -> Iterator[TwoHosts]:
    """Make two hosts for a test, which is skipped where this cannot be done."""
    import pytest

    with ExitStack() as stack:
        try:
            hosts = stack.enter_context(TwoHosts(link))
        except HostsUnavailableError as exc:
            pytest.skip(str(exc))
        yield hosts


def refuse_if_unavailable() -> None:
    """Raise unless this machine can make network namespaces; install `ip` if that is all that is missing."""
    if not sys.platform.startswith("linux"):
        raise HostsUnavailableError("Two hosts on one machine need Linux.")
    if os.geteuid() != 0:
        raise HostsUnavailableError("Two hosts on one machine need root, to make network namespaces.")
    if shutil.which("ip") is None and not install("iproute2"):
        raise HostsUnavailableError("Two hosts on one machine need the command 'ip' (package iproute2).")
    if not Path("/dev/net/tun").exists():
        raise HostsUnavailableError("Two hosts on one machine need /dev/net/tun.")


def namespaces() -> set[str]:
    """Return the namespaces of all pairs of hosts on this machine."""
    return {name for name in _ip("netns", "list").split() if name.startswith(f"{PREFIX}-")}


def _remove_leftovers() -> None:
    """Remove what a process left behind that was killed before it could."""
    for name in namespaces():
        owner = re.fullmatch(rf"{PREFIX}-(\d+)-\d+-[ab]", name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            _remove_namespace(name)


def _remove_namespace(name: str) -> None:
    """End whatever runs in a namespace, and remove it with its devices."""
    deadline = time.monotonic() + 300
    while (inside := subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()) and (
        time.monotonic() < deadline
    ):
        for process in inside:
            if int(process) != os.getpid():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        time.sleep(0.01)
    subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise HostsUnavailableError(f"This machine refuses 'ip {' '.join(words)}': {done.stderr.strip()}")
    return done.stdout
