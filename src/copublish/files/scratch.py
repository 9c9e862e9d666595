"""A private temporary folder that goes when its process does, however that ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

JANITOR = 'read _; rm -rf -- "$0"; sleep 1; rm -rf -- "$0"'
"""Waits for the end of its input, which is the end of the process that holds the other end, and removes the folder;
then once more, for what a dying child of that process still wrote."""


SOCKET_PATH_BYTES = 100
"""The path of a unix socket has at most 107 bytes on Linux and 103 elsewhere."""


def folder_for_sockets() -> Scratch:
    """A folder with a path short enough for unix sockets: in /tmp if that of temporary files is too long."""
    parent = Path(tempfile.gettempdir()).absolute()
    longest = parent / f"copublish-{'0' * 16}" / "peer.sock"
    return Scratch(parent=parent if len(os.fsencode(longest)) <= SOCKET_PATH_BYTES else Path("/tmp"))  # noqa: S108


class Scratch:
    """A folder that only this user can enter, removed when its time is over or when this process ends.

    A process that is killed cannot tidy up, so a shell waits beside it: the shell's input is a pipe whose other end
    this process alone holds. Python's files are not inherited by programs that it starts (PEP 446), children that
    are spawned included; a child made by a bare fork would hold the pipe open, and the package makes none.

    Args:
        prefix: How the folder's name begins.
        parent: Where it is made; in the system's folder for temporary files, if not given.
    """

    def __init__(self, prefix: str = "copublish-", parent: Path | None = None) -> None:
        # Only a name until the janitor waits, so that there is no moment at which a killed process leaves a folder.
        self.path = Path(parent or tempfile.gettempdir()).absolute() / f"{prefix}{os.urandom(8).hex()}"
        janitor = subprocess.Popen(  # noqa: S603  # a fixed program; the folder is an argument
            ["/bin/sh", "-c", JANITOR, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,  # a Ctrl-C at the terminal is not meant for it
        )
        self._finalizer = weakref.finalize(self, _tidy_up, self.path, janitor)
        self.path.mkdir(mode=0o700)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder now. May be called twice."""
        self._finalizer()


def _tidy_up(path: Path, janitor: subprocess.Popen[bytes]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():  # else something is still being written there, and the janitor has another go
        janitor.kill()
        janitor.wait()  # it is dead already; this only takes it off the list of processes
    if janitor.stdin is not None:
        janitor.stdin.close()
