"""What a run opens and costs, in words: `measurements.py` has the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from copublish.agreement.model import Agreement
from copublish.kernel.certificate.build import Method
from copublish.kernel.certificate.comparing import how_noise_is_drawn
from copublish.mechanisms.base import Plan
from copublish.mechanisms.marginals.junction_tree import Columns, cells_of
from copublish.mechanisms.marginals.measurements import SHARE_FOR_PAIRS_ACROSS, Measurements
from copublish.mechanisms.marginals.settings import MAX_SYNTHETIC_RECORDS, is_across
from copublish.mechanisms.shared.normal import deviation, mean_size, refuse_without_noise

if TYPE_CHECKING:
    from copublish.kernel.records.joint_table import JointTable
    from copublish.kernel.secrets.computer import Computer
    from copublish.kernel.secrets.gate import Gate
    from copublish.mechanisms.marginals.records import MarginalsResult
    from copublish.progress import Progress

PAIRS_NAMED = 12
"""Pairs of columns that a line names."""

LARGE_ERROR = 0.1
"""From here on people are warned."""


@dataclass(frozen=True)
class MarginalsPlan(Measurements, Plan["MarginalsResult"]):
    """Everything about a run that is fixed before any data is touched."""

    @staticmethod
    def of(agreement: Agreement) -> MarginalsPlan:
        """The plan of an agreement.

        Raises:
            AgreementError: If no noise gives this epsilon and delta within the engine's integers.
        """
        plan = MarginalsPlan(agreement)
        refuse_without_noise(agreement, lambda: plan.first.noise)
        return plan

    def records_to_draw(self, estimated: int) -> int:
        """How many records are made: as many as agreed, else as many as there are, by what was opened.

        Large noise can estimate many more than there are, and what they take would end a run after it was paid for.
        """
        return self.settings.records or min(estimated, MAX_SYNTHETIC_RECORDS)

    def method(self) -> Method:
        """What the mechanism does, in words for the certificate."""
        law = "Gaussian" if self.currency == "rho" else "Laplace"
        chosen = (
            " Tables are chosen by the noisy maximum, with one-sided geometric noise, of their distance from a model's "
            "whole-numbered answers."
            if self.rounds
            else ""
        )
        return Method(
            product="Synthetic microdata, and tables of counts",
            mechanisms=f"Discrete {law} noise on every count of the measured tables.{chosen} "
            f"{how_noise_is_drawn(self.agreement)}; all arithmetic on what is opened is on integers.",
            post_processing="The distribution with most entropy that fits the noisy tables; records drawn from it, as "
            "whole-numbered tables, under a key that is a hash of the noisy values.",
        )

    def run(self, table: JointTable, computer: Computer, gate: Gate, progress: Progress) -> MarginalsResult:
        """Run it at one party; `run.py` says what that reveals."""
        from copublish.mechanisms.marginals.run import run_marginals

        return run_marginals(self, table, computer, gate, progress)

    def describe(self) -> dict[str, Any]:
        """What is measured for sure, the most that rounds can open, and the noise of both in people."""
        found: dict[str, Any] = {
            "columns": len(self.names),
            "first_tables": [[self.names[column] for column in table] for table in self.fixed],
            "first_cells": self.first.entries,
            "first_share_of_budget": float(self.first_share),
            "required_tables": [list(table) for table in self.settings.named],
            "pairs_for_sure": [[self.names[column] for column in pair] for pair in self.pairs_for_sure],
            "pairs_that_may_be_chosen": len(self.pairs_by_choice),
            "pairs_never": [[self.names[column] for column in pair] for pair in self.pairs_never],
            "noise": "gaussian" if self.currency == "rho" else "laplace",
            "first_noise_deviation_in_people": round(deviation(self.first), 2),
            "rounds_at_most": self.rounds,
            "candidates": len(self.candidates),
            "share_error": round(self.share_error, 4),
        }
        budget = self.purse.next_round()
        if budget is not None:
            sizes = sorted(cells_of(table, self.sizes) for table in self.candidates)
            most = self.chosen(self.candidates[0], 1, self.purse.left)
            least = self.chosen(self.candidates[0], 1, budget.table)
            found |= {
                "cells_of_a_chosen_table": [sizes[0], sizes[-1]],
                "candidates_across_owners_first": len(self.first_candidates),
                "share_of_rounds_for_pairs_across": float(SHARE_FOR_PAIRS_ACROSS) if self.first_candidates else 0.0,
                "most_values_that_rounds_open": self.rounds * (sizes[-1] + 1),
                "round_noise_deviation_in_people": [round(deviation(most), 2), round(deviation(least), 2)],
                "choice_noise_scale_in_people": round(self.choice(1, budget.selection).scale_in_people, 2),
            }
        return found

    @property
    def share_error(self) -> float:
        """How much of its records noise moves in a first table, on average."""
        cells = self.first.entries / len(self.fixed)
        return mean_size(self.first) * cells / (2 * self.agreement.records.expected)

    def headline(self) -> dict[str, str]:
        """The same in a few words, by heading."""
        then = f", then at most {self.rounds} choices among {len(self.candidates)}" if self.rounds else ""
        found = {
            "Publishes": f"synthetic records with {len(self.names)} columns, and the measured tables",
            "From": f"{len(self.fixed)} tables for sure{then}",
            "Pairs for sure": self._listed(self.pairs_for_sure),
        }
        if self.rounds:
            first = ""
            if self.first_candidates:
                across, share = len(self.first_candidates), f"{float(SHARE_FOR_PAIRS_ACROSS):.0%}"
                first = f"; {across:,} across owners first, with {share} of the budget for rounds"
            found["May be chosen"] = f"{len(self.pairs_by_choice):,} other pairs{first}; at most {self.rounds} tables"
        if self.pairs_never:
            found["Never measured"] = f"{self._listed(self.pairs_never)}; records do not show how these go together"
        if self.currency == "rho":
            found["Adds up"] = f"rho, to {float(self.budget):.4g}; epsilon of a part is what it alone would cost"
        return found

    def _listed(self, pairs: Sequence[Columns]) -> str:
        named = [" by ".join(self.names[column] for column in pair) for pair in pairs[:PAIRS_NAMED]]
        more = [f"{len(pairs) - PAIRS_NAMED:,} more (--format json names all)"] if len(pairs) > PAIRS_NAMED else []
        return ", ".join([*named, *more]) or "none"

    def _pairs_in(self, tables: Iterable[Columns]) -> list[Columns]:
        """The pairs of columns that these tables hold, those first of which no party holds both."""
        found: set[Columns] = {pair for table in tables for pair in combinations(sorted(table), 2)}
        named = {pair: (self.names[pair[0]], self.names[pair[1]]) for pair in found}
        return sorted(found, key=lambda pair: (not is_across(self.agreement, named[pair]), pair))

    @cached_property
    def pairs_for_sure(self) -> list[Columns]:
        """The pairs of columns that a table holds which is measured for sure."""
        return self._pairs_in(self.fixed)

    @cached_property
    def pairs_by_choice(self) -> list[Columns]:
        """The other pairs that a table holds which may be chosen."""
        known = set(self.pairs_for_sure)
        return [pair for pair in self._pairs_in(self.candidates if self.rounds else ()) if pair not in known]

    @cached_property
    def pairs_never(self) -> list[Columns]:
        """The pairs of columns that no table holds, whatever is chosen."""
        known = {*self.pairs_for_sure, *self.pairs_by_choice}
        return [pair for pair in self._pairs_in([tuple(range(len(self.names)))]) if pair not in known]

    def typical_noise(self) -> tuple[str, float]:
        """What noise does to a first table."""
        return "noise moves this part of a first table", round(self.share_error, 4)

    def warnings(self) -> list[str]:
        """What people should think about before they spend anything."""
        found = []
        if self.rounds == 0 and self.settings.agreed_rounds > 0:
            found.append(
                "Noise is so large beside the expected counts that the first tables take the whole budget and no table "
                'is chosen. A delta, like delta = "1e-6" in [privacy], a larger epsilon or fewer columns change that.'
            )
        if self.share_error <= LARGE_ERROR:
            return found
        return [
            *found,
            f"With about {self.agreement.records.expected:,} records and this epsilon, noise moves about "
            f"{self.share_error:.0%} of the records of each first table to other cells. Raise epsilon or "
            "records.expected (if it is too low), take coarser grids, leave columns out, or put values together.",
        ]
