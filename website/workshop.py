"""What notebooks work on: the demo's made-up people, and a release of them."""

from __future__ import annotations

from pathlib import Path

import copublish
from copublish.tools.drafting.demo import write_demo

PEOPLE = 20_000
"""As many as `copublish demo` makes up."""


def prepare(folder: Path, people: int) -> None:
    """Write `demo/`, as `copublish demo` does, and `release/`, made of it on the ideal engine."""
    files = write_demo(folder / "demo", people)
    release = copublish.simulate(
        folder / "demo" / "agreement.toml", {party: str(path) for party, path in files.items()}
    )
    release.write(folder / "release")
