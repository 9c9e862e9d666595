"""The menus of mkdocs.yml: no page is lost, and no entry leads to nothing."""

from __future__ import annotations

from pathlib import Path

import yaml

from website.errors import SiteError
from website.places import CONFIGURATION

REST = "More"
"""The menu for pages that have no place yet."""

LISTED_ELSEWHERE = "decisions/"
"""Decisions have a page that lists them."""


def configuration_for(pages: Path) -> str:
    """The configuration, with a last menu for pages that no other one leads to: a new page can be found at once.

    Raises:
        SiteError: A menu leads to a page that is not there.
    """
    text = CONFIGURATION.read_text(encoding="utf-8")
    listed = pages_in_menus(text)
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    if listed - there:
        raise SiteError(f"Menus (nav in mkdocs.yml) lead to pages that are not there: {sorted(listed - there)}")
    lost = sorted(page for page in there - listed if not page.startswith(LISTED_ELSEWHERE))
    return text + "".join([f"  - {REST}:\n", *(f"      - {page}\n" for page in lost)] if lost else [])


def pages_in_menus(configuration: str) -> set[str]:
    """Every page that the menus lead to. They stand at the end, since what is before them has tags of Python's own."""
    menus = yaml.safe_load(configuration[configuration.index("\nnav:") :])["nav"]
    return _pages_of(menus)


def _pages_of(entry: object) -> set[str]:
    if isinstance(entry, str):
        return {entry}
    inner = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ()
    return set().union(*(_pages_of(each) for each in inner))
