"""Ctrl-C while the command line loads: it comes at a chosen import, so that no clock decides what is tested."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.slow  # processes

ENTRANCES = {
    "python -m": (sys.executable, "-m", "copublish"),
    "console script": (str(Path(sys.executable).with_name("copublish")),),
}
HOOK = '''
"""Python imports this file first of all: it logs every import, and interrupts the process at one."""
import os, signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        with open(os.environ["IMPORTS_LOG"], "a") as log:
            log.write(name + "\\n")
        if name == os.environ.get("INTERRUPT_AT"):
            signal.raise_signal(int(os.environ["INTERRUPT_BY"]))

sys.meta_path.insert(0, Hook())
'''
STOPPED = (130, "Stopped. Nothing was charged.\n")
MOMENTS = 7


IGNORING = ("sh", "-c", 'trap "" INT; exec "$0" "$@"')
"""Starts a command that ignores Ctrl-C, as `nohup` does."""


def run(
    entrance: str, *, interrupt_at: str = "", by: signal.Signals = signal.SIGINT, starter: tuple[str, ...] = ()
) -> tuple[tuple[int, str], list[str]]:
    """Run a command whose file is missing: its exit code and stderr, and what was imported, in order."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text(HOOK)
        log = Path(folder) / "log"
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [*starter, *ENTRANCES[entrance], "describe", "missing.toml"],
            cwd=folder,
            env={
                **os.environ,
                **{"PYTHONPATH": path, "IMPORTS_LOG": str(log), "INTERRUPT_AT": interrupt_at},
                "INTERRUPT_BY": str(int(by)),
            },
            capture_output=True,
            text=True,
        )
        return (done.returncode, done.stderr), log.read_text().split()


@cache
def imports_of_main(entrance: str) -> list[str]:
    """What `copublish.__main__.main` imports, itself or by others, each once and in order."""
    (code, _), imports = run(entrance)
    assert code == 3  # the file is missing
    return list(dict.fromkeys(imports[imports.index("copublish.__main__") + 1 :]))


def moments(entrance: str) -> list[str]:
    """Imports from the first to the last, equally far apart."""
    imports = imports_of_main(entrance)
    return [imports[round(place * (len(imports) - 1) / (MOMENTS - 1))] for place in range(MOMENTS)]


@pytest.mark.parametrize("moment", range(MOMENTS))
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_ctrl_c_at_any_import_ends_the_command_without_a_traceback(entrance: str, moment: int) -> None:
    result, _ = run(entrance, interrupt_at=moments(entrance)[moment])
    assert result == STOPPED


@pytest.mark.parametrize("moment", [0, MOMENTS // 2])
def test_sigterm_at_an_import_ends_the_command_with_its_word(moment: int) -> None:
    result, _ = run("python -m", interrupt_at=moments("python -m")[moment], by=signal.SIGTERM)
    assert result == (143, "Stopped. Nothing was charged.\n")


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_chosen_imports_are_those_of_the_whole_program(entrance: str) -> None:
    imports = imports_of_main(entrance)
    assert {"copublish.cli", "typer", "numpy", "copublish.cli.describe_command"} <= set(imports)
    assert len(set(moments(entrance))) == MOMENTS
    assert imports.index("copublish.cli") <= 1


def test_an_interrupt_before_main_shows_a_traceback_so_the_interrupts_of_these_tests_arrive() -> None:
    (_, words), _ = run("python -m", interrupt_at="copublish.__main__")
    assert "KeyboardInterrupt" in words


def test_a_process_that_ignores_ctrl_c_goes_on_loading() -> None:
    (code, words), _ = run("python -m", interrupt_at="copublish.cli", starter=IGNORING)
    assert code == 3 and "Stopped" not in words
