"""A run or a job as its files tell it now."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.ledger.cells import runs_of
from copublish.kernel.ledger.ledger import Disclosed, Entry, Ledger
from copublish.party.detached.process import REQUEST, RESULT, STATUS, Ended, is_alive, read_end, read_events, read_json

State = Literal["starting", "waiting", "computing", "complete", "failed", "stopped", "lost"]
"""How far a process is; `lost` is one that ended without a word, because it was killed or the machine stopped."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase of a run.

    Attributes:
        name: What it does.
        done: How many of its steps are done.
        of: How many there are.
        seconds: How long it took, or takes so far.
        is_over: Whether it has ended.
    """

    name: str
    done: int
    of: int
    seconds: float
    is_over: bool

    @property
    def seconds_left(self) -> float | None:
        """How long it will take at its pace so far; none if that cannot be told."""
        if self.is_over or not 0 < self.done < self.of:
            return None
        return self.seconds * (self.of - self.done) / self.done


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the files of a process say.

    Attributes:
        id: By which it is known.
        folder: Where its files are.
        state: How far it is.
        phases: What it has done and does, in order; nothing once it has ended, since that can tell numbers of records.
        ended: How it ended, in its own words.
    """

    id: str
    folder: Path
    state: State
    phases: tuple[Phase, ...] = ()
    ended: Ended | None = None

    @property
    def is_alive(self) -> bool:
        """Whether its process lives."""
        return self.state in ("starting", "waiting", "computing")

    @property
    def exit_code(self) -> int:
        """The exit code of who asks for it: 0 while it lives, its own once it has ended, 1 if it left no word."""
        return int(self.state == "lost") if self.ended is None else self.ended.exit_code

    @property
    def phase(self) -> Phase | None:
        """What it does now."""
        return self.phases[-1] if self.phases else None

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its log, oldest first: public facts alone."""
        return read_events(self.folder)


@dataclass(frozen=True, kw_only=True)
class Job(Seen):
    """A job as its files tell it now.

    Attributes:
        kind: The public name that it calls.
        arguments: With what.
        inputs: What was in its files then, as hashes: of an agreement its own hash. Where that is another one now, what
            the job found is stale.
    """

    kind: str
    arguments: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def result(self) -> dict[str, Any] | None:
        """What it found, as plain JSON values; none before it is complete."""
        return read_json(self.folder / RESULT) if self.state == "complete" else None


@dataclass(frozen=True, kw_only=True)
class ChargedDisclosure:
    """One disclosure, as it was charged before it was opened; epsilon in words."""

    at: str
    what: str
    epsilon: str


@dataclass(frozen=True, kw_only=True)
class Charged:
    """What a ledger has of a run.

    Attributes:
        state: How far the last charge has come. All states but that of a charge that was given back count as spent.
        reserved: Epsilon of all charges, in words. It is spent, whatever is opened of it.
        opened: Epsilon of what was opened so far, in words.
        relation: What the two are counted for.
        disclosures: One by one.
    """

    state: str
    reserved: str
    opened: str
    relation: Neighbors
    disclosures: tuple[ChargedDisclosure, ...]


def _charged(run: Sequence[Entry], opened: Sequence[Disclosed]) -> Charged:
    reserved = sum((entry.cost for entry in run), NOTHING)
    relation: Neighbors = "replace" if reserved.add_remove is None else "add-remove"
    total = sum((one.cost for one in opened), NOTHING)
    return Charged(
        state=run[-1].state,
        reserved=_epsilon(reserved, relation),
        opened=_epsilon(total, relation),
        relation=relation,
        disclosures=tuple(
            ChargedDisclosure(at=one.charged_at, what=one.label, epsilon=_epsilon(one.cost, relation)) for one in opened
        ),
    )


def _epsilon(cost: Cost, relation: Neighbors) -> str:
    epsilon = cost.under(relation)
    return "unbounded" if epsilon is None else show_exact(epsilon)


@dataclass(frozen=True, kw_only=True)
class Run(Seen):
    """A run as its files tell it now.

    Attributes:
        party: Which party this is.
        release: Name of the release.
        dataset: The people who are counted, as the ledger names them.
        agreement_file: The agreement.
        agreement_hash: Its hash when the run was asked for.
        out: Folder of the release, once it is there.
        data: Where the data are, without a password; none for a party that holds none.
        ledger: The ledger that pays; none for a party that pays from none.
        others: The other parties.
        started_at: When it was asked for, in UTC.
        waiting_for: What it waits for, in words; none if it does not wait.
        waiting_since: Since when, in UTC.
        waiting_until: Until when it will wait, in UTC.
        met_at: When all parties had met, with the same agreement and versions; none before.
        ends_by: When it ends at the latest, in UTC; none before all have met.
        met_as: The id of the run that all parties drew when they met, as signatures and receipts have it; none before.
        predicted_seconds: How long it was said to take from there on; none if nobody said it.
    """

    party: str
    release: str
    dataset: str
    agreement_file: Path
    agreement_hash: str
    out: Path
    data: str | None
    ledger: Path | None
    others: tuple[str, ...]
    started_at: str
    waiting_for: str | None = None
    waiting_since: str | None = None
    waiting_until: str | None = None
    met_at: str | None = None
    ends_by: str | None = None
    met_as: str | None = None
    predicted_seconds: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """How long it will take by what was predicted; below 0 for one that is late, none if that cannot be told."""
        if not self.is_alive or self.met_at is None or self.predicted_seconds is None:
            return None
        return self.predicted_seconds - (time.time() - datetime.fromisoformat(self.met_at).timestamp())

    @property
    def pays(self) -> bool:
        """Whether this party pays from a ledger at all."""
        return self.ledger is not None

    def charge(self) -> Charged | None:
        """What the ledger has of this run; none if nothing was charged, or this party pays nothing.

        It is the first charge of the agreement between start and end, with what was spent before it on the number of
        common people. A run that was killed says no end: the next run of the agreement is one. Charges of the same
        second count, since to be told of too much is the lesser harm.

        Raises:
            LedgerError: If the ledger cannot be read.
        """
        if self.ledger is None or not self.ledger.exists():
            return None
        ledger = Ledger(self.ledger)
        try:
            entries = [entry for entry in ledger.entries() if entry.agreement_hash == self.agreement_hash]
            opened = ledger.disclosures(self.agreement_hash)
        finally:
            ledger.close()
        ended = self._ended_by()
        own = [
            pair
            for pair in zip(entries, opened, strict=False)
            if pair[0].reserved_at >= self.started_at and (ended is None or pair[0].reserved_at <= ended)
        ]
        if not own:
            return None
        first, *_ = runs_of([entry for entry, _ in own])
        return _charged(first, [one for entry, found in own if entry in first for one in found])

    def _ended_by(self) -> str | None:
        """When this run had ended at the latest, in UTC; none if that is not known."""
        if self.ended is not None:
            return self.ended.at
        if self.is_alive:
            return None
        # None starts while another one of the same party and agreement lives, so this one had ended by then.
        asked = (read_json(path) or {} for path in self.folder.parent.glob(f"*/{REQUEST}"))
        later = (
            str(request["started_at"])
            for request in asked
            if request.get("agreement_hash") == self.agreement_hash
            and request["request"]["options"]["party"] == self.party
            and request["started_at"] > self.started_at
        )
        return min(later, default=None)

    @property
    def was_stopped_by(self) -> tuple[str, str] | None:
        """Which other party stopped first, and the kind of reason; none if none did."""
        found = next((event for event in self.events if event.get("event") == "peer stopped"), None)
        return None if found is None else (str(found.get("peer")), str(found.get("reason")))


def seen_job(folder: Path) -> Job:
    """A job, by its folder."""
    request = read_json(folder / REQUEST) or {}
    state, status, ended = _looked_at(folder)
    return Job(
        id=folder.name,
        folder=folder,
        state=state,
        phases=_phases(status),
        ended=ended,
        kind=str(request.get("kind", "")),
        arguments=request.get("arguments", {}),
        inputs=request.get("inputs", {}),
    )


def seen_run(folder: Path) -> Run | None:
    """A run, by its folder; none if there is none in it."""
    request = read_json(folder / REQUEST)
    if request is None or request.get("kind") != "run":
        return None
    state, status, ended = _looked_at(folder)
    met = next((event for event in read_events(folder) if event.get("event") == "met"), None)
    if state == "waiting" and met is not None:
        state = "computing"  # the engine is being loaded; what was waited for is here
    waiting = status.get("waiting") if state == "waiting" else None
    asked = request["request"]["options"]
    limit = None if waiting is None else _time(asked["wait_seconds"], request["started_at"])
    return Run(
        id=folder.name,
        folder=folder,
        state=state,
        phases=_phases(status),
        ended=ended,
        party=asked["party"],
        release=request["release"],
        dataset=request["dataset"],
        agreement_file=Path(request["request"]["agreement"]),
        agreement_hash=request["agreement_hash"],
        out=Path(asked["out"]),
        data=request["data_words"],
        ledger=Path(asked["ledger"]) if "ledger" in asked else None,
        others=tuple(request["others"]),
        started_at=request["started_at"],
        waiting_for=None if waiting is None else waiting["what"],
        waiting_since=None if waiting is None else _utc(waiting["since"]),
        waiting_until=limit,
        met_at=None if met is None else str(met.get("at")),
        ends_by=None if met is None else _time(asked["end_after_seconds"], str(met.get("at"))),
        met_as=None if met is None else str(met.get("run")),
        predicted_seconds=request.get("predicted_seconds"),
    )


def _looked_at(folder: Path) -> tuple[State, dict[str, Any], Ended | None]:
    """State, status and end of a process. Asked in this order, so that one that ends meanwhile is not taken as lost."""
    alive = is_alive(folder)
    ended = read_end(folder)
    status = read_json(folder / STATUS) or {}
    if ended is not None:
        return ended.state, {}, ended
    if not alive:
        return "lost", {}, None
    if status.get("phases"):
        return "computing", status, None
    return ("waiting" if "waiting" in status else "starting"), status, None


def _phases(status: Mapping[str, Any]) -> tuple[Phase, ...]:
    return tuple(
        Phase(
            name=phase["phase"],
            done=phase["done"],
            of=phase["of"],
            seconds=max(0.0, phase.get("ended", time.time()) - phase["began"]),
            is_over="ended" in phase or phase["done"] >= phase["of"],
        )
        for phase in status.get("phases", [])
    )


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _time(seconds: float, after: str) -> str:
    return _utc(datetime.fromisoformat(after).timestamp() + seconds)
