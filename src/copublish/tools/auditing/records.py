"""Records that their owners perturb before they tell them: each has a law of its own, so each has a coin of its own.

One run tells a whole table. Whether a person has the old or the new record is that person's coin, and the law of what
is told of it is known: randomized response on categories, noise between bounds on numbers. Under pure epsilon the
coins of the others may be known, so all guesses of a run count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine, Room
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.accounting.perturbations import PerturbCategory, PerturbNumber
from copublish.kernel.noise.geometric import COIN_BITS
from copublish.kernel.records.alignment import align_records
from copublish.kernel.records.joint_table import JointTable
from copublish.mechanisms.registry import plan_of
from copublish.party.local.simulation import read_fragments
from copublish.progress import no_progress
from copublish.tools.auditing.game import free_gate
from copublish.tools.auditing.tables import Pair
from copublish.types import IntArray

PEOPLE = 1000
"""With a coin each, in one run."""

Floats = NDArray[np.float64]


def tells_records(agreement: Agreement) -> bool:
    """Whether a run tells records one by one."""
    return any(isinstance(made, PerturbCategory | PerturbNumber) for made in plan_of(agreement).disclosures())


class RecordGame:
    """Tables in which everybody has the old or the new record of a pair, by a coin.

    Args:
        agreement: What is audited.
        pair: Whose last records are the two.
    """

    def __init__(self, agreement: Agreement, pair: Pair) -> None:
        self._agreement, self._plan = agreement, plan_of(agreement)
        self._tables = [self._aligned(pair, is_new) for is_new in (False, True)]
        self._true = [_true_values(agreement, tables) for tables in self._tables]

    def _aligned(self, pair: Pair, is_new: bool) -> dict[str, JointTable]:
        agreement = self._agreement
        fragments = read_fragments(agreement, pair.mixed(agreement, [is_new] * PEOPLE))
        room = Room(agreement.party_names)
        return room.run(lambda engine: align_records(agreement, fragments[engine.party], engine))

    def run(self, coins: NDArray[np.bool_]) -> tuple[IntArray, Floats]:
        """Run once, with a coin for each of PEOPLE.

        Returns:
            What was told of each person, shape (people, columns), and the evidence of it by the stated laws.
        """
        order, law, columns = _order(self._agreement), np.zeros(PEOPLE), []
        opened = self._opened(coins)
        laws = [(made, values) for made, values in opened if isinstance(made, PerturbCategory | PerturbNumber)]
        for name, (made, values) in zip(self._agreement.columns, laws, strict=True):
            told = np.empty_like(values)
            told[order] = values
            columns.append(told)
            old, new = (known[name] for known in self._true)
            law += log_law(made, told, new) - log_law(made, told, old)
        return np.stack(columns, axis=1).astype(np.int64), law

    def _opened(self, coins: NDArray[np.bool_]) -> list[tuple[Disclosure, IntArray]]:
        agreement, found = self._agreement, {}

        def job(engine: IdealEngine) -> None:
            gate = free_gate(engine, number_of_records_is_public=agreement.records.public)
            self._plan.run(self._mixed(engine.party, coins), engine.computer, gate, no_progress)
            found[engine.party] = gate.opened

        Room(agreement.party_names).run(job)
        return found[agreement.party_names[0]]

    def _mixed(self, party: str, coins: NDArray[np.bool_]) -> JointTable:
        """What a party holds of the table in which everybody has the record of their coin."""
        old, new = (tables[party] for tables in self._tables)
        owners = self._agreement.owners
        if self._agreement.partition == "horizontal":
            coins = coins[owners.index(party) :: len(owners)] if party in owners else coins[:0]

        def mix(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
            return {name: np.where(coins, second[name], first[name]) for name in first}

        codes = mix(old.fragment.private_codes, new.fragment.private_codes)
        numbers = mix(old.fragment.private_numbers, new.fragment.private_numbers)
        return replace(old, fragment=replace(old.fragment, private_codes=codes, private_numbers=numbers))


def _order(agreement: Agreement) -> IntArray:
    """Which person each told record is of: owners of rows tell theirs one after the other."""
    owners = len(agreement.owners)
    if agreement.partition != "horizontal":
        return np.arange(PEOPLE, dtype=np.int64)
    return np.concatenate([np.arange(own, PEOPLE, owners, dtype=np.int64) for own in range(owners)])


def _true_values(agreement: Agreement, tables: Mapping[str, JointTable]) -> dict[str, int]:
    """For every column the code of a record's category, or its number in steps; -1 for a number that is missing."""
    found = {}
    for name in agreement.columns:
        fragment = tables[agreement.holders(name)[0]].fragment
        known = fragment.private_numbers if name in fragment.private_numbers else fragment.private_codes
        found[name] = int(known[name][0])
    return found


def log_law(made: PerturbCategory | PerturbNumber, told: IntArray, true: int) -> Floats:
    """The logarithm of the chance of each told value if this is the true one."""
    if isinstance(made, PerturbCategory):
        other = made.response.words_per_other / 2.0**COIN_BITS
        return np.asarray(np.log(np.where(told == true, made.response.kept, other)))
    rate = float(made.noise.rate)
    number = made.steps // 2 if true < 0 else true
    # What falls on a bound is all that lies beyond it as well.
    inside = math.log(math.tanh(rate / 2)) - rate * np.abs(told - number)
    edge = -rate * np.abs(np.where(told <= 0, number, made.steps - number)) - math.log1p(math.exp(-rate))
    found: Floats = np.where((told <= 0) | (told >= made.steps), edge, inside)
    if made.response is not None:
        says = [made.response.words_per_other / 2.0**COIN_BITS, made.response.kept]
        is_told, is_true = told > made.steps, true < 0
        found = np.where(is_told, math.log(says[is_true]), found + math.log(says[not is_true]))
    return found
