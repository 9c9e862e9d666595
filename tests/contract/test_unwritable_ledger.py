"""A ledger that cannot be written is noticed before the other parties reserve, with the cause in words.

Causes are real ones: a file system that is full or mounted read-only (root alone), a limit on the size of files, a
folder without the right to write, and a connection that may not write.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from copublish.errors import LedgerError, PartyLostError
from copublish.kernel.accounting.cost import Cost
from copublish.kernel.ledger.database import HURRY_MILLISECONDS, LOCK_TIMEOUT_SECONDS
from copublish.kernel.ledger.ledger import ROOM_BYTES, Ledger, Limit
from copublish.mechanisms.registry import plan_of
from copublish.party.session import preflight
from support import random_table
from support.messages import masked_agreement, publish_by_masked_sums, split_rows

PRICE = Cost(add_remove=Fraction(1, 10), replace=Fraction(1, 5))


def limited(path: Path, dataset: str = "people") -> Ledger:
    book = Ledger(path)
    book.set_limit(dataset, Limit(Fraction(50), "replace"))
    return book


@contextmanager
def small_disk(folder: Path, size: str = "512k") -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=False)
    if done.returncode != 0:
        pytest.skip("needs root, to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Write until the disk is full."""
    with (folder / "filler").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))


@contextmanager
def full_disk(folder: Path) -> Iterator[Ledger]:
    with small_disk(folder) as disk:
        book = limited(disk / "party.db")
        fill(disk)
        yield book
        book.close()


@contextmanager
def read_only_disk(folder: Path) -> Iterator[Ledger]:
    with small_disk(folder) as disk:
        limited(disk / "party.db").close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        book = Ledger(disk / "party.db")
        yield book
        book.close()


@contextmanager
def limited_files(folder: Path) -> Iterator[Ledger]:
    folder.mkdir()
    book = limited(folder / "party.db")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (folder / "party.db").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield book
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    book.close()


@contextmanager
def folder_without_rights(folder: Path) -> Iterator[Ledger]:
    """SQLite writes a journal beside the file; root may, whatever the mode says, so become nobody."""
    folder.mkdir()
    limited(folder / "party.db").close()
    (folder / "party.db").chmod(0o666)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    closed = {above: above.stat().st_mode for above in folder.parents if is_root and not above.stat().st_mode & 1}
    for above in closed:
        above.chmod(0o755)
    if is_root:
        os.seteuid(65534)
    try:
        book = Ledger(folder / "party.db")
        yield book
        book.close()
    finally:
        if is_root:
            os.seteuid(0)
        for above, mode in closed.items():
            above.chmod(mode)
        folder.chmod(0o755)


CAUSES: dict[str, tuple[Callable[[Path], object], str]] = {
    "full disk": (full_disk, "the disk is full"),
    "read-only disk": (read_only_disk, "read-only"),
    "limit on files": (limited_files, "the disk does not take it"),
    "folder without rights": (folder_without_rights, "read-only"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_cannot_be_written_is_noticed_before_anything_is_reserved_and_says_why(tmp_path, cause):
    make, words = CAUSES[cause]
    with make(tmp_path / "disk") as book:
        book.refuse_if_over("people", PRICE)  # there is enough
        with pytest.raises(LedgerError, match=words) as caught:
            book.refuse_if_unwritable()
        assert "rollback" not in str(caught.value)
        assert book.entries() == []


def test_a_full_disk_is_named_when_a_charge_is_written_too(tmp_path):
    with (
        full_disk(tmp_path / "disk") as book,
        pytest.raises(LedgerError, match="the disk is full"),
        book.reserve("people", "r", "h" * 10**5, PRICE),
    ):
        pass


def test_after_a_failure_the_ledger_can_be_written_again(tmp_path):
    with full_disk(tmp_path / "disk") as book:
        with pytest.raises(LedgerError):
            book.refuse_if_unwritable()
        (tmp_path / "disk" / "filler").unlink()
        book.refuse_if_unwritable()
        with book.reserve("people", "r", "h", PRICE):
            pass
        assert [entry.state for entry in book.entries()] == ["complete"]


def test_words_about_a_ledger_follow_what_was_opened(tmp_path):
    book = Ledger(tmp_path / "party.db", patience_seconds=0)
    book.set_limit("people", Limit(Fraction(50), "replace"))
    other = sqlite3.connect(tmp_path / "party.db", isolation_level=None)

    receipt = {
        "run": "1",
        "release": "first",
        "agreement_hash": "h",
        "party": "bank",
        "head": "",
        "statement": "",
    }

    def refusal(work: Callable[[], object]) -> str:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError) as caught:
            work()
        other.execute("ROLLBACK")
        return str(caught.value)

    for _ in range(2):
        with book.reserve("people", "first", "h", PRICE) as charge:
            for work in (lambda: charge.disclose("counts", PRICE), book.entries):
                assert "Nothing is opened." in refusal(work)
            charge.disclose("counts", PRICE)
            for work in (lambda: book.give_receipt(**receipt), book.entries):
                said = refusal(work)
                assert "Nothing is opened" not in said
                assert "Nothing more is opened; what was charged before stays charged." in said


def test_who_has_waited_for_a_ledger_in_vain_does_not_wait_as_long_again(tmp_path):
    book = Ledger(tmp_path / "party.db", patience_seconds=0.01)
    other = sqlite3.connect(tmp_path / "party.db", isolation_level=None)
    for work in (book.entries, book.refuse_if_unwritable):
        book._database.execute("PRAGMA busy_timeout = 10")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError):
            work()
        other.execute("ROLLBACK")
        assert book._database.execute("PRAGMA busy_timeout").fetchone() == (HURRY_MILLISECONDS,)
    assert HURRY_MILLISECONDS < 1000 * LOCK_TIMEOUT_SECONDS / 10


def test_the_room_of_a_heartbeat_stays_with_the_file_and_takes_a_charge_on_a_disk_that_is_nearly_full(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        book = limited(disk / "party.db")
        book.refuse_if_unwritable()
        size = (disk / "party.db").stat().st_size
        fill(disk)
        with (disk / "filler").open("r+b") as file:  # for the journal, which goes after every transaction
            file.truncate((disk / "filler").stat().st_size - 32 * 2**10)
        with book.reserve("people", "r", "h", PRICE) as charge:
            for number in range(100):
                charge.disclose(f"table {number}", Cost(add_remove=Fraction(0), replace=Fraction(0)))
        assert (disk / "party.db").stat().st_size == size
        book.close()


def test_a_heartbeat_changes_nothing_that_the_ledger_says_and_does_not_pile_up(tmp_path):
    path = tmp_path / "party.db"
    book = limited(path)
    before = (book.entries(), book.limited_datasets(), book.limit("people"), book.spent("people"))
    book.refuse_if_unwritable()
    size = path.stat().st_size
    for _ in range(5):
        book.refuse_if_unwritable()
    assert (book.entries(), book.limited_datasets(), book.limit("people"), book.spent("people")) == before
    assert path.stat().st_size == size < 2 * ROOM_BYTES + 10**5
    book.close()
    with sqlite3.connect(path) as database:  # it is on disk, and other software sees it
        assert database.execute("SELECT count(*), length(room) FROM heartbeat").fetchall() == [(1, 0)]
    database.close()


def test_when_one_party_s_ledger_cannot_be_written_nobody_else_pays(tmp_path):
    agreement = masked_agreement(3)
    table = random_table(agreement, 60, np.random.default_rng(1))
    frames = split_rows(agreement, table, np.random.default_rng(2))
    ledgers = {party: limited(tmp_path / f"{party}.db", agreement.dataset) for party in agreement.parties}
    ledgers["p1"]._database.execute("PRAGMA query_only = ON")
    outcomes = publish_by_masked_sums(agreement, frames, ledgers=ledgers)
    assert isinstance(outcomes["p1"], LedgerError), outcomes
    assert isinstance(outcomes["p0"], PartyLostError), outcomes
    assert [ledger.entries() for ledger in ledgers.values()] == [[], [], []]
    ledgers["p1"]._database.execute("PRAGMA query_only = OFF")
    again = publish_by_masked_sums(agreement, frames, ledgers=ledgers)
    assert not any(isinstance(outcome, Exception) for outcome in again.values()), again
    assert [len(ledger.entries()) for ledger in ledgers.values()] == [1, 1, 1]


def test_a_ledger_that_cannot_be_written_is_noticed_before_anybody_is_asked_or_called(tmp_path):
    agreement = masked_agreement(2)
    book = limited(tmp_path / "party.db", agreement.dataset)
    frame = random_table(agreement, 20, np.random.default_rng(1))
    settings = {"out": tmp_path / "out", "overwrite": False}
    assert preflight(agreement, "p0", frame, book, **settings).cost() == plan_of(agreement).cost()
    book._database.execute("PRAGMA query_only = ON")
    with pytest.raises(LedgerError, match="read-only"):
        preflight(agreement, "p0", frame, book, **settings)
