"""Temporary folders that go however a process ends."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

_JANITOR = 'read _; sleep 1; rm -rf -- "$0"'
"""Waits until its input ends, as it does when this process dies for whatever reason, and takes the folder away."""


class Scratch:
    """A private folder that is removed on normal exit, on an exception and when the process is killed."""

    def __init__(self, prefix: str = "copublish-", parent: Path | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._janitor = subprocess.Popen(  # noqa: S603  # a fixed program; the folder is an argument
            ["/bin/sh", "-c", _JANITOR, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder now."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._janitor.kill()
        self._janitor.wait()
        if self._janitor.stdin is not None:
            self._janitor.stdin.close()
