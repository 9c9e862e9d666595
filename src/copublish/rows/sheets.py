"""Sheets of Excel workbooks (.xlsx), read into memory as texts: a sheet has about a million rows at most.

A spreadsheet is made for eyes. What only eyes can read is refused: merged cells, a first row that does not name every
column, formulas that nobody has computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any, Literal
from xml.etree import ElementTree
from zipfile import ZipFile

import pyarrow as pa

from copublish.errors import SourceError
from copublish.files.regular import open_regular

WORKBOOK_SUFFIXES = (".xlsx",)

CellType = Literal["text", "whole number", "number", "truth value", "date"]

LARGEST_WHOLE = 2.0**53
"""Beyond it a float has no digits for ones."""

MERGED = (
    "it has merged cells, of which only the first has a value. Split them (Home, Merge & Center), and give every "
    "cell its own value"
)
UNNAMED = (
    "the first row with cells has to name every column, and there is a cell below or beside without a name. Delete "
    "titles and second header rows above the data, or name the column"
)
TWICE = "its first row names a column twice (upper and lower case make no difference). Rename one of them"
NOT_COMPUTED = (
    "it has formulas without a value: a program wrote them and none has computed them. Open it in a spreadsheet "
    "program and save it, or replace formulas by values"
)


def read_sheet(path: Path, sheet: str | None) -> pa.Table:
    """The rows of a sheet, every cell as text; an empty cell, and one with an error like #N/A, is null.

    Args:
        path: The workbook.
        sheet: The sheet's name; none if there is only one that is not hidden.

    Raises:
        SourceError: If there is no such sheet, or it is no table of one row of names and rows of values.
    """
    names, rows = _table(path, sheet)
    texts = [[_text(cell) for cell in column] for column in zip(*rows, strict=True)] or [[] for _ in names]
    return pa.table([pa.array(column, pa.string()) for column in texts], names=names)


def cell_types(path: Path, sheet: str | None) -> dict[str, CellType | Literal["unknown"]]:
    """The columns of a sheet, with the type that all of a column's cells have: text, if they have several."""
    names, rows = _table(path, sheet)
    found: dict[str, CellType | Literal["unknown"]] = {}
    for place, name in enumerate(names):
        kinds = {_type(row[place]) for row in rows if row[place] != ""}
        if kinds <= {"whole number", "number"} and len(kinds) == 2:
            kinds = {"number"}
        found[name] = kinds.pop() if len(kinds) == 1 else "text" if kinds else "unknown"
    return found


def _table(path: Path, sheet: str | None) -> tuple[list[str], list[list[Any]]]:
    """The names of a sheet's columns, and its rows."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with open_regular(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            with CalamineWorkbook.from_filelike(file) as book:
                name = _chosen(book, path, sheet)
                opened = book.get_sheet_by_name(name)
                rows = [[_cell(cell) for cell in row] for row in opened.iter_rows()]
                merged = opened.merged_cell_ranges
            if merged:
                raise _unfit(path, MERGED)
            file.seek(0)
            if any(_formulas_without_value(file, name)):
                raise _unfit(path, NOT_COMPUTED)
    except FileNotFoundError:
        raise SourceError(f"There is no file '{path}'.") from None
    except OSError as exc:
        raise SourceError(f"'{path}' cannot be read: {exc.strerror}.") from None
    except (CalamineError, ElementTree.ParseError, KeyError, ValueError) as exc:  # messages can quote cells
        raise SourceError(
            f"'{path}' cannot be read as XLSX ({type(exc).__name__}). Is it one, and not encrypted?"
        ) from None
    return _named(path, [row for row in rows if any(cell != "" for cell in row)])


def _chosen(book: Any, path: Path, sheet: str | None) -> str:
    """The name of the sheet that is meant. Names of others are not said: they can be of people."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
    if sheet is not None:
        if sheet not in [one.name for one in sheets]:
            raise SourceError(
                f"'{path}' has no sheet '{sheet}'. Names must match exactly, upper and lower case included."
            )
        return sheet
    shown: list[str] = [one.name for one in sheets if one.visible == SheetVisibleEnum.Visible]
    if len(shown) != 1:
        raise SourceError(f"'{path}' has {len(shown)} sheets that are not hidden: name the one to read, with --table.")
    return shown[0]


def _named(path: Path, rows: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Names from the first row, and the others without columns in which nothing is."""
    if not rows:
        raise _unfit(path, "it is empty. A sheet begins with a row of column names")
    used = [place for place in range(len(rows[0])) if any(row[place] != "" for row in rows)]
    names = [(_text(rows[0][place]) or "").strip() for place in used]
    if not all(names):
        raise _unfit(path, UNNAMED)
    if len({name.lower() for name in names}) < len(names):
        raise _unfit(path, TWICE)
    return names, [[row[place] for place in used] for row in rows[1:]]


def _unfit(path: Path, why: str) -> SourceError:
    return SourceError(f"The sheet of '{path}' cannot be read as a table: {why}.")


def _cell(cell: Any) -> Any:
    """A cell; one with nothing but space in it is empty."""
    return "" if isinstance(cell, str) and not cell.strip() else cell


def _text(cell: Any) -> str | None:
    """A cell as text: 7 and not 7.0, ISO dates, true and false; none if it is empty."""
    if isinstance(cell, str):
        return cell or None
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) <= LARGEST_WHOLE else repr(cell)
    if isinstance(cell, timedelta):
        seconds = round(cell.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return cell.isoformat(sep=" ") if isinstance(cell, datetime) else str(cell)


def _type(cell: Any) -> CellType:
    if isinstance(cell, bool):
        return "truth value"
    if isinstance(cell, int | float):
        return "whole number" if float(cell).is_integer() else "number"
    return "date" if isinstance(cell, date | time | timedelta) else "text"


# --- Formulas without a value ----------------------------------------------------------------------------------------
# The reader takes them for empty cells, so they are looked for in the file itself.


def _formulas_without_value(file: IO[bytes], sheet: str) -> Iterator[bool]:
    """Yield true for every cell of a sheet with a formula and no value."""
    with ZipFile(file) as parts, parts.open(_part(parts, sheet)) as part:
        for _, cell in ElementTree.iterparse(part):  # noqa: S314  # the owner's own file, and expat limits entities
            if cell.tag.endswith("}c"):  # of one of two namespaces
                value = cell.find("{*}v")
                has_value = value is not None and (bool(value.text) or cell.get("t") == "str")
                if cell.find("{*}f") is not None and not has_value:
                    yield True
            elif cell.tag.endswith("}row"):
                cell.clear()


def _part(parts: ZipFile, sheet: str) -> str:
    """Where in the file a sheet is."""
    sheets = {one.get("name"): one for one in _children(parts, "xl/workbook.xml", "sheet")}
    relation = next(value for key, value in sheets[sheet].items() if key.endswith("}id"))
    relations = {one.get("Id"): one for one in _children(parts, "xl/_rels/workbook.xml.rels", "Relationship")}
    target = relations[relation].attrib["Target"]
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _children(parts: ZipFile, name: str, tag: str) -> Sequence[ElementTree.Element]:
    return ElementTree.fromstring(parts.read(name)).findall(f".//{{*}}{tag}")  # noqa: S314  # as above
