"""A small release for tests of evaluation and report, without noise or with seeded coins."""

from __future__ import annotations

import numpy as np
import pandas as pd

import copublish as cp
from support import fragment_frames, no_noise, random_table, seeded, simulate_with, small_mapping


def leaf_counts(release: cp.Release) -> pd.DataFrame:
    """The table that records are made of, which is measured last; `count` is how many records there are of a cell."""
    return release.to_pandas(release.tables[-1]).assign(count=release.published.model.counts)


def labels_of(release: cp.Release) -> dict[str, list[str]]:
    """The published values of every generalized column."""
    return {name: [value.label for value in values] for name, values in release.generalization.values.items()}


def small_release(n: int = 900, *, noise: bool = True, **changes: object) -> tuple[cp.Release, pd.DataFrame]:
    """Return a release of made-up data and the joined table it was made from."""
    generator = np.random.default_rng(5)
    agreement = cp.agreement_from_mapping(small_mapping(**changes))
    table = random_table(agreement, n, generator)
    coins = seeded(agreement.party_names, 1) if noise else no_noise(agreement.party_names)
    return simulate_with(agreement, fragment_frames(agreement, table, generator), coins), table
