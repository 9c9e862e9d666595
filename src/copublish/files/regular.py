"""Safe access to files that others may have prepared: bounded reading, and exchanging two folders in one step.

A path that somebody else wrote can lead to a pipe that never speaks, to a device without an end, or out of the folder
that it came with. Paths are opened literally and without waiting, and are read only if they are ordinary files and
small enough. Two folders take each other's name in one step where the system can do that.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 2**20


@contextmanager
def open_regular(path: Path, *, follow: bool = True) -> Iterator[int]:
    """The descriptor of an ordinary file, open for reading; a pipe, a device or a folder is never waited for.

    Args:
        path: The file; no character in it is a pattern.
        follow: Whether the last part of the path may be a symbolic link.

    Raises:
        OSError: If it cannot be opened or is no ordinary file; `strerror` says which.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError:  # a NUL in the path
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "It is no ordinary file, but a pipe, a device or a socket", str(path))
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """The content of an ordinary file of at most `limit` bytes.

    Raises:
        OSError: If it cannot be read, is no ordinary file, or is larger; `strerror` says which.
    """
    with open_regular(path, follow=follow) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        length = os.fstat(descriptor).st_size
        if length > limit:
            raise _too_large(limit, path)
        content = file.read(length + 1)  # as much memory as there is to read, and not as may be
        if len(content) > length:  # it grew meanwhile, or the system does not know how long it is
            content += file.read(limit + 1 - len(content))
    if len(content) > limit:
        raise _too_large(limit, path)
    return content


def read_inside(folder: Path, name: str, limit: int) -> bytes:
    """The content of an ordinary file in a folder or below it, by a name that somebody else wrote.

    Raises:
        OSError: As `read_regular`, and if the name or a symbolic link leads out of the folder.
    """
    return read_regular(_found_inside(folder, name), limit, follow=False)


def digest_inside(folder: Path, name: str, limit: int) -> tuple[str, int]:
    """The SHA-256 of such a file and its length. It is read piece by piece, so that memory does not grow with it.

    Raises:
        OSError: As `read_inside`.
    """
    found, digest, length = _found_inside(folder, name), hashlib.sha256(), 0
    with open_regular(found, follow=False) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        if os.fstat(descriptor).st_size > limit:
            raise _too_large(limit, found)
        while piece := file.read(MIB):
            digest.update(piece)
            length += len(piece)
            if length > limit:
                raise _too_large(limit, found)
    return digest.hexdigest(), length


def _too_large(limit: int, path: Path) -> OSError:
    return OSError(errno.EFBIG, f"It is larger than {limit // MIB:,} MiB, the most that is read", str(path))


def _found_inside(folder: Path, name: str) -> Path:
    try:
        inside, found = folder.resolve(), (folder / name).resolve()
    except ValueError:  # a NUL in the name
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None
    except RuntimeError:  # links that lead to each other
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
    if not found.is_relative_to(inside):
        raise PermissionError(errno.EPERM, "It lies outside of the folder", name)
    return found


AT_FDCWD = -100
RENAME_EXCHANGE = 2

UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""What a kernel, a file system or a sandbox answers that does not exchange names."""


def exchange(one: Path, other: Path) -> bool:
    """Give two paths each other's name at once, so that both are there at every moment.

    Returns:
        Whether that was done: false, and nothing changed, where the system cannot.

    Raises:
        OSError: If it can and it failed.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), ctypes.c_uint(RENAME_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNABLE:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
