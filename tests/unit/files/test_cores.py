"""Cores that a process may use, from files as Linux has them: of a machine, and of containers."""

from __future__ import annotations

import os

import pytest
from test_memory import V2, write

from copublish.files import cores
from copublish.files.cores import available_cores

V1 = "4:cpuset:/\n3:cpu,cpuacct:/a/b"


@pytest.fixture(autouse=True)
def eight(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def test_without_a_limit_the_cores_that_this_process_may_run_on_count(tmp_path):
    assert available_cores(tmp_path) == 8
    write(tmp_path, "proc/self/cgroup", V2)
    write(tmp_path, "sys/fs/cgroup/a/b/cpu.max", "max 100000")
    assert available_cores(tmp_path) == 8
    assert cores.available_cores() >= 1


@pytest.mark.parametrize("quota, found", [(300_000, 3), (250_000, 3), (20_000, 1), (1_600_000, 8)])
def test_the_narrowest_limit_around_a_process_counts_and_a_part_of_a_core_is_one(tmp_path, quota, found):
    write(tmp_path, "proc/self/cgroup", V2)
    write(tmp_path, "sys/fs/cgroup/a/b/cpu.max", "max 100000")
    write(tmp_path, "sys/fs/cgroup/a/cpu.max", f"{quota} 100000")
    write(tmp_path, "sys/fs/cgroup/cpu.max", "700000 100000")
    assert available_cores(tmp_path) == min(found, 7)


@pytest.mark.parametrize("quota, found", [(200_000, 2), (-1, 8)])
def test_groups_of_the_first_version_count_too(tmp_path, quota, found):
    write(tmp_path, "proc/self/cgroup", V1)
    write(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota)
    write(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_period_us", 100_000)
    assert available_cores(tmp_path) == found
