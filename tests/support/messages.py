"""All parties of a run without a secure engine, as threads that send each other messages through queues."""

from __future__ import annotations

import queue
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

import copublish as cp
from copublish.engines.masked_sums import MaskedSumEngine
from copublish.engines.messages import Carried, Messenger, refuse_announced, taken
from copublish.errors import PartyLostError
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.noise.geometric import Coins
from copublish.mechanisms.registry import plan_of
from copublish.party.local.processes import throwaway_ledger
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.rows.reading import empty_fragment, read_fragment
from support import repartition, small_mapping

PATIENCE_SECONDS = 300.0


class Post:
    """Carries messages between the parties of one run, and keeps a copy of each for tests to look at."""

    def __init__(self, parties: tuple[str, ...]) -> None:
        self.parties = parties
        self.sent: list[tuple[str, str, str, bytes]] = []
        self._boxes: dict[tuple[str, str], queue.SimpleQueue] = defaultdict(queue.SimpleQueue)

    def messenger(self, party: str) -> QueueMessenger:
        return QueueMessenger(self, party)

    def run(self, job: Callable[[QueueMessenger], Any]) -> dict[str, Any]:
        """Run a job at every party; return what each returned, or the error that it ended with."""

        def one(party: str) -> Any:
            try:
                return job(self.messenger(party))
            except Exception as error:
                return error
            finally:
                for other in self.parties:
                    self._boxes[party, other].put(None)

        with ThreadPoolExecutor(len(self.parties)) as pool:
            return dict(zip(self.parties, pool.map(one, self.parties), strict=True))


class QueueMessenger:
    """One party's end."""

    def __init__(self, post: Post, party: str) -> None:
        self.party, self.parties, self._post = party, post.parties, post

    def send(self, to: str, message: Carried, content: bytes) -> None:
        self._post.sent.append((self.party, to, message.topic, content))
        self._post._boxes[self.party, to].put((message.topic.encode(), content))

    def receive(self, sender: str, message: Carried) -> bytes:
        try:
            arrived = self._post._boxes[sender, self.party].get(timeout=PATIENCE_SECONDS)
        except queue.Empty:
            raise PartyLostError(f"Party '{sender}' did not answer.") from None
        if arrived is None:
            self._post._boxes[sender, self.party].put(None)
            raise PartyLostError(f"Party '{sender}' stopped.")
        refuse_announced(arrived[0], len(arrived[1]), sender)
        return taken(message, sender, *arrived)

    def has_left(self, party: str) -> bool:
        return False


def all_of(outcomes: Mapping[str, Any]) -> Any:
    """Raise the error that some party ended with, a lost party's last; return what all returned."""
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, Exception)]
    for error in sorted(errors, key=lambda error: isinstance(error, PartyLostError)):
        raise error
    return outcomes


def masked_engine(agreement: cp.Agreement, messenger: Messenger, coins: Coins | None = None) -> MaskedSumEngine:
    return MaskedSumEngine(messenger, agreement.owners, agreement.aggregator, coins)


def publish_at(
    agreement: cp.Agreement,
    messenger: Messenger,
    frames: Mapping[str, Any],
    coins: Mapping[str, Coins],
    ledger: Ledger | None = None,
    engine_of: Callable[..., MaskedSumEngine] = masked_engine,
) -> cp.Release:
    """Run the main path at one party."""
    party = messenger.party
    if party in agreement.owners:
        fragment = read_fragment(agreement, party, frames[party])
    else:
        fragment = empty_fragment(agreement, party)
    engine = engine_of(agreement, messenger, coins.get(party))
    plan = plan_of(agreement)
    return publish_release(plan, fragment, engine, ledger or throwaway_ledger(plan), no_progress)


def publish_by_masked_sums(
    agreement: cp.Agreement,
    frames: Mapping[str, Any],
    coins: Mapping[str, Coins] | None = None,
    *,
    post: Post | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    engine_of: Callable[..., MaskedSumEngine] = masked_engine,
) -> dict[str, Any]:
    """Run the main path at every party and return every party's outcome."""

    def job(messenger: QueueMessenger) -> cp.Release:
        ledger = (ledgers or {}).get(messenger.party)
        return publish_at(agreement, messenger, frames, coins or {}, ledger, engine_of)

    return (post or Post(agreement.party_names)).run(job)


def masked_agreement(
    owners: int,
    colluders: int | None = None,
    *,
    helper: bool = False,
    identifier: bool = False,
    mapping_of: Callable[..., dict[str, Any]] = small_mapping,
    **changes: Any,
) -> cp.Agreement:
    """A horizontal copula release by masked sums between p0, p1, ...; a helper without data adds up."""
    mapping = repartition(mapping_of(mechanism={"name": "copula"}, **changes), "horizontal", owners)
    mapping["engine"] = {"name": "masked-sum"}
    if colluders is not None:
        mapping["engine"]["colluders"] = colluders
    if helper:
        mapping["parties"]["helper"] = {"data": False}
        mapping["engine"]["aggregator"] = "helper"
    if not identifier:
        del mapping["records"]["identifier"]
    return cp.agreement_from_mapping(mapping)


def split_rows(agreement: cp.Agreement, table: pd.DataFrame, generator: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Give every row to one owner."""
    owner = generator.integers(0, len(agreement.owners), len(table))
    return {party: table[owner == number] for number, party in enumerate(agreement.owners)}
