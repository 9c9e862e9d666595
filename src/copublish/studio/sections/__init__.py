"""The five places, in the order in which a release goes through them. One module for each.

A module has one name, `PLACE`: what the place is called, its state in words, and its routes. A route is made by `view`
or `change` of `routing.py`; what it shows goes through `page` of `pages.py`, and what it does through public names of
`copublish`.
"""

from __future__ import annotations

from copublish.studio.sections.approve import PLACE as APPROVE
from copublish.studio.sections.draft import PLACE as DRAFT
from copublish.studio.sections.place import Place
from copublish.studio.sections.plan import PLACE as PLAN
from copublish.studio.sections.read import PLACE as READ
from copublish.studio.sections.run import PLACE as RUN

__all__ = ["PLACES", "Place"]

PLACES: tuple[Place, ...] = (DRAFT, PLAN, APPROVE, RUN, READ)
