"""Programs that tests need and a machine may not have: installed from Debian's packages where we may."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def install(*packages: str) -> bool:
    """Install packages, one test process at a time; return whether that worked."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    patient = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "-y"]
    with Path(tempfile.gettempdir(), "copublish-test-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes run side by side, package managers do not
        for command in (["update"], ["install", "--no-install-recommends", *packages]):
            if subprocess.run([*patient, *command], env=quiet, capture_output=True, timeout=900).returncode:
                return False
    return True
