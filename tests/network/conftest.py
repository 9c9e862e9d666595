"""Parties on loopback that the tests of several files use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from copublish.party.keys.identity import Identity
from support.circle import Circle, identities_in


@pytest.fixture(scope="session")
def identities(tmp_path_factory) -> dict[str, Identity]:
    return identities_in(tmp_path_factory.mktemp("identities"), 3)


@pytest.fixture
def circle(identities) -> Iterator[Circle]:
    """p0 and p1 can be dialed, p2 dials out."""
    with Circle(identities, 3) as found:
        found.hide("p2")
        yield found
