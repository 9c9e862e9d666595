"""Tables of Markdown, and names of types as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def plain_type(annotation: object) -> str:
    """A type without the paths of its modules."""
    name = annotation.__name__ if isinstance(annotation, type) and "[" not in str(annotation) else str(annotation)
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", name)
