"""The log of a run, or of a relay: one file, one JSON object for each event, and never a private value.

Events carry public facts alone: names from the agreement, addresses, phases, numbers of bytes. Rows, identifiers,
counts and shares never reach this module; errors are logged by the message that is shown, which names columns and
rules only.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from copublish.errors import CopublishError
from copublish.files.home import make_private_folder


class RunLog:
    """Writes events to a file and, if wanted, tells a person."""

    def __init__(self, file: Path, *, tell: Callable[[str], None] | None = None) -> None:
        self.path = file
        try:
            make_private_folder(file.parent)
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            os.fchmod(self._file, 0o600)
        except OSError as exc:
            raise CopublishError(f"The log cannot be written to '{file}': {exc.strerror}. Nothing was spent.") from exc
        self._tell, self._lock = tell, threading.Lock()

    def __call__(self, event: str, **facts: object) -> None:
        """Write one event."""
        entry = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **facts}
        with self._lock, contextlib.suppress(OSError):  # a full disk must not end a run that has spent budget
            os.write(self._file, (json.dumps(entry, default=str) + "\n").encode())
        if self._tell is not None:
            self._tell(" ".join([event, *(f"{key}={value}" for key, value in facts.items())]))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class RationedLog:
    """Passes on so many events of a kind in a minute and counts the others: strangers must not fill a disk.

    Args:
        log: Where they go.
        lines: How many of a kind in a minute. There are few kinds, none of which a stranger names.
    """

    def __init__(self, log: Callable[..., None], lines: int) -> None:
        self._log, self._lines = log, lines
        self._minute, self._times = 0, Counter[str]()

    def __call__(self, event: str, **facts: object) -> None:
        """Log one event; before the first of a minute, how many there were of those left out in the last one."""
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            for kind, times in self._times.items():
                if times > self._lines:
                    self._log(f"{kind} in all", times=times)
            self._minute, self._times = minute, Counter()
        self._times[event] += 1
        if self._times[event] <= self._lines:
            self._log(event, **facts)


def log_file(folder: Path, release: str, party: str) -> Path:
    """The file for a run that starts now."""
    start = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return folder / f"{start}-{release}-{party}-{os.getpid()}.jsonl"
