"""The place Read."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from copublish.studio.desk import Situation
from copublish.studio.pages import page
from copublish.studio.places.place import Place
from copublish.studio.routing import view


def show(request: Request) -> Response:
    """The page of the place."""
    return page(request, "read.html.j2", place="read", title="Read")


def state(situation: Situation) -> str:
    """Its state in words."""
    return ""


PLACE = Place(name="read", title="Read", state=state, routes=(view("/read", show),))
