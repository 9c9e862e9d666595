"""Release folders of every mechanism for tests of what lies there for programs."""

from __future__ import annotations

from functools import cache

import copublish as cp
from support.any_release import any_release

DESCRIBED = (
    "specialization vertical balanced-gain missing",
    "marginals horizontal laplace public decimals",
    "marginals vertical laplace class-at-one columns missing",
    "copula horizontal masked-sum weights helper identifier",
    "copula arbitrary weights missing",
    "hpdp gaussian public missing 3-parties",
    "vhdp vertical uniform identifier missing 3-parties",
    "idp-ir vertical fixed missing 3-parties",
)
"""Cases of every mechanism and every partition; some with a party without data, and with missing values."""

PRIVATE = tuple(case for case in DESCRIBED if not case.startswith("idp-ir"))
"""Those of them that are differentially private."""


@cache
def described(case: str) -> cp.Release:
    """A release of a case; the same one every time."""
    return any_release(case)


@cache
def files_of(case: str) -> dict[str, bytes]:
    """The content of the release's folder."""
    return described(case).files()
