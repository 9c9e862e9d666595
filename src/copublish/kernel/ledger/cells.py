"""Cells of a ledger's tables, read back: text in a file that somebody else may have changed since.

What copublish writes there is little: fractions, five states, two relations. Anything else is no ledger any more.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast, get_args

from copublish.errors import plain_text
from copublish.kernel.accounting.accounts import Account, Accounts
from copublish.kernel.accounting.cost import Cost, RhoPrice
from copublish.kernel.accounting.disclosures import NEIGHBORS
from copublish.kernel.ledger.limits import UNBOUNDED, Limit

RESERVED, ENDED_EARLY, COMPLETE = "reserved", "ended early, spent", "complete"
GIVEN_BACK = "given back, nothing was opened"
SPENT_ON_SIZE = "spent on the number of common people"
STATES = (RESERVED, ENDED_EARLY, COMPLETE, GIVEN_BACK, SPENT_ON_SIZE)
"""How far a charge has come. All of them count as spent, but for what its owner has given back.

What is spent on the number of common people is a charge of its own. It has that one state, however its run ends.
"""

_NUMBER = re.compile(r"[0-9]{1,4000}(/[0-9]{1,4000}|\.[0-9]{1,4000})?")
"""No exponent: a few characters could stand for a number that fills the memory."""

_TOO_LARGE = 10**150
"""Nobody spends this much, and it can still be shown."""


class GarbledCellError(ValueError):
    """A cell holds what copublish does not write.

    Attributes:
        dataset: The data set that the row is about, as far as that can be read.
        column: Table and column.
    """

    def __init__(self, dataset: object, column: str) -> None:
        super().__init__(f"{column} of data set {dataset!r}")
        self.dataset = plain_text(dataset) if isinstance(dataset, str) else None
        self.column = column


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge, as `copublish ledger` shows it.

    Attributes:
        number: Of the row.
        dataset, release, agreement_hash: What it is for.
        peers: With whom, each with the fingerprint of its certificate as far as the agreement has it.
        cost: Its price in epsilon and delta.
        account: What it was paid from.
        in_rho: Its price in rho.
        state: How far it has come.
        reserved_at: When.
        disclosures: How many were written.
    """

    number: int
    dataset: str
    release: str
    agreement_hash: str
    peers: Mapping[str, str | None]
    cost: Cost
    account: Account
    in_rho: RhoPrice
    state: str
    reserved_at: str
    disclosures: int


def runs_of(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Charges by run, oldest first: what was spent on the number of common people, and what the release was charged.

    Args:
        entries: Charges, oldest first. A party runs an agreement once at a time.
    """
    runs: list[list[Entry]] = []
    waiting: dict[str, list[Entry]] = {}
    for entry in entries:
        run = waiting.pop(entry.agreement_hash, None) if entry.state != SPENT_ON_SIZE else None
        if run is None:
            runs.append(run := [])
        run.append(entry)
        if entry.state == SPENT_ON_SIZE:
            waiting[entry.agreement_hash] = run
    return runs


@dataclass(frozen=True)
class Disclosed:
    """One disclosure, as it was written before it was opened.

    Attributes:
        label: What was opened.
        cost: Its price.
        charged_at: When.
    """

    label: str
    cost: Cost
    charged_at: str


def read_limit(dataset: str, row: Sequence[object]) -> Limit:
    """Read a limit from its epsilon, relation, delta and accounts.

    Raises:
        GarbledCellError: Naming the column.
    """
    epsilon, neighbors, delta, *accounts = row
    relation = next((known for known in NEIGHBORS if known == neighbors), None)
    if relation is None:
        raise GarbledCellError(dataset, "limits.neighbors")
    try:
        return Limit(
            None if epsilon == UNBOUNDED else _number(epsilon, dataset, "limits.epsilon"),
            relation,
            _number(delta, dataset, "limits.delta"),
            _read_accounts(dataset, accounts),
        )
    except GarbledCellError:
        raise
    except ValueError:  # accounts that add up to more than the limit
        raise GarbledCellError(dataset, "limits.rho") from None


def _read_accounts(dataset: str, cells: Sequence[object]) -> Accounts | None:
    if all(cell is None for cell in cells):
        return None
    names = ("pure_epsilon", "rho", "delta_for_rho", "delta_for_rest")
    numbers = {name: _number(cell, dataset, f"limits.{name}") for name, cell in zip(names, cells, strict=True)}
    return Accounts(**numbers)


def read_entry(row: Sequence[object]) -> Entry:
    """A charge from its row.

    Raises:
        GarbledCellError: Naming the column.
    """
    number, dataset, release, agreement_hash, peers, *prices, state, reserved_at, disclosures = row
    add_remove, replace, delta, account, *in_rho = prices
    if state not in STATES:
        raise GarbledCellError(dataset, "charges.state")
    if account not in get_args(Account):
        raise GarbledCellError(dataset, "charges.account")
    cost = Cost(
        add_remove=None if add_remove is None else _number(add_remove, dataset, "charges.epsilon_add_remove"),
        replace=None if replace is None else _number(replace, dataset, "charges.epsilon_replace"),
        delta=_number(delta, dataset, "charges.delta"),
    )
    return Entry(
        number=int(str(number)),
        peers=_read_peers(peers, dataset),
        dataset=read_text(dataset, dataset, "charges.dataset"),
        release=read_text(release, dataset, "charges.release"),
        agreement_hash=read_text(agreement_hash, dataset, "charges.agreement_hash"),
        cost=cost,
        account=cast(Account, account),
        in_rho=_read_rho(dataset, in_rho),
        state=str(state),
        reserved_at=read_text(reserved_at, dataset, "charges.reserved_at"),
        disclosures=int(str(disclosures)),
    )


def _read_peers(cell: object, dataset: object) -> dict[str, str | None]:
    try:
        peers = json.loads(read_text(cell, dataset, "charges.peers"))
    except (ValueError, RecursionError):
        raise GarbledCellError(dataset, "charges.peers") from None
    if not isinstance(peers, dict) or not all(isinstance(known, str | None) for known in peers.values()):
        raise GarbledCellError(dataset, "charges.peers")
    return peers


def read_disclosed(dataset: str, row: Sequence[object]) -> Disclosed:
    """A disclosure from its row.

    Raises:
        GarbledCellError: Naming the column.
    """
    label, add_remove, replace, delta, charged_at = row
    return Disclosed(
        label=read_text(label, dataset, "disclosures.label"),
        cost=Cost(
            add_remove=None if add_remove is None else _number(add_remove, dataset, "disclosures.epsilon_add_remove"),
            replace=None if replace is None else _number(replace, dataset, "disclosures.epsilon_replace"),
            delta=_number(delta, dataset, "disclosures.delta"),
        ),
        charged_at=read_text(charged_at, dataset, "disclosures.charged_at"),
    )


def _read_rho(dataset: object, cells: Sequence[object]) -> RhoPrice:
    add_remove, replace, delta, distance = cells
    return RhoPrice(
        add_remove=None if add_remove is None else _number(add_remove, dataset, "charges.rho_add_remove"),
        replace=None if replace is None else _number(replace, dataset, "charges.rho_replace"),
        delta=_number(delta, dataset, "charges.rho_delta"),
        distance=_number(distance, dataset, "charges.rho_distance"),
    )


def read_text(cell: object, dataset: object, column: str) -> str:
    """A cell that holds text.

    Raises:
        GarbledCellError: If it holds something else.
    """
    if not isinstance(cell, str):
        raise GarbledCellError(dataset, column)
    return cell


def read_text_or_none(cell: object, dataset: object, column: str) -> str | None:
    """A cell that holds text, or nothing.

    Raises:
        GarbledCellError: If it holds something else.
    """
    return None if cell is None else read_text(cell, dataset, column)


def _number(cell: object, dataset: object, column: str) -> Fraction:
    """A number that is not negative, as `str` of a fraction or as a person writes it."""
    try:
        if isinstance(cell, str) and _NUMBER.fullmatch(cell) and (number := Fraction(cell)) < _TOO_LARGE:
            return number
    except ZeroDivisionError:
        pass
    raise GarbledCellError(dataset, column)
