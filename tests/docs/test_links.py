"""Links of the documents: every one leads to a file that is there, and to a heading that is in it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "reproduction").glob("*.md")]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target))):
            broken.append(link)
    return broken


def test_every_link_leads_somewhere():
    assert {str(page): broken for page in PAGES if (broken := broken_links(page))} == {}


def test_the_check_of_links_can_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title\n[a](page.md#a-title) [b](none.md) [c](#no-title) [d](https://example.org/none)\n")
    assert broken_links(page) == ["none.md", "#no-title"]
