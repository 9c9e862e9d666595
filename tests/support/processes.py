"""Processes of a test, forked from one that has loaded the program: loading it takes longer than most of them run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import IO, Any

from copublish.party.local import processes

LOADED_ONCE = [
    *("copublish.cli", "copublish.tools.planning", "copublish.party.local.processes", "copublish.engines.spu.engine"),
    *("ibis.backends.duckdb", "pandas", "polars"),
]


class _Forked(ForkServerProcess):
    """A process with the environment of the one that starts it, not that of the one it is forked from."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._environment = dict(os.environ)
        multiprocessing.set_forkserver_preload(LOADED_ONCE)
        # Now, because a party's process is started deaf to Ctrl-C: all others would be as well.
        forkserver.ensure_running()
        self._server = forkserver._forkserver._forkserver_address

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        tempfile.tempdir = None  # asked for before, perhaps
        # Those that this process starts are forked from the same one.
        forkserver._forkserver._forkserver_address = self._server
        forkserver._forkserver.ensure_running = forkserver.ensure_running = lambda: None
        super().run()


class _Forking(ForkServerContext):
    Process = _Forked


def context() -> ForkServerContext:
    """Return the way to start a process; what it runs is a function that a new process can import."""
    return _Forking()


class Program:
    """Python in a new process that has loaded the program; it is asked like a `subprocess.Popen`.

    Where what is loaded, or when, is what is tested, a real one is started instead.

    Args:
        command: The words of a command line: Python, `-c`, the code and its arguments.
        cwd: The folder it runs in.
        env: Its environment. The folders in PYTHONPATH come first where modules are looked for.
        answers: What is typed while it runs.
        errors: The file of its errors, if it is looked at elsewhere.
    """

    def __init__(
        self,
        command: Sequence[object],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        answers: str = "",
        errors: Path | None = None,
    ) -> None:
        _, option, code, *words = map(str, command)
        assert option == "-c", command
        self.args = command
        self._folder = tempfile.TemporaryDirectory(prefix="copublish-test-")
        self._streams = [Path(self._folder.name) / name for name in ("stdin", "stdout", "stderr")]
        self._streams[2] = errors or self._streams[2]
        for path, text in zip(self._streams, (answers, "", ""), strict=True):
            path.write_text(text)  # it may be killed before it opens them
        given = (code, words, cwd or Path.cwd(), dict(os.environ if env is None else env), self._streams)
        self._process = context().Process(target=_run, args=given)
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(list(map(str, self.args)), timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        self.wait(timeout)
        return self.said()

    def said(self) -> tuple[str, str]:
        """Return its output and its errors so far."""
        output, errors = (path.read_text() for path in self._streams[1:])
        return output, errors

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(code: str, words: list[str], folder: Path, environment: Mapping[str, str], paths: list[Path]) -> None:
    modes = ("r", "w", "w")
    streams: list[IO[str]] = []
    for number, (path, mode) in enumerate(zip(paths, modes, strict=True)):
        with path.open(mode) as file:
            os.dup2(file.fileno(), number)
        streams.append(os.fdopen(number, mode, closefd=False))
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.argv = ["-c", *words]
    os.environ.clear()
    os.environ.update(environment)
    processes.PROCESSES = context()
    sys.path[:0] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    os.chdir(folder)
    exec(code, {"__name__": "__main__"})
