"""Small pieces of HTML for notebooks. Everything that goes in is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def definition_list(facts: Mapping[str, object]) -> str:
    """Headings and what is said under each."""
    rows = "".join(f"<tr>{_cell('th', name)}{_cell('td', said)}</tr>" for name, said in facts.items())
    return f"<table>{rows}</table>"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a row of headings."""
    head = "".join(_cell("th", heading) for heading in headings)
    body = "".join(f"<tr>{''.join(_cell('td', cell) for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, content: object) -> str:
    return f'<{tag} style="text-align:left">{escape(str(content))}</{tag}>'
