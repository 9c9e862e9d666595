"""Receipts in the ledger: the heads of all parties' ledgers, signed before anything is opened, and then the release.

A party writes that it is about to tell its head before it does. So whatever head another party can hold of it, its own
ledger knows; one that does not was restored from an old copy, or is another ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copublish.kernel.ledger.cells import GarbledCellError, read_text, read_text_or_none
from copublish.kernel.ledger.database import LedgerFile, now


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A run in which this party signed the head of its ledger.

    Attributes:
        number: Of the row.
        run: The number that all parties drew.
        release, agreement_hash: What was released.
        party: Which party this one was.
        head: The head that it told.
        given_at: When it was about to sign.
        statement: What was signed, in its one spelling: heads of ledgers, and once there is a release that.
        signers: The certificates of all parties, by fingerprint.
        heads: The heads of all parties; none of one that keeps no ledger.
        signatures: Those of all parties with their certificates, as JSON; none if the run ended before they came.
        is_of_release: Whether all have signed the release, and not only heads.
    """

    number: int
    run: str
    release: str
    agreement_hash: str
    party: str
    head: str
    given_at: str
    statement: str
    signers: Mapping[str, str]
    heads: Mapping[str, str | None]
    signatures: str | None
    is_of_release: bool

    def peer_by(self, certificate: str) -> str | None:
        """The name that another party had, by its certificate."""
        return next((name for name, known in self.signers.items() if known == certificate and name != self.party), None)


class Receipts(LedgerFile):
    """The receipts in a ledger."""

    def give_receipt(
        self, *, run: str, release: str, agreement_hash: str, party: str, head: str, statement: str
    ) -> int:
        """Write durably that this party is about to tell a head, signed; return the row's number."""
        with self._transaction():
            return self._insert(
                "receipts",
                run=run,
                release=release,
                agreement_hash=agreement_hash,
                party=party,
                head=head,
                given_at=now(),
                statement=statement,
            )

    def keep_signatures(self, number: int, statement: str, signatures: str) -> None:
        """Write durably what all parties signed."""
        with self._transaction():
            self._change("receipts", number, statement=statement, signatures=signatures)

    def receipts(self) -> list[Receipt]:
        """All receipts, oldest first."""
        with self._reading():
            rows = self._database.execute(
                "SELECT id, run, release, agreement_hash, party, head, given_at, statement, signatures FROM receipts "
                "ORDER BY id"
            )
            return [_read_receipt(row) for row in rows]

    def heads_given_to(self, certificate: str) -> list[tuple[str, str]]:
        """The heads that the holder of a certificate may have of this ledger, newest first, each with its run."""
        return [(found.run, found.head) for found in reversed(self.receipts()) if found.peer_by(certificate)]

    def head_held_of(self, certificate: str) -> tuple[str, str, str] | None:
        """The last head that the holder of a certificate signed, with its run and when; none if nothing is held.

        What the owner has decided to forget is not held.
        """
        forgotten = self.forgotten()
        for found in reversed(self.receipts()):
            peer = found.peer_by(certificate)
            head = None if peer is None else found.heads.get(peer)
            if peer is not None and head is not None and found.signatures is not None:
                return None if found.number <= forgotten.get(peer, 0) else (found.run, head, found.given_at)
        return None

    def forget_receipts(self, party: str) -> bool:
        """Go on with a party that has another ledger than it signed: its receipts so far are held against it no more.

        Returns:
            Whether there were any.
        """
        with self._transaction():
            numbers = [found.number for found in self.receipts() if party in found.signers and party != found.party]
            if numbers:
                self._insert("forgotten_receipts", party=party, up_to=max(numbers), forgotten_at=now())
        return bool(numbers)

    def forgotten(self) -> dict[str, int]:
        """For every party whose receipts were forgotten, up to which row."""
        with self._reading():
            rows = self._database.execute("SELECT party, up_to FROM forgotten_receipts ORDER BY id").fetchall()
            found: dict[str, int] = {}
            for party, up_to in rows:
                if type(up_to) is not int:
                    raise GarbledCellError(None, "forgotten_receipts.up_to")
                found[read_text(party, None, "forgotten_receipts.party")] = up_to
            return found


def _read_receipt(row: Sequence[object]) -> Receipt:
    number, run, release, agreement_hash, party, head, given_at, statement, signatures = row
    text = read_text(statement, None, "receipts.statement")
    try:
        said: Any = json.loads(text)
        signers = {str(name): str(known) for name, known in said["signers"].items()}
        heads = {str(name): None if found is None else str(found) for name, found in said["ledger_heads"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise GarbledCellError(None, "receipts.statement") from None
    return Receipt(
        number=int(str(number)),
        run=read_text(run, None, "receipts.run"),
        release=read_text(release, None, "receipts.release"),
        agreement_hash=read_text(agreement_hash, None, "receipts.agreement_hash"),
        party=read_text(party, None, "receipts.party"),
        head=read_text(head, None, "receipts.head"),
        given_at=read_text(given_at, None, "receipts.given_at"),
        statement=text,
        signers=signers,
        heads=heads,
        signatures=read_text_or_none(signatures, None, "receipts.signatures"),
        is_of_release="digest" in said,
    )
