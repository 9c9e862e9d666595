"""Tables and records as text: Markdown for pages, CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, and an empty one."""
    lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    return [*lines, ""]


def csv_text(records: Sequence[Mapping[str, object]]) -> str:
    """Records, which all have the same keys, as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
