"""A real Chromium without a window, and what it has to say about a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.packages import install

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str:
    """Return the path of a Chromium; install Debian's if there is none and we may, else skip the test."""
    if not any(map(shutil.which, NAMES)):
        install("chromium")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("needs Chromium, and may not install it")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """Open the browser."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


def open_page(opened: Any, path: Path, width: int, **options: Any) -> tuple[Any, list[str]]:
    """Open a file and return the page with everything it did that a self-contained page does not do."""
    page = opened.new_page(viewport={"width": width, "height": 900}, **options)
    page.set_default_timeout(180_000)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url == path.as_uri() or complaints.append(f"request: {request.url}"))
    page.goto(path.as_uri())
    page.wait_for_load_state("networkidle")
    return page, complaints


AUDIT = """() => {
  const found = [];
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(h => +h.tagName[1]);
  if (levels[0] !== 1 || levels.filter(level => level === 1).length !== 1) found.push("not exactly one h1, first");
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) found.push(`heading ${i} skips a level`); });
  document.querySelectorAll("table").forEach((table, i) => {
    if (!table.caption?.textContent.trim()) found.push(`table ${i} has no caption`);
    if (!table.querySelector("th[scope]")) found.push(`table ${i} has no header cells`);
  });
  document.querySelectorAll("svg").forEach((svg, i) => {
    const ids = (svg.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
    const name = ids.map(id => document.getElementById(id)?.textContent || "").join("");
    if (svg.getAttribute("role") !== "img" || !name.trim()) found.push(`figure ${i} has no name`);
    const box = svg.getBoundingClientRect();
    if (box.width < 100 || box.height < 10) found.push(`figure ${i} is not drawn`);
    const marks = [...svg.querySelectorAll("rect, path, circle, line, text")].filter(mark => mark.getBBox().width > 0);
    if (marks.length < 1) found.push(`figure ${i} is empty`);
  });
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is wider than the window");
  if (!document.documentElement.lang || !document.title) found.push("no language or title");
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  if (new Set(ids).size < ids.length) found.push("an id is there twice");
  return found;
}"""
"""What is wrong with headings, tables, figures and width of the page that is open."""


COVERED = """() => {
  const found = [];
  const meets = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = new Map();
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement, place = parent.closest("svg, tr");
    const is_seen = parent.checkVisibility() && !parent.closest(".visually-hidden, title, desc");
    if (!place || !node.data.trim() || !is_seen) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = place.tagName === "svg" ? [parent.getBoundingClientRect()] : [...range.getClientRects()];
    texts.set(place, [...(texts.get(place) || []), ...boxes.map(box => ({ box, words: node.data.trim() }))]);
  }
  for (const [place, own] of texts) {
    const marks = place.tagName === "svg" ? "rect, line.error, line.interval, circle.leaf" : ".track";
    for (const mark of place.querySelectorAll(marks)) {
      const bar = mark.getBoundingClientRect();
      for (const { box, words } of own) if (meets(box, bar)) found.push(`a bar meets "${words}"`);
    }
    if (place.tagName === "svg") own.forEach((one, i) => own.slice(i + 1).forEach(other => {
      if (meets(one.box, other.box)) found.push(`"${other.words}" meets "${one.words}"`);
    }));
  }
  return found;
}"""
"""Text of pictures and of rows of tables that a bar or another text meets, by the boxes in which both are drawn."""
