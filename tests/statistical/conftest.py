"""Statistical tests take randomness from a seed, so that they pass always or never."""

from __future__ import annotations

import os
import random
import zlib

import pytest


@pytest.fixture(autouse=True)
def randomness_of_the_system_has_a_seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and coins that code takes from the operating system are those of the test's name."""
    generator = random.Random(zlib.crc32(request.node.name.encode()))
    monkeypatch.setattr(os, "urandom", generator.randbytes)
