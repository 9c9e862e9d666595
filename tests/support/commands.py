"""Running `copublish` commands, each in a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

from copublish.cli import main
from support.processes import context


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
    words = ["copublish", *map(str, arguments)]
    with tempfile.TemporaryDirectory(prefix="copublish-test-") as folder:
        paths = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        paths[0].write_text(answers)
        settings = {"COLUMNS": "120", "NO_COLOR": "1", "COPUBLISH_HOME": str(home or cwd or folder)}
        environment = {**os.environ, **settings}
        process = context().Process(target=_command, args=(words, environment, cwd or Path.cwd(), paths))
        process.start()
        process.join(120)
        assert process.exitcode is not None, f"{words} did not end"
        done = CompletedProcess(words, process.exitcode, *(path.read_text() for path in paths[1:]))
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
