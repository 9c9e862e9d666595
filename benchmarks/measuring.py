"""What all benchmarks share: options, rows, how they are printed, and what a row must not lack.

A benchmark is a module with

    options(parser)   its own options; every one also has --data, --short and --format
    SHORT             the options that --short stands for: the same code on tiny made-up tables, within seconds
    measure(given)    an iterator over pairs of a table's title and one of its rows
    OPTIONAL          columns in which a cell may be empty or 0; all others are refused then

and `if __name__ == "__main__": run(sys.modules[__name__])`. `run_all.py` has the list of all of them.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

# Scripts that start parties or break runs use what tests use; files like the public ones are made up there, too.
ROOT = Path(__file__).parents[1]
for folder in (ROOT / "tests", ROOT / "reproduction" / "tests"):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

Cell = str | int | float | bool | None
Row = dict[str, Cell]
Tables = dict[str, list[Row]]

ERROR = ", ±"
"""How the names of columns with standard errors end."""

MADE_UP = "made-up"
"""In place of a folder after --data: small files in the format of the public ones."""


NOT_THERE = "-"
"""A cell in which nothing can stand: what an ideal release sends, the target of a row without one."""


class IncompleteRowError(AssertionError):
    """A counter that did not count, or a cell in which nothing stands."""


def parser_of(benchmark: ModuleType) -> argparse.ArgumentParser:
    """Every benchmark's options and its own."""
    words, formatter = benchmark.__doc__, argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=words, formatter_class=formatter)
    parser.add_argument("--data", type=folder_of, help="folder with the public data sets, or 'made-up'")
    parser.add_argument("--short", action="store_true", help=f"the same as {' '.join(benchmark.SHORT)}")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--json", type=Path, help="a file for the tables as JSON, whatever is printed besides")
    benchmark.options(parser)
    return parser


def given_of(benchmark: ModuleType, arguments: Sequence[str]) -> argparse.Namespace:
    """The options that some arguments stand for; those of the short form come first, so that others override them."""
    parser = parser_of(benchmark)
    return parser.parse_args([*(benchmark.SHORT if "--short" in arguments else ()), *arguments])


def tables_of(benchmark: ModuleType, given: argparse.Namespace, tell: Callable[[str], None] | None = None) -> Tables:
    """All tables of a benchmark, complete.

    Raises:
        IncompleteRowError: If a cell is empty, or a number is 0, and its column is not an optional one.
    """
    found: Tables = {}
    for title, row in benchmark.measure(given):
        refuse_incomplete(title, row, getattr(benchmark, "OPTIONAL", ()))
        rows = found.setdefault(title, [])
        if rows and list(rows[0]) != list(row):
            raise IncompleteRowError(f"'{title}' has rows with other columns: {list(rows[0])} and {list(row)}")
        rows.append(row)
        if tell is not None:
            tell(f"{title}: " + ", ".join(f"{name} {text_of(cell)}" for name, cell in row.items()))
    if not found:
        raise IncompleteRowError(f"{benchmark.__name__} measured nothing")
    return found


def refuse_incomplete(title: str, row: Mapping[str, Cell], optional: Iterable[str] = ()) -> None:
    """Refuse a row in which something was not measured.

    Raises:
        IncompleteRowError: If a cell is empty, not a number, or 0.
    """
    may_be_zero = {*optional, *(name for name in row if name.endswith(ERROR))}  # runs may all be the same
    empty = [name for name, cell in row.items() if name not in may_be_zero and _is_empty(cell)]
    if empty or not row:
        raise IncompleteRowError(f"'{title}': nothing was measured of {', '.join(empty) or 'anything'}, in {row}")


def _is_empty(cell: Cell) -> bool:
    if isinstance(cell, bool):
        return False
    return cell in (None, "", 0) or (isinstance(cell, float) and not math.isfinite(cell))


def text_of(cell: Cell) -> str:
    """A cell as people read it: three digits that count, and more of large numbers."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        digits = 0 if cell == 0 else max(0, 2 - math.floor(math.log10(abs(cell))))
        return f"{cell:,.{min(digits, 6)}f}"
    return cell


def markdown_of(rows: Sequence[Mapping[str, Cell]]) -> str:
    """A table; numbers to the right."""
    is_number = {name: any(isinstance(row[name], int | float) for row in rows) for name in rows[0]}
    lines = [list(rows[0]), *([text_of(cell) for cell in row.values()] for row in rows)]
    marks = ["---:" if is_number[name] else "---" for name in rows[0]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (lines[0], marks, *lines[1:]))


def write_between(document: Path, markers: tuple[str, str], text: str) -> None:
    """Replace what stands between two marks of a page."""
    first, last = markers
    page = document.read_text(encoding="utf-8")
    before, _, rest = page.partition(first)
    if last not in rest:
        raise SystemExit(f"'{document}' has no '{first}', or no '{last}' after it")
    document.write_text(f"{before}{first}\n{text}\n{last}{rest.partition(last)[2]}", encoding="utf-8")


def run(benchmark: ModuleType) -> None:
    """Run a benchmark as the command line says; tables on stdout, each row on stderr as soon as it is there."""
    given = given_of(benchmark, sys.argv[1:])
    found = tables_of(benchmark, given, lambda words: print(words, file=sys.stderr, flush=True))
    if given.json is not None:
        given.json.write_text(json.dumps(found), encoding="utf-8")
    if given.format == "json":
        print(json.dumps(found, indent=1))
        return
    for title, rows in found.items():
        print(f"{title}\n\n{markdown_of(rows)}\n")


def folder_of(name: str) -> Path:
    """A folder with data sets."""
    return _made_up_folder() if name == MADE_UP else Path(name)


@functools.cache
def _made_up_folder() -> Path:
    from benchmark_files import write_benchmark_files, write_statlog_file, write_wine_files

    folder = tempfile.TemporaryDirectory(prefix="copublish-benchmark-")
    _KEPT.append(folder)  # it goes with this process
    return write_statlog_file(write_wine_files(write_benchmark_files(Path(folder.name), n=300), (60, 120)))


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def needed(given: argparse.Namespace) -> Path:
    """The folder with data sets, of a benchmark that is about them."""
    if given.data is None:
        raise SystemExit("give the folder with the data sets: --data FOLDER")
    return Path(given.data)


def public_guess(n_records: int) -> int:
    """The number of records as an agreement states it: two digits, which everybody knows of a public table.

    A made-up table is small, and a guess at the real one would allow so many cells that noise drowns its records.
    """
    return round(n_records, 2 - len(str(n_records)))


def mean_and_error(values: Iterable[float | None]) -> tuple[float | None, float | None]:
    """The mean of what is known and its standard error, none for a single one."""
    known = [float(value) for value in values if value is not None]
    error = float(np.std(known, ddof=1) / np.sqrt(len(known))) if len(known) > 1 else None
    return (float(np.mean(known)) if known else None), error


def with_error(name: str, values: Iterable[float | None]) -> Row:
    """Two cells of a row: a mean and its standard error, which a single run does not have."""
    mean, error = mean_and_error(values)
    return {name: mean, f"{name}{ERROR}": NOT_THERE if error is None else error}


def shortest_of(work: Callable[[], Any], times: int) -> tuple[float, float]:
    """The shortest wall and processor time, in seconds: those least disturbed by others on the machine."""
    walls, processors = [], []
    for _ in range(times):
        wall, processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    return min(walls), min(processors)


Measuring = Iterator[tuple[str, Row]]
