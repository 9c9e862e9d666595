"""The place Plan."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from copublish.studio.desk import Situation
from copublish.studio.pages import page
from copublish.studio.places.place import Place
from copublish.studio.routing import view


def show(request: Request) -> Response:
    """The page of the place."""
    return page(request, "plan.html.j2", place="plan", title="Plan")


def state(situation: Situation) -> str:
    """Its state in words."""
    return ""


PLACE = Place(name="plan", title="Plan", state=state, routes=(view("/plan", show),))
