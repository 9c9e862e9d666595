"""What two owners pay so that neither learns which of its people the other one lists."""

from __future__ import annotations

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import NOTHING, Cost

SIZE_LABEL = "number of common people plus noise, towards the other owner"
"""The disclosure, as ledgers name it."""


def membership_cost(agreement: Agreement) -> Cost:
    """The price of the noisy number of common people; nothing where no owner learns of it.

    Privacy:
        Guarantee: docs/proofs/hidden-size.md, under add/remove, and for another person in somebody's place. Other
            values of the same person change nothing of it; it is charged all the same, so that a ledger that counts
            replacements bounds the number of runs, too.
        In rho: (epsilon, delta)-DP counts as epsilon^2 / 2 and all of its delta; step 2 of the proof in `accounts.py`.
            None of its delta is for Gaussian noise, so none is ever converted. The bound on the noise makes delta.
    """
    epsilon = agreement.membership_epsilon
    if not epsilon:
        return NOTHING
    return Cost(add_remove=epsilon, replace=epsilon, delta=agreement.membership_delta)


def costs_of_run(agreement: Agreement, cost: Cost) -> tuple[Cost, ...]:
    """All charges of one run, in their order.

    Args:
        agreement: What all parties agreed on.
        cost: Of everything that the release opens.
    """
    size = membership_cost(agreement)
    return (cost,) if size == NOTHING else (size, cost)
