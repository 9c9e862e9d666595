"""A process of its own session with a folder of its own: begun once, seen by its files, stopped by SIGTERM."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from copublish.errors import INTERRUPTED, TERMINATED, WHAT_TO_DO, CopublishError
from copublish.files.home import make_private_folder
from copublish.files.regular import MIB, read_regular

REQUEST, LOCK, EVENTS, STATUS, END, RESULT = (
    *("request.json", "lock", "events.jsonl", "status.json", "end.json", "result.json"),
)
LARGEST_FILE = 64 * MIB
LARGEST_NUMBER = 64
STOP_SECONDS = 10.0
"""How long a process may take to say that it was stopped; it may be telling the other parties."""

STOPPED = "It was stopped."

EndState = Literal["complete", "failed", "stopped"]

ID = re.compile(r"[0-9a-f]{16,64}")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a process ended, in its own words.

    Attributes:
        state: As which kind of end.
        at: When, in UTC.
        exit_code: As the command would have.
        message: What to tell a person; empty where there is nothing to say.
        notices: Sentences about what did not end it, for a person.
    """

    state: EndState
    at: str
    exit_code: int = 0
    message: str = ""
    notices: tuple[str, ...] = ()

    @property
    def what_to_do(self) -> str:
        """What to do about it, by its exit code."""
        code = self.exit_code if self.state == "failed" else INTERRUPTED
        return WHAT_TO_DO.get(code, WHAT_TO_DO[1])


def refuse_wrong_id(id_: str) -> str:
    """An id that is no path; raise if it could be one."""
    if ID.fullmatch(id_) is None:
        raise CopublishError("An id has 16 to 64 of the characters 0-9 and a-f.")
    return id_


def begin(folder: Path, request: Mapping[str, Any], secrets: Mapping[str, str] | None = None) -> bool:
    """Start a process for a request, unless its folder is there: then another one was faster.

    The folder comes into being as a whole, with the lock held; the process inherits the lock. So there is no moment at
    which two are started, or at which one that is starting looks dead.

    Args:
        folder: Where it will live.
        request: What it is asked for, as plain JSON values.
        secrets: Passphrases. They go through a pipe and are written nowhere.

    Returns:
        Whether this call started it.
    """
    make_private_folder(folder.parent)
    new = folder.parent / f".new-{os.urandom(8).hex()}"
    new.mkdir(mode=0o700)
    descriptor = os.open(new / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_json(new / REQUEST, request)
        try:
            new.rename(folder)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            if not folder.is_dir():
                raise
            return False
        _spawn(folder, descriptor, secrets or {})
    finally:
        os.close(descriptor)  # the process has it now
    return True


def _spawn(folder: Path, lock: int, secrets: Mapping[str, str]) -> None:
    # -P: nothing is imported from the folder that somebody happens to be in.
    command = [sys.executable, "-P", "-m", "copublish.party.detached.worker", str(folder), str(lock)]
    # What libraries print can quote private values, so it is not kept.
    process = subprocess.Popen(  # noqa: S603  # our own module
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock,),
        start_new_session=True,
    )
    write_number(lock, process.pid)
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it ended at once; its files say so
            process.stdin.write(json.dumps(dict(secrets)).encode())
            process.stdin.close()


def write_number(lock: int, number: int) -> None:
    """Write the number of the process that holds a lock into it."""
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(number).encode(), 0)


def is_alive(folder: Path) -> bool:
    """Whether the process of a folder lives: whether somebody holds its lock."""
    with _lock_of(folder) as descriptor:
        return descriptor is not None and not _could_lock(descriptor)


def stop(folder: Path, *, seconds: float = STOP_SECONDS) -> bool:
    """Ask a process to end, and wait for that.

    Returns:
        Whether it has ended, now or before.
    """
    with _lock_of(folder) as lock:
        if lock is None or _could_lock(lock):
            return True
        number = os.pread(lock, LARGEST_NUMBER, 0)
        with suppress(ProcessLookupError, ValueError):
            handle = os.pidfd_open(int(number))
            try:
                if not _could_lock(lock):  # it lives, so the number is still its own
                    signal.pidfd_send_signal(handle, signal.SIGTERM)
            finally:
                os.close(handle)
        until = time.monotonic() + seconds
        while not (ended := _could_lock(lock)) and time.monotonic() < until:
            time.sleep(0.05)
    if ended and read_end(folder) is None:
        # It was still being loaded and could not say so itself. Nothing of it had begun.
        write_end(folder, Ended(state="stopped", at=now(), exit_code=TERMINATED, message=STOPPED))
        (folder / STATUS).unlink(missing_ok=True)
    return ended


def remove_status_of_dead(folder: Path) -> None:
    """Remove what a process that was killed has left of its status: it can tell numbers of records."""
    if not is_alive(folder):
        for path in (folder / STATUS, *folder.glob(f".{STATUS}-*")):  # the second: one that was being written
            path.unlink(missing_ok=True)


@contextmanager
def _lock_of(folder: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _could_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def write_json(path: Path, content: object) -> None:
    """Write a file that this user alone can read; whoever reads it sees the old one or the new one, and no half."""
    new = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    new.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """What a file of a folder says; none if it is not there, or is not what we write."""
    try:
        found = json.loads(read_regular(path, LARGEST_FILE, follow=False))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_end(folder: Path, ended: Ended) -> None:
    """Write how the process of a folder ended."""
    write_json(folder / END, asdict(ended))


def now() -> str:
    """The time as it stands in the files of a folder."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_end(folder: Path) -> Ended | None:
    """How the process of a folder ended; none while it lives, and if it was killed."""
    found = read_json(folder / END)
    if found is None or found.get("state") not in ("complete", "failed", "stopped"):
        return None
    return Ended(
        state=found["state"],
        at=str(found.get("at", "")),
        exit_code=int(found.get("exit_code", 1)),
        message=str(found.get("message", "")),
        notices=tuple(map(str, found.get("notices", []))),
    )


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The log of a process, oldest first; a line that is being written is left out."""
    try:
        lines = read_regular(folder / EVENTS, LARGEST_FILE, follow=False).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                found.append(event)
    return found
