"""The demo with specialization, for tests that look at its steps or would wait for the first choice's rounds."""

from __future__ import annotations

from pathlib import Path

from copublish.mechanisms.specialization.settings import SpecializationSettings
from copublish.tools.drafting.demo import example_agreement, write_demo


def specialization_example() -> str:
    """The demo's agreement with another mechanism, which has no use for a delta, and with shared membership."""
    before, left_out = example_agreement().partition("[mechanism]")[0], ("delta = ", "membership", "at_most = ")
    lines = [line for line in before.splitlines(keepends=True) if not line.startswith(left_out)]
    return "".join(lines) + SpecializationSettings.example


def write_specialization_demo(folder: Path, n_records: int) -> dict[str, Path]:
    """Write that agreement and both parties' data; return each party's file."""
    files = write_demo(folder, n_records)
    (folder / "agreement.toml").write_text(specialization_example())
    return files
