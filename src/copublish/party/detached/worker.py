"""What happens in the process of a run or a job, which `process.begin` starts."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from copublish.errors import TERMINATED, CopublishError, LedgerError, PassphraseError, StoppedError
from copublish.party.detached.process import (
    EVENTS,
    REQUEST,
    RESULT,
    STATUS,
    STOPPED,
    Ended,
    EndState,
    now,
    read_json,
    write_end,
    write_json,
    write_number,
)

STATUS_SECONDS = 0.5
"""How often the status is replaced at most, but for a new phase."""

Runner = Callable[[Path, Mapping[str, Any], Mapping[str, str], "Status"], None]

JOBS = {"plan": "copublish", "try_mechanism": "copublish.planning", "audit": "copublish"}
"""Public functions that a job may call, by their module: they take progress, touch no private data and return an object
with `to_dict`."""


class Status:
    """How far a process is, in a file that is replaced as a whole and goes at the end."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / STATUS
        self._said: dict[str, Any] = {"phases": []}
        self._written = 0.0
        self.notices: list[str] = []
        self._must_stop = False

    def stop(self) -> None:
        """End this process; whoever handles a signal calls this."""
        self._must_stop = True
        sys.exit(TERMINATED)

    def stop_if_asked(self) -> None:
        """End this process if it was told to and goes on all the same.

        What a signal raises can be lost on its way: DuckDB makes an error of its own of it, which an audit takes for
        the end of one of its runs.
        """
        if self._must_stop:
            sys.exit(TERMINATED)

    def progress(self, phase: str, done: int, of: int) -> None:
        """Tell the phase, and how many of its steps are done."""
        self.stop_if_asked()
        phases = self._said["phases"]
        is_new = not phases or phases[-1]["phase"] != phase
        if is_new:
            if phases:
                phases[-1]["ended"] = time.time()
            phases.append({"phase": phase, "began": time.time()})
            self._said.pop("waiting", None)
        phases[-1] |= {"done": done, "of": of}
        if is_new or done >= of or time.monotonic() - self._written >= STATUS_SECONDS:
            self._write()

    def waiting(self, what: str) -> None:
        """Tell what is waited for."""
        self._said["waiting"] = {"what": what, "since": time.time()}
        self._write()

    def tell(self, **facts: object) -> None:
        """Tell something else."""
        self._said |= facts
        self._write()

    def notice(self, sentence: str) -> None:
        """Keep a sentence for a person."""
        self.notices.append(sentence)

    def remove(self) -> None:
        """Remove the file: it can tell numbers of records."""
        self._file.unlink(missing_ok=True)

    def _write(self) -> None:
        self._written = time.monotonic()
        with suppress(OSError):  # a full disk must not end a run that has spent budget
            write_json(self._file, self._said)


def main() -> None:
    """Do what the request of a folder asks for, and leave how it ended."""
    folder, lock = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lock, False)  # children of this process do not keep it alive
    write_number(lock, os.getpid())
    status = Status(folder)
    signal.signal(signal.SIGTERM, lambda *_: status.stop())  # by an exception, so that the other parties are told
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for who started this
    secrets = json.load(sys.stdin)
    request = read_json(folder / REQUEST) or {}
    try:
        RUNNERS[request["kind"]](folder, request, secrets, status)
    except CopublishError as exc:
        state: EndState = "stopped" if isinstance(exc, StoppedError) else "failed"
        _end(folder, status, state, exc.exit_code, str(exc))
    except (SystemExit, KeyboardInterrupt):
        _end(folder, status, "stopped", TERMINATED, STOPPED)
    except BaseException as exc:
        # A message can hold private values; its kind does not.
        bug = f"copublish met something it did not expect ({type(exc).__name__}). This is a bug."
        _end(folder, status, "failed", 1, bug)
    else:
        _end(folder, status, "complete", 0, "")


def _end(folder: Path, status: Status, state: EndState, code: int, message: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is over; the last words still have to be written
    notices = tuple(status.notices)
    write_end(folder, Ended(state=state, at=now(), exit_code=code, message=message, notices=notices))
    status.remove()


def _run(folder: Path, request: Mapping[str, Any], secrets: Mapping[str, str], status: Status) -> None:
    """A release between machines, as `copublish run` makes it; who asked has consented to its price.

    Privacy:
        Reveals: as `run`. Nothing starts unless agreement and ledger are those that were shown to who asked.
    """
    from copublish.kernel.ledger.ledger import Ledger
    from copublish.party.log import log_to
    from copublish.party.request import RunRequest
    from copublish.party.run import Secrets, run_resolved
    from copublish.release.describe import Description

    run = RunRequest.from_json(request["request"]).resolve()
    if run.agreement.hash != request["agreement_hash"]:
        raise CopublishError(
            "The agreement was changed after it was shown. Nothing was spent and nobody was called. Look at it again."
        )
    status.tell(wait_seconds=run.wait_seconds)

    def is_as_shown(described: Description) -> bool:
        if request["ledger_state"] is not None and run.ledger is not None:
            ledger = Ledger(run.ledger)
            try:
                if ledger.head() != request["ledger_state"]:
                    raise LedgerError(
                        "The ledger was charged or changed after it was shown. Nothing was spent and nobody was "
                        "called. Look at it again."
                    )
            finally:
                ledger.close()
        return True

    run_resolved(
        run,
        Secrets(
            lambda what: _secret(secrets, "passphrase", what),
            lambda what: secrets.get("signer_passphrase") or _secret(secrets, "passphrase", what),
            lambda what: _secret(secrets, "pin", what),
        ),
        log_to(folder / EVENTS),
        consent=is_as_shown,
        progress=status.progress,
        waiting=status.waiting,
        notice=status.notice,
    )


def _secret(secrets: Mapping[str, str], kind: str, what: str) -> str:
    if not secrets.get(kind):
        raise PassphraseError(f"No {kind} was given for {what}. Nothing was spent and nobody was called.")
    return secrets[kind]


def _job(folder: Path, request: Mapping[str, Any], secrets: Mapping[str, str], status: Status) -> None:
    """Call a public function with plain values, and keep its result."""
    function = getattr(importlib.import_module(JOBS[request["kind"]]), request["kind"])
    found = function(**request["arguments"], progress=status.progress)
    status.stop_if_asked()
    write_json(folder / RESULT, found.to_dict())


RUNNERS: dict[str, Runner] = {"run": _run, **dict.fromkeys(JOBS, _job)}


if __name__ == "__main__":
    main()
