"""A party's durable record of the privacy budget spent on its data, over all releases.

A charge is reserved as a whole before anything is computed and is never given back by itself: a crash, a kill or a
failed release leaves it spent. Every disclosure is written, and on disk, before its value is opened. So the owner may
give back a charge without one, by a command (docs/proofs/given-back.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from copublish.errors import BudgetExceededError, LedgerError
from copublish.kernel.accounting.accounts import Account, Spent
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.ledger.budget import Budget, budget_of
from copublish.kernel.ledger.cells import (
    COMPLETE,
    ENDED_EARLY,
    GIVEN_BACK,
    RESERVED,
    SPENT_ON_SIZE,
    Disclosed,
    Entry,
    read_disclosed,
    read_entry,
    read_limit,
    read_text,
)
from copublish.kernel.ledger.chain import head_of
from copublish.kernel.ledger.comparisons import Alignments
from copublish.kernel.ledger.database import NOTHING_MORE_OPENED, NOTHING_OPENED, ROOM_BYTES, now
from copublish.kernel.ledger.history import History
from copublish.kernel.ledger.limits import UNBOUNDED, Limit
from copublish.kernel.ledger.locks import Locks
from copublish.kernel.ledger.receipts import Receipts

__all__ = ["CHANGED", "ROOM_BYTES", "UNBOUNDED", "Disclosed", "Entry", "Ledger", "Limit", "Reservation"]

NOBODY: Mapping[str, str | None] = {}

CHANGED = "The ledger was changed after it was shown. No limit was set. Look at it again."


class Ledger(Alignments, Locks, Receipts, History):
    """The ledger in one SQLite file; `":memory:"` keeps it for the life of this process.

    Safe under several processes at once: every change is one immediate, fully synchronized transaction.
    """

    def set_limit(self, dataset: str, limit: Limit, *, seen_head: str | None = None) -> None:
        """State the most that may be spent on a data set. The newest limit holds; the file keeps the older ones.

        Args:
            dataset: The people who are counted.
            limit: The most.
            seen_head: The ledger's `head` when somebody decided; nothing is set if it has another one now.

        Raises:
            LedgerError: If the ledger was changed since, or cannot be written.
        """
        epsilon = UNBOUNDED if limit.epsilon is None else str(limit.epsilon)
        accounts = [None] * 4 if limit.accounts is None else [str(number) for number in vars(limit.accounts).values()]
        with self._transaction():
            # Inside the transaction: who writes at the same moment comes before it or after it.
            if seen_head not in (None, head_of(self._database)[1]):
                raise LedgerError(CHANGED)
            self._insert(
                "limits",
                dataset=dataset,
                neighbors=limit.neighbors,
                epsilon=epsilon,
                delta=str(limit.delta),
                set_at=now(),
                **dict(zip(("pure_epsilon", "rho", "delta_for_rho", "delta_for_rest"), accounts, strict=True)),
            )

    def limit(self, dataset: str) -> Limit | None:
        """The limit of a data set, if one was set."""
        with self._reading():
            query = (
                "SELECT epsilon, neighbors, delta, pure_epsilon, rho, delta_for_rho, delta_for_rest FROM limits "
                "WHERE dataset = ? ORDER BY id DESC LIMIT 1"
            )
            row = self._database.execute(query, (dataset,)).fetchone()
            return None if row is None else read_limit(dataset, row)

    def limited_datasets(self) -> list[str]:
        """The data sets that have a limit."""
        with self._reading():
            rows = self._database.execute("SELECT DISTINCT dataset FROM limits ORDER BY dataset")
            return [read_text(dataset, dataset, "limits.dataset") for (dataset,) in rows]

    def spent(self, dataset: str) -> Cost:
        """Everything ever reserved on a data set and not given back, finished or not, in epsilon and delta."""
        return self.spent_by_account(dataset).in_all

    def spent_by_account(self, dataset: str) -> Spent:
        """Everything ever reserved on a data set and not given back, by what it was paid from."""
        total = Spent()
        for entry in self.entries():
            if entry.dataset == dataset and entry.state != GIVEN_BACK:
                total = total.plus(entry.cost, entry.in_rho, entry.account)
        return total

    def entries(self) -> list[Entry]:
        """All charges, oldest first."""
        with self._reading():
            rows = self._database.execute(
                "SELECT id, dataset, release, agreement_hash, peers, epsilon_add_remove, epsilon_replace, delta, "
                "account, rho_add_remove, rho_replace, rho_delta, rho_distance, state, reserved_at, "
                "(SELECT count(*) FROM disclosures WHERE charge = charges.id) FROM charges ORDER BY id"
            )
            return [read_entry(row) for row in rows]

    def budgets(self) -> list[Budget]:
        """What there is for every data set, and what was spent of it, in words."""
        entries = self.entries()
        datasets = sorted({entry.dataset for entry in entries} | set(self.limited_datasets()))
        return [budget_of(name, self.limit(name), self.spent_by_account(name), entries) for name in datasets]

    def disclosures(self, agreement_hash: str) -> list[list[Disclosed]]:
        """For every charge of an agreement, oldest first, what was written against it before it was opened."""
        with self._reading():
            charges = self._database.execute(
                "SELECT id, dataset FROM charges WHERE agreement_hash = ? ORDER BY id", (agreement_hash,)
            ).fetchall()
            query = (
                "SELECT label, epsilon_add_remove, epsilon_replace, delta, charged_at FROM disclosures "
                "WHERE charge = ? ORDER BY position"
            )
            return [
                [read_disclosed(dataset, row) for row in self._database.execute(query, (number,))]
                for number, dataset in charges
            ]

    def refuse_if_over(self, dataset: str, *costs: Cost) -> None:
        """Raise if charges, one after the other, are more than is left, of epsilon or of delta, and write nothing.

        Raises:
            BudgetExceededError: If it is, or if no limit was set.

        Privacy:
            Asking charges nothing. `reserve` asks again in the transaction that writes, so two runs cannot both pass
            here and then spend the same budget.
        """
        limit = self.limit(dataset)
        if limit is None:
            raise BudgetExceededError(
                f"The ledger '{self.path}' has no limit for data set '{dataset}', so nothing may be spent. "
                f"Nothing was measured. Set one: copublish ledger limit {dataset}=EPSILON --ledger {self.path}"
            )
        if why := limit.refusal(self.spent_by_account(dataset), costs, dataset=dataset, ledger=self.path):
            raise BudgetExceededError(why)

    def account_for(self, dataset: str, cost: Cost) -> Account:
        """What a release would pay from.

        Raises:
            BudgetExceededError: If it may not be made.
        """
        self.refuse_if_over(dataset, cost)
        limit = self.limit(dataset)
        account = None if limit is None else limit.account_for(self.spent_by_account(dataset), cost)
        if account is None:
            raise BudgetExceededError(f"Nothing is left for data set '{dataset}'. Nothing was measured.")
        return account

    @contextmanager
    def reserve(
        self,
        dataset: str,
        release: str,
        agreement_hash: str,
        cost: Cost,
        *,
        peers: Mapping[str, str | None] = NOBODY,
    ) -> Iterator[Reservation]:
        """Reserve the whole cost of a release, then record how it ended.

        Args:
            dataset: The data set.
            release: Its name.
            agreement_hash: Of its agreement.
            cost: What is reserved.
            peers: With whom, each with the fingerprint of its certificate as far as the agreement has it.

        Raises:
            BudgetExceededError: If the limit does not suffice. Nothing is written then.

        Privacy:
            Charges: the whole cost, in one transaction with the check of the limit, before anything is opened. However
                the run ends, it stays spent, unless its owner gives it back.
        """
        with self._transaction():
            number = self._charge(dataset, release, agreement_hash, cost, peers, RESERVED)
        self._standing = NOTHING_OPENED
        charge = Reservation(self, number, cost)
        try:
            yield charge
        except BaseException:
            if not charge.is_complete:
                self._end(charge, ENDED_EARLY)
            raise
        charge.complete()

    def charge_size(
        self,
        dataset: str,
        release: str,
        agreement_hash: str,
        cost: Cost,
        *,
        label: str,
        peers: Mapping[str, str | None] = NOBODY,
    ) -> None:
        """Charge what a peer is about to learn of the number of common people, beside the cost of a release.

        Args:
            dataset: The data set.
            release: The release for which people are compared.
            agreement_hash: Of its agreement.
            cost: What is charged.
            label: What the peer learns.
            peers: With whom, each with the fingerprint of its certificate as far as the agreement has it.

        Raises:
            BudgetExceededError: If the limit does not suffice. Nothing is written then.

        Privacy:
            Charges: the cost with its disclosure, in one transaction, before anything about people is sent. No state of
                such a charge can be given back or stands for a release, so it stays spent however the run ends.
        """
        with self._transaction():
            number = self._charge(dataset, release, agreement_hash, cost, peers, SPENT_ON_SIZE)
            self._write_disclosure(number, 0, label, cost)
        self._standing = NOTHING_MORE_OPENED

    def _charge(
        self,
        dataset: str,
        release: str,
        agreement_hash: str,
        cost: Cost,
        peers: Mapping[str, str | None],
        state: str,
    ) -> int:
        """Check the limit and write a charge, in a transaction that was begun; return its number."""
        return self._insert(
            "charges",
            dataset=dataset,
            release=release,
            agreement_hash=agreement_hash,
            peers=json.dumps(dict(peers)),
            state=state,
            reserved_at=now(),
            account=self.account_for(dataset, cost),
            **_write_cost(cost),
            **_write_rho(cost),
        )

    def _write_disclosure(self, charge: int, position: int, label: str, cost: Cost) -> None:
        """Write a disclosure, in a transaction that was begun."""
        self._insert(
            "disclosures", charge=charge, position=position, label=label, charged_at=now(), **_write_cost(cost)
        )

    def newest_charge(self, agreement_hash: str) -> int | None:
        """Number of the newest charge for a release of an agreement; none if there is none."""
        with self._reading():
            query = "SELECT max(id) FROM charges WHERE agreement_hash = ? AND state != ?"
            (number,) = self._database.execute(query, (agreement_hash, SPENT_ON_SIZE)).fetchone()
            return cast(int | None, number)

    def is_unpublished(self, charge: int) -> bool:
        """Whether a charge is that of a run which has published nothing as far as this ledger knows."""
        with self._reading():
            row = self._database.execute("SELECT state FROM charges WHERE id = ?", (charge,)).fetchone()
            return row is not None and row[0] in (RESERVED, ENDED_EARLY)

    def complete_published(self, charge: int) -> None:
        """Record what the run of a charge could not: that its release is published.

        Privacy:
            Changes the state of the entry only. The price is the same in every state.
        """
        with self._transaction():
            self._change("charges", charge, state=COMPLETE, ended_at=now())

    def _end(self, charge: Reservation, state: str) -> None:
        # A ledger that cannot be written now keeps the state 'reserved', which counts as spent: nothing is lost.
        with suppress(LedgerError), self._transaction():
            if self._state_of(charge.id) == RESERVED:  # else its owner has given it back
                self._change("charges", charge.id, state=state, ended_at=now())

    def _state_of(self, number: int) -> str | None:
        row = self._database.execute("SELECT state FROM charges WHERE id = ?", (number,)).fetchone()
        return None if row is None else row[0]

    def give_back(self, number: int) -> None:
        """Count a charge no more, under which no disclosure was written. The file keeps it, with the moment.

        Args:
            number: The entry's.

        Raises:
            LedgerError: If there is no such charge, a disclosure was written, or the ledger was edited.

        Privacy:
            Gives back: the whole cost. Nothing was opened of it, at any party: a disclosure is on disk before this
                party lets anybody open one. A run that goes on meanwhile ends at its first disclosure.
            Reference: docs/proofs/given-back.md.
        """
        self.refuse_if_edited()
        with self._transaction():
            query = "SELECT count(*) FROM disclosures WHERE charge = ?"
            (disclosures,) = self._database.execute(query, (number,)).fetchone()
            state = self._state_of(number)
            if disclosures or state not in (RESERVED, ENDED_EARLY):
                reasons = {None: "there is none", GIVEN_BACK: "it was given back before"}
                why = reasons.get(state, "values were opened of it, or were about to be")
                raise LedgerError(f"Charge {number} of the ledger '{self.path}' is not given back: {why}.")
            self._change("charges", number, state=GIVEN_BACK, ended_at=now())


class Reservation:
    """A reservation that disclosures are written against, each before it is opened."""

    def __init__(self, ledger: Ledger, charge_id: int, reserved: Cost) -> None:
        self.id = charge_id
        self._ledger, self._reserved = ledger, reserved
        self._disclosed, self._position = NOTHING, 0
        self.is_complete = False

    def complete(self) -> None:
        """Record that the release is published: what fails after that does not change it.

        Privacy:
            Changes the state of the entry only. The price is the same in every state.
        """
        if not self.is_complete:
            self.is_complete = True
            self._ledger._end(self, COMPLETE)

    def disclose(self, label: str, price: Cost | Callable[[], Cost]) -> None:
        """Write one disclosure to stable storage.

        Raises:
            BudgetExceededError: If the disclosures would add up to more than was reserved.
            LedgerError: If it could not be written, or the charge was given back.

        Privacy:
            When this returns the charge survives a crash. Nothing may be opened before, or after an error.
        """
        cost = price() if callable(price) else price
        total = self._disclosed + cost
        if not total.fits_in(self._reserved):
            raise BudgetExceededError(
                f"'{label}' would cost more than was reserved for this release. It was not opened."
            )
        with self._ledger._transaction():
            if self._ledger._state_of(self.id) in (None, GIVEN_BACK):  # in the transaction: else both could come first
                raise LedgerError(f"The charge of this release was given back while it ran. '{label}' was not opened.")
            self._ledger._write_disclosure(self.id, self._position, label, cost)
        self._ledger._standing = NOTHING_MORE_OPENED
        self._disclosed, self._position = total, self._position + 1


def _write_cost(cost: Cost) -> dict[str, str | None]:
    return {
        "epsilon_add_remove": None if cost.add_remove is None else str(cost.add_remove),
        "epsilon_replace": None if cost.replace is None else str(cost.replace),
        "delta": str(cost.delta),
    }


def _write_rho(cost: Cost) -> dict[str, str | None]:
    price = cost.in_rho()
    return {f"rho_{name}": None if number is None else str(number) for name, number in vars(price).items()}


def open_existing_ledger(file: str | Path, dataset: str) -> Ledger:
    """Open a ledger that is to be charged; one that is not there is a slip, and an empty one would hide it."""
    if not Path(file).exists():
        raise LedgerError(
            f"There is no ledger '{file}'. Make one by setting the most that may ever be spent on these data: "
            f"copublish ledger limit {dataset}=EPSILON --ledger {file}"
        )
    return Ledger(file)
