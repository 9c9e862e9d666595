"""Runs the lines of pandas and of R that a release offers, and reads what they computed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support.packages import install

R_LEFT = """
last <- {what}
write.csv(data.frame(label = row.names(last), last, check.names = FALSE), {file}, row.names = FALSE)
"""


@dataclass(frozen=True)
class Computed:
    """What lines printed, and the table that they printed last, with all digits."""

    printed: str
    table: pd.DataFrame


def computed_by_pandas(code: str, folder: Path, what: str) -> Computed:
    """Run lines in a release folder.

    Args:
        code: The lines, as they are offered.
        folder: The release folder.
        what: The data frame to read, as an expression over the names of the lines.
    """
    names: dict[str, Any] = {"__name__": "lines"}
    printed = io.StringIO()
    with chdir(folder), redirect_stdout(printed):
        exec(compile(code, "lines", "exec"), names)  # it is ours
    return Computed(printed.getvalue(), eval(what, names))


def computed_by_r(code: str, folder: Path, what: str, scratch: Path) -> Computed:
    """Run lines in a release folder by R; the test is skipped where R is missing and may not be installed."""
    if not shutil.which("Rscript") and not install("r-base-core"):
        pytest.skip("needs R, and may not install it")
    script, left = scratch / "lines.R", scratch / "left.csv"
    script.write_text(f"options(digits = 7)\n{code}{R_LEFT.format(what=what, file=f'{str(left)!r}')}", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["Rscript", "--vanilla", str(script)], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(left, dtype={"label": str}, keep_default_na=False, na_values=["NA"])
    return Computed(done.stdout, table.set_index("label"))
