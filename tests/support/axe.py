"""axe-core, which finds what keeps people from using a page: from the npm registry, once, and not kept here."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

VERSION = "4.14.0"
SHA256 = "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
"""Of axe.min.js in that version of the package axe-core."""

COUNTED = ("serious", "critical")


def axe_source() -> str:
    """The script; the test is skipped where it cannot be had."""
    kept = Path(tempfile.gettempdir()) / f"copublish-axe-{VERSION}.js"
    if not kept.exists():
        _download(kept)
    content = kept.read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256, f"{kept} is not what was published; take it away"
    return content.decode()


def _download(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs axe-core, and npm to download it")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", folder]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
        if done.returncode != 0:
            pytest.skip("needs axe-core, and cannot download it")
        with tarfile.open(Path(folder) / f"axe-core-{VERSION}.tgz") as package:
            found = package.extractfile("package/axe.min.js")
            assert found is not None
            new = Path(folder) / "axe.js"
            new.write_bytes(found.read())
            shutil.copy(new, kept)


def serious_findings(page: Any, source: str) -> list[str]:
    """What is serious or worse on the page that is open, with where it is."""
    page.evaluate(source)
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{one['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for one in found
        if one["impact"] in COUNTED
        for node in one["nodes"]
    ]
