"""Processor time and memory of processes, as Linux counts them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

MIB = 2**20


def memory_mib(process: int | str, which: str) -> float:
    """The memory that a process has (VmRSS) or the most it has had (VmHWM)."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith(which))


def peak_mib(process: int | str = "self") -> float:
    """The largest memory that a process has had so far."""
    return memory_mib(process, "VmHWM")


def forget_peak(process: int | str = "self") -> None:
    """Start a process's peak anew."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


def cpu_seconds(process: int | str = "self", *, with_children: bool = False) -> float:
    """The processor time that a process has used so far, all threads, user and system.

    Args:
        process: Its number.
        with_children: Also that of children it waited for.
    """
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    parts = after_name[11:15] if with_children else after_name[11:13]
    return sum(int(part) for part in parts) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Seconds, processor time and memory of some processes while something runs."""

    def __init__(self, **processes: int) -> None:
        self._processes = processes

    def __enter__(self) -> Watch:
        self.before_mib = {name: memory_mib(process, "VmRSS") for name, process in self._processes.items()}
        self._cpu = self._used()
        for process in self._processes.values():
            forget_peak(process)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self.cpu_seconds = self._used() - self._cpu
        self.peak_mib = {name: memory_mib(process, "VmHWM") for name, process in self._processes.items()}

    def _used(self) -> float:
        return sum(cpu_seconds(process, with_children=True) for process in self._processes.values())

    def result(self, common: int) -> dict[str, Any]:
        return {
            "common": common,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_mib": self.peak_mib,
            "before_mib": self.before_mib,
        }
