"""Parties that a ledger's owner does not go on with: a data set is locked for a peer whose inputs failed a check.

An owner's word alone opens a lock. Software cannot tell a peer that cheats from one that is broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from copublish.errors import LockedError
from copublish.kernel.ledger.cells import read_text, read_text_or_none
from copublish.kernel.ledger.database import LedgerFile, now


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A data set that may not be released together with a peer.

    Attributes:
        dataset: The data set.
        peer: The peer, by its name in the agreement under which it was locked out.
        certificate: Fingerprint of its certificate there, so that another name does not let it in again.
        why: The reason, in a sentence.
        locked_at: When.
        unlocked_at: When the owner let it in again; none while the lock holds.
    """

    dataset: str
    peer: str
    certificate: str | None
    why: str
    locked_at: str
    unlocked_at: str | None

    def holds_for(self, name: str, certificate: str | None) -> bool:
        """Whether this lock keeps a party out, by its name or by its certificate."""
        if self.unlocked_at is not None:
            return False
        return name == self.peer or (certificate is not None and certificate == self.certificate)


class Locks(LedgerFile):
    """The locks in a ledger."""

    def lock(self, dataset: str, peer: str, why: str, *, certificate: str | None = None) -> None:
        """Lock a data set for a peer, durably, until its owner unlocks it."""
        with self._transaction():
            self._insert("locks", dataset=dataset, peer=peer, certificate=certificate, why=why, locked_at=now())

    def unlock(self, dataset: str, peer: str) -> bool:
        """Let a peer in again. The file keeps the lock, with the time at which it ended.

        Returns:
            Whether there was a lock.
        """
        with self._transaction():
            query = "SELECT id FROM locks WHERE dataset = ? AND peer = ? AND unlocked_at IS NULL"
            found = self._database.execute(query, (dataset, peer)).fetchall()
            for (number,) in found:
                self._change("locks", number, unlocked_at=now())
        return bool(found)

    def locked(self, dataset: str) -> list[Lock]:
        """The locks of a data set that hold."""
        return [lock for lock in self.locks() if lock.dataset == dataset and lock.unlocked_at is None]

    def locks(self) -> list[Lock]:
        """All locks that ever were, oldest first."""
        with self._reading():
            query = "SELECT dataset, peer, certificate, why, locked_at, unlocked_at FROM locks ORDER BY id"
            return [_read_lock(row) for row in self._database.execute(query)]

    def refuse_if_locked(self, dataset: str, peers: Mapping[str, str | None]) -> None:
        """Raise if a data set is locked for one of the parties of a run.

        Args:
            dataset: The data set.
            peers: The other parties, with the fingerprints of their certificates as far as the agreement has them.

        Raises:
            LockedError: Naming the party and the way out.
        """
        for lock in self.locked(dataset):
            for peer, certificate in peers.items():
                if lock.holds_for(peer, certificate):
                    known_as = "" if lock.peer == peer else f" (then called '{lock.peer}')"
                    raise LockedError(
                        f"Data set '{dataset}' has been locked for '{peer}'{known_as} since {lock.locked_at[:10]}: "
                        f"{lock.why} Nothing was measured. Find out what happened there. To go on with this party "
                        f"again: copublish ledger unlock {dataset}={lock.peer} --ledger {self.path}"
                    )


def _read_lock(row: Sequence[object]) -> Lock:
    dataset, peer, certificate, why, locked_at, unlocked_at = row
    return Lock(
        dataset=read_text(dataset, dataset, "locks.dataset"),
        peer=read_text(peer, dataset, "locks.peer"),
        certificate=read_text_or_none(certificate, dataset, "locks.certificate"),
        why=read_text(why, dataset, "locks.why"),
        locked_at=read_text(locked_at, dataset, "locks.locked_at"),
        unlocked_at=read_text_or_none(unlocked_at, dataset, "locks.unlocked_at"),
    )
