"""Links of the finished site: each leads to something that is there, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements for which a browser asks at once, and the attribute that says for what."""

HARMLESS_RELATIONS = {"canonical", "prev", "next"}
"""Of `link`: what no browser fetches."""


class _Page(HTMLParser):
    """What a page links to and loads, and the ids in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in LOADS and found.get(LOADS[tag]) and found.get("rel") not in HARMLESS_RELATIONS:
            self.loads.append(found[LOADS[tag]])


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def problems_of_links(site: Path) -> Iterator[str]:
    """Yield a sentence for every link, anchor or request of a site that would not do."""
    for path in sorted(site.rglob("*.html")):
        name, page = path.relative_to(site), _read(path)
        for load in page.loads:
            if urlsplit(load).netloc:
                yield f"{name} loads {load} from elsewhere"
        if path.name == "404.html":  # it is served at any depth, so its links are absolute
            continue
        for link in [*page.links, *(load for load in page.loads if not urlsplit(load).netloc)]:
            if problem := _problem(link, path, site):
                yield f"{name}: {problem}"


def _problem(link: str, path: Path, site: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or site.resolve() not in target.resolve().parents:
        return f"{link} leads to nothing"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in _read(target).ids:
        return f"{link} leads to no place on its page"
    return None
