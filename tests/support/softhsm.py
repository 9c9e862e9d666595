"""A PKCS#11 token in software: SoftHSM from Debian's packages, with a folder of its own for every token."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.packages import install

PIN = "135790"
MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so")


@dataclass(frozen=True)
class Token:
    """A token of this test process."""

    label: str
    module: str


def new_token(folder: Path, label: str = "bank-2026") -> Token:
    """Make a token; the test is skipped where there is no SoftHSM. The library reads the variable when it is loaded."""
    pytest.importorskip("pkcs11")
    if shutil.which("softhsm2-util") is None and not install("softhsm2"):
        pytest.skip("needs SoftHSM: install the package 'softhsm2'")
    module = next((path for path in MODULES if Path(path).exists()), None)
    if module is None:
        pytest.skip("the library of SoftHSM is not where Debian puts it")
    (folder / "tokens").mkdir(parents=True)
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\n")
    os.environ["SOFTHSM2_CONF"] = str(folder / "softhsm2.conf")
    command = ["softhsm2-util", "--init-token", "--free", "--label", label, "--so-pin", PIN, "--pin", PIN]
    subprocess.run(command, check=True, capture_output=True)
    return Token(label, module)
