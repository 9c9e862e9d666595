"""The place Draft."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from copublish.studio.desk import Situation
from copublish.studio.pages import page
from copublish.studio.places.place import Place
from copublish.studio.routing import view


def show(request: Request) -> Response:
    """The page of the place."""
    return page(request, "draft.html.j2", place="draft", title="Draft")


def state(situation: Situation) -> str:
    """Its state in words."""
    return ""


PLACE = Place(name="draft", title="Draft", state=state, routes=(view("/draft", show),))
