"""Several hosts on one machine that reach each other only where a cable is drawn: network namespaces without routes.

Every host has one address. A host reaches its neighbors and nobody else: none passes anything on, unless a program on
it does. Needs root, Linux and `ip`, as `hosts.py` does.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from support.hosts import HostsUnavailableError, _ip, _remove_namespace, refuse_if_unavailable
from support.packages import install
from support.processes import context

CLONE_NEWNET = 0x40000000
_numbers = itertools.count()


class Islands:
    """Hosts and the cables between them, for a `with` statement.

    Args:
        cables: Pairs of names of hosts.

    Attributes:
        addresses: One for each host.
    """

    def __init__(self, cables: Sequence[tuple[str, str]]) -> None:
        self._cables = cables
        names = list(dict.fromkeys(name for cable in cables for name in cable))
        number = next(_numbers)
        self._namespaces = {name: f"islands-{os.getpid()}-{number}-{name}" for name in names}
        self.addresses = {name: f"10.84.0.{count}" for count, name in enumerate(names, 1)}
        self._stack = ExitStack()

    def __enter__(self) -> Islands:
        refuse_if_unavailable()
        _remove_leftovers()
        try:
            for name, namespace in self._namespaces.items():
                _ip("netns", "add", namespace)
                self._stack.callback(_remove_namespace, namespace)
                _ip("netns", "exec", namespace, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
                _ip("-n", namespace, "link", "set", "lo", "up")
                _ip("-n", namespace, "addr", "add", f"{self.addresses[name]}/32", "dev", "lo")
            for number, (one, other) in enumerate(self._cables):
                self._lay(f"cable{number}", one, other)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _lay(self, device: str, one: str, other: str) -> None:
        ends = (self._namespaces[one], self._namespaces[other])
        _ip("link", "add", device, "netns", ends[0], "type", "veth", "peer", "name", device, "netns", ends[1])
        for end in ends:
            _ip("-n", end, "link", "set", device, "up")
        for end, own, far in ((ends[0], one, other), (ends[1], other, one)):
            way = ("to", f"{self.addresses[far]}/32", "dev", device, "src", self.addresses[own])
            _ip("-n", end, "route", "add", *way)

    def drop_incoming(self, host: str) -> None:
        """Have a host drop, in silence, the first packet of every connection that it does not open itself."""
        if shutil.which("nft") is None and not install("nftables"):
            raise HostsUnavailableError("A firewall needs the command 'nft' (package nftables).")
        for rule in (
            "add table inet wall",
            "add chain inet wall incoming { type filter hook input priority 0 ; }",
            "add rule inet wall incoming tcp flags & (syn|ack) == syn drop",
        ):
            _ip("netns", "exec", self._namespaces[host], "nft", rule)

    def start(self, host: str, work: Callable[..., None], *arguments: Any) -> BaseProcess:
        """Run a function at a host, in a process of its own that is killed with the hosts."""
        process = context().Process(target=_at, args=(self._namespaces[host], work, arguments), daemon=False)
        process.start()
        return process


@contextmanager
def islands(cables: Sequence[tuple[str, str]]) -> Iterator[Islands]:
    """Make hosts for a test, which is skipped where this cannot be done."""
    import pytest

    with ExitStack() as stack:
        try:
            hosts = stack.enter_context(Islands(cables))
        except HostsUnavailableError as exc:
            pytest.skip(str(exc))
        yield hosts


def cables_of(networks: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Cables between every two hosts that share a network; each host is listed with its networks."""
    return [
        (one, other) for one, other in itertools.combinations(networks, 2) if set(networks[one]) & set(networks[other])
    ]


def _remove_leftovers() -> None:
    """Remove what a process left behind that was killed before it could."""
    for name in _ip("netns", "list").split():
        owner = re.fullmatch(r"islands-(\d+)-\d+-\w+", name)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            _remove_namespace(name)


def _at(namespace: str, work: Callable[..., None], arguments: Sequence[Any]) -> None:
    """Go to a namespace, with every thread and process that comes later, and do something."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", namespace).open() as file:
        if libc.setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    work(*arguments)
