"""Comparisons of identifiers with other parties, in the ledger: each is written before anything of it is sent.

Unless membership is hidden, no epsilon covers what a comparison tells of it. So it is counted, can be limited, and
shows its owner who listed other people than before.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast, get_args

from copublish.errors import BudgetExceededError
from copublish.kernel.ledger.cells import GarbledCellError, read_text
from copublish.kernel.ledger.database import LedgerFile, now

Kind = Literal["common records", "people at two parties"]
"""What is looked for: the records that all have, or people whom more than one party lists."""

KEY_BYTES = 32

USUAL_ALIGNMENTS = 5
"""How often a data set may be compared unless its owner says otherwise: a run, and some that had to be repeated."""

_HEXADECIMAL = re.compile(r"[0-9a-f]{64}")


def is_commitment(told: object) -> bool:
    """Whether something has the form of a commitment to a list: 64 hexadecimal digits."""
    return isinstance(told, str) and _HEXADECIMAL.fullmatch(told) is not None


def size_class(length: int) -> int:
    """The smallest power of two that is at least a length."""
    return 1 << max(0, length - 1).bit_length()


@dataclass(frozen=True)
class ListedPeople:
    """A commitment to the list of people that a party compared, beside the one before.

    Attributes:
        commitment: A keyed digest of the list.
        before: When the list was compared last that this one is set against; none if this is the first.
        is_same: Whether both commitments are the same; true for a first one.
    """

    commitment: str
    before: str | None = None
    is_same: bool = True

    @property
    def words(self) -> str:
        """How the list stands to the one before, in a word."""
        if self.before is None:
            return "first"
        return "same" if self.is_same else "OTHER"


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """One comparison of identifiers, as `copublish ledger` shows it.

    Attributes:
        dataset, release, agreement_hash: What it was for.
        kind: What was looked for.
        compared_by: The identifier and what was ignored in it: lists are set against each other if this is the same.
        peers: With whom.
        size_class: The power of two that the number of identifiers did not exceed.
        begun_at: When; nothing had been sent by then.
        own: This party's list, beside its last one of this data set under any agreement.
        of_peers: Those of the other parties, beside their last ones under the same agreement.
    """

    dataset: str
    release: str
    agreement_hash: str
    kind: Kind
    compared_by: str
    peers: tuple[str, ...]
    size_class: int
    begun_at: str
    own: ListedPeople
    of_peers: Mapping[str, ListedPeople] = field(default_factory=dict)

    def changes(self) -> list[str]:
        """A sentence for every list that is another one than before: the owner's own first."""
        found = []
        if not self.own.is_same and self.own.before is not None:
            found.append(
                f"Your data list other people for data set '{self.dataset}' than on {self.own.before[:10]}, when they "
                "were compared last."
            )
        for peer, listed in self.of_peers.items():
            if not listed.is_same and listed.before is not None:
                found.append(
                    f"'{peer}' lists other people than on {listed.before[:10]}, when this agreement ran last (or has "
                    "another ledger). Its data may have grown; ask, if that is not what you expect."
                )
        return found


class Alignments(LedgerFile):
    """The comparisons in a ledger, and the most of them that a data set may see."""

    def limit_alignments(self, dataset: str, most: int | None) -> None:
        """State how often a data set may be compared, ever; none for any number."""
        if most is not None and most < 0:
            raise ValueError(f"a limit is never below 0, got {most}")
        with self._transaction():
            self._insert("alignment_limits", dataset=dataset, most=most, set_at=now())

    def alignment_limit(self, dataset: str) -> int | None:
        """How often a data set may be compared in all; none for any number, which its owner has to state."""
        with self._reading():
            query = "SELECT most FROM alignment_limits WHERE dataset = ? ORDER BY id DESC LIMIT 1"
            row = self._database.execute(query, (dataset,)).fetchone()
            if row is None:
                return USUAL_ALIGNMENTS
            return None if row[0] is None else _count(row[0], dataset, "alignment_limits.most")

    def datasets_with_alignment_limits(self) -> list[str]:
        """The data sets that were compared, or have a stated limit, and may be compared so often and no more."""
        query = "SELECT dataset FROM alignment_limits UNION SELECT dataset FROM alignments ORDER BY dataset"
        with self._reading():
            rows = self._database.execute(query).fetchall()
            named = [read_text(dataset, dataset, "alignment_limits.dataset") for (dataset,) in rows]
        return [dataset for dataset in named if self.alignment_limit(dataset) is not None]

    def alignments(self) -> list[Alignment]:
        """All comparisons, oldest first, with how every list stands to the one before."""
        with self._reading():
            rows = self._database.execute(
                "SELECT id, dataset, release, agreement_hash, kind, compared_by, peers, size_class, begun_at, "
                "commitment FROM alignments ORDER BY id"
            ).fetchall()
            told = self._database.execute(
                "SELECT alignment, peer, peer_lists.commitment, dataset FROM peer_lists "
                "JOIN alignments ON alignments.id = alignment ORDER BY peer_lists.rowid"
            ).fetchall()
            history, found = _History(), []
            for number, *row in rows:
                entry = _read_alignment(row)
                own = (entry.dataset, entry.compared_by)
                lists = {
                    read_text(peer, dataset, "peer_lists.peer"): _commitment(said, dataset, "peer_lists.commitment")
                    for alignment, peer, said, dataset in told
                    if alignment == number
                }
                of_peers = {
                    peer: history.beside((entry.agreement_hash, peer), said, entry.begun_at)
                    for peer, said in lists.items()
                }
                beside = history.beside(own, entry.own.commitment, entry.begun_at)
                found.append(replace(entry, own=beside, of_peers=of_peers))
            return found

    def refuse_if_aligned_too_often(self, dataset: str) -> None:
        """Raise if a data set may not be compared once more, and write nothing.

        Raises:
            BudgetExceededError: If it was compared as often as its owner allows.
        """
        most = self.alignment_limit(dataset)
        if most is None:
            return
        with self._reading():
            (made,) = self._database.execute("SELECT count(*) FROM alignments WHERE dataset = ?", (dataset,)).fetchone()
        if made >= most:
            raise BudgetExceededError(
                f"The people of data set '{dataset}' were compared with other parties' {made} times, and its owner "
                f"allows {most}. Nobody was compared and nothing was measured. To allow more: copublish ledger "
                f"limit-alignments {dataset}=NUMBER --ledger {self.path}"
            )

    def record_alignment(
        self,
        *,
        dataset: str,
        release: str,
        agreement_hash: str,
        kind: Kind,
        compared_by: str,
        peers: Sequence[str],
        length: int,
        commitment: str,
    ) -> int:
        """Write durably that a comparison is about to begin; return its number. It counts, however it ends.

        Args:
            dataset: The data set.
            release: The release that it is for.
            agreement_hash: Its agreement.
            kind: What is looked for.
            compared_by: The identifier and what is ignored in it.
            peers: With whom.
            length: How many identifiers this party lists; its size class is kept.
            commitment: To this party's list, for its own eyes.

        Raises:
            BudgetExceededError: If the data set was compared as often as its owner allows. Nothing is written then.

        Privacy:
            Charges: one comparison, on disk before any identifier is sent, and it counts however the run ends.
        """
        with self._transaction():
            self.refuse_if_aligned_too_often(dataset)
            return self._insert(
                "alignments",
                dataset=dataset,
                release=release,
                agreement_hash=agreement_hash,
                kind=kind,
                compared_by=compared_by,
                peers=json.dumps(list(peers)),
                size_class=size_class(length),
                commitment=commitment,
                begun_at=now(),
            )

    def record_peer_lists(self, number: int, told: Mapping[str, str]) -> Alignment:
        """Write what the peers told about their lists; return the comparison, with how every list stands."""
        with self._transaction():
            for peer, said in told.items():
                self._insert("peer_lists", alignment=number, peer=peer, commitment=said)
        with self._reading():
            query = "SELECT count(*) FROM alignments WHERE id <= ?"
            position: int = self._database.execute(query, (number,)).fetchone()[0]
        return self.alignments()[position - 1]

    def key_of_lists(self, dataset: str) -> bytes:
        """The secret key for commitments to a data set's lists, drawn when it is first needed. It stays in the file.

        Privacy:
            Without the key a commitment tells nothing about a list. It never leaves the ledger.
        """
        query = "SELECT key FROM list_keys WHERE dataset = ?"
        with self._transaction():
            if self._database.execute(query, (dataset,)).fetchone() is None:
                self._insert("list_keys", dataset=dataset, key=os.urandom(KEY_BYTES).hex())
        with self._reading():
            (key,) = self._database.execute(query, (dataset,)).fetchone()
            return bytes.fromhex(_commitment(key, dataset, "list_keys.key"))


class _History:
    """The last list of every party, as they are gone through in order."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[str, str]] = {}

    def beside(self, whose: tuple[str, str], commitment: str, at: str) -> ListedPeople:
        """A list beside the last one, which it then is itself."""
        before = self._last.get(whose)
        self._last[whose] = (commitment, at)
        if before is None:
            return ListedPeople(commitment)
        return ListedPeople(commitment, before=before[1], is_same=before[0] == commitment)


def _read_alignment(row: Sequence[object]) -> Alignment:
    dataset, release, agreement_hash, kind, compared_by, peers, size, begun_at, commitment = row
    if kind not in get_args(Kind):
        raise GarbledCellError(dataset, "alignments.kind")
    return Alignment(
        dataset=read_text(dataset, dataset, "alignments.dataset"),
        release=read_text(release, dataset, "alignments.release"),
        agreement_hash=read_text(agreement_hash, dataset, "alignments.agreement_hash"),
        kind=cast(Kind, kind),
        compared_by=read_text(compared_by, dataset, "alignments.compared_by"),
        peers=_names(peers, dataset),
        size_class=_count(size, dataset, "alignments.size_class"),
        begun_at=read_text(begun_at, dataset, "alignments.begun_at"),
        own=ListedPeople(_commitment(commitment, dataset, "alignments.commitment")),
    )


def _names(cell: object, dataset: object) -> tuple[str, ...]:
    """A list of names, as JSON."""
    try:
        names = json.loads(read_text(cell, dataset, "alignments.peers"))
    except (ValueError, RecursionError):
        raise GarbledCellError(dataset, "alignments.peers") from None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise GarbledCellError(dataset, "alignments.peers")
    return tuple(names)


def _commitment(cell: object, dataset: object, column: str) -> str:
    if not is_commitment(cell):
        raise GarbledCellError(dataset, column)
    return cast(str, cell)


def _count(cell: object, dataset: object, column: str) -> int:
    if type(cell) is not int or cell < 0:
        raise GarbledCellError(dataset, column)
    return cell
