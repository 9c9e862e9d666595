"""The libraries that the image installs, with the hashes of their files, as pip finds them on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HEADING = """\
# What the image installs: every library by version and by the hash of its file for Python 3.11 on Linux, x86-64.
# Made by 'make requirements-image' from constraints.txt; on another platform make it there first.
"""


def requirements(report: Path) -> str:
    """The lines of what pip would install, by its report."""
    lines = []
    for item in json.loads(report.read_text())["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        if name != "copublish":
            sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
            lines.append(f"{name}=={version} --hash=sha256:{sha256}\n")
    return HEADING + "".join(sorted(lines, key=str.lower))


def main() -> None:
    """Ask pip what it would install, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--quiet", "--report", str(report)]
        command = [sys.executable, "-m", "pip", "install", *options, "--constraint", "constraints.txt", ".[secure]"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        print(requirements(report), end="")


if __name__ == "__main__":
    main()
