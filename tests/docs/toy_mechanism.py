"""A whole mechanism in one file: a noisy count of every class. `CONTRIBUTING.md` walks through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass as typed

from copublish.agreement.axis import Axis
from copublish.agreement.columns import COUNT, NOISY_COUNT, PublicColumns
from copublish.agreement.domain import DomainDescription, describe_domain
from copublish.agreement.model import Agreement
from copublish.agreement.settings import MechanismSettings, Need, Partition
from copublish.kernel.accounting.disclosures import HISTOGRAM_L1, Measure, Place
from copublish.kernel.certificate.build import Method
from copublish.kernel.noise.shared_laplace import NoiseShares
from copublish.mechanisms.base import Contents, Details, Mechanism, Plan
from copublish.mechanisms.registry import register
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.types import IntArray

# settings.py: its keys, its traits, its rules.


class ClassCountsSettings(MechanismSettings):
    name: Literal["class-counts"]

    def needs(self, partition: Partition) -> Need:
        return "sums" if partition == "horizontal" else "joins"


# plan.py: what a run opens and costs. No rows.


@dataclass(frozen=True)
class ClassCountsPlan(Plan["ClassCountsResult"]):
    agreement: Agreement

    def counts(self) -> Measure:
        return Measure(
            place=Place("class counts"),
            label="number of records of every class",
            budget=self.agreement.mechanism_epsilon,
            calibrated_to=self.agreement.privacy.neighbors,
            l1_sensitivity=HISTOGRAM_L1,  # a person is in one class
            changed_entries=HISTOGRAM_L1,
            entries=self.agreement.class_domain.size,
            shares=NoiseShares.of(self.agreement),
        )

    def disclosures(self):
        return [self.counts()]

    def method(self) -> Method:
        return Method(
            product="A table of counts",
            mechanisms="Discrete Laplace noise on every class's count.",
            post_processing="Projection on non-negative counts with the same total.",
        )

    def run(self, table, engine, gate, progress):
        return run_class_counts(self, table, engine, gate, progress)


# run.py: rows and secrets, and nobody else's.


def run_class_counts(plan, table, engine, gate, progress):
    progress("class counts", 0, 1)
    disclosure = plan.counts()
    secret_counts = table.count_jointly(
        [Axis.of(plan.agreement.class_domain)], engine, noise_bits=disclosure.noise.bits
    )
    # Opens the count of every class plus noise, to all parties; covered by the whole budget.
    noisy = gate.reveal_measurement(secret_counts, disclosure)
    progress("class counts", 1, 1)
    total = max(0, int(noisy.sum())) if table.public_total is None else table.public_total
    return ClassCountsResult(plan.agreement, noisy, consistent_counts(noisy, total))


# publish.py: released values only.


@dataclass(frozen=True)
class ClassCountsResult:
    agreement: Agreement
    noisy_counts: IntArray
    counts: IntArray


@typed(frozen=True, kw_only=True)
class ClassCountsDetails(Details):
    class_name: str
    domain: DomainDescription

    @property
    def public_columns(self) -> PublicColumns:
        return PublicColumns({self.class_name: self.domain.domain(self.class_name)})


class ClassCounts(Mechanism[ClassCountsPlan, ClassCountsResult, ClassCountsDetails]):
    """A noisy count of every class."""

    version: ClassVar[int] = 1
    settings: ClassVar[type[MechanismSettings]] = ClassCountsSettings
    details: ClassVar[type[Details]] = ClassCountsDetails
    details_file: ClassVar[str] = "classes.json"
    tables: ClassVar[Mapping[str, tuple[str, ...]]] = {"counts": ("parquet", "csv"), "records": ("parquet",)}

    def plan(self, agreement: Agreement) -> ClassCountsPlan:
        return ClassCountsPlan(agreement)

    def publish(self, result: ClassCountsResult) -> Contents:
        name, domain = result.agreement.class_.name, result.agreement.class_domain
        counts = pa.table({name: list(domain.values), COUNT: result.counts, NOISY_COUNT: result.noisy_counts})
        records = pa.table({name: np.repeat(np.array(domain.values, dtype=object), result.counts)})
        details = ClassCountsDetails(class_name=name, domain=describe_domain(domain))
        return Contents({"counts": counts, "records": records}, details)


register(ClassCounts())
