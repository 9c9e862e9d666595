"""The log of a run: one file, one JSON object for each event, and never a private value.

Events carry public facts alone: names from the agreement, addresses, phases, numbers of bytes. Rows, identifiers,
counts and shares never reach this module; errors are logged by the message that is shown, which names columns and
rules only.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
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


def log_file(folder: Path, release: str, party: str) -> Path:
    """The file for a run that starts now."""
    start = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return folder / f"{start}-{release}-{party}-{os.getpid()}.jsonl"
