"""Excel workbooks as programs write them, cell by cell, so that tests can write what no library would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZipFile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OF_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OF_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
FIRST_DAY = date(1899, 12, 30)

STYLES = f"""<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts><fills count="1"><fill/></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="3"><xf/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/></cellXfs>
</styleSheet>"""
"""The second is of days, the third of moments."""


HIDDEN = ' state="hidden"'


class Raw(str):
    """A cell as it stands in the file, with {at} for its place."""


FORMULA = Raw('<c r="{at}"><f>A1*2</f><v>14</v></c>')
FORMULA_WITHOUT_VALUE = Raw('<c r="{at}"><f>A1*2</f><v></v></c>')
FORMULA_OF_EMPTY_TEXT = Raw('<c r="{at}" t="str"><f>""</f><v></v></c>')
ERROR = Raw('<c r="{at}" t="e"><v>#N/A</v></c>')


def workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], *, merged: str = "", hidden: str = "") -> Path:
    """Write a workbook; `merged` is a range of the first sheet, `hidden` the name of a sheet."""
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"{HIDDEN if name == hidden else ""}/>'
        for n, name in enumerate(sheets, start=1)
    )
    parts = [f"worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 1)]
    related = "".join(_relation(f"rId{n}", "worksheet", part) for n, part in enumerate(parts, start=1))
    kinds = "".join(f'<Override PartName="/xl/{part}" ContentType="{_kind("worksheet")}"/>' for part in parts)
    with ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{OF_PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_kind("sheet.main")}"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_kind("styles")}"/>{kinds}</Types>',
        )
        file.writestr("_rels/.rels", _relations(_relation("rId1", "officeDocument", "xl/workbook.xml")))
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OF_OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        file.writestr("xl/_rels/workbook.xml.rels", _relations(related + _relation("rId0", "styles", "styles.xml")))
        file.writestr("xl/styles.xml", STYLES)
        for part, rows in zip(parts, sheets.values(), strict=True):
            file.writestr(f"xl/{part}", _sheet(rows, merged if part == parts[0] else ""))
    return path


def _kind(what: str) -> str:
    return f"application/vnd.openxmlformats-officedocument.spreadsheetml.{what}+xml"


def _relations(content: str) -> str:
    return f'<Relationships xmlns="{OF_PACKAGE}/relationships">{content}</Relationships>'


def _relation(name: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{name}" Type="{OF_OFFICE}/{kind}" Target="{target}"/>'


def _sheet(rows: Sequence[Sequence[Any]], merged: str) -> str:
    written = "".join(
        f'<row r="{n}">{"".join(_cell(cell, f"{chr(65 + place)}{n}") for place, cell in enumerate(row))}</row>'
        for n, row in enumerate(rows, start=1)
    )
    of_merged = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{written}</sheetData>{of_merged}</worksheet>'


def _cell(cell: Any, at: str) -> str:
    match cell:
        case None:
            return ""
        case Raw():
            return cell.format(at=at)
        case bool():
            return f'<c r="{at}" t="b"><v>{int(cell)}</v></c>'
        case int() | float():
            return f'<c r="{at}"><v>{cell!r}</v></c>'
        case datetime():
            days = (cell - datetime.combine(FIRST_DAY, datetime.min.time())).total_seconds() / 86_400
            return f'<c r="{at}" s="2"><v>{days!r}</v></c>'
        case date():
            return f'<c r="{at}" s="1"><v>{(cell - FIRST_DAY).days}</v></c>'
        case _:
            return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{escape(str(cell))}</t></is></c>'
