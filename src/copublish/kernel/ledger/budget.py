"""Budgets of a ledger in words: what is left, and what a release would take of it before it is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from copublish.agreement.model import Agreement
from copublish.kernel.accounting.accounts import Account, Spent
from copublish.kernel.accounting.cost import NOTHING, Cost
from copublish.kernel.accounting.disclosures import Neighbors
from copublish.kernel.accounting.formatting import show_at_least, show_bound, show_exact
from copublish.kernel.accounting.membership import costs_of_run
from copublish.kernel.ledger.cells import Entry
from copublish.kernel.ledger.limits import UNBOUNDED, Limit


@dataclass(frozen=True, kw_only=True)
class PaidRelease:
    """One charge of a ledger: when, for which release, how much in words, and how far it came."""

    at: str
    release: str
    epsilon: str
    state: str


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What a ledger has for one data set, in words.

    Attributes:
        dataset: The people who are counted.
        limit: The most that may ever be spent; none if none was set.
        spent: What was spent, finished or not.
        left: What is left, and of delta.
        delta_left: The same.
        relation: What epsilon is counted for.
        charges: Oldest first.
    """

    dataset: str
    limit: str | None
    spent: str
    left: str | None
    delta_left: str | None
    relation: Neighbors
    charges: tuple[PaidRelease, ...]


def budget_of(dataset: str, limit: Limit | None, spent: Spent, entries: Sequence[Entry]) -> Budget:
    """A data set's budget in words, from what a ledger has of it."""
    relation: Neighbors = "add-remove" if limit is None else limit.neighbors
    counted = spent.in_all if limit is None or limit.accounts is None else spent.in_epsilon
    left, delta_left = (None, None) if limit is None else show_left(limit, spent)
    return Budget(
        dataset=dataset,
        limit=None if limit is None else _shown(limit.epsilon),
        spent=_shown(counted.under(relation)),
        left=left,
        delta_left=delta_left,
        relation=relation,
        charges=tuple(
            PaidRelease(
                at=entry.reserved_at,
                release=entry.release,
                epsilon=_shown(entry.cost.under(relation)),
                state=entry.state,
            )
            for entry in entries
            if entry.dataset == dataset
        ),
    )


def _shown(epsilon: Fraction | None) -> str:
    return UNBOUNDED if epsilon is None else show_exact(epsilon)


def price_in_words(agreement: Agreement, limit: Limit, cost: Cost, spent: Spent) -> str:
    """Price of a run, and the budget before and after it.

    Args:
        agreement: What all parties agreed on.
        limit: The most that may ever be spent on these people.
        cost: Of everything that the release opens.
        spent: On these people so far.
    """
    costs = costs_of_run(agreement, cost)
    cost = sum(costs, NOTHING)
    wanted, delta = cost.under(limit.neighbors), show_bound(cost.delta)
    if wanted is None and agreement.mechanism.no_promise(agreement) is None:
        said = "unknown" if cost.replace is None else show_exact(cost.replace)
        return (
            f"epsilon {said} (replace) and delta {delta} for data set '{agreement.dataset}'; who is in it is not "
            "protected"
        )
    if wanted is None:
        return f"an UNBOUNDED epsilon, all that people in data set '{agreement.dataset}' could ever be promised"
    price = f"epsilon {show_exact(wanted)} and delta {delta}"
    accounts = limit.accounts_for(spent, costs)
    if accounts is not None and "rho" in accounts:
        price = " and ".join(_paid(one, account, limit) for one, account in zip(costs, accounts, strict=True))
    if len(costs) > 1:
        size = costs[0].under(limit.neighbors) or Fraction(0)
        price += f", with epsilon {show_exact(size)} for the number of common people,"
    of = "no limit" if limit.epsilon is None else f"the {_left(limit, spent)} that are left"
    after = ""
    if limit.epsilon is not None and accounts is not None:
        after = f"; {_left(limit, spent.after(costs, accounts))} are left after it"
    return f"{price} of {of} for data set '{agreement.dataset}' ({limit.neighbors}){after}"


def _paid(cost: Cost, account: Account, limit: Limit) -> str:
    """What one charge takes of an account."""
    epsilon, rho = cost.under(limit.neighbors), cost.in_rho().under(limit.neighbors)
    if account == "rho":
        return f"rho {UNBOUNDED if rho is None else show_bound(rho)}"
    return f"epsilon {_shown(epsilon)} and delta {show_bound(cost.delta)}"


def _left(limit: Limit, spent: Spent) -> str:
    """What is left of a limit, in words."""
    left, delta_left = show_left(limit, spent)
    rho = show_rho_left(limit, spent)
    return f"epsilon {left}{'' if rho is None else f', rho {rho}'} and delta {delta_left}"


def show_left(limit: Limit, spent: Spent) -> tuple[str, str]:
    """How much of a limit is left, of epsilon and of delta, in words where it is no number.

    Where a limit has an account in rho, what is left beside it.
    """
    if limit.epsilon is None:
        return UNBOUNDED, UNBOUNDED
    if limit.accounts is not None:
        left = spent.left(limit.accounts, limit.epsilon, limit.neighbors)
        if left is None:
            return "nothing", "nothing"
        return show_exact(left.pure_epsilon), show_at_least(left.delta_for_rest)
    before = spent.in_all.under(limit.neighbors)
    if before is None:
        return "nothing", "nothing"
    return show_exact(limit.epsilon - before), show_at_least(limit.delta - spent.in_all.delta)


def show_rho_left(limit: Limit, spent: Spent) -> str | None:
    """How much is left of the account in rho; nothing if the limit has none."""
    if limit.accounts is None or limit.epsilon is None:
        return None
    left = spent.left(limit.accounts, limit.epsilon, limit.neighbors)
    return "nothing" if left is None else show_at_least(left.rho)
