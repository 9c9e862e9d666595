"""Scratch folders go with their process, however it ends, and while it lives only its user can enter them."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from copublish.files.scratch import Scratch

pytestmark = pytest.mark.slow  # processes, and waits for them to end

LIMIT_SECONDS = 300
"""Without a janitor a folder would stay for ever; with one it goes in about a second, on a busy machine later."""

HOLDER = """
import multiprocessing, os, signal, subprocess, sys, time
from pathlib import Path
from copublish.files.scratch import Scratch

def sleep(seconds):
    time.sleep(seconds)

if __name__ == "__main__":
    folders = [Scratch("copublish-test-") for _ in range(3)]
    for folder in folders:
        (folder.path / "sub").mkdir()
        (folder.path / "sub" / "file").write_text("private")
    ending, children = sys.argv[1], []
    if ending == "killed, children live on":
        children.append(subprocess.Popen(["sleep", "300"], close_fds=False).pid)
        spawned = multiprocessing.get_context("spawn").Process(target=sleep, args=(300,))
        spawned.start()
        children.append(spawned.pid)
    print(*[folder.path for folder in folders], *children, flush=True)
    if ending == "exception":
        raise RuntimeError("as a test")
    if ending == "without a word":
        os._exit(0)
    if ending == "end of program":
        sys.exit(0)
    time.sleep(300)
"""


def gone(path: Path) -> bool:
    deadline = time.monotonic() + LIMIT_SECONDS
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not path.exists()


@pytest.mark.parametrize(
    ("ending", "sent"),
    [
        ("killed", signal.SIGKILL),
        ("killed, children live on", signal.SIGKILL),
        ("interrupted", signal.SIGINT),
        ("terminated", signal.SIGTERM),
        ("exception", None),
        ("without a word", None),
        ("end of program", None),
    ],
)
def test_folders_go_with_their_process(tmp_path, ending, sent):
    (tmp_path / "holder.py").write_text(HOLDER)
    holder = subprocess.Popen(
        [sys.executable, "holder.py", ending],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert holder.stdout is not None
    first, second, third, *children = holder.stdout.readline().split()
    folders = [Path(first), Path(second), Path(third)]
    try:
        if sent is not None:
            assert all((folder / "sub" / "file").exists() for folder in folders)  # they are there while it lives
            holder.send_signal(sent)
        holder.wait(timeout=LIMIT_SECONDS)
        assert all(gone(folder) for folder in folders)
        assert all(psutil.pid_exists(int(child)) for child in children)
    finally:
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        holder.stdout.close()


def test_without_a_janitor_a_killed_process_leaves_its_folder(tmp_path):
    """The checks above can fail."""
    code = "import tempfile, os; print(tempfile.mkdtemp(dir='.'), flush=True); os.kill(os.getpid(), 9)"
    left = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    time.sleep(3)
    assert (tmp_path / left.stdout.strip()).exists()


def test_only_this_user_can_enter_and_leaving_it_leaves_neither_folder_nor_process():
    before = set(psutil.Process().children())
    with Scratch("copublish-test-") as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(folder.iterdir()) == []
        (janitor,) = set(psutil.Process().children()) - before
        assert os.getsid(janitor.pid) != os.getsid(0)
        (folder / "file").write_text("private")
    assert not folder.exists()
    assert set(psutil.Process().children()) <= before  # what an earlier test left may have ended meanwhile


def test_an_exception_inside_removes_the_folder():
    with pytest.raises(ZeroDivisionError), Scratch("copublish-test-") as folder:
        raise ZeroDivisionError
    assert not folder.exists()


def test_many_folders_in_one_process_do_not_disturb_each_other():
    folders = [Scratch("copublish-test-") for _ in range(40)]
    assert len({folder.path for folder in folders}) == 40
    for folder in folders[::2]:
        folder.remove()
    time.sleep(1.5)  # longer than a janitor waits
    assert [folder.path.exists() for folder in folders] == [False, True] * 20
    for folder in (*folders, *folders):  # twice is no mistake
        folder.remove()
    assert not any(folder.path.exists() for folder in folders)


def test_a_folder_that_nobody_holds_any_more_goes_too():
    scratch = Scratch("copublish-test-")
    path = scratch.path
    del scratch
    assert not path.exists()


def test_a_process_that_is_spawned_does_not_inherit_the_pipe():
    """Closing the one end that this process holds ends the janitor's wait although a child is alive."""
    scratch = Scratch("copublish-test-")
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=time.sleep, args=(300,))
    child.start()
    try:
        _, _, (_, janitor, _), _ = scratch._finalizer.peek()
        janitor.stdin.close()
        assert gone(scratch.path)
    finally:
        child.kill()
        child.join()
        scratch.remove()


def test_a_folder_can_be_made_beside_something_else(tmp_path, monkeypatch):
    """A relative parent is fixed when the folder is made: the janitor stands elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with Scratch(".release-", Path("here")) as folder:
        assert folder.parent == tmp_path / "here"
        assert folder.name.startswith(".release-")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_and_leaves_no_process(tmp_path):
    before = set(psutil.Process().children())
    with pytest.raises(FileNotFoundError):
        Scratch(parent=tmp_path / "nowhere")
    gc.collect()
    assert set(psutil.Process().children()) <= before
