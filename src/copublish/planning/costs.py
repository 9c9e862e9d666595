"""Time and traffic of a secure run, predicted from public shapes: the same that fix the engine's messages.

The model is linear in a few quantities. `benchmarks/cost_model.py` measures runs of different shapes and prints
coefficients that fit them; put them into `MEASURED` to recalibrate, for another machine or version of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from copublish.agreement.model import Agreement
from copublish.engine.programs.noise import WORD_BITS
from copublish.engine.programs.packing import Packing
from copublish.engine.spu.products import MAX_PRODUCT_CELLS, MAX_PRODUCT_WORK, PRODUCT_ROWS
from copublish.mechanisms.specialization.plan import Plan
from copublish.mechanisms.specialization.run_scores import max_candidates

MIB = 2**20


@dataclass(frozen=True)
class Work:
    """What a secure run has to do.

    Attributes:
        starts: 1: loading the engine, keys, compilation.
        rounds: Selections.
        biased_bits: Biased bits drawn for all noise, in thousands.
        products: Whether counts are joined at all: then keys for products are exchanged once.
        product_columns: Records times columns of the matrix that is sent encrypted, in millions.
        marks: Records times marks whose AND is taken, in millions (arbitrary data).
    """

    starts: float
    rounds: float
    biased_bits: float
    products: float
    product_columns: float
    marks: float


@dataclass(frozen=True)
class Coefficients:
    """Seconds and MiB for one unit of each kind of work."""

    seconds: Work
    mib_sent: Work


MEASURED = Coefficients(
    seconds=Work(starts=9.0, rounds=0.1, biased_bits=0.12, products=0.0, product_columns=4.3, marks=1.8),
    mib_sent=Work(starts=4.0, rounds=0.08, biased_bits=0.066, products=18.8, product_columns=21.5, marks=8.5),
)
"""Two parties on one machine with two cores, over unix sockets. Measured there, and predicted with these: Adult by
columns 19 to 26 s, 51 MiB (21 s, 50 MiB), cell by cell 32 s, 109 MiB (33 s, 108 MiB); 100,000 made-up records 15 s,
41 MiB (17 s, 42 MiB), 500,000 of them 26 s, 94 MiB (27 s, 93 MiB)."""


def unknown_cost(agreement: Agreement) -> dict[str, Any]:
    """Return that nothing is predicted for a mechanism that the model was not measured with, and what to do instead."""
    return {
        "seconds": None,
        "mib_sent": None,
        "why": (
            f"The cost model was measured with the mechanism specialization and says nothing about "
            f"'{agreement.mechanism.name}'. 'copublish simulate --engine {agreement.engine.name}' on public or made-up "
            "data measures a run."
        ),
    }


def predict(agreement: Agreement, cut: Mapping[str, Any], n_records: int) -> dict[str, Any]:
    """Return the seconds and MiB of a secure run that ends with this cut, or why there is none.

    Args:
        agreement: What is run.
        cut: How a release was cut, or one like it.
        n_records: How many records are joined.
    """
    if len(agreement.parties) != 2:
        return {
            "seconds": None,
            "mib_sent": None,
            "why": f"The cost model is for two parties, and the agreement has {len(agreement.parties)}.",
        }
    work = work_of(agreement, cut, n_records)
    return {
        "seconds": round(dot(MEASURED.seconds, work), 1),
        "mib_sent": round(dot(MEASURED.mib_sent, work), 1),
        "why": "A linear model of public shapes, measured with both parties on one machine with two cores.",
    }


def work_of(agreement: Agreement, cut: Mapping[str, Any], n_records: int) -> Work:
    """Return what a secure run that ends with this cut has to do."""
    plan, n_classes = Plan.of(agreement), len(agreement.class_.values)
    sizes = {name: len(described["values"]) for name, described in cut["attributes"].items()}
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
    """Return the rows of the joined table, and the counts in a row."""
    if agreement.partition == "arbitrary":
        whole, rows = [*(size for size in sizes.values() if size > 1), n_classes], 1
        cuts = [(prod(whole[:cut]), prod(whole[cut:])) for cut in range(1, len(whole))]
        return min(cuts, key=sum) if cuts else (rows, prod(whole))
    last = agreement.party_names[-1:]
    across = prod(size for name, size in sizes.items() if agreement.holders(name) == last)
    class_across = agreement.class_is_shared or agreement.holders(agreement.class_.name) == last
    return (
        prod(sizes.values()) // across * (1 if class_across else n_classes),
        across * (n_classes if class_across else 1),
    )


def _padded_records(n_records: int, n_cells: int) -> int:
    """Return how many records all products have together, with those that pad them."""
    fitting: list[int] = [size for size in PRODUCT_ROWS if size * min(MAX_PRODUCT_CELLS, n_cells) <= MAX_PRODUCT_WORK]
    step = int(fitting[-1] if fitting else PRODUCT_ROWS[0])
    whole, rest = divmod(n_records, step)
    return whole * step + (int(min(size for size in PRODUCT_ROWS if size >= rest)) if rest else 0)


def _samples(wanted: int) -> int:
    return -(-wanted // WORD_BITS) * WORD_BITS


def dot(coefficients: Work, work: Work) -> float:
    """Return the cost of some work."""
    pairs = zip(vars(coefficients).values(), vars(work).values(), strict=True)
    return float(sum(coefficient * amount for coefficient, amount in pairs))
