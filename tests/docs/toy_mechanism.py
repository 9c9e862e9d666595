"""A whole mechanism in one file: the largest group of a column, and its classes. `CONTRIBUTING.md` walks through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.axis import Axis
from copublish.agreement.columns import COUNT, NOISY_COUNT, PublicColumns
from copublish.agreement.domain import CategoricalDomain, DomainDescription, describe_domain
from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings, Need, Partition
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, Influence, Measure, Place, Select
from copublish.kernel.certificate.build import Method
from copublish.kernel.programs.packing import in_agreed_order
from copublish.kernel.secrets.computer import ProgramComputer, computer_as
from copublish.mechanisms.base import Contents, Details, Mechanism, Plan
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

    def counts(self) -> Measure:
        return Measure(
            place=Place("counts"),
            label="number of records of every class, in the largest group and outside it",
            budget=self.agreement.mechanism_epsilon / 2,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,  # a person is in one cell, whichever group was chosen
            changed_entries=HISTOGRAM_L1,
            entries=2 * self.agreement.class_domain.size,
        )

    def disclosures(self):
        return [self.selection(), self.counts()]

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
    disclosure = plan.counts()
    inside = Axis(groups.column, (np.arange(groups.n_cells) != largest).astype(np.int64), 2)
    secret_counts = table.count_jointly([inside, classes], computer, noise_bits=disclosure.noise.bits)
    # Opens the count of every class inside and outside that group plus noise, to all parties; covered by the rest.
    noisy = gate.reveal_measurement(secret_counts, disclosure)
    progress("counts", 1, 1)
    total = max(0, int(noisy.sum())) if table.public_total is None else table.public_total
    return LargestGroupResult(plan.agreement, plan.groups.values[largest], noisy, consistent_counts(noisy, total))


# publish.py: released values only.


@dataclass(frozen=True)
class LargestGroupResult:
    agreement: Agreement
    group: str
    noisy_counts: IntArray
    counts: IntArray


@typed(frozen=True, kw_only=True)
class LargestGroupDetails(Details):
    column: str
    group: str
    class_name: str
    domain: DomainDescription

    @property
    def public_columns(self) -> PublicColumns:
        return PublicColumns({self.class_name: self.domain.domain(self.class_name)})


class LargestGroup(Mechanism[LargestGroupPlan, LargestGroupResult, LargestGroupDetails]):
    """The largest group of a column, and a noisy count of every class inside and outside it."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = LargestGroupSettings
    details: ClassVar[type[Details]] = LargestGroupDetails
    details_file: ClassVar[str] = "largest-group.json"
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"counts": ("parquet", "csv"), "records": ("parquet",)}

    def plan(self, agreement: Agreement) -> LargestGroupPlan:
        return LargestGroupPlan(agreement)

    def publish(self, result: LargestGroupResult) -> Contents:
        name, domain = result.agreement.required_class.name, result.agreement.class_domain
        groups, labels = np.repeat([result.group, "all others"], domain.size), [*domain.values] * 2
        counts = pa.table({"group": groups, name: labels, COUNT: result.counts, NOISY_COUNT: result.noisy_counts})
        records = pa.table({name: np.repeat(np.array(labels, dtype=object), result.counts)})
        column = result.agreement.mechanism.column
        details = LargestGroupDetails(
            column=column, group=result.group, class_name=name, domain=describe_domain(domain)
        )
        return Contents({"counts": counts, "records": records}, details)


register(LargestGroup())
