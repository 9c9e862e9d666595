"""A release that is replaced: whenever the process is killed, a complete one, old or new, is at its name."""

from __future__ import annotations

import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import copublish as cp
from copublish.files import regular as exchanging
from copublish.files.regular import exchange
from copublish.release import staging
from support.processes import context
from support.releases import small_release
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # processes that are killed

STEPS = ("os.", "shutil.", "ctypes.", "subprocess.")
LOOKS = ("os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

DEAD = 9


@cache
def releases() -> tuple[cp.Release, cp.Release]:
    return small_release(60)[0], small_release(90)[0]


def cannot(one: Path, other: Path) -> bool:
    return False


def changes_something(event: str, arguments: Any) -> bool:
    """Whether an event leaves another state behind: to die before a look is to die before the next change."""
    if event == "open":
        return bool(arguments[2] & WRITES)
    return event.startswith(STEPS) and event not in LOOKS


def replace(old_and_new: tuple[cp.Release, cp.Release], target: Path, kill_at: int, *, can_exchange: bool) -> None:
    """Replace a release, and die before the step with this number that touches files."""
    if not can_exchange:
        staging.exchange = cannot
    steps = 0

    def hook(event: str, arguments: Any) -> None:
        nonlocal steps
        if changes_something(event, arguments):
            steps += 1
            if steps == kill_at:
                os._exit(DEAD)

    _, new = old_and_new
    new.files()  # what is loaded on the way is loaded
    sys.addaudithook(hook)
    new.write(target, overwrite=True)
    os._exit(0)


def killed_everywhere(tmp_path: Path, *, can_exchange: bool):
    """Yield the place of a release after a kill at every step, until nothing is left to kill."""
    old, new = releases()
    for kill_at in range(1, 400):
        target = tmp_path / str(kill_at) / "release"
        old.write(target)
        arguments = ((old, new), target, kill_at)
        process = context().Process(target=replace, args=arguments, kwargs={"can_exchange": can_exchange})
        process.start()
        process.join(300)
        yield target
        if process.exitcode == 0:
            return
        assert process.exitcode == DEAD
    raise AssertionError("it never ended")


def test_a_complete_release_is_at_its_name_whenever_it_is_killed(tmp_path):
    digests = {release.digest() for release in releases()}
    seen = [cp.load_release(target).digest() for target in killed_everywhere(tmp_path, can_exchange=True)]
    assert set(seen) == digests
    assert seen == sorted(seen, key=lambda digest: digest == releases()[1].digest())
    wait_until(lambda: not list(tmp_path.glob("*/.*")))


def test_without_an_exchange_the_next_command_says_where_the_release_lies(tmp_path):
    moved_away = 0
    for target in killed_everywhere(tmp_path, can_exchange=False):
        if target.exists():
            cp.load_release(target)
            continue
        moved_away += 1
        for act in (lambda at: cp.load_release(at), lambda at: releases()[1].write(at, overwrite=True)):
            with pytest.raises(cp.ReleaseError, match="lies in") as refused:
                act(target)
        (aside,) = target.parent.glob(".release-old-*")
        assert str(aside) in str(refused.value)
        assert cp.load_release(aside).digest() == releases()[0].digest()
    assert moved_away


def test_what_an_earlier_run_left_is_removed_once_a_new_release_is_there(tmp_path, monkeypatch):
    old, new = releases()
    target = old.write(tmp_path / "release")
    monkeypatch.setattr(staging, "exchange", cannot)
    monkeypatch.setattr(staging.shutil, "rmtree", lambda *_, **__: None)
    new.write(target, overwrite=True)
    monkeypatch.undo()
    assert list(tmp_path.glob(".release-old-*"))
    (tmp_path / ".release-old-mine").mkdir()
    old.write(target, overwrite=True)
    assert [path.name for path in tmp_path.glob(".release-old-*")] == [".release-old-mine"]


def test_a_failed_second_step_puts_the_old_release_back_or_says_where_it_is(tmp_path, monkeypatch):
    old, new = releases()
    target = old.write(tmp_path / "release")
    monkeypatch.setattr(staging, "exchange", cannot)
    rename = Path.rename

    def fails(self: Path, to: Path) -> Path:
        if self.name == "release" and self != target:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(cp.ReleaseError, match="Input/output error"):
        new.write(target, overwrite=True)
    assert cp.load_release(target).digest() == old.digest()

    def fails_twice(self: Path, to: Path) -> Path:
        if self != target:
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails_twice)
    with pytest.raises(cp.ReleaseError, match="lies in"):
        new.write(target, overwrite=True)


def test_an_exchange_is_done_or_nothing_changes(tmp_path, monkeypatch):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    assert exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("2", "1")
    with pytest.raises(FileNotFoundError):
        exchange(one, tmp_path / "nowhere")
    monkeypatch.setattr(exchanging.ctypes, "CDLL", lambda *_, **__: object())
    assert not exchange(one, other)
    assert (one.read_text(), other.read_text()) == ("2", "1")
