"""The server of the page: a free port of loopback, an address that is used once, and all pages as one application."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from html import escape
from importlib import resources
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

import copublish as cp
from copublish.studio.context import Desk
from copublish.studio.guard import Entrance, Guard, cookie_name
from copublish.studio.pages import REFUSED, bare_page, page, states
from copublish.studio.routing import change, view, visit_of
from copublish.studio.sections import SECTIONS

STATIC = {
    "htmx.min.js": "text/javascript",
    "studio.js": "text/javascript",
    "studio.css": "text/css",
    "icon.svg": "image/svg+xml",
}
"""Files of this package that pages load. `shared.css` is the report's."""

WHY = {
    400: "This form cannot be read, or has more than 20 files. Nothing was done.",
    404: "There is nothing at this address.",
    405: "There is nothing here that this method would do.",
    413: "What was sent is more than 5 MiB. Nothing of it was kept.",
}


def studio_app(desk: Desk, *, port: int, entrance: Entrance) -> Starlette:
    """The application for one party's own machine.

    Args:
        desk: What it works on.
        port: The port that it is served at; requests under another one are refused.
        entrance: Who may look.
    """
    app = Starlette(
        routes=[*_own_routes(port, entrance), *(route for section in SECTIONS for route in section.routes)],
        middleware=[Middleware(Guard, port=port, entrance=entrance)],
        exception_handlers={HTTPException: _told, cp.CopublishError: _told_refusal},
    )
    app.state.desk, app.state.sections = desk, SECTIONS
    return app


def _own_routes(port: int, entrance: Entrance) -> list[Route]:
    """Pages of no section."""

    def enter(request: Request) -> Response:
        # The one address that is used up by looking at it. A page that goes on by itself follows, and no redirect:
        # after a redirect that a local file began, browsers withhold a strict cookie.
        cookie = entrance.enter(request.query_params.get("token", ""))
        if cookie is None:
            return bare_page(request, "not_entered.html.j2", status=403)
        answer = bare_page(request, "entered.html.j2")
        # The path keeps it from the other ports of this machine: browsers send it to no address that begins otherwise.
        answer.set_cookie(cookie_name(port), cookie, httponly=True, samesite="strict", path=entrance.root)
        return answer

    def another_browser(request: Request, form: FormData) -> Response:
        address = entrance.new_address(request.headers["host"])
        return page(request, "another_browser.html.j2", section=None, title="Another browser", address=address)

    return [
        view("/", lambda request: RedirectResponse("/draft", 303)),
        view("/enter", enter),
        view("/states", states),
        view("/static/{name}", _static),
        change("/another-browser", another_browser),
    ]


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "shared.css":
        content = resources.files("copublish").joinpath("release", "report", name).read_bytes()
        return Response(content, media_type="text/css")
    if name not in STATIC:
        raise HTTPException(404)
    content = resources.files("copublish.studio").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name])


def _told(request: Request, exc: Exception) -> Response:
    status = exc.status_code if isinstance(exc, HTTPException) else 500
    given = exc.detail if isinstance(exc, HTTPException) and status == 403 else None
    headers = exc.headers if isinstance(exc, HTTPException) else None
    said = given or WHY.get(status, "This cannot be answered.")
    if visit_of(request) is None:
        return PlainTextResponse(said, status, headers=headers)
    answer = page(request, "message.html.j2", section=None, title="Not done", message=said, status=status)
    answer.headers.update(headers or {})
    return answer


def _told_refusal(request: Request, exc: Exception) -> Response:
    """A refusal of the Python names that no section has answered itself: its sentence, as the command line has it."""
    return page(request, "message.html.j2", section=None, title="Not done", message=str(exc), status=REFUSED)


LOOPBACK = "127.0.0.1"
"""There is no option for another address."""

DOOR = "open.html"


def serve(desk: Desk, *, tell: Callable[[str], None], private: Path, open_browser: bool, port: int = 0) -> None:
    """Serve the page until it is stopped.

    Args:
        desk: What it works on.
        tell: Told the address, which holds the token and the secret first part of every path.
        private: A folder of this user alone, for a file with the address.
        open_browser: Whether to open it.
        port: The port; a free one unless given.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((LOOPBACK, port))
        bound.listen()  # before anybody is told: a browser that is faster than the server waits instead of failing
        port = bound.getsockname()[1]
        entrance = Entrance()
        app = studio_app(desk, port=port, entrance=entrance)
        address = entrance.new_address(f"{LOOPBACK}:{port}")
        tell(address)
        if open_browser:
            webbrowser.open(door_to(address, private).as_uri())
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
