"""What owners who collude know of masked sums: their own shares of the noise.

They take their shares off what is opened. What is left has to be the noise of all others, which is the full one if no
more of them collude than was agreed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from copublish.agreement.model import Agreement
from copublish.engines.ideal import IdealEngine
from copublish.kernel.noise.geometric import Geometric
from copublish.kernel.noise.shared_laplace import NoiseShares, SharedLaplace
from copublish.kernel.secrets.counts import SecretCounts
from copublish.kernel.secrets.secret import Secret
from copublish.types import IntArray


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
