"""The files through which the private set intersection of SPU (libpsi) takes its input and gives its result.

They hold pseudonyms (`pseudonyms.py`) and row numbers, lie in the worker's scratch folder and are removed when read.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from copublish.engine.pseudonyms import PSEUDONYM_BYTES, Pseudonyms
from copublish.privacy.coins import IntArray

NAME, ROW = "name", "row"

ROWS_PER_WRITE = 65_536

TRACE_FOLDER, TRACE_FILES = Path("/tmp"), "psi_*.trace"  # noqa: S108  # libpsi's own choice
"""Where libpsi leaves a trace of its phases; unlike its other files it heeds neither TMPDIR nor any setting."""


def write_pseudonyms(file: Path, pseudonyms: Pseudonyms) -> None:
    """Write pseudonyms in hexadecimal, each with its row number."""
    width = 2 * PSEUDONYM_BYTES
    with file.open("w") as lines:
        lines.write(f"{NAME},{ROW}\n")
        for start in range(0, len(pseudonyms), ROWS_PER_WRITE):
            digits = pseudonyms[start : start + ROWS_PER_WRITE].tobytes().hex()
            lines.writelines(
                f"{digits[i * width : (i + 1) * width]},{start + i}\n" for i in range(len(digits) // width)
            )


def read_rows(file: Path) -> IntArray:
    """Return the row numbers of a result, which has the columns of the input, and remove it."""
    with file.open() as lines:
        header = [column.strip('"') for column in next(lines).rstrip("\n").split(",")]
        column = header.index(ROW)
        rows = np.fromiter((int(line.split(",")[column].strip('"\n')) for line in lines), dtype=np.int64)
    file.unlink()
    return rows


def remove_traces() -> None:
    """Remove the traces that libpsi wrote in this process: its phases and times, and nothing of the input.

    They are told from those of other processes by the process id inside.
    """
    mark = _varint(os.getpid())
    for file in TRACE_FOLDER.glob(TRACE_FILES):
        with suppress(OSError):  # another user's, or gone already
            if file.stat().st_uid == os.getuid() and mark in file.read_bytes():
                file.unlink()


def _varint(number: int) -> bytes:
    """Return a number as it stands in a protocol buffer, seven bits a byte."""
    groups = []
    while number > 127:
        groups.append(number % 128 + 128)
        number //= 128
    return bytes((*groups, number))
