"""Tables for a terminal. Text goes in as it is: brackets in a name are no markup, and controls are spelled out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from copublish.errors import visible


def text_table(title: str, headings: Sequence[str], *, right: Sequence[int] = ()) -> Table:
    """An empty table with headings; the columns with these numbers are aligned to the right."""
    table = Table(title=Text(visible(title), style="italic"), title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(Text(visible(heading)), justify="right" if number in right else "left", overflow="fold")
    return table


def add_row(table: Table, *cells: object) -> None:
    """Add a row of plain text."""
    table.add_row(*(Text(visible(str(cell))) for cell in cells))
