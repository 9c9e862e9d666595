"""Reading `compose.yaml`: the part of YAML that it uses, so that tests need no library for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "compose.yaml"


def read_compose(text: str) -> dict[str, Any]:
    """Nested mappings by indentation, lists in brackets, anchors and merges.

    Raises:
        ValueError: For a line that is none of these.
    """
    top: dict[str, Any] = {}
    anchors: dict[str, dict[str, Any]] = {}
    open_tables = [(-1, top)]
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = re.fullmatch(r"( *)([\w.<-]+):(?: +(.*))?", line)
        if found is None:
            raise ValueError(f"not understood: {line}")
        indent, key, value = len(found[1]), found[2], found[3] or ""
        while open_tables[-1][0] >= indent:
            open_tables.pop()
        table = open_tables[-1][1]
        if key == "<<":
            table.update(anchors[value.removeprefix("*")])
        elif not value or value.startswith("&"):
            table[key] = {}
            open_tables.append((indent, table[key]))
            if value:
                anchors[value.removeprefix("&")] = table[key]
        elif value.startswith("["):
            table[key] = [item.strip().strip('"') for item in value.strip("[]").split(",")]
        else:
            table[key] = (
                json.loads(value) if value.startswith('"') else {"true": True, "false": False}.get(value, value)
            )
    return top
