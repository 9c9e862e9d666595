"""Small releases of every mechanism, of random parts of made-up tables under random coins."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import copublish as cp
from copublish.mechanisms.registry import mechanism_named
from support import seeded, simulate_with
from support.recorded_releases import CASES, made_up_frames

_frames = cache(made_up_frames)


def cases_of(mechanism: str) -> list[str]:
    """The names of agreements on a mechanism: every partition, engine and setting that it has."""
    return [
        name for name, case in CASES.items() if mechanism_named(case.agreement["mechanism"]["name"]).name == mechanism
    ]


def any_release(case: str, share: float = 1.0, seed: int = 0) -> cp.Release:
    """A release of a part of the case's people.

    Raises:
        FragmentError: If they are too few for the mechanism.
    """
    agreement = cp.agreement_from_mapping(CASES[case].agreement)
    kept = np.random.default_rng(seed).random(CASES[case].records) < share
    frames: dict[str, Any] = {party: frame[kept[frame.index]] for party, frame in _frames(case).items()}
    return simulate_with(agreement, frames, seeded(agreement.party_names, seed))
