"""Processor cores that this process may use: of the machine, and of the container that it runs in."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def available_cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may keep busy, at least 1.

    Args:
        root: Folder that holds `proc` and `sys`.
    """
    machine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([machine, *_of_groups(root)]))


def _of_groups(root: Path) -> Iterator[int]:
    """The cores that this process's control groups, and those around them, give it; parts of a core count as one."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc" / "self" / "cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, own = (*line.split(":", 2), "?", "?")[:3]
        path = Path(own.lstrip("/"))
        for group in (path, *path.parents):  # in a container only the outermost may be there
            with suppress(OSError, ValueError):  # or it has no limit
                if controllers == "":
                    quota, period = (root / "sys/fs/cgroup" / group / "cpu.max").read_text().split()
                elif "cpu" in controllers.split(","):
                    folder = root / "sys/fs/cgroup/cpu" / group
                    quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
                else:
                    continue
                if int(quota) > 0:
                    yield math.ceil(int(quota) / int(period))
