"""Memory that is left for this process: of the machine, and of the container that it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

KIB = 2**10

GROUPS = {
    "": ("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    "memory": (
        "sys/fs/cgroup/memory",
        *("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ),
}
"""For both versions of Linux's control groups: where they are, the files of limit and use, and the part of the use that
the system takes back when it is needed."""


def available_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that this process and its children can still use; none where the system does not say.

    Args:
        root: Folder that holds `proc` and `sys`.
    """
    return min([*_of_machine(root), *_of_groups(root)], default=None)


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError, ValueError, KeyError):
        lines = (root / "proc" / "meminfo").read_text().splitlines()
        kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        yield KIB * (kib["MemAvailable"] + kib["SwapFree"])


def _of_groups(root: Path) -> Iterator[int]:
    """What is left below the limits of this process's groups, and of those around them."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc" / "self" / "cgroup").read_text().splitlines()
    for line in lines:
        _, controllers, own = (*line.split(":", 2), "?", "?")[:3]
        if controllers in GROUPS:
            where, limit, use, kept = GROUPS[controllers]
            path = Path(own.lstrip("/"))
            for group in (path, *path.parents):  # in a container only the outermost may be there
                with suppress(OSError, ValueError, KeyError):  # or it has no limit
                    folder = root / where / group
                    statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                    used = int((folder / use).read_text()) - int(statistics[kept])
                    yield max(0, int((folder / limit).read_text()) - used)
