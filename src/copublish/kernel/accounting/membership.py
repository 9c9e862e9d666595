"""What two owners pay so that neither learns which of its people the other one lists."""

from __future__ import annotations

from fractions import Fraction

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.cost import NOTHING, Cost

SIZE_LABEL = "number of common people plus noise, towards the other owner"
"""The disclosure, as ledgers name it."""


def added_towards_owner(agreement: Agreement, cost: Cost) -> Fraction | None:
    """Epsilon towards another owner if one person is added to a list or removed; none if no finite one holds.

    Args:
        agreement: What all parties agreed on.
        cost: Of the release.

    Privacy:
        Guarantee: the release and the noisy number compose, since their noise is independent.
    """
    return (cost + membership_cost(agreement)).add_remove


def exchanged_towards_owner(agreement: Agreement, cost: Cost) -> Fraction | None:
    """Epsilon towards another owner if one person on a list is exchanged for another.

    Args:
        agreement: What all parties agreed on.
        cost: Of the release.

    Privacy:
        Guarantee: if the owner that looks lists both people or neither, the number stays, and at most one record has
            other values. If it lists one of them, the number moves by 1, and at most one record comes or goes.
            docs/proofs/hidden-size.md.
    """
    added = added_towards_owner(agreement, cost)
    return None if added is None or cost.replace is None else max(cost.replace, added)


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
