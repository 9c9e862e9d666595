"""How somebody uses a page: with a mouse, or with a keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

MOST_STOPS = 300
"""How often somebody presses Tab before they give up."""

SETTLED = 500
"""Milliseconds after which nothing moves any more."""

STOP = """(target) => {
  const wanted = target.closest("a[href], button, input, select, textarea, summary, [tabindex='0']") ?? target;
  const here = document.activeElement;
  const way = here === wanted ? 0 : here.compareDocumentPosition(wanted) & Node.DOCUMENT_POSITION_PRECEDING ? -1 : 1;
  if (here === document.body) return [way, ""];
  const style = getComputedStyle(here), box = here.getBoundingClientRect();
  const clip = (low, high, most) => (Math.max(low, 0) + Math.min(high, most)) / 2;
  const seen = document.elementFromPoint(clip(box.left, box.right, innerWidth), clip(box.top, box.bottom, innerHeight));
  const has_frame = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const is_seen = seen && (here.contains(seen) || seen.contains(here) || here.labels?.[0]?.contains(seen));
  return [way, has_frame && is_seen ? "" : `${has_frame ? "covered" : "no frame"}: ${here.outerHTML.slice(0, 200)}`];
}"""
"""Which way leads from the focus to an element; and what is wrong with how the focus is seen."""

NO_MOUSE = "addEventListener('pointerdown', () => console.error('the mouse was used'), true)"


class Hands(Protocol):
    """What somebody does on a page; elements are named by selectors."""

    def press(self, selector: str) -> None:
        """Use a link, a button, a box or what unfolds."""

    def fill(self, selector: str, text: str) -> None:
        """Write a text in the place of what is in a field."""

    def choose(self, selector: str, label: str) -> None:
        """Choose from a list."""

    def attach(self, selector: str, file: Path) -> None:
        """Choose a file."""

    def go(self, selector: str) -> None:
        """Bring the focus somewhere."""


class Mouse:
    """Clicks, and keys where something is written."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, selector: str) -> None:
        """Click."""
        self.page.click(selector)

    def fill(self, selector: str, text: str) -> None:
        """Write into a field."""
        self.page.fill(selector, text)

    def choose(self, selector: str, label: str) -> None:
        """Choose from a list."""
        self.page.select_option(selector, label=label)

    def attach(self, selector: str, file: Path) -> None:
        """Choose a file."""
        self.page.set_input_files(selector, file)

    def go(self, selector: str) -> None:
        """Click into it."""
        self.page.click(selector)


class Keys:
    """Tab, Shift-Tab, Enter, Space, arrows and letters: the focus has to be seen wherever it stops."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.add_init_script(NO_MOUSE)
        page.on("filechooser", lambda chooser: None)  # listened for all the time: else a fast key can be too early

    def press(self, selector: str) -> None:
        """Go there, and press Enter; Space for a box, which Enter would not tick."""
        self.go(selector)
        is_box = self.page.evaluate("['checkbox', 'radio'].includes(document.activeElement.type)")
        self.page.keyboard.press("Space" if is_box else "Enter")

    def fill(self, selector: str, text: str) -> None:
        """Go there, and write over what is there."""
        self.go(selector)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.type(text)

    def choose(self, selector: str, label: str) -> None:
        """Go there, and press an arrow until the right line is chosen."""
        self.go(selector)
        steps = self.page.evaluate(
            "label => [...document.activeElement.options].findIndex(one => one.text.trim() === label) "
            "- document.activeElement.selectedIndex",
            label,
        )
        for _ in range(abs(steps)):
            self.page.keyboard.press("ArrowDown" if steps > 0 else "ArrowUp")
        assert self.page.evaluate("document.activeElement.selectedOptions[0].text.trim()") == label

    def attach(self, selector: str, file: Path) -> None:
        """Go there, and press Enter; what the browser then shows is not the page's."""
        self.go(selector)
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Enter")
        chooser.value.set_files(file)

    def go(self, selector: str) -> None:
        """Press Tab, or Shift-Tab for what lies before, until the focus is there."""
        self.page.wait_for_load_state()  # with its styles
        target = self.page.wait_for_selector(selector)
        for _ in range(MOST_STOPS):
            way, wrong = self.page.evaluate(STOP, target)
            if wrong:  # unless it is about to be scrolled to, or what a part of the page pushed away comes back
                self.page.wait_for_timeout(SETTLED)
                way, wrong = self.page.evaluate(STOP, target)
            assert not wrong, wrong
            if way == 0:
                return
            self.page.keyboard.press("Tab" if way > 0 else "Shift+Tab")
        raise AssertionError(f"no key leads to '{selector}'")
