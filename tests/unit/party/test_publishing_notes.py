"""What killed runs left undone is done by the next command: ledgers name published releases, and folders go."""

from __future__ import annotations

import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from functools import cache
from pathlib import Path

import psutil
import pytest

from copublish.errors import ReleaseError
from copublish.files.home import publishing_folder
from copublish.files.scratch import NEW_SECONDS, Scratch, remove_abandoned
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.publishing_notes import noted, settle_notes
from copublish.release.folder import Release
from support.commands import run
from support.releases import small_release
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # releases, and processes

PRICE = Cost(add_remove=Fraction(1, 2), replace=Fraction(1))


@cache
def release() -> Release:
    return small_release(200)[0]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def ledger(home):
    """A ledger whose run was killed: its charge is reserved."""
    book = Ledger(home / "ledger.db", patience_seconds=0)
    book.set_limit("people", Limit(Fraction(3), "add-remove"))
    killed = ExitStack()
    killed.enter_context(book.reserve("people", "flu", release().certificate.agreement_hash, PRICE))
    yield book
    killed.pop_all()


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Another program holds the ledger."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.close()


def states(book: Ledger) -> list[str]:
    return [entry.state for entry in book.entries()]


def notes() -> list[Path]:
    return list(publishing_folder().glob("*"))


def test_a_release_that_was_published_while_the_ledger_was_held_is_complete_after_the_next_command(home, ledger):
    with noted(release(), home / "release", ledger):
        release().write(home / "release")
        hold = held(home / "ledger.db")
        hold.__enter__()  # the run cannot tell its ledger, and ends
    assert len(notes()) == 1
    settle_notes(lambda said: pytest.fail("it is still held"))
    hold.__exit__(None, None, None)
    assert states(ledger) == ["reserved"]
    done = run("runs", home=home)  # any command
    assert "was published; its ledger" in done.stderr
    assert states(ledger) == ["complete"] and ledger.spent("people").add_remove == Fraction(1, 2)
    assert notes() == []


def test_a_run_that_was_killed_before_it_published_stays_as_it_is(home, ledger):
    with suppress(KeyboardInterrupt), noted(release(), home / "release", ledger):
        raise KeyboardInterrupt
    assert len(notes()) == 1
    (home / "release").mkdir()  # which is no release
    settle_notes(pytest.fail)
    assert (states(ledger), notes()) == (["reserved"], [])


def test_a_run_that_was_interrupted_after_it_published_is_complete_after_the_next_command(home):
    book = Ledger(home / "ledger.db")
    book.set_limit("people", Limit(Fraction(3), "add-remove"))
    with (
        suppress(KeyboardInterrupt),
        book.reserve("people", "flu", release().certificate.agreement_hash, PRICE),
        noted(release(), home / "release", book),
    ):
        release().write(home / "release")
        raise KeyboardInterrupt
    assert states(book) == ["ended early, spent"]
    said: list[str] = []
    settle_notes(said.append)
    settle_notes(said.append)
    assert (states(book), len(said), notes()) == (["complete"], 1, [])


def test_another_release_in_the_folder_completes_nothing(home, ledger):
    small_release(201)[0].write(home / "release")
    with suppress(KeyboardInterrupt), noted(release(), home / "release", ledger):
        raise KeyboardInterrupt
    settle_notes(pytest.fail)
    assert (states(ledger), notes()) == (["reserved"], [])


def test_the_note_of_a_run_that_lives_is_left_alone_and_it_removes_it_itself(home, ledger):
    with noted(release(), home / "release", ledger):
        settle_notes(pytest.fail)
        assert len(notes()) == 1
        release().write(home / "release")
    assert (states(ledger), notes()) == (["complete"], [])


def test_what_is_no_note_ends_no_command(home):
    publishing_folder().mkdir()
    for number, text in enumerate(("", "[]", '{"ledger": 5}', '{"ledger": "/", "charge": 1}')):
        (publishing_folder() / f"{number}.json").write_text(text)
    settle_notes(pytest.fail)
    (home / "publishing" / "folder.json").mkdir()
    settle_notes(pytest.fail)


def test_without_a_note_nothing_is_published(home, ledger, monkeypatch):
    (home / "publishing").write_text("no folder")
    with pytest.raises(ReleaseError, match="Nothing is published"), noted(release(), home / "release", ledger):
        pytest.fail("it went on")


HOLDER = """
import sys
from pathlib import Path
from copublish.files.scratch import Scratch
held = Scratch(sys.argv[1], Path(sys.argv[2]))
print(held.path, flush=True)
sys.stdin.read()
"""


def left_by_a_killed_process(parent: Path, prefix: str) -> Path:
    """The folder of a process that was killed together with its janitor, as by a machine that stops."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, prefix, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    path = Path(process.stdout.readline().strip())
    (janitor,) = psutil.Process(process.pid).children()
    janitor.kill()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (path / "rows.csv").write_text("private")
    return path


def age(path: Path) -> None:
    old = path.stat().st_mtime - 2 * NEW_SECONDS
    os.utime(path, (old, old))


def test_folders_of_dead_processes_go_and_those_of_living_ones_stay(home):
    dead = left_by_a_killed_process(home, "copublish-worker-")
    beside = left_by_a_killed_process(home, ".release-")
    with Scratch("copublish-worker-", home) as alive:
        remove_abandoned()
        assert dead.exists() and alive.exists()  # so young that it may not be locked yet
        (home / "copublish-of-somebody").mkdir()
        for path in (dead, beside, alive, home / "copublish-of-somebody"):
            age(path)
        run("runs", home=home)
        assert not dead.exists() and alive.exists() and (home / "copublish-of-somebody").exists()
        assert beside.exists()
        remove_abandoned(home, ".release-")
        assert not beside.exists()
        descriptor = os.open(alive, os.O_RDONLY)
        with pytest.raises(BlockingIOError):  # the lock is what keeps it
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)


STUDIO = "from copublish.cli import main; main()"


def test_a_page_that_is_killed_leaves_nothing(tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", STUDIO, "studio", "--no-open", "--agreement", str(tmp_path / "agreement.toml")],
        env={**os.environ, "COPUBLISH_HOME": str(tmp_path / "home"), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout.readline().startswith("http://127.0.0.1")
    assert len(list(temporary.iterdir())) == 1
    process.kill()
    process.communicate()
    wait_until(lambda: not list(temporary.iterdir()))
