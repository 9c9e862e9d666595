"""The five sections of the page, in the order in which a release goes through them. One module for each.

Each has one name, `SECTION`: the title, the state in words and the routes of its section. A route is made by `view` or
`change` of `routing.py`. What it shows goes through `page` of `pages.py`, and what it does through public names of
`copublish`.
"""

from __future__ import annotations

from copublish.studio.context import StudioSection
from copublish.studio.sections.approve import SECTION as APPROVE
from copublish.studio.sections.draft import SECTION as DRAFT
from copublish.studio.sections.plan import SECTION as PLAN
from copublish.studio.sections.read import SECTION as READ
from copublish.studio.sections.run import SECTION as RUN

__all__ = ["SECTIONS", "StudioSection"]

SECTIONS: tuple[StudioSection, ...] = (DRAFT, PLAN, APPROVE, RUN, READ)
