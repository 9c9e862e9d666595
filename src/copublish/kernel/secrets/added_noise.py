"""Adding noise inside an engine that computes on secrets."""

from __future__ import annotations

import numpy as np

from copublish.errors import EngineError
from copublish.kernel.noise.geometric import Coins, Geometric
from copublish.kernel.noise.laplace_shares import draw_share
from copublish.kernel.noise.shared_laplace import SharedLaplace
from copublish.kernel.programs.packing import add, add_packed_noise
from copublish.kernel.secrets.computer import ProgramComputer
from copublish.kernel.secrets.secret import Secret, SecretCounts
from copublish.types import IntArray


def add_noise_inside(
    engine: ProgramComputer, counts: SecretCounts, noise: Geometric | SharedLaplace, offset: int
) -> Secret:
    """Add discrete Laplace noise plus a public offset to every count.

    Privacy:
        Reveals: nothing. From joint coins nobody knows any of the noise; if the agreement has the owners add it in
            shares, every owner knows its own, and the sum is that of a run without a secure engine.
    """
    if isinstance(noise, SharedLaplace):
        own = own_share(engine.party, engine.own_coins, counts, noise, offset)
        return engine.compute(add, counts.secret, engine.share(own))
    words = engine.coins(noise.coin_shape(2 * counts.n_cells))
    return engine.compute(
        add_packed_noise,
        counts.secret,
        words,
        planes=noise.threshold_planes,
        packing=counts.packing,
        cell_at=counts.cell_at,
        offset=offset,
    )


def own_share(party: str, own_coins: Coins, counts: SecretCounts, noise: SharedLaplace, offset: int) -> IntArray:
    """Summand of one party for counts of its own: its share of the noise, and the first owner the offset.

    Privacy:
        The share is known to the party that draws it and is added before anything leaves it. One owner adds the offset.
    """
    if counts.packing.lanes > 1:
        raise EngineError("Shares of noise are added to counts that lie one by one, and these do not. Not opened.")
    added = np.zeros(counts.n_cells, dtype=np.int64)
    if party in noise.shares.owners:
        added += draw_share(noise, counts.n_cells, own_coins)
    if party == noise.shares.owners[0]:
        added += offset
    if counts.cell_at is not None:
        added = added[counts.cell_at]  # drawn in agreed order, as all noise is
    return added.reshape(counts.secret.shape)
