"""Audits without a stated law: of what colluding owners know of masked sums, and of any function of a table.

Frequencies of outputs are learned in the first half of the runs and tested on the second, as other statistics are.

Owners who collude take their own shares of the noise off what is opened. What is left has to be the noise of all
others, which is the full one if no more of them collude than was agreed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine
from copublish.kernel.noise.geometric import Coins, Geometric
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.tools.auditing.game import fair_coins
from copublish.tools.auditing.statistics import Claim, Tested, judged, learned_columns
from copublish.types import IntArray

View = Callable[[NDArray[np.bool_]], NDArray[Any]]
"""What somebody sees of runs on the tables that coins name: (runs,) to (runs, numbers)."""


def audit_outputs(view: View, claim: Claim, runs: int, *, alpha: float = 0.05, coins: Coins | None = None) -> Tested:
    """Play so many runs with fresh coins and guess them from outputs alone."""
    tables = fair_coins(runs, coins)
    seen = np.asarray(view(tables))
    evidence = learned_columns(tables, seen.reshape(runs, -1))
    return judged(tables, np.zeros(runs), claim, {"learned from outputs": evidence}, alpha=alpha)


@dataclass
class SharesOfOne:
    """What one owner added to each disclosure, in agreed order."""

    shares: list[IntArray] = field(default_factory=list)


def engine_with_known_shares(known: Mapping[str, SharesOfOne]) -> type[IdealEngine]:
    """An ideal engine whose owners note the shares of noise that they draw; the noise is that of any other one."""

    class WithKnownShares(IdealEngine):
        """Notes what is put in while noise is added."""

        _is_noise = False

        def add_noise(self, counts: SecretCounts, noise: Geometric | SharedLaplace, *, offset: int) -> Secret:
            if not isinstance(noise, SharedLaplace):
                raise TypeError("joint noise has no shares that an owner would know")
            self._is_noise = True
            noisy = super().add_noise(counts, noise, offset=offset)
            self._is_noise = False
            if self.party in known and self.party == noise.shares.owners[0]:
                known[self.party].shares[-1] -= offset  # it is public, and not a part of the noise
            return noisy

        def share(self, local: IntArray) -> Secret:
            if self._is_noise and self.party in known:
                known[self.party].shares.append(np.array(local, dtype=np.int64).reshape(-1))
            return super().share(local)

    return WithKnownShares


def coalitions_of(agreement: Agreement) -> Iterator[tuple[str, ...]]:
    """Yield the coalitions to audit: as many owners as may collude, the aggregator among them if it owns data.

    Shares have one law, so it makes no difference which owners they are; the two ends of the list are tried.
    """
    shares = NoiseShares.of(agreement)
    if shares is None:
        return
    first, last = shares.owners[: shares.colluders], shares.owners[-shares.colluders :]
    yield from dict.fromkeys((first, last))
