"""Of the section Draft: merging with another party's draft, and what changed between two."""

from __future__ import annotations

import json

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import desk_of
from copublish.studio.pages import REFUSED, FormProblem, SameStep, command_line, page
from copublish.studio.routing import change, file_of, text_of, view

MINE, THEIRS = "mine", "theirs"
CHOICE = "choice "
"""Fields of choices are called by this and the path that is chosen for, as JSON: names of columns hold anything."""


def show_merge(request: Request) -> Response:
    """Where another party's draft is chosen."""
    return _merge_page(request)


def merge(request: Request, form: FormData) -> Response:
    """Mine, theirs and the result; nothing is chosen beforehand. With everything decided, the result is saved."""
    desk = desk_of(request)
    uploaded = file_of(form, "theirs")
    raw = form.get("theirs_text")
    try:
        theirs_text = uploaded.decode("utf-8-sig") if uploaded is not None else raw if isinstance(raw, str) else ""
        if not theirs_text.strip():
            return _merge_page(request, FormProblem("Choose the draft of the other party.", "theirs"))
        theirs = cp.drafts.draft_from_text(theirs_text, "Their draft")
        mine = cp.drafts.load_draft(desk.agreement_file)
    except UnicodeDecodeError:
        return _merge_page(request, FormProblem("It is not UTF-8 text. A draft is a TOML file.", "theirs"))
    except cp.AgreementError as exc:
        return _merge_page(request, *(FormProblem(sentence, "theirs") for sentence in exc.problems))
    choices = _choices(form)
    merged = cp.drafts.compare_drafts({MINE: mine, THEIRS: theirs}, choices)
    started_from = text_of(form, "started_from")
    problems: list[FormProblem] = []
    if text_of(form, "act") == "save":
        if merged.conflicts:
            problems = [FormProblem(one.sentence, _field(one.path)) for one in merged.conflicts]
        else:
            try:
                cp.drafts.save_draft(cp.drafts.draft_text(merged.draft), desk.agreement_file, started_from=started_from)
                return RedirectResponse("/draft?saved", 303)
            except cp.drafts.DraftChangedError as exc:
                problems = [FormProblem(f"{exc} What you see now is merged with the file as it is.")]
                started_from = ""
    return page(
        request,
        "draft_merge.html.j2",
        section="draft",
        title="Merge",
        step=_step(request),
        problems=problems,
        status=REFUSED if problems else 200,
        merged=merged,
        rows=[(row, _field(row.path), CHOICE + json.dumps(row.path)) for row in merged.rows],
        kept=[(CHOICE + json.dumps(path), who) for path, who in choices.items()],
        theirs_text=theirs_text,
        text=cp.drafts.draft_text(merged.draft),
        started_from=started_from or cp.drafts.hash_of_file(desk.agreement_file),
    )


def _merge_page(request: Request, *problems: FormProblem) -> Response:
    return page(
        request,
        "draft_merge.html.j2",
        section="draft",
        title="Merge",
        step=_step(request),
        problems=problems,
        status=REFUSED if problems else 200,
        merged=None,
        exists=desk_of(request).agreement_file.exists(),
    )


def _field(path: tuple[str, ...]) -> str:
    return "choice-" + "-".join("".join(c if c.isalnum() else "_" for c in key) for key in path)


def _choices(form: FormData) -> dict[tuple[str, ...], str]:
    found = {}
    for name, who in form.items():
        if name.startswith(CHOICE) and who in (MINE, THEIRS):
            try:
                path = json.loads(name.removeprefix(CHOICE))
            except (ValueError, RecursionError):
                continue
            if isinstance(path, list) and path and all(isinstance(key, str) for key in path):
                found[tuple(path)] = str(who)
    return found


def _step(request: Request) -> SameStep:
    name = desk_of(request).agreement_file.name
    return SameStep(
        command=command_line("copublish", "merge", name, "THEIRS.toml", "--out", "merged.toml"),
        python=f"mine, theirs = cp.drafts.load_draft({name!r}), cp.drafts.load_draft('THEIRS.toml')\n"
        'cp.drafts.merge_drafts({"mine": mine, "theirs": theirs})',
    )


def show_changes(request: Request) -> Response:
    """Where an older draft is chosen."""
    return _changes_page(request)


def changes(request: Request, form: FormData) -> Response:
    """What changed between an older draft, or the bundle that somebody approved, and the file as it is."""
    uploaded = file_of(form, "before")
    if uploaded is None:
        return _changes_page(request, FormProblem("Choose the draft to compare with.", "before"))
    try:
        before = cp.drafts.draft_from_text(uploaded.decode("utf-8-sig"), "The other draft")
        found = cp.drafts.differences(before, cp.drafts.load_draft(desk_of(request).agreement_file))
    except UnicodeDecodeError:
        return _changes_page(request, FormProblem("It is not UTF-8 text. A draft is a TOML file.", "before"))
    except cp.AgreementError as exc:
        return _changes_page(request, *(FormProblem(sentence, "before") for sentence in exc.problems))
    return _changes_page(request, found=found)


def _changes_page(request: Request, *problems: FormProblem, found: list[str] | None = None) -> Response:
    name = desk_of(request).agreement_file.name
    return page(
        request,
        "draft_changes.html.j2",
        section="draft",
        title="What changed",
        step=SameStep(
            command=command_line("copublish", "check", name, "--since", "BEFORE.toml"),
            python=f'cp.drafts.differences(cp.drafts.load_draft("BEFORE.toml"), cp.drafts.load_draft({name!r}))',
        ),
        problems=problems,
        status=REFUSED if problems else 200,
        found=found,
        exists=desk_of(request).agreement_file.exists(),
    )


ROUTES = (
    view("/draft/merge", show_merge),
    change("/draft/merge", merge),
    view("/draft/changes", show_changes),
    change("/draft/changes", changes),
)
