"""The page's server for tests: in this process, with browsers that have entered."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from copublish.studio.context import Desk
from copublish.studio.guard import Entrance
from copublish.studio.server import studio_app

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


class _InProcess(httpx.BaseTransport):
    """Hands requests to an application without a socket."""

    def __init__(self, app) -> None:
        self._app = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def answered() -> httpx.Response:
            found = await self._app.handle_async_request(request)
            return httpx.Response(found.status_code, headers=found.headers, content=await found.aread())

        return asyncio.run(answered())


def own_path(path: str) -> str:
    """A path as places write it: without the secret first part, which every server has another one of."""
    return re.sub(r"^/[0-9a-f]{64}(?=/)", "", path)


class Browser(httpx.Client):
    """A browser that sends what browsers send with forms of the page itself: the Origin and the form's token.

    Paths may be those that places write, or whole ones from a page, also of another server: this one's secret first
    part is put before them. Whole addresses with the origin are asked for as they are.
    """

    def __init__(self, app, root: str) -> None:
        super().__init__(transport=_InProcess(app), base_url=ORIGIN)
        self.app, self.root = app, root

    def build_request(self, method: str, url: str, **more) -> httpx.Request:
        return super().build_request(method, self.root + own_path(url) if url.startswith("/") else url, **more)

    @property
    def form_token(self) -> str:
        token = re.search(r'name="form_token" value="(\w+)"', self.get("/read").text)
        assert token, "every page has a form"
        return token[1]

    def submit(self, path: str, fields: dict[str, object] | None = None, **more) -> httpx.Response:
        content = {"form_token": self.form_token, **(fields or {})}
        return self.post(path, data=content, headers={"origin": ORIGIN}, follow_redirects=True, **more)


def desk_in(folder: Path, *, agreement: str = "agreement.toml", **named) -> Desk:
    """What a server in a test works on; `COPUBLISH_HOME` says where the Python names find the party's things."""
    return Desk(home=folder, agreement_file=folder / agreement, data_folders=(folder,), **named)


def stranger(folder: Path, *, entrance: Entrance | None = None, **desk) -> Browser:
    """A browser that has not entered."""
    entrance = entrance or Entrance()
    return Browser(studio_app(desk_in(folder, **desk), port=PORT, entrance=entrance), entrance.root)


def entered(folder: Path, **desk) -> Browser:
    """A browser that has entered."""
    entrance = Entrance()
    browser = stranger(folder, entrance=entrance, **desk)
    assert browser.get("/enter", params={"token": entrance.new_token()}).status_code == 200
    return browser


@contextmanager
def served(desk: Desk) -> Iterator[tuple[int, Entrance]]:
    """A real server in a thread: its port, and who may enter."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        port, entrance = bound.getsockname()[1], Entrance()
        app = studio_app(desk, port=port, entrance=entrance)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        try:
            yield port, entrance
        finally:
            server.should_exit = True
            thread.join(20)
