"""What a release promises to somebody who has several records: epsilon for a group of records."""

from __future__ import annotations

from fractions import Fraction

from copublish.kernel.accounting.cost import Cost
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.zcdp import epsilon_for


def epsilon_of_group(cost: Cost, neighbors: Neighbors, records: int) -> Fraction | None:
    """Epsilon for so many records that change together; none if no finite one holds.

    Args:
        cost: Of the release, for one record.
        neighbors: How each of the records changes.
        records: How many there are.

    Privacy:
        Guarantee: pure epsilon grows with the number of records, rho with its square (Bun, Steinke,
            arXiv:1605.02065v1, Proposition 1.9). Gaussian noise is at the delta that was agreed for one record; the
            samplers' part of delta, about 1e-15, grows as well, and is not in this number.
    """
    whole = cost.under(neighbors)
    part = cost.gaussian.add_remove if neighbors == "add-remove" else cost.gaussian.replace
    rho = cost.gaussian.rho.under(neighbors)
    if whole is None or part is None or rho is None:
        return None
    pure = records * (whole - part)
    return pure + epsilon_for(records**2 * rho, cost.gaussian.delta) if cost.gaussian.has_noise else pure
