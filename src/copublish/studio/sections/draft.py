"""The section Draft: write the agreement with the rules checked while typing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import Desk, Situation, StudioSection, desk_of, situation_of
from copublish.studio.pages import REFUSED, FormProblem, SameStep, command_line, fragment, page
from copublish.studio.releases import choices, chosen
from copublish.studio.routing import change, file_of, text_of, view
from copublish.studio.sections.draft_merge import ROUTES as MERGE_ROUTES

STARTED_FROM = "started_from"
ROWS = ("parties", "columns")


@dataclass(frozen=True)
class CheckedDraft:
    """A draft as it stands in the fields, with what has to change.

    Attributes:
        text: The file as it would be saved.
        problems: Sentences of `check`, with the names of their fields.
    """

    text: str
    problems: tuple[FormProblem, ...]

    RECORDS: ClassVar = ("identifier", "no_identifier", "expected", "membership", "public", "spellings", "records_more")
    CLASS: ClassVar = ("class_", "no_class")
    """How the names of fields begin that stand in these parts of the page."""

    def points(self, *beginnings: str) -> int:
        """How many sentences are about fields whose names begin so: what has none is folded."""
        return sum((problem.field or "").startswith(beginnings) for problem in self.problems)

    @property
    def by_field(self) -> Mapping[str, Sequence[str]]:
        """The sentences under each field."""
        found: dict[str, list[str]] = {}
        for problem in self.problems:
            found.setdefault(problem.field or "", []).append(problem.sentence)
        return found


def checked(form: cp.drafts.DraftForm, folder: Path) -> CheckedDraft:
    """Read fields, and ask the rules."""
    draft, unread = form.read()
    problems = [FormProblem(one.sentence, one.place) for one in unread]
    problems += [FormProblem(one.sentence, form.field_of(one.place)) for one in whole_problems(draft, folder)]
    return CheckedDraft(cp.drafts.draft_text(draft), tuple(problems))


def whole_problems(draft: cp.drafts.Draft, folder: Path) -> tuple[cp.drafts.DraftProblem, ...]:
    """What `check` says: the rules of the agreement, and whether the agreed engine can run it."""
    found = cp.drafts.draft_problems(draft, folder=folder)
    if found:
        return found
    try:
        cp.describe(cp.agreement_from_mapping(draft.content, folder=folder))
    except cp.AgreementError as exc:
        return tuple(cp.drafts.DraftProblem("", sentence) for sentence in exc.problems)
    except cp.CopublishError as exc:
        return (cp.drafts.DraftProblem("", str(exc)),)
    return ()


def show(request: Request) -> Response:
    """The draft in fields; as text if it is asked for, or cannot be shown otherwise; how to start if there is none."""
    desk = desk_of(request)
    if not desk.agreement_file.exists():
        return start_page(request)
    if request.query_params.get("view") == "text":
        return show_text(request, desk.agreement_file.read_text(encoding="utf-8-sig", errors="replace"))
    try:
        draft = cp.drafts.load_draft(desk.agreement_file)
    except cp.AgreementError as exc:
        text = desk.agreement_file.read_bytes()[:MOST_TEXT].decode("utf-8-sig", errors="replace")
        return show_text(request, text, [FormProblem(sentence, "text") for sentence in exc.problems])
    return show_form(request, cp.drafts.DraftForm.of(draft), saved="saved" in request.query_params)


MOST_TEXT = 4 * 2**20


def show_form(
    request: Request,
    form: cp.drafts.DraftForm,
    *,
    saved: bool = False,
    started_from: str | None = None,
    problems: Sequence[FormProblem] = (),
    changed: Sequence[str] | None = None,
    opened: str = "",
    left_out: Mapping[str, str] | None = None,
    kinds_left_out: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Response:
    """The page with fields.

    Args:
        request: What is answered.
        form: What stands in the fields.
        saved: Whether the file was just written.
        started_from: The hash of the file that this work began with; that of the file as it is, if not said.
        problems: Why something was not done.
        changed: What the file says differently from the fields, if somebody else has written it.
        opened: The field that somebody is at: its row is shown unfolded, though it may be complete.
        left_out: Columns that seem to identify people, with what says so.
        kinds_left_out: Of those the kinds that follow from their types.
        notes: Sentences about the draft.
    """
    desk = desk_of(request)
    here = checked(form, desk.agreement_file.parent)
    own = {name: cp.identities.own_fingerprint(name) for name in cp.identities.list_identities()}
    return page(
        request,
        "draft.html.j2",
        section="draft",
        title="Draft",
        step=check_step(desk),
        problems=problems,
        status=REFUSED if problems else 200,
        form=form,
        checked=here,
        is_part=False,
        opened=opened,
        said=here.by_field,
        saved=saved,
        changed=changed,
        left_out=left_out or {},
        kinds_left_out=kinds_left_out or {},
        notes=notes,
        started_from=cp.drafts.hash_of_file(desk.agreement_file) if started_from is None else started_from,
        hash_now=cp.drafts.hash_of_file(desk.agreement_file),
        file_name=desk.agreement_file.name,
        mechanisms=[("", "not decided"), *cp.drafts.mechanism_labels().items()],
        own=own,
    )


def show_text(
    request: Request, text: str, problems: Sequence[FormProblem] = (), started_from: str | None = None
) -> Response:
    """The page with the file as text."""
    desk = desk_of(request)
    return page(
        request,
        "draft_text.html.j2",
        section="draft",
        title="Draft as text",
        step=check_step(desk),
        problems=problems,
        status=REFUSED if problems and request.method == "POST" else 200,
        text=text,
        started_from=cp.drafts.hash_of_file(desk.agreement_file) if started_from is None else started_from,
        file_name=desk.agreement_file.name,
    )


def form_from(form: FormData) -> cp.drafts.DraftForm:
    """The fields of a posted form."""
    return cp.drafts.DraftForm.from_fields({name: value for name, value in form.items() if isinstance(value, str)})


def check_fields(request: Request, form: FormData) -> Response:
    """What the rules say about what is typed: a part of the page, asked for while somebody types."""
    typed = form_from(form)
    here = checked(typed, desk_of(request).agreement_file.parent)
    return fragment(request, "draft_side.html.j2", checked=here, form=typed, is_part=True)


def edit(request: Request, form: FormData) -> Response:
    """Add or take out a row, or show other fields for another kind. Nothing is saved."""
    typed = form_from(form)
    act, _, what = text_of(form, "act").partition(" ")
    kind, _, number = what.partition(" ")
    if act == "add" and kind in ROWS:
        typed.add(kind)
    elif act == "remove" and kind in ROWS and number.isdecimal():
        typed.remove(kind, int(number))
    elif act == "keep":
        ticked = [value for name, value in form.items() if name.startswith("keep-") and isinstance(value, str)]
        keep(typed, ticked, mapping_from(form, "kinds_left_out"))
    elif act == "identity" and number.isdecimal() and int(number) < len(typed.parties):
        row = typed.parties[int(number)]
        row.certificate = cp.identities.own_fingerprint(row.name) or row.certificate
    at = request.headers.get("hx-trigger-name") or f"{kind}-{number}-"
    drafted = {row.name for row in typed.columns}
    left_out = {column: why for column, why in mapping_from(form, "left_out").items() if column not in drafted}
    return show_form(
        request,
        typed,
        started_from=text_of(form, STARTED_FROM),
        opened=at,
        left_out=left_out,
        kinds_left_out=mapping_from(form, "kinds_left_out"),
    )


def keep(typed: cp.drafts.DraftForm, columns: Sequence[str], kinds: Mapping[str, str]) -> None:
    """Add rows for columns that were left out and are to be published."""
    holder = typed.parties[0].name if len(typed.parties) == 1 and typed.partition != "horizontal" else ""
    for column in columns:
        typed.keep(column, kind=kinds.get(column, ""), held_by=holder)


def mapping_from(form: FormData, name: str) -> dict[str, str]:
    """What the form carries about columns that were left out when the draft was begun."""
    try:
        found = json.loads(text_of(form, name) or "{}")
    except (ValueError, RecursionError):
        return {}
    return {str(column): str(said) for column, said in found.items()} if isinstance(found, dict) else {}


def save(request: Request, form: FormData) -> Response:
    """Write the file, unless it is not any more what the work began with."""
    typed, desk = form_from(form), desk_of(request)
    draft, unread = typed.read()
    started_from = text_of(form, STARTED_FROM)
    if unread:
        problems = [FormProblem(one.sentence, one.place) for one in unread]
        return show_form(request, typed, started_from=started_from, problems=problems)
    try:
        cp.drafts.save_draft(cp.drafts.draft_text(draft), desk.agreement_file, started_from=started_from)
    except cp.drafts.DraftChangedError as exc:
        return show_form(
            request,
            typed,
            started_from=started_from,
            problems=[FormProblem(str(exc), "changed")],
            changed=changed_since(desk.agreement_file, draft),
        )
    return RedirectResponse("/draft?saved", 303)


def changed_since(file: Path, draft: cp.drafts.Draft) -> list[str]:
    """What the fields would change in the file as it is now."""
    if not file.exists():
        return ["The file is gone."]
    try:
        return cp.drafts.differences(cp.drafts.load_draft(file), draft)
    except cp.AgreementError as exc:
        return list(exc.problems)


def save_text(request: Request, form: FormData) -> Response:
    """Write the file as it was typed, comments and all, if it can be read."""
    desk = desk_of(request)
    raw = form.get("text")
    text = raw.replace("\r\n", "\n") if isinstance(raw, str) else ""
    started_from = text_of(form, STARTED_FROM)
    try:
        cp.drafts.draft_from_text(text, desk.agreement_file.name)
        cp.drafts.save_draft(text, desk.agreement_file, started_from=started_from)
    except cp.AgreementError as exc:
        return show_text(request, text, [FormProblem(sentence, "text") for sentence in exc.problems], started_from)
    except cp.drafts.DraftChangedError as exc:
        found = changed_since(desk.agreement_file, cp.drafts.draft_from_text(text))
        problems = [
            FormProblem(str(exc), "text"),
            *(FormProblem(f"Yours against the file now: {one}") for one in found),
        ]
        return show_text(request, text, problems, started_from)
    return RedirectResponse("/draft?saved", 303)


def start(request: Request, form: FormData) -> Response:
    """Begin a draft: from a header, a dictionary, an uploaded draft or the example."""
    try:
        draft = started_draft(request, form)
    except (cp.AgreementError, cp.SourceError, UnicodeDecodeError) as exc:
        sentences = exc.problems if isinstance(exc, cp.AgreementError) else [_plain(exc)]
        return start_page(request, form, [FormProblem(sentence, _start_field(sentence)) for sentence in sentences])
    desk = desk_of(request)
    is_new = not desk.agreement_file.exists()
    if is_new:
        cp.drafts.save_draft(cp.drafts.draft_text(draft), desk.agreement_file, started_from="")
    if is_new and not (draft.left_out or draft.notes):
        return RedirectResponse("/draft?saved", 303)
    typed = cp.drafts.DraftForm.of(draft)
    return show_form(
        request,
        typed,
        saved=is_new,
        left_out=draft.left_out,
        kinds_left_out=draft.kinds_left_out,
        notes=draft.notes,
    )


ESSENTIALS = ("name", "dataset", "partition", "identifier", "class_name", "epsilon", "expected", "membership")


def started_draft(request: Request, form: FormData) -> cp.drafts.Draft:
    """The draft that was asked for.

    Privacy:
        Data are named by a path below the folders of the start. Names and types of columns get into the draft, and no
        value; what is said of columns that seem to identify people stays on this page.
    """
    way = text_of(form, "way")
    if way == "example":
        return cp.drafts.draft()
    if way == "open":
        content = file_of(form, "draft")
        if content is None:
            raise cp.AgreementError("The form", ["draft: choose a file"])
        return cp.drafts.draft_from_text(content.decode("utf-8-sig"), "The draft")
    said = {key: text for key in ESSENTIALS if (text := text_of(form, key))}
    party = text_of(form, "party") or None
    uploaded = file_of(form, "dictionary")
    dictionary = None
    if uploaded is not None:
        dictionary = cp.drafts.dictionary_from_text(uploaded.decode("utf-8-sig"), _file_name(form, "dictionary"))
    path = text_of(form, "data")
    if path and party is None:
        raise cp.AgreementError("The form", ["party: say whose data these are"])
    data = {party: chosen(desk_of(request), path, text_of(form, "table"))} if path and party is not None else None
    if data is None and dictionary is None:
        raise cp.AgreementError("The form", ["data: name a file, or choose a dictionary"])
    return cp.drafts.draft(data, dictionary=dictionary, party=party, has_class=not text_of(form, "no_class"), **said)


def _plain(exc: Exception) -> str:
    # The message of a decoding error would show a byte of what may be the wrong file.
    return "It is not UTF-8 text." if isinstance(exc, UnicodeDecodeError) else str(exc)


def _start_field(sentence: str) -> str | None:
    word = sentence.partition(":")[0]
    return word if word in (*ESSENTIALS, "party", "data", "draft") else None


def _file_name(form: FormData, name: str) -> str:
    return str(getattr(form.get(name), "filename", "") or "dictionary")


def start_page(request: Request, form: FormData | None = None, problems: Sequence[FormProblem] = ()) -> Response:
    """How to start."""
    desk = desk_of(request)
    typed = {key: text_of(form, key) if form is not None else "" for key in (*ESSENTIALS, "no_class", "party", "data")}
    typed["party"] = typed["party"] or situation_of(request).party or ""
    return page(
        request,
        "draft_start.html.j2",
        section="draft",
        title="Draft",
        step=start_step(desk),
        problems=problems,
        status=REFUSED if problems else 200,
        typed=typed,
        files=choices(desk),
        file_name=desk.agreement_file.name,
        exists=desk.agreement_file.exists(),
        own={name: cp.identities.own_fingerprint(name) for name in cp.identities.list_identities()},
    )


def identity(request: Request, form: FormData) -> Response:
    """Make a key and a certificate for a party, on this machine."""
    try:
        raw = form.get("passphrase")
        cp.identities.make_identity(text_of(form, "party"), passphrase=raw if isinstance(raw, str) else None)
    except cp.CopublishError as exc:
        return page(request, "message.html.j2", section="draft", title="Not done", message=str(exc), status=REFUSED)
    return RedirectResponse("/draft#identity", 303)


def start_step(desk: Desk) -> SameStep:
    """The same as a command and as Python."""
    name = desk.agreement_file.name
    return SameStep(
        command=f"{command_line('copublish', 'init', name)} --from PARTY=DATA.csv --dictionary DICTIONARY.csv",
        python='draft = cp.drafts.draft({"PARTY": "DATA.csv"}, dictionary="DICTIONARY.csv")\n'
        f'cp.drafts.save_draft(cp.drafts.draft_text(draft), {name!r}, started_from="")',
    )


def check_step(desk: Desk) -> SameStep:
    """The same as a command and as Python."""
    return SameStep(
        command=command_line("copublish", "check", desk.agreement_file.name),
        python=f"cp.drafts.draft_problems(cp.drafts.load_draft({desk.agreement_file.name!r}))",
    )


def state(situation: Situation) -> str:
    """Its state in words."""
    file = situation.desk.agreement_file
    if not file.exists():
        return "not begun"
    if situation.agreement is not None:
        return "complete"
    try:
        number = len(cp.drafts.draft_problems(cp.drafts.load_draft(file), folder=file.parent))
    except cp.AgreementError:
        return "cannot be read"
    return "1 open point" if number == 1 else f"{number} open points"


SECTION = StudioSection(
    name="draft",
    title="Draft",
    state=state,
    routes=(
        view("/draft", show),
        view("/draft/new", start_page),
        change("/draft/start", start),
        change("/draft/check", check_fields),
        change("/draft/edit", edit),
        change("/draft/save", save),
        change("/draft/text", save_text),
        change("/draft/identity", identity),
        *MERGE_ROUTES,
    ),
)
