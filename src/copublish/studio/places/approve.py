"""The place Approve."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from copublish.studio.desk import Situation
from copublish.studio.pages import page
from copublish.studio.places.place import Place
from copublish.studio.routing import view


def show(request: Request) -> Response:
    """The page of the place."""
    return page(request, "approve.html.j2", place="approve", title="Approve")


def state(situation: Situation) -> str:
    """Its state in words."""
    return ""


PLACE = Place(name="approve", title="Approve", state=state, routes=(view("/approve", show),))
