"""The server's pages as one application."""

from __future__ import annotations

from importlib import resources

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

import copublish as cp
from copublish.studio.context import Desk
from copublish.studio.guard import Guard, cookie_name
from copublish.studio.login import Entrance
from copublish.studio.pages import REFUSED, bare_page, page
from copublish.studio.routing import change, view, visit_of
from copublish.studio.sections import PLACES

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
        routes=[*_own_routes(port, entrance), *(route for place in PLACES for route in place.routes)],
        middleware=[Middleware(Guard, port=port, entrance=entrance)],
        exception_handlers={HTTPException: _told, cp.CopublishError: _told_refusal},
    )
    app.state.desk, app.state.places = desk, PLACES
    return app


def _own_routes(port: int, entrance: Entrance) -> list[Route]:
    """What belongs to no place."""

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
        return page(request, "another_browser.html.j2", place=None, title="Another browser", address=address)

    return [
        view("/", lambda request: RedirectResponse("/draft", 303)),
        view("/enter", enter),
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
    answer = page(request, "message.html.j2", place=None, title="Not done", message=said, status=status)
    answer.headers.update(headers or {})
    return answer


def _told_refusal(request: Request, exc: Exception) -> Response:
    """A refusal of the Python names that no place has answered itself: its sentence, as the command line has it."""
    return page(request, "message.html.j2", place=None, title="Not done", message=str(exc), status=REFUSED)
