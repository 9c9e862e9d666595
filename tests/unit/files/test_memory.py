"""Memory that is left, from files as Linux has them: of a machine, and of containers by both kinds of groups."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from copublish.files.memory import available_bytes

GIB = 2**30
V2, V1 = "0::/a/b", "4:memory:/a/b\n3:cpuset:/\n"


def write(root: Path, path: str, text: object) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


@pytest.fixture
def root(tmp_path):
    """A machine with 8 GiB available and 1 GiB of swap."""
    write(tmp_path, "proc/meminfo", "MemTotal: 99 kB\nMemAvailable: 8388608 kB\nSwapFree: 1048576 kB")
    return tmp_path


def limit_v2(root: Path, group: str, limit: object, used: int, kept: int) -> None:
    folder = f"sys/fs/cgroup/{group}"
    write(root, f"{folder}/memory.max", limit)
    write(root, f"{folder}/memory.current", used)
    write(root, f"{folder}/memory.stat", f"anon 5\ninactive_file {kept}")


def limit_v1(root: Path, group: str, limit: int, used: int, kept: int) -> None:
    folder = f"sys/fs/cgroup/memory/{group}"
    write(root, f"{folder}/memory.limit_in_bytes", limit)
    write(root, f"{folder}/memory.usage_in_bytes", used)
    write(root, f"{folder}/memory.stat", f"cache 5\ntotal_inactive_file {kept}")


def test_without_a_limit_the_machine_counts_with_its_swap(root):
    assert available_bytes(root) == 9 * GIB
    write(root, "proc/self/cgroup", V2)
    limit_v2(root, "a/b", "max", GIB, 0)
    assert available_bytes(root) == 9 * GIB


def test_the_narrowest_limit_around_a_process_counts_and_what_is_given_back_is_no_use(root):
    write(root, "proc/self/cgroup", V2)
    limit_v2(root, "a/b", 6 * GIB, 3 * GIB, GIB)
    assert available_bytes(root) == 4 * GIB
    limit_v2(root, "a", 5 * GIB, 4 * GIB, GIB)
    assert available_bytes(root) == 2 * GIB
    limit_v2(root, "", 2 * GIB, 3 * GIB, 0)
    assert available_bytes(root) == 0


def test_in_a_container_only_the_outermost_group_may_be_there(root):
    write(root, "proc/self/cgroup", V1)
    limit_v1(root, "", 3 * GIB, 2 * GIB, GIB)
    assert available_bytes(root) == 2 * GIB
    limit_v1(root, "a/b", 2**63 - 4096, GIB, 0)
    assert available_bytes(root) == 2 * GIB


def test_where_the_system_does_not_say_nothing_is_known(tmp_path):
    assert available_bytes(tmp_path) is None
    write(tmp_path, "proc/meminfo", "MemTotal: 99 kB")
    write(tmp_path, "proc/self/cgroup", V1)
    write(tmp_path, "sys/fs/cgroup/memory/memory.stat", "cache")
    assert available_bytes(tmp_path) is None


def test_this_machine_says_no_more_than_another_library_finds():
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    assert 0 < available_bytes() <= memory.total + swap.total
