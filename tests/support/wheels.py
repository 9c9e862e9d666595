"""Wheels built from a copy of their sources, without a network: what an earlier build left behind stays out of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path
from zipfile import ZipFile


@dataclass(frozen=True)
class Wheel:
    """What is in a wheel.

    Attributes:
        names: Of its files.
        requirements: What it asks for, extras included.
        entry_points: The text of its entry points.
    """

    names: tuple[str, ...]
    requirements: tuple[str, ...]
    entry_points: str


def build_wheel(project: Path, scratch: Path) -> Wheel:
    """Build the wheel of the project in a folder, and read it."""
    sources = scratch / "sources"
    sources.mkdir()
    for file in project.iterdir():
        if file.is_file():
            shutil.copy(file, sources)
    shutil.copytree(project / "src", sources / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(scratch / "wheels"), str(sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = (scratch / "wheels").glob("*.whl")
    with ZipFile(path) as wheel:
        names = tuple(wheel.namelist())
        (folder,) = {name.split("/")[0] for name in names if name.endswith(".dist-info/METADATA")}
        metadata = message_from_string(wheel.read(f"{folder}/METADATA").decode())
        entry_points = wheel.read(f"{folder}/entry_points.txt").decode()
    return Wheel(names, tuple(metadata.get_all("Requires-Dist", [])), entry_points)
