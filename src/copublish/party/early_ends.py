"""Runs that ended early after a price was reserved, counted by peer: who leaves each time uses up a budget.

Nobody can tell from here whose fault an end was: a party that crashes, a link that breaks and a peer that leaves on
purpose look the same. So nothing is locked. The next run with that peer is a decision of a person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from copublish.errors import LedgerError
from copublish.kernel.ledger.cells import COMPLETE, ENDED_EARLY, GIVEN_BACK, Entry, runs_of
from copublish.kernel.ledger.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class EndsWith:
    """Runs with one peer that reserved a price.

    Attributes:
        peer: Its last name.
        certificate: The fingerprint of its certificate, as far as agreements had it.
        runs: How many there were.
        early: How many of them did not complete.
        given_back: How many of these were given back.
        last: When the last one that did not complete was reserved.
    """

    peer: str
    certificate: str | None
    runs: int
    early: int
    given_back: int
    last: str


def early_ends(entries: Sequence[Entry]) -> list[EndsWith]:
    """Peers with whom runs ended early, by certificate; by name where agreements have none."""
    by_peer: dict[str, list[tuple[str, Entry]]] = {}
    for *_, entry in runs_of(entries):  # the last charge of a run says how far it came
        for name, certificate in entry.peers.items():
            by_peer.setdefault(certificate or name, []).append((name, entry))
    found = []
    for known_as, runs in by_peer.items():
        early = [entry for _, entry in runs if entry.state != COMPLETE]
        name = runs[-1][0]
        if early:
            found.append(
                EndsWith(
                    peer=name,
                    certificate=runs[-1][1].peers[name] and known_as,
                    runs=len(runs),
                    early=len(early),
                    given_back=sum(entry.state == GIVEN_BACK for entry in early),
                    last=early[-1].reserved_at,
                )
            )
    return found


def after_early_end(ledger: Ledger, peers: Mapping[str, str | None]) -> str | None:
    """A sentence if the last run with one of some peers ended early; nothing if none did.

    Args:
        ledger: This party's ledger.
        peers: The other parties, with the fingerprints of their certificates as far as the agreement has them.
    """
    entries = [run[-1] for run in runs_of(ledger.entries())]
    for peer, certificate in peers.items():
        runs = [entry for entry in entries if _was_with(entry, peer, certificate)]
        if runs and runs[-1].state != COMPLETE:
            last, early = runs[-1], sum(entry.state != COMPLETE for entry in runs)
            back = f" Nothing was opened of it: copublish ledger give-back {last.number} gives its price back."
            return (
                f"The last run with '{peer}', release '{last.release}' on {last.reserved_at[:10]}, has not completed "
                f"({last.state}). Of {len(runs)} runs with it {early} ended so. A party that leaves each time uses up "
                f"your budget.{back if last.state == ENDED_EARLY and not last.disclosures else ''}"
            )
    return None


def refuse_after_early_end(ledger: Ledger, peers: Mapping[str, str | None]) -> None:
    """Raise if the last run with one of some peers ended early; a person can decide to run all the same.

    Raises:
        LedgerError: With the way out.
    """
    if said := after_early_end(ledger, peers):
        raise LedgerError(
            f"{said} Nothing was spent and nobody was called. Ask what happened. To run again all the same: --again"
        )


def _was_with(entry: Entry, name: str, certificate: str | None) -> bool:
    return name in entry.peers or (certificate is not None and certificate in entry.peers.values())
