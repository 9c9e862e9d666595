"""What a secure run of specialization has to do, from public shapes and a released cut."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from copublish.agreement.axis import evenly_divided
from copublish.agreement.model import Agreement
from copublish.engine.programs.noise import WORD_BITS
from copublish.engine.programs.packing import Packing
from copublish.engine.spu.products import most_records, padded_records
from copublish.mechanisms.shared.generalization import Generalization
from copublish.mechanisms.shared.work import Work
from copublish.mechanisms.specialization.cut import max_candidates
from copublish.mechanisms.specialization.plan import SpecializationPlan


def work_of(agreement: Agreement, cut: Generalization, n_records: int) -> Work:
    """What a secure run that ends with this cut has to do."""
    plan, n_classes = SpecializationPlan.of(agreement), len(agreement.class_.values)
    sizes = {name: len(attribute.values) for name, attribute in cut.attributes.items()}
    n_cells = prod(sizes.values()) * n_classes
    leaf_noise = plan.leaf_counts(plan.rounds, n_cells).noise
    bits = _samples(2 * n_cells) * leaf_noise.bits
    if plan.rounds:
        bits += plan.rounds * _samples(max_candidates(agreement)) * plan.selection(0, 1).noise.bits
    common = {"starts": 1.0, "rounds": float(plan.rounds), "biased_bits": bits / 1e3}
    rows, row = _table(agreement, sizes, n_classes)
    if agreement.partition == "horizontal" or min(rows, row) <= 1 or not n_records:
        return Work(**common, products=0.0, product_columns=0.0, marks=0.0)
    packing = Packing.densest(row, n_records, leaf_noise.bits)
    records = _padded_records(n_records, rows * packing.elements) / 1e6
    spread = agreement.partition == "arbitrary"
    return Work(
        **common,
        products=1.0,
        product_columns=records * min(rows, packing.elements) * (2 if spread else 1),
        marks=records * (rows + row) if spread else 0.0,
    )


def _table(agreement: Agreement, sizes: Mapping[str, int], n_classes: int) -> tuple[int, int]:
    """The rows of the joined table, and the counts in a row."""
    if agreement.partition == "arbitrary":
        split = [*(size for size in sizes.values() if size > 1), n_classes]
        rows = prod(split[number] for number in evenly_divided(split)) if len(split) > 1 else 1
        return rows, prod(split) // rows
    last = agreement.party_names[-1:]
    across = prod(size for name, size in sizes.items() if agreement.holders(name) == last)
    class_across = agreement.class_is_shared or agreement.holders(agreement.class_.name) == last
    return (
        prod(sizes.values()) // across * (1 if class_across else n_classes),
        across * (n_classes if class_across else 1),
    )


def _padded_records(n_records: int, n_cells: int) -> int:
    """How many records all products have together, with those that pad them."""
    step = most_records(n_cells)
    whole, rest = divmod(n_records, step)
    return whole * step + (padded_records(rest) if rest else 0)


def _samples(wanted: int) -> int:
    return -(-wanted // WORD_BITS) * WORD_BITS
