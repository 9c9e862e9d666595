"""Two folders that take each other's name in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

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
