"""Parties with identities, ledgers and approvals that sign releases on the ideal engine: no network, no processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import copublish as cp
from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party.evidence_exchange import SigningContext
from copublish.party.keys.identity import Identity, new_identity
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.release.evidence.approvals import Approval, approve, own_approvals
from copublish.release.evidence.signing import Signer
from support import fragment_frames, random_table, seeded, small_mapping

NAMES = ("bank", "loans")


def today() -> date:
    return datetime.now(UTC).date()


@dataclass
class Signers:
    """Two owners of data with a folder each, and as many parties without data as are named."""

    folder: Path
    needed: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    signers: Mapping[str, str] = field(default_factory=dict)
    guests: tuple[str, ...] = ()
    seeds: Iterator[int] = field(default_factory=lambda: count(7))

    def __post_init__(self) -> None:
        for name in self.names:
            self.identities[name] = new_identity(name, self.folder / name / "identity", days=30)
        for name in NAMES:
            ledger = Ledger(self.ledger_file(name))
            ledger.set_limit("people", Limit(Fraction(50), "add-remove"))
            ledger.close()

    @property
    def names(self) -> tuple[str, ...]:
        return (*NAMES, *self.guests)

    def ledger_file(self, name: str) -> Path:
        return self.folder / name / "ledger.db"

    @property
    def agreement(self) -> cp.Agreement:
        mapping = small_mapping(**self.changes)
        for name in self.names:
            mapping["parties"][name] = {
                **({"data": False} if name in self.guests else {}),
                "certificate": self.identities[name].fingerprint,
                "approvals": self.needed.get(name, 0),
                **({"signer": self.signers[name]} if name in self.signers else {}),
            }
        return cp.agreement_from_mapping(mapping)

    def approvals_folder(self, name: str) -> Path:
        return self.folder / name / "approvals"

    def approve(self, name: str, who: str, **others: Any) -> Approval:
        """Write an approval to a party's folder."""
        settings: dict[str, Any] = {"role": "officer", "today": today(), **others}
        agreement = settings.pop("agreement", self.agreement)
        approval = approve(agreement, name, settings.pop("signer", self.identities[name]), name=who, **settings)
        self.put(name, approval)
        return approval

    def put(self, name: str, approval: Approval) -> None:
        self.approvals_folder(name).mkdir(exist_ok=True)
        file = self.approvals_folder(name) / f"{approval.digest[:12]}.json"
        file.write_text(json.dumps(approval.to_json()))

    def own_approvals(self, name: str, signer: Signer) -> tuple[Approval, ...]:
        return own_approvals(self.agreement, name, self.approvals_folder(name), signer.chain, today=today())

    def witness(self, name: str) -> SigningContext:
        return SigningContext(self.identities[name], self.own_approvals(name, self.identities[name]))

    def publish(
        self,
        witnesses: Mapping[str, SigningContext] | None = None,
        *,
        around: Callable[[IdealEngine], IdealEngine] = lambda engine: engine,
        ledgers: Mapping[str, Ledger] | None = None,
    ) -> dict[str, cp.Release]:
        """Run a release at all parties; return what each ended with. Ledgers are their own, unless given.

        Coins are seeded, those of every release otherwise: noise can leave a single record of so few, and then nothing
        that is changed shows.
        """
        agreement = self.agreement
        generator = np.random.default_rng(5)
        frames = fragment_frames(agreement, random_table(agreement, 80, generator), generator)
        fragments = read_fragments(agreement, {name: frames[name] for name in NAMES})
        witnesses = witnesses or {name: self.witness(name) for name in self.names}
        own = {name: Ledger(self.ledger_file(name)) for name in NAMES}
        own |= {name: throwaway_ledger(plan_of(agreement)) for name in self.guests} | dict(ledgers or {})
        for ledger in own.values():
            ledger._database.execute("PRAGMA synchronous = OFF")  # these tests cut no power

        run = os.urandom(32).hex()  # as the parties would draw it when they meet

        def job(engine: IdealEngine) -> cp.Release:
            name = engine.party
            return publish_release(
                plan_of(agreement),
                fragments[name],
                around(engine),
                own[name],
                no_progress,
                witness=witnesses.get(name),
                run=run,
            )

        try:
            return Room(agreement.party_names, seeded(agreement.party_names, next(self.seeds))).run(job)
        finally:
            for ledger in own.values():
                ledger.close()
