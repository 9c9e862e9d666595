"""Checking a release offline loads little code: whoever is to trust `verify` can read all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.signed import NAMES, Signers

LARGEST = 60
"""Modules of copublish: a bound that a reader can bear."""

FOREIGN = ("pyarrow", "pandas", "polars", "duckdb", "sklearn", "spu")
"""Libraries that read tables, learn or compute jointly. NumPy is loaded, for the laws of noise."""

ROOMS = ("mechanisms", "engines", "rows", "party", "tools", "studio", "kernel.ledger", "kernel.secrets")
"""Nothing of these is needed to check digests and signatures."""

MODULE = """
import copublish as cp
found = cp.verify_release(sys.argv[1])
assert found.is_well, found
"""
COMMAND = """
from copublish.cli import main
sys.argv = ["copublish", "verify", sys.argv[1]]
try:
    main()
except SystemExit as exc:
    assert exc.code == 11, exc.code  # intact, and nobody named fingerprints
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that two parties signed, with an approval: every check of `verify` runs on it."""
    signers = Signers(tmp_path_factory.mktemp("signed"), needed={NAMES[0]: 1})
    signers.approve(NAMES[0], "Ada Lovelace")
    return signers.publish()[NAMES[0]].write(signers.folder / "release")


def loaded_by(code: str, folder: Path) -> list[str]:
    """The modules that are loaded once some code has run on a folder, in a new process."""
    script = f"import sys\n{code}\nprint('loaded', *sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def too_much(modules: list[str]) -> list[str]:
    """What is wrong with a list of loaded modules."""
    own = [name for name in modules if name.partition(".")[0] == "copublish"]
    problems = [f"{len(own)} modules of copublish"] if len(own) > LARGEST else []
    problems += [name for name in FOREIGN if name in modules]
    return problems + [name for name in own if name.removeprefix("copublish.") in ROOMS]


@pytest.mark.slow
@pytest.mark.parametrize("code", [MODULE, COMMAND], ids=["module", "command"])
def test_a_signed_release_is_verified_by_few_modules(folder: Path, code: str) -> None:
    modules = loaded_by(code, folder)
    assert "copublish.release.verify" in modules
    assert too_much(modules) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("planted", "named"),
    [
        ("import copublish.release.folder", {"pyarrow", "copublish.mechanisms"}),
        ("import copublish.engines.ideal", {"copublish.engines"}),
        ("import copublish.kernel.ledger.ledger", {"copublish.kernel.ledger"}),
    ],
)
def test_an_import_too_many_is_noticed(folder: Path, planted: str, named: set[str]) -> None:
    assert named <= set(too_much(loaded_by(f"{planted}\n{MODULE}", folder)))


def test_a_module_too_many_is_noticed() -> None:
    most = [f"copublish.one{number}" for number in range(LARGEST)]
    assert too_much(most) == []
    assert too_much([*most, "copublish_reproduction", "copublish.two"]) == [f"{LARGEST + 1} modules of copublish"]
