"""Any number of parties on loopback, each with a port and an identity of its own, in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import copublish as cp
from copublish.files.home import HOME_VARIABLE
from copublish.party.keys.identity import Identity, new_identity
from copublish.party.network.meeting import Meeting
from copublish.party.network.port import Port
from copublish.party.network.proxy import WayOut
from support import repartition, small_mapping
from support.node import free_port
from support.waiting import SECONDS

FACTS = {"agreement: privacy": "a" * 64, "copublish": "1.0"}


def identities_in(folder: Path, how_many: int) -> dict[str, Identity]:
    """Identities of parties p0, p1, ...; made once, because that takes longest."""
    names = [f"p{number}" for number in range(how_many)]
    return {name: new_identity(name, folder / name, days=30) for name in names}


class Circle:
    """An agreement of some of these parties, their ports and meetings, all closed at the end."""

    def __init__(self, identities: dict[str, Identity], how_many: int) -> None:
        self.names = tuple(identities)[:how_many]
        self.identities = {name: identities[name] for name in self.names}
        mapping = repartition(small_mapping(), "horizontal", how_many)
        hosts = {name: f"127.0.0.1:{free_port()}" for name in self.names}
        mapping["parties"] = {
            name: {"host": hosts[name], "certificate": self.identities[name].fingerprint} for name in self.names
        }
        self.mapping = mapping
        self.agreement = cp.agreement_from_mapping(mapping)
        self.told: dict[str, list[str]] = {name: [] for name in self.names}
        self.log: dict[str, list[tuple[str, dict[str, Any]]]] = {name: [] for name in self.names}
        self._stack, self._pool = ExitStack(), ThreadPoolExecutor(2 * how_many)
        home = self.identities[self.names[0]].key_file.parent.parent
        self._stack.enter_context(mock.patch.dict(os.environ, {HOME_VARIABLE: str(home)}))

    def __enter__(self) -> Circle:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._pool.shutdown(wait=False)

    def hide(self, *names: str, relay: str | None = None) -> None:
        """Let parties dial out alone, and meet each other at a relay if there is one."""
        for name in names:
            del self.mapping["parties"][name]["host"]
            self.mapping["parties"][name]["reach"] = "dial-out"
        if relay is not None:
            self.mapping["network"] = {"relay": relay}
        self.agreement = cp.agreement_from_mapping(self.mapping)

    def port(self, name: str, identity: Identity | None = None) -> Port:
        log = self.log[name]
        who = identity or self.identities[name]
        port = Port(
            self.agreement,
            name,
            who,
            way_out=WayOut(timeout_seconds=SECONDS),
            log=lambda event, **f: log.append((event, f)),
        )
        self._stack.callback(port.close)
        return port

    def ports(self, names: Sequence[str] | None = None) -> dict[str, Port]:
        return {name: self.port(name) for name in names or self.names}

    def meet(self, port: Port, facts: dict[str, str] | None = None, seconds: float = SECONDS) -> Any:
        """Start to meet in the background; return what will be the meeting."""
        told, log = self.told[port.party].append, self.log[port.party]

        def work() -> Meeting:
            return Meeting(
                port, facts or FACTS, wait_seconds=seconds, waiting=told, log=lambda event, **f: log.append((event, f))
            )

        return self._pool.submit(work)

    def do(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._pool.submit(work, *arguments)

    def all_meet(self, ports: dict[str, Port]) -> dict[str, Meeting]:
        futures = {name: self.meet(port) for name, port in ports.items()}
        return {name: future.result(SECONDS) for name, future in futures.items()}
