"""CSV files: what is read off the header line, and what may be said when the rest cannot be read.

DuckDB reads the rows. Left to itself it also guesses the delimiter, from the first rows, and one row of another length
makes it guess wrong; so the delimiter comes from the header line alone.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from copublish.errors import SourceError

DELIMITERS = (",", ";", "\t", "|")

NOT_UTF8 = "it is not UTF-8 text. Save it as UTF-8 (in spreadsheet programs: 'CSV UTF-8')"
TOO_LONG = "a line is longer than 2 million bytes, which usually means that a quote is not closed"
UNEVEN = (
    "a line has more or fewer cells than the header, or a quote is not closed. Text that holds the delimiter or a line "
    'break stands in double quotes, and a double quote in it is written ""'
)


def csv_options(file: Path, path: Path) -> dict[str, Any]:
    """How DuckDB is to read a file: every cell as text, and every line after the header as a record.

    Args:
        file: Where it is read.
        path: How an error calls it.

    Raises:
        SourceError: If the file has no header line, or one that names a column twice. It never quotes the line: in a
            file without a header it is a person's.
    """
    header, delimiter = _header(file, path)
    names = [name.strip().lower() for name in header if name.strip()]
    if not names:
        raise SourceError(f"'{path}' is empty. A CSV file begins with a line of column names.")
    if len(set(names)) < len(names):
        raise SourceError(
            f"The first line of '{path}' names a column twice, so it is not clear which is meant (upper and lower case "
            "make no difference). Rename one of them; a CSV file without a line of column names needs one."
        )
    return {
        "delim": delimiter,
        "all_varchar": True,  # '007' is not 7
        "header": True,
        # Nothing is guessed: a guess can drop rows without a word.
        "comment": "",
        "skip": 0,
        "quote": '"',
        "escape": '"',
        "hive_partitioning": False,
    }


def csv_problem(exc: Exception) -> str | None:
    """Words for an error of DuckDB, whose own words quote rows; nothing if it is not about CSV."""
    words = str(exc)
    if "Invalid unicode" in words:
        return NOT_UTF8
    if "Maximum line size" in words:
        return TOO_LONG
    return UNEVEN if "CSV Error" in words or "sniffing" in words else None


def _header(file: Path, path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and the delimiter: the one that makes most of them."""
    rows: dict[str, list[str]] = {}
    for delimiter in DELIMITERS:
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                rows[delimiter] = next(csv.reader(lines, delimiter=delimiter), [])
        except UnicodeDecodeError:
            raise SourceError(f"'{path}' cannot be read as CSV: {NOT_UTF8}.") from None
        except (OSError, csv.Error) as exc:  # messages of the reader can quote the line
            raise SourceError(f"'{path}' cannot be read as CSV ({type(exc).__name__}).") from None
    delimiter = max(DELIMITERS, key=lambda delimiter: len(rows[delimiter]))
    return rows[delimiter], delimiter
