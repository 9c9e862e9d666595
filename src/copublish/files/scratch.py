"""A private temporary folder that goes when its process does, however that ends."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

JANITOR = 'read _; rm -rf -- "$0"; sleep 1; rm -rf -- "$0"'
"""Waits for the end of its input, which is the end of the process that holds the other end, and removes the folder;
then once more, for what a dying child of that process still wrote."""

PREFIX = "copublish-"

RANDOM_BYTES = 7
"""In a folder's name."""

NEW_SECONDS = 60.0
"""A folder that is younger may be one whose process has not locked it yet."""

SOCKET_PATH_BYTES = 100
"""The path of a unix socket has at most 107 bytes on Linux and 103 elsewhere."""


def folder_for_sockets() -> Scratch:
    """A folder with a path short enough for unix sockets: in /tmp if that of temporary files is too long."""
    parent = Path(tempfile.gettempdir()).absolute()
    longest = parent / f"copublish-{'00' * RANDOM_BYTES}" / "peer.sock"
    return Scratch(parent=parent if len(os.fsencode(longest)) <= SOCKET_PATH_BYTES else Path("/tmp"))  # noqa: S108


class Scratch:
    """A folder that only this user can enter, removed when its time is over or when this process ends.

    A process that is killed cannot tidy up, so a shell waits beside it: the shell's input is a pipe whose other end
    this process alone holds. Python's files are not inherited by programs that it starts (PEP 446), children that
    are spawned included; a child made by a bare fork would hold the pipe open, and the package makes none.

    If the shell is killed as well, or the machine stops, `remove_abandoned` removes the folder later: this process
    holds a lock on it.

    Args:
        prefix: How the folder's name begins.
        parent: Where it is made; in the system's folder for temporary files, if not given.
    """

    def __init__(self, prefix: str = PREFIX, parent: Path | None = None) -> None:
        # Only a name until the janitor waits, so that there is no moment at which a killed process leaves a folder.
        self.path = Path(parent or tempfile.gettempdir()).absolute() / f"{prefix}{os.urandom(RANDOM_BYTES).hex()}"
        janitor = subprocess.Popen(  # noqa: S603  # a fixed program; the folder is an argument
            ["/bin/sh", "-c", JANITOR, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,  # a Ctrl-C at the terminal is not meant for it
        )
        locks: list[int] = []
        self._finalizer = weakref.finalize(self, _tidy_up, self.path, janitor, locks)
        self.path.mkdir(mode=0o700)
        locks.append(_locked(self.path))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder now. May be called twice."""
        self._finalizer()


def remove_abandoned(parent: Path | None = None, prefix: str = PREFIX) -> None:
    """Remove scratch folders of this user whose process is gone, and whose shell was, too.

    Args:
        parent: Where they are; the system's folder for temporary files, if not given.
        prefix: How their names begin.
    """
    parent = parent or Path(tempfile.gettempdir())
    pattern = re.compile(re.escape(prefix) + "([a-z]+-)?" + f"[0-9a-f]{{{2 * RANDOM_BYTES}}}")
    for entry in os.scandir(parent):
        if not pattern.fullmatch(entry.name):
            continue
        with suppress(OSError):  # it lives, is gone by now, or lies where nothing can be locked
            about = entry.stat(follow_symlinks=False)
            is_ours = about.st_uid == os.getuid() and entry.is_dir(follow_symlinks=False)
            if is_ours and time.time() - about.st_mtime > NEW_SECONDS:
                lock = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(lock)


def _locked(folder: Path) -> int:
    """A lock on a folder, held while this process lives or until it is closed."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with suppress(OSError):  # a file system without locks, on which nothing is ever taken for abandoned
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return lock


def _tidy_up(path: Path, janitor: subprocess.Popen[bytes], locks: list[int]) -> None:
    for lock in locks:
        os.close(lock)
    shutil.rmtree(path, ignore_errors=True)
    if not path.exists():  # else something is still being written there, and the janitor has another go
        janitor.kill()
        janitor.wait()  # it is dead already; this only takes it off the list of processes
    if janitor.stdin is not None:
        janitor.stdin.close()
