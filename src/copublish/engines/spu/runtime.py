"""The SPU runtime of a worker: limits of its process, meeting the other nodes, and settings for exact programs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from copublish.engines.spu.requests import ABY3, LinkSettings
from copublish.engines.spu.streams import wait_for_those_beside


def silence_and_confine(scratch: str) -> None:
    """Keep SPU's chatter off the terminal and its temporary files in one folder."""
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    os.chdir(scratch)  # SPU writes a log file where it stands
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def open_counters() -> TextIO | None:
    """The kernel's counters of this process, opened while it may still be (Linux)."""
    with contextlib.suppress(OSError):
        return Path("/proc/self/io").open()
    return None


def bytes_written(counters: TextIO | None) -> int:
    """The bytes this process has written so far, nearly all of them to the other parties."""
    if counters is not None:
        counters.seek(0)
        for line in counters:
            if line.startswith("wchar:"):
                return int(line.split()[1])
    return 0


def die_with_parent() -> None:
    """Ask the kernel to end this process when its party ends, so that no worker is left behind (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def load_spu() -> None:
    """Load SPU without JAX, which its package loads at once, and of which only compiling makes use.

    What is loaded of the package are its modules, and not the file that brings them all together.
    """
    if "spu" not in sys.modules:
        found = find_spec("spu")
        if found is None or found.submodule_search_locations is None:
            raise ModuleNotFoundError("SPU is not installed")
        package = ModuleType("spu")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["spu"] = package
    from spu import libspu

    libspu._check_cpu_features()  # as the package's own file would have


def meet(library: Any, settings: LinkSettings) -> Any:
    """A link to the other nodes, once all of them are there."""
    wait_for_those_beside(settings.addresses, settings.rank)
    description = library.link.Desc()
    milliseconds = 1000 * settings.timeout_seconds
    description.recv_timeout_ms = milliseconds
    description.http_timeout_ms = min(milliseconds, 120_000)
    description.connect_retry_interval_ms = 200
    description.connect_retry_times = max(1, milliseconds // 1000)
    for rank, address in enumerate(settings.addresses):
        description.add_party(f"party{rank}", address)
    return library.link.create_brpc(description, settings.rank)


def let_products_use_all_cores(library: Any) -> None:
    """Fix the size of SPU's pool of threads, which is the first runtime's to choose, before the real one does.

    That one asks for a single source of oblivious transfers and would get a single thread with it.
    """
    from spu import api

    alone = library.link.Desc()
    alone.add_party("alone", "nowhere")
    config = library.RuntimeConfig(protocol=library.ProtocolKind.REF2K, field=library.FieldType.FM64)
    config.max_concurrency = os.cpu_count() or 1
    api.Runtime(library.link.create_mem(alone, 0), config)


def exact_config(library: Any, protocol: str) -> Any:
    """How a runtime of SPU is to work: integers of 64 bits, and products without error."""
    is_replicated = protocol == ABY3
    kind = library.ProtocolKind.ABY3 if is_replicated else library.ProtocolKind.CHEETAH
    config = library.RuntimeConfig(protocol=kind, field=library.FieldType.FM64)
    if not is_replicated:
        config.experimental_enable_colocated_optimization = True  # a party's own input stays its own
    # One source of oblivious transfers, however many cores: setting up another takes some sixty rounds.
    config.max_concurrency = 1
    cheetah = config.cheetah_2pc_config
    if cheetah.enable_mul_lsb_error or cheetah.disable_matmul_pack or config.trunc_allow_msb_error:
        raise ValueError("SPU's settings allow inexact products; they are refused")
    return config
