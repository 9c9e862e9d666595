"""Tables of a Markdown page that commands fill in, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from __future__ import annotations

import re
from pathlib import Path

from copublish.errors import CopublishError


def fill_in(page: Path, name: str, content: str) -> None:
    """Replace what stands between the markers of a name.

    Raises:
        CopublishError: If the page or its markers are not there.
    """
    if not page.exists():
        raise CopublishError(f"There is no page '{page}' to write results into.")
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise CopublishError(f"The page '{page}' needs '{begin}' and '{end}' once, where the results go.")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), flags=re.S)
    page.write_text(pattern.sub(lambda _: f"{begin}\n{content.strip()}\n{end}", text), encoding="utf-8")
