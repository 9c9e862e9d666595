"""The accounts that a limit is divided into, so that releases with Gaussian noise can be added up in rho.

A limit (E, d) under one relation fixes four numbers when it is set: a pure epsilon A, a largest rho R, a delta d_R for
converting R, and a delta d_S for everything else, with

    d_R + d_S <= d    and    zcdp.delta_of(R, E - A) <= d_R.

Every release pays from one of two accounts. From *epsilon*: its epsilon and its delta. From *rho*: the rho of its
Gaussian parts, and half the square of what its other parts cost in epsilon together; of delta what these parts cost
and, for Gaussian parts, (1 + e^E) times the distance of sampled noise from exact noise. It is let in if no account is
exceeded, and all delta but that for converting R is within d_S. Which account it pays from follows from prices and
from what was spent, never from data.

**Claim.** All releases that are let in are together (E, d)-DP under the relation, whoever chooses each of them after
seeing the outcomes of all earlier ones.

**Proof.** Fix neighbors D and D'. For laws P and Q of an outcome on D and on D' write I(P, Q) for the integral of
P^a Q^(1 - a), where a > 1; it is defined for measures of any mass. "Parts" are disclosures.

1. *Exact noise.* In releases that pay in rho, exchange sampled Gaussian noise for exact noise. On every path the
   distances add up to at most some T, so the law of all that is seen moves by at most T in total variation, on D and
   on D'. If with exact noise (E, d - (1 + e^E) T) holds, then Pr[S | D] <= T + e^E (Pr[S | D'] + T) + d - (1 + e^E) T,
   which is e^E Pr[S | D'] + d. So from here on that noise is exact, and (1 + e^E) T of d_S is gone.
2. *One part.* It has measures P' <= P and Q' <= Q that each lack at most c of their mass, with

       I(P', Q') <= exp((a - 1) (e + a r))    for every a > 1, and the same for I(Q', P'),                          (*)

   where e, r and c are what it takes of the accounts and of d_S:
   - *Gaussian noise, paid in rho:* P and Q themselves, with e = c = 0; (*) is the definition of r-zCDP.
   - *(e, c)-DP, paid in epsilon:* P' = min(P, e^e Q), Q' = min(Q, e^e P), and r = 0. What P' lacks is the integral of
     max(0, P - e^e Q), at most c. P' <= e^e Q', because P' <= e^e Q and P' <= P <= e^e (e^e P); likewise Q' <= e^e P'.
     So I(P', Q'), the integral of P' (P' / Q')^(a - 1), is at most e^((a - 1) e). A whole release that pays in
     epsilon is one such part, whatever its noise is.
   - *(e, c)-DP, paid in rho:* take these P' and Q', and let P' be the one with less mass, m. Some mixture Q'' of Q' and
     e^-e P' has the mass m, too, because the latter has no more; it lies between e^-e P' and e^e P' still. So P' / m
     and Q'' / m are laws whose ratio X is from e^-e to e^e. Under the second its mean is 1. x^a is convex, so the mean
     of X^a is at most that under the law on the two ends with mean 1: cosh((2 a - 1) e / 2) / cosh(e / 2). The
     logarithm of cosh has the slope tanh(x) <= x, so between e / 2 and (2 a - 1) e / 2 it grows by at most
     ((2 a - 1)^2 - 1) e^2 / 8 = a (a - 1) e^2 / 2. That is (*) with 0 and r = e^2 / 2. Several parts of one release
     with e_1, e_2, ... take e_1^2 / 2 + e_2^2 / 2 + ..., at most (e_1 + e_2 + ...)^2 / 2, however the run divides
     their sum.
3. *All parts.* If no path takes more than A, R and c, then the whole has measures that lack at most c, with (*) for A
   and R. By induction on the number of parts: the first takes e, r and c_1, which are numbers, because nothing was
   seen before. After any outcome y the rest keeps to A - e, R - r and c - c_1, the same for every y, so it has
   measures P'_y and Q'_y. Those of the whole are P'(y) P'_y and Q'(y) Q'_y. They lack at most
   1 - (1 - c_1) (1 - (c - c_1)) <= c, and their integral is the sum over y of P'(y)^a Q'(y)^(1 - a) I(P'_y, Q'_y), at
   most exp((a - 1) (e + a r)) exp((a - 1) (A - e + a (R - r))).
4. *Epsilon and delta.* For t = e^E the largest value of (x - t) / x^a over x > 0 is at x = a t / (a - 1), and it is
   t^(1 - a) (1 - 1 / a)^a / (a - 1). So P'(S) - t Q'(S) is at most that times I(P', Q'), and by (*) at most

       exp((a - 1) (a R - (E - A))) (1 - 1 / a)^a / (a - 1)    for every a > 1,

   which is what `zcdp.delta_of(R, E - A)` bounds for the best a: at most d_R. P(S) <= P'(S) + c and Q'(S) <= Q(S), so
   Pr[S | D] <= e^E Pr[S | D'] + d_R + c, with c and what step 1 took within d_S. Exchange D and D' for the rest.

Accounts do not move. What is left of one could be worth more in the other, but a bound that follows whatever mix
happens to be spent is another theorem than this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from copublish.kernel.accounting.cost import NO_RHO, NOTHING, Cost, RhoPrice
from copublish.kernel.accounting.disclosures import Neighbors, price_of_exchange
from copublish.kernel.accounting.zcdp import delta_of, rho_for

Account = Literal["epsilon", "rho"]
"""What a release pays from."""

SAMPLERS_PART = Fraction(1, 64)
"""Of delta, what is for samplers and for charges from before; the rest converts rho. A release with Gaussian noise
divides its own delta alike, so one that takes a whole limit fits it."""

LARGEST_EPSILON = 100
"""Of a limit with an account in rho; far beyond any promise, e^E would exceed all numbers."""


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """Four accounts that a limit is divided into when it is set.

    Attributes:
        pure_epsilon: Epsilon for releases that pay in epsilon.
        rho: Rho for those that pay in rho.
        delta_for_rho: Delta for converting that rho.
        delta_for_rest: Delta for samplers, and for all that releases cost of delta beside it.
    """

    pure_epsilon: Fraction
    rho: Fraction
    delta_for_rho: Fraction
    delta_for_rest: Fraction

    @staticmethod
    def of(epsilon: Fraction, delta: Fraction, rho_share: Fraction) -> Accounts:
        """The accounts of a limit of which a share of epsilon is for rho.

        Raises:
            ValueError: If the share is not above 0 and at most 1, or so little is for rho that it is none.
        """
        if not 0 < rho_share <= 1 or delta <= 0:
            raise ValueError(f"a share for rho is above 0 and at most 1, with a delta, got {rho_share}, delta={delta}")
        if epsilon > LARGEST_EPSILON:
            raise ValueError(f"a limit with an account in rho is at most {LARGEST_EPSILON}, got epsilon={epsilon}")
        for_rest = delta * SAMPLERS_PART
        return Accounts(
            pure_epsilon=epsilon * (1 - rho_share),
            rho=rho_for(epsilon * rho_share, delta - for_rest),
            delta_for_rho=delta - for_rest,
            delta_for_rest=for_rest,
        )

    def keep_to(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether whatever keeps to these accounts keeps to an epsilon and a delta: the two conditions of the proof."""
        for_rho = epsilon - self.pure_epsilon
        if min(*vars(self).values(), for_rho) < 0 or epsilon > LARGEST_EPSILON:
            return False
        converts = self.rho == 0 or delta_of(self.rho, for_rho) <= self.delta_for_rho
        return converts and self.delta_for_rho + self.delta_for_rest <= delta


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What was spent on a data set.

    Attributes:
        in_epsilon: What was paid in epsilon, with its delta.
        in_rho: What was paid in rho, with its delta and the distances of samplers.
        in_all: The sum of all prices in epsilon and delta, whatever they were paid in.
    """

    in_epsilon: Cost = NOTHING
    in_rho: RhoPrice = NO_RHO
    in_all: Cost = NOTHING

    def plus(self, cost: Cost, in_rho: RhoPrice, account: Account) -> Spent:
        """The same after one more release, which paid from an account."""
        return Spent(
            in_epsilon=self.in_epsilon + cost if account == "epsilon" else self.in_epsilon,
            in_rho=self.in_rho + in_rho if account == "rho" else self.in_rho,
            in_all=self.in_all + cost,
        )

    def after(self, costs: Sequence[Cost], accounts: Sequence[Account]) -> Spent:
        """The same after charges, each paid from its account."""
        spent = self
        for cost, account in zip(costs, accounts, strict=True):
            spent = spent.plus(cost, cost.in_rho(), account)
        return spent

    def delta_of_rest(self, epsilon: Fraction) -> Fraction:
        """What is spent of the delta for everything but the conversion of rho, under a limit of an epsilon."""
        return self.in_epsilon.delta + self.in_rho.delta + price_of_exchange(epsilon) * self.in_rho.distance

    def left(self, accounts: Accounts, epsilon: Fraction, neighbors: Neighbors) -> Accounts | None:
        """What is left of a limit's accounts, below 0 where more was spent; nothing if no finite epsilon holds."""
        pure, rho = self.in_epsilon.under(neighbors), self.in_rho.under(neighbors)
        if pure is None or rho is None:
            return None
        return Accounts(
            pure_epsilon=accounts.pure_epsilon - pure,
            rho=accounts.rho - rho,
            delta_for_rho=accounts.delta_for_rho,
            delta_for_rest=accounts.delta_for_rest - self.delta_of_rest(epsilon),
        )


def fitting_account(
    accounts: Accounts, epsilon: Fraction, neighbors: Neighbors, spent: Spent, cost: Cost
) -> Account | None:
    """The account that a release pays from; nothing if it fits neither.

    Gaussian noise pays in rho if it can, because that is what it is cheap in; anything else in epsilon, and in rho when
    that is used up.
    """
    order: tuple[Account, Account] = ("rho", "epsilon") if cost.gaussian.has_noise else ("epsilon", "rho")
    for account in order:
        left = spent.plus(cost, cost.in_rho(), account).left(accounts, epsilon, neighbors)
        if left is not None and min(left.pure_epsilon, left.rho, left.delta_for_rest) >= 0:
            return account
    return None
