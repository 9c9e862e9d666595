"""Running `copublish` commands, each in a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

from copublish.cli import main
from support.processes import context


class Begun:
    """A command under way.

    Args:
        arguments: What a user types after `copublish`.
        cwd: The folder it runs in, and its COPUBLISH_HOME unless `home` says another.
        answers: What is typed while it runs.
        home: Its COPUBLISH_HOME.
    """

    def __init__(
        self, arguments: Sequence[object], *, cwd: Path | None = None, answers: str = "", home: Path | None = None
    ) -> None:
        self.words = ["copublish", *map(str, arguments)]
        self._folder = tempfile.TemporaryDirectory(prefix="copublish-test-")
        self._paths = [Path(self._folder.name) / name for name in ("stdin", "stdout", "stderr")]
        self._paths[0].write_text(answers)
        settings = {"COLUMNS": "120", "NO_COLOR": "1", "COPUBLISH_HOME": str(home or cwd or self._folder.name)}
        arguments = (self.words, {**os.environ, **settings}, cwd or Path.cwd(), self._paths)
        self._process = context().Process(target=_command, args=arguments)
        self._process.start()

    def finish(self, seconds: float = 120) -> CompletedProcess[str]:
        """Wait for its end."""
        with self._folder:
            self._process.join(seconds)
            if self._process.exitcode is None:
                self._process.kill()
                raise AssertionError(f"{self.words} did not end: {self._paths[2].read_text()}")
            output, errors = (path.read_text() for path in self._paths[1:])
        return CompletedProcess(self.words, self._process.exitcode, output, errors)


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


def _command(words: list[str], environment: Mapping[str, str], folder: Path, paths: list[Path]) -> None:
    modes = ("r", "w", "w")
    streams: list[IO[str]] = []
    for number, (path, mode) in enumerate(zip(paths, modes, strict=True)):
        with path.open(mode) as file:
            os.dup2(file.fileno(), number)
        streams.append(os.fdopen(number, mode, closefd=False))
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.argv = words
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    main()
