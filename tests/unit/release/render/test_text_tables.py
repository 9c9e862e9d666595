"""Tables for a terminal hold texts as they are."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from copublish.release.render.text_tables import add_row, text_table


def printed(table: Table, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=True, color_system="truecolor").print(table)
    return out.getvalue()


def plain(text: str) -> str:
    """Without the styles that Rich itself puts around titles and headings."""
    return text.replace("\x1b[3m", "").replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[1;3m", "")


def test_cells_are_in_their_columns_and_numbers_to_the_right() -> None:
    table = text_table("Columns", ("name", "people"), right=(1,))
    add_row(table, "job", 7)
    add_row(table, "age", "12,345")
    assert [column.justify for column in table.columns] == ["left", "right"]
    lines = [line.strip(" │┃") for line in printed(table).splitlines()]
    assert any(line.startswith("job") and line.endswith("     7") for line in lines)


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "[/nope]", "[link=http://x]y", ":smile:", "a\\", "<b>"])
def test_brackets_and_names_of_pictures_are_no_markup(text: str) -> None:
    table = text_table(f"T {text}", (f"H {text}",))
    add_row(table, text)
    assert plain(printed(table)).count(text) == 3


@pytest.mark.parametrize(
    ("text", "shown"), [("\x1b[2Jx", "<U+001B>[2Jx"), ("a\rb", "a<U+000D>b"), ("\u202ex", "<U+202E>x")]
)
def test_control_characters_are_spelled_out_everywhere(text: str, shown: str) -> None:
    table = text_table(text, (text,))
    add_row(table, text)
    said = printed(table)
    assert said.count(shown) == 3 and text not in said
