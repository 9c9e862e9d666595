"""Adding noise inside an engine that computes on secrets: drawn from joint coins, so that nobody knows any of it."""

from __future__ import annotations

from copublish.engine.interface import Engine, Secret
from copublish.privacy.geometric import Geometric
from copublish.secure.packing import SecretCounts, add_packed_noise


def add_joint_noise(engine: Engine, counts: SecretCounts, noise: Geometric, offset: int) -> Secret:
    """Add discrete Laplace noise plus a public offset to every count.

    Privacy:
        Reveals: nothing. Coins, noise and sum stay secret.
    """
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
