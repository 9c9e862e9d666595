"""Pages from templates, and the link that time and traffic are predicted for.

Everything that goes into a page is escaped; a test bans what would lift that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

import copublish as cp
from copublish.studio.context import Situation, situation_of
from copublish.studio.routing import FORM_TOKEN, visit_of

if TYPE_CHECKING:
    from copublish.studio.context import StudioSection

REFUSED = 422
"""The status of a form that was read and not accepted. A page comes with it."""

AS_ATTACHMENT = {"content-security-policy": "sandbox; default-src 'none'"}
"""What a file to keep carries besides: should a browser show it after all, it may do nothing."""

OWN_ADDRESS = re.compile(r'\b(href|src|action|formaction|hx-get|hx-post)="/')


class BelowRoot(Extension):
    """Addresses in templates are written without the secret first part of every path, and get it here.

    It is done to the templates before they are filled: what pages show is not looked at.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """A template with `{{ root }}` before each address of ours."""
        return OWN_ADDRESS.sub(r'\1="{{ root }}/', source)


ENVIRONMENT = Environment(
    extensions=[BelowRoot],
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    loader=PackageLoader("copublish.studio"),
)


def clock(moment: str | None) -> str:
    """A moment in UTC as this machine's clock has it; with the day, if that is another one."""
    if not moment:
        return ""
    then = datetime.fromisoformat(moment).astimezone()
    return then.strftime("%H:%M:%S" if then.date() == datetime.now().astimezone().date() else "%Y-%m-%d %H:%M")


def seconds(number: float) -> str:
    """A time in words."""
    return f"{number:.0f} s" if number < 120 else f"{number / 60:.0f} minutes"


ENVIRONMENT.filters |= {"clock": clock, "seconds": seconds, "thousands": lambda number: f"{number:,}"}


@dataclass(frozen=True, kw_only=True)
class SameStep:
    """What a page does, as a command and as Python, to copy."""

    command: str
    python: str


@dataclass(frozen=True)
class FormProblem:
    """Why a form was refused, and at which field.

    Attributes:
        sentence: What is wrong and what to do, in the words of the Python names.
        field: The id of the field that it is about; none if it is about the whole form.
    """

    sentence: str
    field: str | None = None


@dataclass(frozen=True)
class SectionLink:
    """One of the five sections as the top of every page shows it."""

    name: str
    title: str
    state: str


def command_line(*words: object) -> str:
    """A command as it can be pasted into a shell, whatever is in the names."""
    return shlex.join(str(word) for word in words)


def page(
    request: Request,
    template: str,
    *,
    section: str | None,
    title: str,
    step: SameStep | None = None,
    problems: Sequence[FormProblem] = (),
    status: int = 200,
    **facts: object,
) -> Response:
    """A whole page, with top and foot.

    Args:
        request: What is answered.
        template: A file of `templates/` that extends `base.html.j2`.
        section: The section that this page belongs to; none for a page of no section.
        title: The heading.
        step: The same as a command and as Python.
        problems: Why a form was refused; the page begins with them and the focus goes there.
        status: The HTTP status.
        facts: What the template shows.
    """
    situation = situation_of(request)
    html = ENVIRONMENT.get_template(template).render(
        **frame(request, situation, section),
        title=title,
        step=step,
        problems=problems,
        **facts,
    )
    return _answer(html, status)


def fragment(request: Request, template: str, **facts: object) -> Response:
    """A part of a page, which htmx puts in the place of an older one."""
    return _answer(
        ENVIRONMENT.get_template(template).render(root=_root(request), form_token=_form_token(request), **facts)
    )


def bare_page(request: Request, template: str, *, status: int = 200) -> Response:
    """A whole page without top and foot, for who has not entered."""
    return _answer(ENVIRONMENT.get_template(template).render(root=_root(request)), status)


def _answer(html: str, status: int = 200) -> Response:
    # Names of files need not be text: a letter that cannot be sent must not cost the whole page.
    return HTMLResponse(html.encode("utf-8", "replace"), status)


def frame(request: Request, situation: Situation, section: str | None) -> dict[str, object]:
    """What top and foot of every page show."""
    sections = [_link(known, situation) for known in request.app.state.sections]
    return {
        "root": _root(request),
        "party": situation.party,
        "agreement_name": situation.agreement_name,
        "sections": sections,
        "shown": [known.name for known in sections if known.state],
        "is_busy": situation.is_busy,
        "section": section,
        "form_token": _form_token(request),
        "form_token_name": FORM_TOKEN,
    }


def states(request: Request) -> Response:
    """What the top of a page says of the sections: a part of every page, asked for while something runs."""
    situation = situation_of(request)
    return fragment(
        request,
        "states_now.html.j2",
        sections=[_link(known, situation) for known in request.app.state.sections],
        shown=request.query_params.get("shown", "").split(","),
        is_busy=situation.is_busy,
    )


def _link(section: StudioSection, situation: Situation) -> SectionLink:
    try:
        return SectionLink(section.name, section.title, section.state(situation))
    except cp.CopublishError:  # the section itself says what; the others still have to be reached
        return SectionLink(section.name, section.title, "cannot be read")


def attachment(content: bytes, file_name: str) -> Response:
    """A file to keep. Whatever is in it, a browser saves it and does not show it."""
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in file_name
    )
    return Response(
        content,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{plain}"', **AS_ATTACHMENT},
    )


def _root(request: Request) -> str:
    return str(request.scope["root_path"])


def _form_token(request: Request) -> str:
    visit = visit_of(request)
    return "" if visit is None else visit.form_token


MEASURED, TYPED = "measured", "typed"
MOST_MILLISECONDS, MOST_MEGABITS = 60_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class LinkChoice:
    """Links to choose from, and the one that was chosen.

    Attributes:
        known: What `copublish doctor` measured, if it did, and usual links.
        name: Which one was chosen.
        link: That one.
        milliseconds, megabits: What was typed.
        problem: Why what was typed is no link.
    """

    known: Mapping[str, cp.planning.Link]
    name: str
    link: cp.planning.Link
    milliseconds: str = ""
    megabits: str = ""
    problem: FormProblem | None = None


def links_of(situation: Situation) -> dict[str, cp.planning.Link]:
    """Links that nobody has to type, the best known one first."""
    agreement, party = situation.agreement, situation.party
    measured = None
    if agreement is not None and party in agreement.parties and party is not None:
        measured = cp.planning.measured_link(agreement, party)
    return ({} if measured is None else {MEASURED: measured}) | cp.planning.usual_links()


def chosen_link(situation: Situation, asked: Mapping[str, str]) -> LinkChoice:
    """The link that an address asks for; the best known one if it asks for none."""
    known = links_of(situation)
    name, first = asked.get("link", ""), next(iter(known))
    typed = asked.get("milliseconds", "").strip(), asked.get("megabits", "").strip()
    if name != TYPED:
        name = name if name in known else first
        return LinkChoice(known=known, name=name, link=known[name], milliseconds=typed[0], megabits=typed[1])
    trip, rate = (_number(text, most) for text, most in zip(typed, (MOST_MILLISECONDS, MOST_MEGABITS), strict=True))
    if trip is None or rate is None:
        field = "milliseconds" if trip is None else "megabits"
        problem = FormProblem("Write a round trip in milliseconds and a rate in Mbit/s, both above 0.", field)
        return LinkChoice(
            known=known, name=first, link=known[first], milliseconds=typed[0], megabits=typed[1], problem=problem
        )
    link = cp.planning.Link(
        f"as far apart as you typed: round trip {trip:g} ms, {rate:g} Mbit/s", trip / 1000, rate * 1e6 / 8
    )
    return LinkChoice(known=known, name=TYPED, link=link, milliseconds=typed[0], megabits=typed[1])


def _number(text: str, most: float) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value <= most else None  # not a number fails
