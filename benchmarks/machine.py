"""When and on what something was measured: no names of hosts, people or folders."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copublish.tools.planning.costs import loop_seconds

PACKAGES = ("copublish", "spu", "jax", "numpy", "pandas", "pyarrow")


def described_machine() -> dict[str, Any]:
    """Date, processor, how fast one of its cores is now, cores, memory, load and versions."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "loop_seconds": round(loop_seconds(), 3),
        "cores": os.cpu_count() or 0,
        "memory": f"{int(_about('/proc/meminfo', 'MemTotal').split()[0]) / 2**20:.0f} GiB",
        "load": round(os.getloadavg()[0], 1),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }


def _processor() -> str:
    """Its name and numbers: virtual machines leave out what tells one generation from another."""
    name, *numbers = (_about("/proc/cpuinfo", key) for key in ("model name", "cpu family", "model\t"))
    return f"{name} (family {numbers[0]}, model {numbers[1]})"


def _about(file: str, key: str) -> str:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "unknown")
