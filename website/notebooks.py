"""Notebooks: kept as Python with cells, run in this process, written as pages with results and as .ipynb to download.

A notebook is a script in the "percent" format that editors know: `# %%` begins code, `# %% [markdown]` begins text.
Results are never kept in the repository, so none can be out of date.
"""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from website.places import NOTEBOOKS

CODE, TEXT = "# %%", "# %% [markdown]"

BESIDE = re.compile(r"<(style|metadata)\b.*?</\1>", re.S)
"""What pandas and Matplotlib put beside a table and a drawing: styles would be those of the whole page."""


RESULT = '<div class="result of-notebook" tabindex="0" role="group" aria-label="Result">{}</div>'
"""Can be reached by keyboard, since a wide one scrolls."""


@dataclass(frozen=True)
class Cell:
    """One cell: text for people, or code."""

    is_code: bool
    source: str


@dataclass(frozen=True)
class Result:
    """What a cell of code gave: what it printed, and what its last line is, as text or as HTML."""

    printed: str = ""
    shown: str = ""
    is_html: bool = False


def notebooks() -> list[Path]:
    """The notebooks of the repository."""
    return sorted(NOTEBOOKS.glob("*.py"))


def cells_of(script: str) -> list[Cell]:
    """The cells of a script; what stands before the first one is for readers of the file."""
    cells: list[Cell] = []
    lines: list[str] = []
    is_code: bool | None = None
    for line in [*script.splitlines(), CODE]:
        if line not in (CODE, TEXT):
            lines.append(line)
            continue
        if is_code is not None:
            text = "\n".join(lines if is_code else [part.removeprefix("#").removeprefix(" ") for part in lines])
            cells.append(Cell(is_code, text.strip()))
        lines, is_code = [], line == CODE
    return cells


def run(cells: Sequence[Cell], folder: Path) -> list[Result]:
    """Run a notebook in a folder, as a kernel would, and return the result of every cell; text has none."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("error")  # a reader would see a warning, and wonder
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries, which a kernel does not show either
        matplotlib.use("agg")
        return [_run(cell.source, names) if cell.is_code else Result() for cell in cells]


def _run(source: str, names: dict[str, Any]) -> Result:
    statements = ast.parse(source).body
    last = statements[-1] if statements else None
    asked = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    before = ast.Module(statements[:-1] if asked else statements, [])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):  # what runs here are notebooks of this project alone
        exec(compile(before, "notebook", "exec"), names)  # noqa: S102
        value = eval(compile(asked, "notebook", "eval"), names) if asked else None  # noqa: S307
    if value is None:
        return Result(printed.getvalue())
    if isinstance(value, Figure):
        return Result(printed.getvalue(), _drawn(value), True)
    if page := getattr(value, "_repr_html_", None):
        return Result(printed.getvalue(), BESIDE.sub("", page()).replace(' border="1"', ""), True)
    return Result(printed.getvalue(), repr(value))


def _drawn(figure: Figure) -> str:
    """A figure as part of a page; text stays text, so that it can be searched and read aloud."""
    drawing = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "copublish"}):
        figure.savefig(drawing, format="svg", metadata={"Date": None})
    return BESIDE.sub("", "<svg" + drawing.getvalue().partition("<svg")[2])


def page_of(cells: Sequence[Cell], results: Sequence[Result]) -> str:
    """A notebook as a page: text, code and results."""
    parts = []
    for cell, result in zip(cells, results, strict=True):
        parts.append(f"```python\n{cell.source}\n```" if cell.is_code else cell.source)
        if result.printed or result.shown:
            parts.append(RESULT.format(_as_html(result)))
    return "\n\n".join(parts) + "\n"


def _as_html(result: Result) -> str:
    """A result in one line: a page is Markdown, for which an empty line would end it."""
    said = result.printed if result.is_html else result.printed + result.shown
    text = html.escape(said.rstrip("\n")).replace("\n", "&#10;")
    shown = " ".join(line.strip() for line in result.shown.splitlines()) if result.is_html else ""
    return (f"<pre>{text}</pre>" if text else "") + shown


def ipynb_of(cells: Sequence[Cell]) -> str:
    """The same as a file for Jupyter, without results."""
    common: dict[str, Any] = {"metadata": {}}
    code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
    content = {
        "cells": [
            {
                "id": f"cell-{number}",
                "source": cell.source,
                **common,
                **(code if cell.is_code else {"cell_type": "markdown"}),
            }
            for number, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1) + "\n"
