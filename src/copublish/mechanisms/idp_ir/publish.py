"""The result of a run of idp-ir, and the published table of records made from it. Released values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic.dataclasses import dataclass

from copublish.agreement.columns import PublicColumns, describe_column
from copublish.agreement.domain import CategoricalDomain, Domain, DomainDescription
from copublish.mechanisms.base import Contents, Details
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.settings import WARNING, CategoryOrder, LocalSensitivity
from copublish.mechanisms.shared.post_processing import categories, numbers, order_without_meaning
from copublish.types import IntArray


@dataclasses.dataclass(frozen=True)
class IdpIrResult:
    """What the mechanism releases.

    Attributes:
        plan: How it was made.
        values: For every column each record's published value: steps above the lower bound, or a place of a category.
    """

    plan: IdpIrPlan
    values: Mapping[str, IntArray]


@dataclass(frozen=True, kw_only=True)
class IdpIrDetails(Details):
    """How the records were made. Nothing in it comes from data.

    Attributes:
        warning: What everything says first.
        acknowledged: What the agreement says of it.
        idp_ir_format: Number of the format.
        publishes: What is published, in a few words.
        k: Records in a cluster.
        local_sensitivity: How the noise was scaled.
        category_order: In which order categories were ranked.
        noise_scaled_with: For every column what its noise was scaled with; it bounds nobody's privacy loss.
        columns: Public domain of every column in agreed order, the class last.
        missing_spellings: Texts that stand for a missing value.
        has_class: False where no column is the class.
    """

    warning: str = WARNING
    acknowledged: str
    idp_ir_format: Literal[1] = 1
    publishes: str
    k: int
    local_sensitivity: LocalSensitivity
    category_order: CategoryOrder
    noise_scaled_with: dict[str, str]
    columns: dict[str, DomainDescription]
    missing_spellings: tuple[str, ...]
    has_class: Literal[False] | None = None

    @property
    def public_columns(self) -> PublicColumns:
        """The columns of the records with their domains."""
        return PublicColumns.of_release(
            self.columns, self.missing_spellings, publishes_each_record=True, has_class=self.has_class is None
        )


def contents_of(result: IdpIrResult) -> Contents:
    """The perturbed records, and how they were made."""
    return Contents({"records": microaggregated_table(result)}, idp_ir_details(result))


def microaggregated_table(result: IdpIrResult) -> pa.Table:
    """The records, categories as text and numbers as numbers; the table itself says that it is not private."""
    domains = result.plan.agreement.columns
    table = pa.table({name: _values(domains[name], places) for name, places in result.values.items()})
    return table.replace_schema_metadata({"warning": result.plan.settings.warning})


def idp_ir_details(result: IdpIrResult) -> IdpIrDetails:
    """How the records were made."""
    plan = result.plan
    return IdpIrDetails(
        warning=plan.settings.warning,
        acknowledged=plan.settings.acknowledge or "",
        publishes=plan.publishes,
        k=plan.k,
        local_sensitivity=plan.settings.sensitivity,
        category_order=plan.settings.order_of_categories,
        noise_scaled_with=plan.noise_scaled_with,
        columns={name: describe_column(plan.agreement, name) for name in plan.agreement.columns},
        missing_spellings=plan.agreement.records.missing_spellings,
        has_class=False if plan.agreement.class_ is None else None,
    )


def places_of_records(opened: Sequence[IntArray]) -> IntArray:
    """For every joined record its place in the release: the inverse of the order in which `run_idp_ir` puts them.

    Args:
        opened: The perturbed columns as they were opened, in agreed order.
    """
    places: IntArray = np.argsort(order_without_meaning(opened), kind="stable").astype(np.int64)
    return places


def _values(domain: Domain, places: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        return categories(domain, places)
    return numbers(domain, int(domain.lower.scaleb(domain.decimals_of_numbers)) + places)
