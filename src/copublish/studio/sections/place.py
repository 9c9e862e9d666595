"""What a place is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.routing import Route

from copublish.studio.context import Situation


@dataclass(frozen=True, kw_only=True)
class Place:
    """One of the five places of the page.

    Attributes:
        name: The first part of its addresses: `/NAME`.
        title: Its name on the page.
        state: Its state in words, short, for the top of every page ("3 open points"); empty if there is nothing to
            say. It is called for every page, so it reads little.
        routes: What it answers.
    """

    name: str
    title: str
    state: Callable[[Situation], str]
    routes: tuple[Route, ...]
