"""Running `copublish` commands, each in a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

from support.processes import Program

COMMAND_LINE = "import sys; from copublish.cli import main; sys.argv[0] = 'copublish'; main()"


class Begun:
    """A command under way.

    Args:
        arguments: What a user types after `copublish`.
        cwd: The folder it runs in, and its COPUBLISH_HOME unless `home` says another.
        answers: What is typed while it runs.
        home: Its COPUBLISH_HOME.
        changed: Code that changes the program before.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        *,
        cwd: Path | None = None,
        answers: str = "",
        home: Path | None = None,
        changed: str = "",
    ) -> None:
        self.words = ["copublish", *map(str, arguments)]
        self._home = tempfile.TemporaryDirectory(prefix="copublish-test-")
        settings = {"COLUMNS": "120", "NO_COLOR": "1", "COPUBLISH_HOME": str(home or cwd or self._home.name)}
        command = (sys.executable, "-c", changed + COMMAND_LINE, *self.words[1:])
        self._process = Program(command, cwd=cwd, env={**os.environ, **settings}, answers=answers)

    def finish(self, seconds: float = 120) -> CompletedProcess[str]:
        """Wait for its end."""
        with self._home:
            try:
                output, errors = self._process.communicate(seconds)
            except TimeoutExpired:
                self._process.kill()
                raise AssertionError(f"{self.words} did not end: {self._process.said()[1]}") from None
        return CompletedProcess(self.words, self._process.returncode or 0, output, errors)


def run(
    *arguments: object, cwd: Path | None = None, code: int | None = 0, answers: str = "", home: Path | None = None
) -> CompletedProcess[str]:
    """Run a command to its end.

    Args:
        arguments: What a user types after `copublish`.
        cwd: The folder it runs in, and its COPUBLISH_HOME unless `home` says another.
        code: The exit code that is expected, or None for any.
        answers: What is typed while it runs.
        home: Its COPUBLISH_HOME.
    """
    done = Begun(arguments, cwd=cwd, answers=answers, home=home).finish()
    assert code is None or done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
