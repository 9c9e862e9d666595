"""Many owners on the secure engine, each party in a thread of this process; compute nodes stay for several releases."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.engines.comparing.comparison import comparison_by
from copublish.engines.spu.input_parties import GuestEngine, MarkingGuest
from copublish.engines.spu.marking import MarkingNode, ReplicatedMarkingNode
from copublish.engines.spu.node import SpuNode
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.noise.geometric import Coins
from copublish.mechanisms.registry import plan_of
from copublish.party.local.messenger import PipeMessenger, pipes_between
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from support import ConstantCoins, SeededCoins, fragment_frames, random_table, simulate_with, with_first_values

Engine = SpuNode | GuestEngine

TINY: dict[str, Any] = {
    "format": 1,
    "name": "tiny",
    "dataset": "people",
    "partition": "horizontal",
    "records": {"expected": 100},
    "class": {"name": "default", "values": ["no", "yes"]},
    "attributes": with_first_values(
        {
            "region": {"kind": "categorical", "values": ["north", "south", "east"]},
            "age": {"kind": "numerical", "bounds": [18, 99], "grid": {"edges": [30, 60]}},
        }
    ),
    "privacy": {"epsilon": 4},
}


def tiny_agreement(parties: int, mechanism: str = "specialization", **engine: Any) -> cp.Agreement:
    """An agreement between owners p0, p1, ... with few cells: compiling programs takes most of a release's time."""
    chosen = {"name": mechanism} | ({"specializations": 2} if mechanism == "specialization" else {})
    names = {f"p{number}": {} for number in range(parties)}
    return cp.agreement_from_mapping({**TINY, "parties": names, "mechanism": chosen, "engine": engine})


def tiny_moments(parties: int, noise: str, **engine: Any) -> cp.Agreement:
    """An agreement of the same owners on moments: two centered coordinates, a group of three and three cells."""
    privacy = TINY["privacy"] | ({"delta": "1e-6"} if noise == "gaussian" else {})
    mechanism = {"name": "hpdp", "noise": noise}
    names = {f"p{number}": {} for number in range(parties)}
    whole = {**TINY, "parties": names, "privacy": privacy, "mechanism": mechanism, "engine": engine}
    return cp.agreement_from_mapping(whole)


def tiny_frames(agreement: cp.Agreement, n: int = 120) -> dict[str, pd.DataFrame]:
    """Made-up records, split between the owners."""
    generator = np.random.default_rng(len(agreement.parties))
    frames = fragment_frames(agreement, random_table(agreement, n, generator), generator)
    return {party: frames[party].drop(columns="id") for party in agreement.owners}


def coins_of_nodes(agreement: cp.Agreement, seed: int) -> dict[str, SeededCoins]:
    return {party: SeededCoins(100 * seed + number) for number, party in enumerate(agreement.compute_nodes)}


def ideal_release(agreement: cp.Agreement, frames: dict[str, pd.DataFrame], seed: int) -> cp.Release:
    """The reference: the ideal engine with the nodes' coins; guests add nothing to them."""
    coins = {party: ConstantCoins(0) for party in agreement.parties} | coins_of_nodes(agreement, seed)
    return simulate_with(agreement, frames, coins)


class Nodes:
    """Compute nodes whose workers are started once."""

    def __init__(
        self, names: tuple[str, ...], protocol: str, timeout_seconds: int = 120, *, joins: bool = False
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="copublish-test-")
        self._protocol, self._timeout = protocol, timeout_seconds
        addresses = [f"unix:{self._folder.name}/{name}.sock" for name in names]
        joining = MarkingNode if protocol == "CHEETAH" else ReplicatedMarkingNode
        kind, self._guest = (joining, MarkingGuest) if joins else (SpuNode, GuestEngine)
        self.engines = {
            name: kind(name, names, addresses, timeout_seconds=timeout_seconds, protocol=protocol) for name in names
        }

    def release(
        self,
        agreement: cp.Agreement,
        frames: dict[str, pd.DataFrame],
        seed: int,
        *,
        ledgers: Mapping[str, Ledger] | None = None,
        coins: Mapping[str, Coins] | None = None,
    ) -> dict[str, cp.Release]:
        """Publish at every party; return what each one holds. Where owners add noise, every party has given coins."""
        fragments, coins = read_fragments(agreement, frames), coins or coins_of_nodes(agreement, seed)

        def job(engine: Engine) -> cp.Release:
            if engine.party in coins:
                engine.own_coins = coins[engine.party]
            if agreement.compares_people:
                engine.comparison = comparison_by(engine._messenger_of_tests, agreement.owners, agreement.helper)
            plan = plan_of(agreement)
            ledger = throwaway_ledger(plan) if ledgers is None else ledgers[engine.party]
            return publish_release(plan, fragments[engine.party], engine, ledger, no_progress)

        return self.run(agreement.party_names, job)

    def run(self, parties: tuple[str, ...], job: Callable[[Engine], Any]) -> dict[str, Any]:
        """Run a job at every party; an error comes back as a result. Whoever ends closes its pipes."""
        ends = pipes_between(parties)
        messengers = {party: PipeMessenger(party, parties, ends[party], self._timeout) for party in parties}

        def at(party: str) -> Any:
            messenger = messengers[party]
            try:
                if party not in self.engines:
                    guest = self._guest(messenger, tuple(self.engines), self._protocol)
                    guest._messenger_of_tests = messenger
                    return job(guest)
                self.engines[party].messenger = self.engines[party]._messenger_of_tests = messenger
                return job(self.engines[party])
            except Exception as error:
                return error
            finally:
                messenger.close()

        with ThreadPoolExecutor(len(parties)) as pool:
            return dict(zip(parties, pool.map(at, parties), strict=True))

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close(politely=False)
        self._folder.cleanup()
