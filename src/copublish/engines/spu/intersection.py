"""Private set intersection by SPU (libpsi), and the files through which it takes its input and gives its result.

Those hold pseudonyms (`pseudonyms.py`) and nothing else, lie in the worker's scratch folder and are removed when read.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from copublish.engines.comparing.pseudonyms import PSEUDONYM_BYTES, Pseudonyms, pseudonyms_from_bytes

NAME = "name"

ROWS_PER_WRITE = 65_536

TRACE_FOLDER, TRACE_FILES = Path("/tmp"), "psi_*.trace"  # noqa: S108  # libpsi's own choice
"""Where libpsi leaves a trace of its phases; unlike its other files it heeds neither TMPDIR nor any setting."""


def intersect(link: Any, pseudonyms: Pseudonyms, scratch_folder: str) -> Pseudonyms:
    """The pseudonyms that the party at the other end of the link has, too."""
    import spu.psi as psi

    with tempfile.TemporaryDirectory(prefix="psi-") as folder:
        own, common = Path(folder) / "own.csv", Path(folder) / "common.csv"
        write_pseudonyms(own, pseudonyms)
        os.environ["TMPDIR"] = folder  # libpsi leaves more files behind, for as long as the process lives
        try:
            _quietly(
                psi.psi_execute,
                psi.PsiExecuteConfig(
                    protocol_conf=psi.PsiProtocolConfig(
                        protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=0, broadcast_result=True
                    ),
                    input_params=psi.InputParams(path=str(own), selected_keys=[NAME], keys_unique=True),
                    output_params=psi.OutputParams(path=str(common), disable_alignment=True),
                ),
                link,
            )
        finally:
            os.environ["TMPDIR"] = scratch_folder
            remove_traces()
        own.unlink()
        return read_pseudonyms(common)


def _quietly(work: Any, *arguments: Any) -> None:
    """Run something whose error messages could quote its input, and pass on that it failed and no more."""
    try:
        work(*arguments)
    except Exception as exc:
        if "timeout" in str(exc).lower():  # one word of a fixed message, which quotes nothing
            raise TimeoutError("timeout while people were compared") from None
        raise ValueError("people could not be compared: the other node ended, or the link to it broke") from None


def write_pseudonyms(file: Path, pseudonyms: Pseudonyms) -> None:
    """Write one pseudonym a line, in hexadecimal, which no reader takes for CSV syntax."""
    with file.open("w") as lines:
        lines.write(f"{NAME}\n")
        for start in range(0, len(pseudonyms), ROWS_PER_WRITE):
            digests = pseudonyms[start : start + ROWS_PER_WRITE].tobytes()
            lines.write(digests.hex("\n", PSEUDONYM_BYTES) + "\n")


def read_pseudonyms(file: Path) -> Pseudonyms:
    """Entries of a file, which is removed."""
    header, _, lines = file.read_text().partition("\n")
    if header.strip('"') != NAME:
        raise ValueError("the result of the intersection has another form than expected")
    file.unlink()
    return pseudonyms_from_bytes(bytes.fromhex(lines.replace('"', "")))  # line ends are skipped


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
    """A number as it stands in a protocol buffer, seven bits a byte."""
    groups = []
    while number > 127:
        groups.append(number % 128 + 128)
        number //= 128
    return bytes((*groups, number))
