"""A whole mechanism in one file: the largest group of a column, and its classes. `CONTRIBUTING.md` walks through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from copublish.agreement.axis import Axis
from copublish.agreement.domain import CategoricalDomain, CodeRange
from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings, Need, Partition
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, Influence, Measure, Place, Select
from copublish.kernel.certificate.build import Method
from copublish.kernel.programs.packing import in_agreed_order
from copublish.kernel.secrets.computer import ProgramComputer, computer_as
from copublish.mechanisms.base import Mechanism, Plan, counts_model
from copublish.mechanisms.published import Cells, Contents, Measured, NoiseAt, Words
from copublish.mechanisms.registry import register
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.types import IntArray

# settings.py: its keys, its traits, its rules.


class LargestGroupSettings(MechanismSettings):
    name: Literal["largest-group"]
    column: str

    needs_class: ClassVar[bool] = True

    def needs(self, partition: Partition) -> Need:
        return "programs" if partition == "horizontal" else "joins"

    def broken_rules(self, agreement: Agreement) -> Iterator[str]:
        if not isinstance(agreement.domains.get(self.column), CategoricalDomain):
            yield f"mechanism.column: {self.column!r} is no attribute with categories"


# plan.py: what a run opens and costs. No rows.

SIZE_RANGE: Influence = {"add-remove": 1, "replace": 2}
"""A person is in one group: adding one raises one score by 1. Replacing one raises one and lowers another."""

COUNTS = Place("counts")
"""The step that opens the table."""


@dataclass(frozen=True)
class LargestGroupPlan(Plan["LargestGroupResult"]):
    agreement: Agreement

    @property
    def groups(self) -> CategoricalDomain:
        return self.agreement.domains[self.agreement.mechanism.column]

    def selection(self) -> Select:
        return Select(
            place=Place("largest group"),
            label=f"the largest group by '{self.groups.name}'",
            budget=self.agreement.mechanism_epsilon / 2,
            calibrated_to=self.agreement.privacy.neighbors,
            score_range=SIZE_RANGE,
            candidates=self.groups.size,
        )

    def counts(self, n_runs: int) -> Measure:
        return Measure(
            place=COUNTS,
            label="number of records of every class, in the largest group, before it and after it",
            budget=self.agreement.mechanism_epsilon / 2,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,  # a person is in one cell, whichever group was chosen
            changed_entries=HISTOGRAM_L1,
            entries=n_runs * self.agreement.class_domain.size,
        )

    def disclosures(self):
        return [self.selection(), self.counts(n_runs=3)]  # two if the largest group is the first or the last one

    def method(self) -> Method:
        return Method(
            product="The largest group of a column, with a table of counts",
            mechanisms="A noisy maximum of the groups' sizes, then discrete Laplace noise on every count.",
            post_processing="Projection on non-negative counts with the same total.",
        )

    def run(self, table, computer, gate, progress):
        return run_largest_group(self, table, computer, gate, progress)


# run.py: rows and secrets, and nobody else's.


def run_largest_group(plan, table, computer, gate, progress):
    groups, classes = Axis.of(plan.groups), Axis.of(plan.agreement.class_domain)
    computing = computer_as(ProgramComputer, computer)

    progress("largest group", 0, 1)
    counted = table.count_jointly([groups], computer, noise_bits=None)
    secret_sizes = computing.compute(
        in_agreed_order, counted.secret, place_of_cell=counted.place_of_cell(), shape=(groups.n_cells,)
    )
    # Opens which group's size plus noise is the largest, to all parties, and no size; covered by half of the budget.
    largest = gate.reveal_selection(secret_sizes, plan.selection())

    progress("counts", 0, 1)
    runs = runs_around(largest, groups.n_cells)
    disclosure = plan.counts(len(runs))
    merged = Axis(groups.column, np.repeat(np.arange(len(runs)), [stop - start for start, stop in runs]), len(runs))
    secret_counts = table.count_jointly([merged, classes], computer, noise_bits=disclosure.noise.bits)
    # Opens the count of every class in each run of groups plus noise, to all parties; covered by the rest.
    noisy = gate.reveal_measurement(secret_counts, disclosure)
    progress("counts", 1, 1)
    total = max(0, int(noisy.sum())) if table.public_total is None else table.public_total
    group = plan.groups.values[largest]
    return LargestGroupResult(plan.agreement, group, runs, noisy, consistent_counts(noisy, total))


def runs_around(group: int, n_groups: int) -> tuple[CodeRange, ...]:
    """The groups before one, itself, and the groups after it; without runs that are empty."""
    runs = [(0, group), (group, group + 1), (group + 1, n_groups)]
    return tuple((start, stop) for start, stop in runs if start < stop)


# publish.py: released values only.


@dataclass(frozen=True)
class LargestGroupResult:
    agreement: Agreement
    group: str
    runs: tuple[CodeRange, ...]
    noisy_counts: IntArray
    counts: IntArray


# __init__.py: the mechanism itself.


class LargestGroup(Mechanism[LargestGroupPlan, LargestGroupResult]):
    """The largest group of a column, and a noisy count of every class in it, before it and after it."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = LargestGroupSettings
    words: ClassVar[Words] = Words(
        title="The largest group",
        kind="counted",
        made="The largest group was chosen with noise. The people of every class in it, in the groups before it and in "
        "those after it were then counted with noise.",
        kept="The records have about as many people of every class in the largest group as there are.",
        lost="The other groups are not told apart.",
    )

    def plan(self, agreement: Agreement) -> LargestGroupPlan:
        return LargestGroupPlan(agreement)

    def publish(self, result: LargestGroupResult, noise_at: NoiseAt) -> Contents:
        column, label = result.agreement.mechanism.column, result.agreement.required_class.name
        table = Measured(
            place=COUNTS,
            axes=(Cells(column=column, runs=result.runs), Cells(column=label)),
            values=result.noisy_counts,
            noise=noise_at(COUNTS),
        )
        notes = (f"The largest group by '{column}', as far as noise allows, is '{result.group}'.",)
        return Contents(measured=(table,), model=replace(counts_model(result.counts), notes=notes))


register(LargestGroup())
