"""Logs of runs and relays: records of the loggers `copublish.run` and `copublish.relay`, without private values.

Events carry public facts alone: names from the agreement, addresses, phases, numbers of bytes. Rows, identifiers,
counts and shares never reach this module; errors are logged by the message that is shown, which names columns and
rules only. Nothing is configured here: programs that use the package attach handlers to the loggers as usual.
"""

from __future__ import annotations

import contextlib
import json
import logging
import logging.handlers
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from copublish.errors import CopublishError
from copublish.files.home import make_private_folder

TO_STDERR, SYSLOG = "stderr", "syslog"
"""Where a log can go besides a file; systemd keeps what a service writes to stderr in its journal."""

SYSLOG_SOCKET = "/dev/log"

LEVELS = {"failed": logging.ERROR, "warning": logging.WARNING}
"""Levels of events; of all others `INFO`."""


class JsonFormatter(logging.Formatter):
    """One JSON object on a line: time, event and its facts."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = getattr(record, "event", None) or record.getMessage()
        return json.dumps({"at": at, "event": event, **getattr(record, "facts", {})}, default=str)


class PrivateFile(logging.Handler):
    """Handler for a file that its owner alone can read, and that is never a link.

    Raises:
        CopublishError: If it cannot be written.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        try:
            make_private_folder(file.parent)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.fchmod(descriptor, 0o600)
        except OSError as exc:
            raise CopublishError(f"The log cannot be written to '{file}': {exc.strerror}. Nothing was spent.") from exc
        self._descriptor: int | None = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; a full disk must not end a run that has spent budget."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.write(self._descriptor, (self.format(record) + "\n").encode())

    def close(self) -> None:
        """Close the file; what is logged later goes nowhere."""
        with contextlib.nullcontext() if self.lock is None else self.lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
        super().close()


class _Stream(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # a broken pipe must not end a run
        pass


class _Syslog(logging.handlers.SysLogHandler):
    ident = "copublish: "

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # a daemon that restarts must not end a run
        pass


def log_to(place: Path) -> logging.Handler:
    """The handler for a log as JSON: a file, `stderr` or `syslog`.

    Raises:
        CopublishError: If it cannot be written.
    """
    if str(place) == TO_STDERR:
        handler = log_to_stream(sys.stderr)
    elif str(place) == SYSLOG:
        if not Path(SYSLOG_SOCKET).exists():
            raise CopublishError(f"There is no syslog at {SYSLOG_SOCKET}. Name a file with --log. Nothing was spent.")
        handler = _Syslog(SYSLOG_SOCKET)
    else:
        handler = PrivateFile(place)
    handler.setFormatter(JsonFormatter())
    return handler


def log_to_stream(stream: TextIO) -> logging.Handler:
    """The handler for a log as JSON on an open stream."""
    handler: logging.Handler = _Stream(stream)
    handler.setFormatter(JsonFormatter())
    return handler


class TellingHandler(logging.Handler):
    """Handler that passes every event on as one line of text.

    Args:
        tell: Called with the line.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on one record."""
        self._tell(self.format(record))


class EventLog:
    """The log of one run or relay: handlers of its own, and those of its logger.

    Args:
        name: The logger: `copublish.run` or `copublish.relay`.
        handlers: Handlers that get the events of this one alone, whatever is configured.
    """

    def __init__(self, name: str, *handlers: logging.Handler) -> None:
        self._logger, self._own_handlers = logging.getLogger(name), handlers

    def __call__(self, event: str, **facts: object) -> None:
        """Log one event."""
        level = LEVELS.get(event, logging.INFO)
        text = " ".join([event, *(f"{key}={value}" for key, value in facts.items())])
        extra = {"event": event, "facts": facts}
        record = self._logger.makeRecord(self._logger.name, level, "", 0, text, (), None, extra=extra)
        for handler in self._own_handlers:
            handler.handle(record)
        if self._logger.isEnabledFor(level) and self._logger.hasHandlers():
            self._logger.handle(record)

    def close(self) -> None:
        """Close its own handlers."""
        for handler in self._own_handlers:
            handler.close()


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
