"""Notes of releases that are being published, by which ledgers name them complete whatever becomes of their run.

A run can be killed, or another program hold its ledger, between the moment at which a release gets its name and the one
at which the ledger says so. A note in the copublish folder outlives that: the next command reads it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from copublish.errors import CopublishError, ReleaseError
from copublish.files.home import make_private_folder, publishing_folder
from copublish.files.regular import MIB, read_regular

if TYPE_CHECKING:
    from copublish.kernel.ledger.ledger import Ledger
    from copublish.release.folder import Release

Tell = Callable[[str], None]


@contextmanager
def noted(release: Release, folder: Path, ledger: Ledger) -> Iterator[None]:
    """Note that a release is being published, until its ledger says so.

    Args:
        release: The release, signed.
        folder: Where it will be.
        ledger: The ledger that has a charge for it.

    Raises:
        ReleaseError: If the note cannot be written. Nothing is published then.
    """
    note = publishing_folder() / f"{os.urandom(8).hex()}.json"
    content = {
        "ledger": str(Path(ledger.path).absolute()),
        "charge": ledger.newest_charge(release.certificate.agreement_hash),
        "folder": str(folder.absolute()),
        "digest": release.digest(),
    }
    try:
        make_private_folder(note.parent)
        descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise ReleaseError(f"'{note}' cannot be written: {exc.strerror}. Nothing is published.") from exc
    try:
        with suppress(OSError):  # where files cannot be locked, a note of a living run is taken for one of a dead run
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            os.write(descriptor, json.dumps(content).encode())
            os.fsync(descriptor)
        except OSError as exc:
            note.unlink(missing_ok=True)
            raise ReleaseError(f"'{note}' cannot be written: {exc.strerror}. Nothing is published.") from exc
        yield
        with suppress(OSError, CopublishError):  # the release is published, whatever comes of its note
            _settle(note, lambda said: None)
    finally:
        os.close(descriptor)


def settle_notes(tell: Tell) -> None:
    """Have ledgers name those releases complete whose runs could not. It never fails, and never waits.

    Args:
        tell: Told in a sentence what a person should know.

    Privacy:
        Changes the state of a charge from one that counts as spent to another one that does.
    """
    notes: list[Path] = []
    with suppress(OSError):
        notes = sorted(publishing_folder().glob("*.json"))
    for note in notes:
        with suppress(OSError, CopublishError, ValueError, KeyError, TypeError), _locked(note):
            _settle(note, tell)


@contextmanager
def _locked(note: Path) -> Iterator[None]:
    """Hold a note.

    Raises:
        BlockingIOError: If its run is still alive.
    """
    descriptor = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _settle(note: Path, tell: Tell) -> None:
    """Have the ledger say that a release is published, if it is, and remove the note."""
    from copublish.kernel.ledger.ledger import Ledger

    content = json.loads(read_regular(note, MIB, follow=False))
    if Path(content["ledger"]).exists():
        ledger = Ledger(content["ledger"], patience_seconds=0)
        try:
            if ledger.is_unpublished(content["charge"]) and _is_published(Path(content["folder"]), content["digest"]):
                ledger.complete_published(content["charge"])
                tell(f"The release in '{content['folder']}' was published; its ledger, '{ledger.path}', says so now.")
        finally:
            ledger.close()
    note.unlink(missing_ok=True)


def _is_published(folder: Path, digest: str) -> bool:
    from copublish.release.folder import load_release

    try:
        return load_release(folder).digest() == digest
    except ReleaseError:
        return False
