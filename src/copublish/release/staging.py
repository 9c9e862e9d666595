"""Writing a release folder: all of it or nothing, safely on disk before it gets its name."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from copublish.errors import ReleaseError
from copublish.files.regular import exchange
from copublish.files.scratch import Scratch, remove_abandoned


@contextmanager
def staged_folder(
    files: Mapping[str, bytes], folder: str | Path, *, overwrite: bool = False
) -> Iterator[Callable[[], None]]:
    """Write files under a temporary name, safely on disk; what is yielded gives their folder its own name.

    Raises:
        ReleaseError: If the folder is there already, or cannot be written.
    """
    target = Path(folder).absolute()
    refuse_existing(target, overwrite=overwrite)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with Scratch(f".{target.name}-", target.parent) as scratch:
            staged = scratch / "release"
            staged.mkdir(mode=0o755)
            for inner in {(staged / name).parent for name in files} - {staged}:
                inner.mkdir(mode=0o755)
            for name, content in files.items():
                _write_durably(staged / name, content)
            for written in {(staged / name).parent for name in files} | {staged}:
                _sync_folder(written)

            def publish() -> None:
                refuse_existing(target, overwrite=overwrite)  # it may have come since
                if not (target.exists() and overwrite):
                    staged.rename(target)
                elif not exchange(staged, target):  # if it is done, the old one goes with the scratch folder
                    _replace_in_two_steps(staged, target, scratch.name[-8:])
                _sync_folder(target.parent)
                for old in _set_aside(target):
                    shutil.rmtree(old, ignore_errors=True)

            yield publish
    except OSError as exc:
        raise ReleaseError(f"The release cannot be written to '{target}': {exc.strerror}.") from exc


def _replace_in_two_steps(staged: Path, target: Path, number: str) -> None:
    """Replace a release where the system cannot exchange names: a kill between the steps leaves the old one aside."""
    # Not into the scratch folder, which goes with this process: whatever happens now, one of the two is there.
    old = target.with_name(f".{target.name}-old-{number}")
    target.rename(old)
    try:
        staged.rename(target)
    except OSError as exc:
        try:
            old.rename(target)
        except OSError:
            raise ReleaseError(
                f"The release cannot be written to '{target}': {exc.strerror}. The one that was there lies in '{old}': "
                "move it back."
            ) from exc
        raise


def _set_aside(target: Path) -> list[Path]:
    """Releases that a run moved out of the way of a new one, and could not remove or put back."""
    pattern = re.compile(re.escape(f".{target.name}-old-") + "[0-9a-f]{8}")
    with suppress(OSError):
        beside = sorted(path for path in target.parent.iterdir() if pattern.fullmatch(path.name))
        return [path for path in beside if not path.is_symlink() and (path / "certificate.json").is_file()]
    return []


def where_it_is(target: Path) -> str:
    """A sentence about a release that a run which was stopped had moved away from its name; mostly nothing."""
    return "".join(
        f" A run was stopped while it replaced '{target}': the release that was there lies in '{old}'. Move it "
        "back, or remove it."
        for old in _set_aside(target.absolute())[-1:]
    )


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, too; some file systems do so without being asked, and cannot be."""
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def refuse_unwritable(folder: Path, *, overwrite: bool) -> None:
    """Raise before any budget is spent unless a release could be written there: tries it with an empty one.

    Raises:
        ReleaseError: If it could not.
    """
    refuse_existing(folder, overwrite=overwrite)
    target = folder.absolute()
    if target.is_symlink() or target.is_mount() or target.resolve().name != target.name:
        raise ReleaseError(f"'{folder}' is a link or a mount point and cannot be replaced. Name a new folder below it.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.parent, f".{target.name}-")
        with Scratch(f".{target.name}-", target.parent) as scratch:
            (scratch / "release").mkdir()
            _write_durably(scratch / "release" / "try", b"try")
            (scratch / "release").rename(scratch / "renamed")
    except OSError as exc:
        raise ReleaseError(
            f"The release could not be written to '{folder}': {exc.strerror}. Nothing was spent."
        ) from exc


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Raise before any budget is spent if a release could not be written.

    Only a folder that holds a release, or nothing, is ever replaced.
    """
    if not folder.exists():
        if aside := where_it_is(folder):
            raise ReleaseError(aside.strip())
        return
    is_release = (folder / "certificate.json").exists()
    if not folder.is_dir() or (any(folder.iterdir()) and not is_release):
        raise ReleaseError(f"'{folder}' exists and is no release folder. Choose another --out.")
    if is_release and not overwrite:
        raise ReleaseError(f"'{folder}' holds a release already. Choose another --out, or add --force to replace it.")
