"""Tables of Markdown pages that commands fill in, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from __future__ import annotations

import re
from pathlib import Path

from copublish.errors import CopublishError


def page_of(folder: Path, name: str) -> Path:
    """The one page of a folder that has the markers of a name.

    Raises:
        CopublishError: If there is no folder, or not one page in it with both markers, each once.
    """
    if not folder.is_dir():
        raise CopublishError(f"There is no folder '{folder}' of pages to write results into.")
    begin, end = _markers(name)
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md"))}
    found = [page for page, text in texts.items() if begin in text or end in text]
    if len(found) != 1 or texts[found[0]].count(begin) != 1 or texts[found[0]].count(end) != 1:
        where = ", ".join(page.name for page in found) or "no page"
        raise CopublishError(
            f"One page in '{folder}' needs '{begin}' and '{end}' once, where the results go. They are in: {where}."
        )
    return found[0]


def fill_in(page: Path, name: str, content: str) -> None:
    """Replace what stands between the markers of a name, on the page that has them."""
    begin, end = _markers(name)
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), flags=re.S)
    text = page.read_text(encoding="utf-8")
    page.write_text(pattern.sub(lambda _: f"{begin}\n{content.strip()}\n{end}", text), encoding="utf-8")


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"
