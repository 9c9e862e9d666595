"""All pages in one folder, with links that hold there.

In the repository pages link to source files and to each other across folders. In the site a link to a page leads to
its place there; a link to a file that is no page becomes its text.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from website.errors import BrokenLinkError
from website.places import DOCS, NOTEBOOKS, PAGES_BESIDE_DOCS, PICTURES, ROOT, STAND_INS, THEME

FENCED = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[^\n]*$", re.S | re.M)
"""Code, whose brackets are no links."""

LINK = re.compile(r"`[^`\n]+`|(!?)\[((?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\(([^)\s]+)\)")
"""A link or a picture: whether it is one, its text, its target; or code, which is left alone."""


def stage_pages(pages: Path) -> None:
    """Copy every page of the repository, and what pages show, into one folder."""
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and NOTEBOOKS not in path.parents:
            _stage(path, pages / path.relative_to(DOCS), pages)
    for source, place in PAGES_BESIDE_DOCS.items():
        _stage(ROOT / source, pages / place, pages)
    shutil.copytree(THEME, pages, dirs_exist_ok=True)


def _stage(source: Path, place: Path, pages: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".md":
        place.write_text(moved(source.read_text(encoding="utf-8"), source, place, pages), encoding="utf-8")
    else:
        shutil.copyfile(source, place)


def moved(text: str, source: Path, place: Path, pages: Path) -> str:
    """The text of a page whose links hold at its place in the site.

    Args:
        text: The page.
        source: Its file in the repository.
        place: Its file among the staged pages.
        pages: The folder of the staged pages.

    Raises:
        BrokenLinkError: A link leads to nothing.
    """

    def follow(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if target is None:
            return match.group()
        file, hash_sign, anchor = target.partition("#")
        if "://" in target or not file:
            return match.group()
        linked = Path(os.path.normpath(source.parent / file))
        if not linked.exists():
            raise BrokenLinkError(f"{source.relative_to(ROOT)} links to {target}, which is not there")
        if picture and PICTURES in linked.parents:
            return drawn_in_the_page(linked.read_text(encoding="utf-8"))
        staged = place_of(linked)
        if staged is None:
            return words
        return f"{picture}[{words}]({os.path.relpath(pages / staged, place.parent)}{hash_sign}{anchor})"

    return outside_code(text, lambda part: LINK.sub(follow, part))


def place_of(linked: Path) -> str | None:
    """Where a file of the repository is in the site; nothing if it is not."""
    name = linked.relative_to(ROOT).as_posix()
    if name in STAND_INS or name in PAGES_BESIDE_DOCS:
        return STAND_INS.get(name) or PAGES_BESIDE_DOCS[name]
    if NOTEBOOKS in linked.parents:
        return linked.relative_to(DOCS).with_suffix(".md").as_posix()
    return linked.relative_to(DOCS).as_posix() if DOCS in linked.parents and linked.is_file() else None


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed but blocks of code."""
    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [change(text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def drawn_in_the_page(picture: str) -> str:
    """A picture of ours as part of the page, so that it has the page's colors, light or dark."""
    return (
        '<div class="picture-frame" tabindex="0">'
        + "".join(line.strip() + " " for line in picture.splitlines())
        + "</div>"
    )
