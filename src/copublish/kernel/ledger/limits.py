"""The most that may ever be spent on a data set, and why a release does not fit into what is left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from copublish.kernel.accounting.accounts import Account, Accounts, Spent, fitting_account
from copublish.kernel.accounting.cost import NOTHING, UNLIMITED, Cost
from copublish.kernel.accounting.disclosures import Neighbors

UNBOUNDED = "unbounded"
"""How files and people write that there is no finite epsilon."""

DEFAULT_DELTA = Fraction(1, 10**9)
"""The limit for delta where none was set: room for the samplers of pure epsilon, not for usual Gaussian noise."""


@dataclass(frozen=True)
class Limit:
    """The most that may ever be spent on a data set, stated under one relation.

    Attributes:
        epsilon: The most; none for no limit at all, which has to be said: without it nothing may be spent.
        neighbors: The relation.
        delta: The most of delta. Without a limit for epsilon it limits nothing: no delta makes that a promise.
        accounts: Four accounts that it was divided into, where Gaussian noise is to be added up in rho. Without them
            everything is added up in epsilon and delta.

    Privacy:
        Guarantee: releases that were all let in under this limit are together (epsilon, delta)-DP under the relation,
        whatever each release was chosen by after earlier ones were seen. Without accounts epsilons add up and deltas
        add up, and docs/decisions/0028-limit-on-delta.md has the proof; with them `accounts.py` has it.
    """

    epsilon: Fraction | None
    neighbors: Neighbors
    delta: Fraction = DEFAULT_DELTA
    accounts: Accounts | None = None

    def __post_init__(self) -> None:
        if self.delta < 0 or (self.epsilon is not None and self.epsilon < 0):
            raise ValueError(f"a limit is never below 0, got epsilon={self.epsilon}, delta={self.delta}")
        if self.accounts is not None and (self.epsilon is None or not self.accounts.keep_to(self.epsilon, self.delta)):
            raise ValueError(f"accounts that do not keep to epsilon={self.epsilon}, delta={self.delta}")

    @staticmethod
    def with_rho(epsilon: Fraction, neighbors: Neighbors, delta: Fraction, rho_share: Fraction) -> Limit:
        """A limit of which a share of epsilon, above 0 and at most 1, is an account in rho.

        Raises:
            ValueError: If there is no such share, or so little is for rho that it is none.
        """
        return Limit(epsilon, neighbors, delta, Accounts.of(epsilon, delta, rho_share))

    @property
    def rho_share(self) -> Fraction:
        """The share of epsilon that is for rho."""
        if self.accounts is None or not self.epsilon:
            return Fraction(0)
        return 1 - self.accounts.pure_epsilon / self.epsilon

    def account_for(self, spent: Spent, cost: Cost) -> Account | None:
        """The account that a release pays from; nothing if it may not be made."""
        if self.epsilon is None:
            return "epsilon"
        if self.accounts is not None:
            return fitting_account(self.accounts, self.epsilon, self.neighbors, spent, cost)
        total = (spent.in_all + cost).under(self.neighbors)
        fits = total is not None and total <= self.epsilon and spent.in_all.delta + cost.delta <= self.delta
        return "epsilon" if fits else None

    def accounts_for(self, spent: Spent, costs: Sequence[Cost]) -> list[Account] | None:
        """The accounts that charges are paid from, one after the other; nothing if one of them may not be made."""
        accounts: list[Account] = []
        for cost in costs:
            if (account := self.account_for(spent, cost)) is None:
                return None
            accounts.append(account)
            spent = spent.after([cost], [account])
        return accounts

    def refusal(self, spent: Spent, costs: Sequence[Cost], *, dataset: str, ledger: str) -> str | None:
        """Why a release may not be made, and what can be done about it; nothing if it may.

        Args:
            spent: On the data set so far.
            costs: Of the charges of its run, one after the other.
            dataset: The data set.
            ledger: Where the ledger is, for the command that sets another limit.
        """
        if self.epsilon is None or self.accounts_for(spent, costs) is not None:
            return None
        # Charges that fit in one sum fit one after the other, too, so this sum does not fit.
        cost = sum(costs, NOTHING)
        wanted, before = cost.under(self.neighbors), spent.in_all.under(self.neighbors)
        if before is None:
            return (
                f"No finite epsilon holds for what was released from data set '{dataset}' so far, under the relation "
                f"'{self.neighbors}' of its limit. So no finite limit can hold any more. Nothing was measured."
            )
        if wanted is None:
            return self._why_not_finite(cost, dataset, ledger)
        if self.accounts is not None:
            return self._why_no_account(self.accounts, spent, cost, dataset, ledger)
        left, delta_left = self.epsilon - before, self.delta - spent.in_all.delta
        lacking = {"epsilon": wanted - left, "delta": cost.delta - delta_left}
        short = [f"{name} {_show(amount)}" for name, amount in lacking.items() if amount > 0]
        return (
            f"Release needs epsilon {_show(wanted)} and delta {_show(cost.delta)}, but epsilon {_show(left)} and delta "
            f"{_show(delta_left)} are left for data set '{dataset}' (short by {' and '.join(short)}). "
            f"Nothing was measured.{self._how_to_allow_delta(dataset, ledger) if lacking['delta'] > 0 else ''}"
        )

    def _why_no_account(self, accounts: Accounts, spent: Spent, cost: Cost, dataset: str, ledger: str) -> str:
        """Why a release fits neither account."""
        epsilon, price = self.epsilon or Fraction(0), cost.in_rho()
        left = spent.left(accounts, epsilon, self.neighbors)
        wanted, rho = cost.under(self.neighbors), price.under(self.neighbors)
        if left is None or wanted is None or rho is None:
            return self._why_not_finite(cost, dataset, ledger)
        in_rho = Spent(in_rho=price).delta_of_rest(epsilon)
        return (
            f"Release needs epsilon {_show(wanted)} and delta {_show(cost.delta)}, or rho {_show(rho)} and delta "
            f"{_show(in_rho)}. For data set '{dataset}' epsilon {_show(left.pure_epsilon)}, rho {_show(left.rho)} and "
            f"delta {_show(left.delta_for_rest)} are left in the accounts of its limit. Nothing was measured. To "
            f"divide the limit otherwise: copublish ledger limit {dataset}=EPSILON,DELTA --rho-share SHARE "
            f"--ledger {ledger}"
        )

    def _why_not_finite(self, cost: Cost, dataset: str, ledger: str) -> str:
        if cost == UNLIMITED:
            return (
                f"This release has no finite epsilon: it is not differentially private. The limit of data set "
                f"'{dataset}' is finite. Nothing was measured. If its people are to be without that protection, for "
                f"this release and all later ones, say so: copublish ledger limit {dataset}={UNBOUNDED} "
                f"--ledger {ledger}"
            )
        return (
            f"No finite epsilon holds for this release under the relation '{self.neighbors}' of the limit of data "
            f"set '{dataset}'. Nothing was measured. Set the limit under the other one: copublish ledger limit "
            f"{dataset}=EPSILON --neighbors replace --ledger {ledger}"
        )

    def _how_to_allow_delta(self, dataset: str, ledger: str) -> str:
        usual = f" Unless a limit says otherwise, it is {_show(DEFAULT_DELTA)}." if self.delta == DEFAULT_DELTA else ""
        return (
            f"{usual} To allow more delta, over all releases together, state it after epsilon: copublish ledger "
            f"limit {dataset}=EPSILON,DELTA --ledger {ledger}"
        )


def _show(number: Fraction) -> str:
    return f"{float(number):.6g}"
