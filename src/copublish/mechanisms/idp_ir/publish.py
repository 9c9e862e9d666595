"""The result of a run of idp-ir, and everything that is published of it. Released values only."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pyarrow as pa
from pydantic.dataclasses import dataclass

from copublish.agreement.domain import CategoricalDomain, Domain
from copublish.mechanisms.idp_ir.plan import IdpIrPlan
from copublish.mechanisms.idp_ir.settings import CategoryOrder, LocalSensitivity
from copublish.mechanisms.published import Contents, Model, PerturbedRows
from copublish.mechanisms.shared.post_processing import categories, numbers
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
class IdpIrModel(Model):
    """How the records were made. Nothing in it but their number comes from data.

    Attributes:
        publishes: What is published, in a few words.
        k: Records in a cluster.
        local_sensitivity: How the noise was scaled.
        category_order: In which order categories were ranked.
        noise_scaled_with: For every column what its noise was scaled with; it bounds nobody's privacy loss.
    """

    publishes: str
    k: int
    local_sensitivity: LocalSensitivity
    category_order: CategoryOrder
    noise_scaled_with: dict[str, str]


def contents_of(result: IdpIrResult) -> Contents:
    """The perturbed records, and how they were made."""
    records = microaggregated_table(result)
    return Contents(measured=(), model=idp_ir_model(result.plan, records.num_rows), rows=PerturbedRows(records=records))


def microaggregated_table(result: IdpIrResult) -> pa.Table:
    """The records, categories as text and numbers as numbers; the table itself says that it is not private."""
    domains = result.plan.agreement.columns
    table = pa.table({name: _values(domains[name], places) for name, places in result.values.items()})
    return table.replace_schema_metadata({"warning": result.plan.settings.warning})


def idp_ir_model(plan: IdpIrPlan, n_records: int) -> IdpIrModel:
    """How the records were made."""
    return IdpIrModel(
        warning=plan.settings.warning,
        records=n_records,
        notes=(_note(plan), f"The agreement acknowledges it: “{plan.settings.acknowledge}”."),
        publishes=plan.publishes,
        k=plan.k,
        local_sensitivity=plan.settings.sensitivity,
        category_order=plan.settings.order_of_categories,
        noise_scaled_with=plan.noise_scaled_with,
    )


def _note(plan: IdpIrPlan) -> str:
    if plan.settings.is_plain:
        return (
            "Every value has noise of its own (plain iDP). There is mostly more noise than signal, because no values "
            "were averaged before."
        )
    return (
        f"Clusters have {plan.k:,} records, and every record has the noisy means of its clusters. Who is in one "
        "cluster can be read off."
    )


def _values(domain: Domain, places: IntArray) -> pa.Array:
    if isinstance(domain, CategoricalDomain):
        return categories(domain, places)
    return numbers(domain, int(domain.lower.scaleb(domain.decimals_of_numbers)) + places)
