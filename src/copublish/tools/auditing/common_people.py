"""Audits of hidden membership: neighbors that differ in whom another owner lists, and what one owner sees of that.

An owner sees the number of common people with the other one's noise, and the release. It may list the person whom the
other one lists or not, so the number of common people differs by one. Or it does not list that person and claims to be
present in all rows: then the release counts people whom only the other one lists, and the number says nothing of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.membership import membership_cost
from copublish.kernel.noise.geometric import Coins
from copublish.kernel.noise.hidden_size import HiddenSize
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.secrets.placement import HiddenJoin
from copublish.tools.auditing.statistics import Claim
from copublish.tools.auditing.tables import Pair, valid_pairs
from copublish.types import IntArray

Floats = NDArray[np.float64]

CERTAIN = 50.0
"""Evidence of a number that one of the two tables cannot have."""


def membership_pairs(agreement: Agreement, party: str, coins: Coins, *, is_listed: bool) -> Iterator[Pair]:
    """Yield neighbors that differ in one person whom all other owners list in the second table alone.

    Args:
        agreement: What is audited.
        party: Who is to tell them apart; its own rows are the same in both.
        coins: For made-up records.
        is_listed: Whether it lists the person too; otherwise it claims to be present in all rows.
    """
    knows = "lists too" if is_listed else "does not list, claiming to be present in all rows"
    for pair in valid_pairs(agreement, "add-remove", coins):
        yield replace(pair, record=f"{pair.record}, whom '{party}' {knows}", seen_by=party, is_listed=is_listed)


def present_everywhere(fragment: Fragment) -> Fragment:
    """The rows of an owner that claims each of them, with the first value of every column where it holds nobody."""
    codes = {
        name: np.where(held == fragment.sizes[name], 0, held).astype(held.dtype)
        for name, held in fragment.private_codes.items()
    }
    numbers = {name: np.maximum(held, 0) for name, held in fragment.private_numbers.items()}
    present = np.ones(fragment.n_records, dtype=np.bool_)
    return replace(fragment, private_codes=codes, private_numbers=numbers, present=present)


@dataclass(frozen=True)
class NoisySize:
    """What one of two owners learns of the number of common people: the number plus what the other one adds.

    Attributes:
        law: Of what is added.
        common: The number of common people in either table.
    """

    law: HiddenSize
    common: tuple[int, int]

    @staticmethod
    def of(agreement: Agreement, pair: Pair) -> NoisySize | None:
        """What an owner learns of a pair; nothing where no owner learns of it, or its own rows differ."""
        join = HiddenJoin.of(agreement)
        if join is None or join.size is None or pair.seen_by is None:
            return None
        identifier, counts = agreement.records.identifier_name, []
        for table in (0, 1):
            lists = [set(frame[identifier]) for frame in pair.frames(agreement, table).values()]
            counts.append(len(set.intersection(*lists)))
        return NoisySize(join.size, (counts[0], counts[1]))

    def seen(self, coins: NDArray[np.bool_]) -> IntArray:
        """The number that is seen of each run, with noise drawn as in a release."""
        added = np.array([self.law.draw(os.urandom) for _ in coins], dtype=np.int64)
        return np.where(coins, self.common[1], self.common[0]) + added

    def evidence(self, seen: IntArray) -> Floats:
        """How much more likely each number is on table 1 by the stated law, as a logarithm."""
        logs = [self._log(seen - common) for common in self.common]
        return np.clip(logs[1] - logs[0], -CERTAIN, CERTAIN)

    def beyond_the_middle(self, seen: IntArray) -> Floats:
        """How far each number is on the side of table 1: it sees noise that is missing."""
        sign = np.sign(self.common[1] - self.common[0])
        return np.asarray(sign * (seen - self.law.pool // 2 - sum(self.common) / 2), dtype=np.float64)

    def _log(self, added: IntArray) -> Floats:
        inside = (added >= 0) & (added <= self.law.pool)
        return np.where(inside, -float(self.law.epsilon) * np.abs(added - self.law.pool // 2), -2 * CERTAIN)


def claim_of_size(agreement: Agreement, pair: Pair) -> Claim:
    """What is stated of the number of common people alone."""
    cost: Any = membership_cost(agreement)
    return Claim(float(cost.add_remove), slack=float(cost.delta), people=pair.people)
