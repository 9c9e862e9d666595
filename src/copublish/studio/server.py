"""The server: a free port of loopback, an address that is used once, and the browser."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn

from copublish.studio.app import studio_app
from copublish.studio.context import Desk
from copublish.studio.login import Entrance

LOOPBACK = "127.0.0.1"
"""There is no option for another address."""

DOOR = "open.html"


def serve(desk: Desk, *, tell: Callable[[str], None], open_browser: bool, port: int = 0) -> None:
    """Serve the page until it is stopped.

    Args:
        desk: What it works on.
        tell: Told the address, which holds the token and the secret first part of every path.
        open_browser: Whether to open it.
        port: The port; a free one unless given.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as bound, TemporaryDirectory(prefix="copublish-") as private:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((LOOPBACK, port))
        bound.listen()  # before anybody is told: a browser that is faster than the server waits instead of failing
        port = bound.getsockname()[1]
        entrance = Entrance()
        app = studio_app(desk, port=port, entrance=entrance)
        address = entrance.new_address(f"{LOOPBACK}:{port}")
        tell(address)
        if open_browser:
            webbrowser.open(door_to(address, Path(private)).as_uri())
        # Nothing is logged: addresses and errors could hold what is private.
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[bound])


def door_to(address: str, folder: Path) -> Path:
    """A file that leads to an address and that this user alone can read: lists of processes show what is opened."""
    door = folder / DOOR
    door.touch(mode=0o600)
    door.write_text(
        f'<!doctype html><meta charset="utf-8"><title>copublish</title>'
        f'<meta http-equiv="refresh" content="0; url={escape(address)}"><p><a href="{escape(address)}">Go on</a></p>',
        encoding="utf-8",
    )
    return door
