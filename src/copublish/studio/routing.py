"""Routes of a section: `view` answers requests that only look, `change` those that do something.

Every POST of the page is made by `change`, so none can forget the form's token. Names of files that come with a request
are checked here too, since they need not be text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copublish.studio.guard import LARGEST_BODY, VISIT, Visit


def is_text(path: Path) -> bool:
    """Whether a path can be written on a page and comes back in a form as it was.

    Systems allow any bytes in names. What is no UTF-8 among them Python holds as halves of letters, which no page can
    have: such files are left out of lists, since another path would come back.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


FORM_TOKEN = "form_token"  # noqa: S105  # the name of a field
MOST_FILES = 20
MOST_FIELDS = 20_000
"""A draft of 1,000 columns has some 15 fields for each."""

View = Callable[[Request], Response]
"""Shows something and changes nothing. It may take its time: it runs in a thread."""

Change = Callable[[Request, FormData], Response]
"""Does something with a form that came from our own page. It runs in a thread."""


def view(path: str, show: View) -> Route:
    """A page that is looked at."""
    return Route(path, show, methods=["GET"])


def change(path: str, act: Change) -> Route:
    """What a form does, after its token was compared."""

    async def endpoint(request: Request) -> Response:
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS, max_part_size=LARGEST_BODY) as form:
            visit = visit_of(request)
            if visit is None or not visit.made(form.get(FORM_TOKEN)):
                raise HTTPException(403, "This form is not one of this page, so nothing was done. Load the page again.")
            return await run_in_threadpool(act, request, form)

    return Route(path, endpoint, methods=["POST"])


def visit_of(request: Request) -> Visit | None:
    """The browser that a request came from; none if it has not entered."""
    found = request.scope.get(VISIT)
    return found if isinstance(found, Visit) else None


def text_of(form: FormData, name: str) -> str:
    """What was typed into a field; nothing if it is not there or is a file."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def secret_of(form: FormData, name: str) -> str | None:
    """A passphrase or PIN that was typed, to the letter, since spaces are part of it; none if nothing was."""
    value = form.get(name)
    return value if isinstance(value, str) and value else None


def file_of(form: FormData, name: str) -> bytes | None:
    """The content of an uploaded file; none if nothing was chosen. Its size was bounded while it arrived."""
    value = form.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        return None
    return value.file.read()
