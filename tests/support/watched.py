"""A real `copublish studio`, and a browser that tells everything that its page should not have done."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from copublish.studio.server import door_to
from support.axe import serious_findings
from support.browser import AUDIT, COVERED
from support.node import source_path

WIDTHS = (1280, 390)
PICTURES = os.environ.get("COPUBLISH_PICTURES")
"""Where pictures are kept; none are taken without it."""

WHOLE = "COPUBLISH_WHOLE_PICTURES" in os.environ
"""Whether they are of whole pages; else of what a window shows."""

ABORTED = {f"htmx:{event}, [object HTMLDivElement]" for event in ("afterRequest", "sendAbort", "sendError")}
"""What htmx logs of a poll that was under way when its page was left. If a server fails, the browser logs that, too."""

STORED = "() => localStorage.length + sessionStorage.length + document.cookie.length"


@contextmanager
def studio(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own: its one-time address, and the process."""
    command = [
        sys.executable,
        "-m",
        "copublish",
        "studio",
        "--no-open",
        "--home",
        str(home),
        "--data-folder",
        str(home),
    ]
    environment = {**os.environ, "PYTHONPATH": source_path()}
    process = subprocess.Popen(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


class Watched:
    """A page, and everything that it did that it should not have done."""

    def __init__(self, opened, *, axe: str | None = None, **options) -> None:
        self.axe = axe
        self.complaints: list[str] = []
        self.context = opened.new_context(viewport={"width": WIDTHS[0], "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(180_000)
        self.page.on("console", lambda message: self._logged(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._requested)

    def _logged(self, text: str) -> None:
        if text not in ABORTED:
            self.complaints.append(f"console: {text}")

    def _requested(self, request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "file" and parts.hostname != "127.0.0.1":
            self.complaints.append(f"request: {request.url}")

    def enter(self, address: str, folder: Path) -> None:
        """Open the page as `copublish studio` does: through a file that this user alone can read."""
        door = door_to(address, folder)
        assert door.stat().st_mode & 0o077 == 0
        self.page.goto(door.as_uri())
        door.unlink()
        self.page.wait_for_url("**/draft")

    def look(self, name: str, *, with_picture: bool = True) -> None:
        """Look at the page wide and narrow, light and dark; nothing serious may be found where axe-core is there."""
        page = self.page
        page.wait_for_load_state()  # with its styles
        for width, scheme in itertools.product(WIDTHS, ("dark", "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(AUDIT) == [], (name, width, scheme)
            found = page.evaluate(COVERED)
            assert found == [], (name, width, scheme, found)
            assert self.axe is None or serious_findings(page, self.axe) == [], (name, width, scheme)
            if with_picture and PICTURES is not None:
                how = str(width) if scheme == "light" else f"{width}-dark"
                page.evaluate("() => { scrollTo(0, 0); document.activeElement.blur(); }")
                page.screenshot(path=Path(PICTURES) / f"studio-{name}-{how}.png", full_page=WHOLE)
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        assert page.evaluate(STORED) == 0
