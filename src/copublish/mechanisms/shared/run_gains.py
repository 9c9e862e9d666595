"""Opening the tables that a budget is divided by. Sees rows and secrets."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from copublish.agreement.axis import Axis
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.secrets.computer import Computer
from copublish.kernel.secrets.gate import Gate
from copublish.mechanisms.shared.allocation import Allocation, Gains
from copublish.mechanisms.shared.information import gain_ratio
from copublish.mechanisms.shared.post_processing import consistent_counts
from copublish.mechanisms.shared.run_tables import tables_one_by_one
from copublish.progress import Progress
from copublish.types import IntArray


def measure_gains(
    allocation: Allocation, table: JointTable, computer: Computer, gate: Gate, progress: Progress
) -> Gains | None:
    """Open the tables that the budget is divided by; nothing if the agreement has divided it.

    Args:
        allocation: How the budget is divided.
        table: This party's aligned cells.
        computer: Its end of the computation.
        gate: Where the tables are opened.
        progress: Told about every step.

    Privacy:
        Protects: one person, with all their cells, at every party.
        Guarantee: what `Allocation.for_tables` takes, by composition over the tables. What follows from them is
            post-processing, so later budgets may depend on it.
        Reveals: noisy counts of every column by the label, to all parties.
    """
    disclosures, columns = allocation.tables(), allocation.agreement.columns
    if not disclosures:
        return None
    label, noisy_tables = columns[allocation.label], {}
    groups = [[Axis.of(columns[column]), Axis.of(label)] for column in disclosures]
    noise_bits = [disclosure.noise.bits for disclosure in disclosures.values()]
    counted = tables_one_by_one(table, groups, computer, noise_bits)
    for number, (column, disclosure) in enumerate(disclosures.items()):
        progress("gains", number, len(disclosures))
        secret_counts = next(counted)
        # Opens the count of every value of a column and of the label plus noise, to all parties; covered by its budget.
        noisy = gate.reveal_measurement(secret_counts, disclosure)
        noisy_tables[column] = noisy.reshape(columns[column].size, label.size)
    progress("gains", len(disclosures), len(disclosures))
    total = _estimated_total(list(noisy_tables.values())) if table.public_total is None else table.public_total
    ratios = {}
    for column, noisy in noisy_tables.items():
        counts = consistent_counts(noisy.ravel(), total).reshape(noisy.shape)
        ratios[column] = gain_ratio(counts, disclosures[column].noise_variance)
    return Gains(noisy_tables, ratios, allocation.weights_by_gain(ratios))


def _estimated_total(noisy_tables: Sequence[IntArray]) -> int:
    """The number of records from all tables, each weighted by how exact its sum is: all noise has one scale."""
    weights = [Fraction(1, noisy.size) for noisy in noisy_tables]
    weighted = sum(weight * int(noisy.sum()) for weight, noisy in zip(weights, noisy_tables, strict=True))
    return max(0, round(weighted / sum(weights)))
