"""The section Plan: choose epsilon and mechanism by what comes out, before private data are touched."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import Situation, StudioSection, desk_of, situation_of
from copublish.studio.pages import REFUSED, FormProblem, LinkChoice, SameStep, chosen_link, command_line, fragment, page
from copublish.studio.releases import choices, chosen
from copublish.studio.routing import change, text_of, view

STEPS = ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10")
TRY = "try_mechanism"
MADE_UP = "made-up data"
RAW = "raw data"
MOST_RUNS = 20
STARTED_FROM = "started_from"
WRONG_EPSILON = "Write an epsilon from 0.000001 to 10."


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table of mechanisms, in words.

    Attributes:
        name: What was tried.
        state: How far it is.
        scores: Area, means and pairs, each with its error; empty before it has ended.
        cost: Time and traffic over the link.
        cost_why: Where that comes from.
        note: "cannot be told apart", or why there is no row.
        job: The id of its job, while it can be canceled.
    """

    name: str
    state: str
    scores: tuple[str, str, str] | None = None
    cost: str = ""
    cost_why: str = ""
    note: str = ""
    job: str | None = None


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Jobs that were started together: the same agreement file, epsilon, data and runs.

    Attributes:
        id: By which an address names them; no path stands in an address.
        epsilon, data: What they were made for, in words.
        rows: The trivial baseline first, raw data last.
        is_alive: Whether one of them still runs.
        stale: What has changed since; empty if nothing has.
    """

    id: str
    epsilon: str
    data: str
    rows: tuple[Row, ...]
    is_alive: bool
    stale: str

    @property
    def is_made_up(self) -> bool:
        """Whether scores show shapes alone."""
        return self.data == MADE_UP


def show(request: Request) -> Response:
    """The page of the section."""
    return _page(request)


def _page(request: Request, *problems: FormProblem) -> Response:
    situation = situation_of(request)
    file = situation.desk.agreement_file
    started_from = cp.drafts.hash_of_file(file)  # before it is read: one that is written meanwhile is another one
    agreement = situation.agreement
    said = list(problems)
    epsilon, problem = _epsilon(request, agreement)
    link = chosen_link(situation, request.query_params)
    said += [one for one in (problem, link.problem) if one]
    names: list[str] = []
    refused: Mapping[str, Sequence[str]] = {}
    why_not = ""
    if agreement is not None:
        try:
            names, refused = cp.planning.side_by_side(agreement)
        except cp.CopublishError as exc:
            why_not = str(exc)
    return page(
        request,
        "plan.html.j2",
        section="plan",
        title="Plan",
        step=SameStep(
            command=command_line("copublish", "plan", file.name, "--mechanism", "all", "--epsilon", epsilon),
            python=f'cp.planning.meaning(cp.load_agreement({file.name!r}), "{epsilon}")\n'
            f'cp.planning.try_mechanism({file.name!r}, "MECHANISM", epsilon="{epsilon}")',
        ),
        problems=said,
        status=REFUSED if said else 200,
        agreement=agreement,
        steps=STEPS,
        step_number=_step(epsilon),
        names=names,
        labels=cp.drafts.mechanism_labels(),
        first_choice=cp.drafts.mechanism_names()[0],
        refused=refused,
        why_not=why_not,
        files=choices(situation.desk),
        batch=_batch(request, agreement, link),
        link=link,
        is_part=False,
        exists=file.exists(),
        started_from=started_from,
        **_meaning(agreement, epsilon),
    )


def words(request: Request) -> Response:
    """What an epsilon means: a part of the page, asked for while the slider moves."""
    agreement = situation_of(request).agreement
    epsilon, problem = _epsilon(request, agreement)
    return fragment(request, "plan_words.html.j2", problem=problem, **_meaning(agreement, epsilon))


def table(request: Request) -> Response:
    """The rows so far: a part of the page, asked for while jobs run."""
    situation = situation_of(request)
    link = chosen_link(situation, request.query_params)
    batch = _batch(request, situation.agreement, link)
    return fragment(request, "plan_table.html.j2", batch=batch, link=link, is_part=True)


def _epsilon(request: Request, agreement: cp.Agreement | None) -> tuple[str, FormProblem | None]:
    """The epsilon that is asked about: typed, by the slider, or by the error that somebody can bear."""
    asked = request.query_params
    usual = "1" if agreement is None else _plain(agreement.privacy.epsilon)
    typed, shown = asked.get("epsilon", usual).strip(), asked.get("shown", "")
    if asked.get("by") == "error" and agreement is not None:
        try:
            return cp.planning.epsilon_for_error(agreement, float(asked.get("error", ""))), None
        except ValueError:
            return typed or usual, FormProblem("Write a number of people, like 4.", "error")
        except cp.CopublishError as exc:
            return typed or usual, FormProblem(str(exc), "error")
    step = asked.get("step", "")
    # Without scripts the slider says nothing to the field beside it: if that was left as it was, the slider counts.
    if typed == shown and step.isdecimal() and int(step) < len(STEPS) and int(step) != _step(shown):
        typed = STEPS[int(step)]
    value = _epsilon_from(typed)
    if value is not None:
        return _plain(value), None
    return usual, FormProblem(f"{WRONG_EPSILON[:-1]}, got '{typed}'.", "epsilon")


def _epsilon_from(typed: str) -> Decimal | None:
    """The epsilon that somebody typed; none if it is no number that a page writes or tries."""
    try:
        value = Decimal(typed)
        return value if Decimal("0.000001") <= value <= 10 else None
    except InvalidOperation:
        return None


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _step(epsilon: str) -> int:
    """The step of the slider that is nearest."""
    try:
        return min(range(len(STEPS)), key=lambda step: abs(Decimal(STEPS[step]) - Decimal(epsilon)))
    except InvalidOperation:
        return STEPS.index("1")


def _meaning(agreement: cp.Agreement | None, epsilon: str) -> dict[str, Any]:
    """What stands below the slider; of a draft with open points, how sure somebody can become and no more."""
    if agreement is None:
        return {"epsilon": epsilon, "sure": cp.planning.epsilon_in_words(epsilon), "meaning": None, "no_meaning": ""}
    sure = cp.planning.epsilon_in_words(epsilon, agreement.privacy.neighbors)
    try:
        found = cp.planning.meaning(agreement, epsilon)
    except cp.CopublishError as exc:
        return {"epsilon": epsilon, "sure": sure, "meaning": None, "no_meaning": str(exc)}
    return {"epsilon": epsilon, "sure": found.sure, "meaning": found, "no_meaning": ""}


def _batch_id(job: cp.runs.Job) -> str:
    said = [str(job.arguments.get(key)) for key in ("agreement", "epsilon", "like", "runs")]
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]


def _batch(request: Request, agreement: cp.Agreement | None, link: LinkChoice) -> Batch | None:
    """The jobs that an address names, else those that were started last for this file."""
    file = str(desk_of(request).agreement_file)
    found = [job for job in cp.runs.list_jobs() if job.kind == TRY and job.arguments.get("agreement") == file]
    wanted = request.query_params.get("batch")
    chosen_id = wanted if wanted in {_batch_id(job) for job in found} else _batch_id(found[0]) if found else None
    of_batch = [job for job in found if _batch_id(job) == chosen_id]
    latest: dict[str, cp.runs.Job] = {}
    for job in of_batch:  # newest first: of an agreement that was changed, the newer trial counts
        latest.setdefault(str(job.arguments["mechanism"]), job)
    if chosen_id is None:
        return None
    first = of_batch[0].arguments
    results = {name: job.result for name, job in latest.items()}
    made_up = first.get("like") is None
    return Batch(
        id=chosen_id,
        epsilon=str(first.get("epsilon")),
        data=MADE_UP if made_up else f"the public table {Path(str(first['like'])).name}",
        rows=tuple(_rows(latest, results, link.link, made_up=made_up)),
        is_alive=any(job.is_alive for job in latest.values()),
        stale=_stale(agreement, str(first.get("epsilon")), results),
    )


def _stale(agreement: cp.Agreement | None, epsilon: str, results: Mapping[str, dict[str, Any] | None]) -> str:
    if agreement is None:
        return ""
    own = _plain(agreement.privacy.epsilon)
    if own != epsilon:
        return f"Made for epsilon {epsilon}; the draft says {own}. Run again."
    if any(found is not None and found["agreement_hash"] != agreement.hash for found in results.values()):
        return "Made for the draft as it was; it was changed since. Run again."
    return ""


def _rows(
    latest: Mapping[str, cp.runs.Job],
    results: Mapping[str, dict[str, Any] | None],
    link: cp.planning.Link,
    *,
    made_up: bool,
) -> list[Row]:
    """Rows in order: the trivial baseline, mechanisms as they were asked for, raw data."""
    done = {name: found["row"] for name, found in results.items() if found is not None}
    best = max(done.values(), key=lambda row: row["area"], default=None)
    baseline = next((name for name, found in results.items() if found is not None and "raw" in found), None)
    rows, raw = [], []
    order = list(latest)[::-1]  # as they were started
    order.sort(key=lambda name: name != baseline)
    for name in order:
        job, found = latest[name], results[name]
        if found is None:
            rows.append(_unfinished(name, job))
            continue
        row, note = found["row"], ""
        if not made_up and best is not None:
            apart = row is not best and not cp.planning.is_tie(row, best)
            note = "largest area" if row is best else "" if apart else "cannot be told apart from the largest"
        cost = cp.planning.over_link(found["cost"], link) if "cost" in found else None
        told = "" if cost is None or cost["seconds"] is None else f"{cost['seconds']:.0f} s, {cost['mib_sent']:.0f} MiB"
        why = "" if cost is None else str(cost["why"])
        rows.append(Row(name=name, state="done", scores=_scores(row), cost=told, cost_why=why, note=note))
        if name == baseline:
            raw = [Row(name=RAW, state="done", scores=_scores(found["raw"]), note="no release need beat it")]
    return [*rows, *raw]


def _unfinished(name: str, job: cp.runs.Job) -> Row:
    if job.is_alive:
        phase = job.phase
        state = "starting" if phase is None else f"running: {phase.name}"
        return Row(name=name, state=state, job=job.id)
    if job.ended is not None and job.ended.state == "stopped":
        return Row(name=name, state="canceled")
    why = "It ended without a word." if job.ended is None else job.ended.message
    return Row(name=name, state="not done", note=why)


def _scores(row: Mapping[str, Any]) -> tuple[str, str, str]:
    def shown(value: float | None, error: float | None, *, percent: bool = False) -> str:
        if value is None:
            return "-"
        if percent and value > 1:
            return "more than 100 %"
        parts = [f"{100 * part:.0f}" if percent else f"{part:.2f}" for part in (value, error) if part is not None]
        return " ± ".join(parts) + (" %" if percent else "")

    means, pairs = row["means"], row["pairs"]
    return (
        shown(row["area"], row["area_standard_error"]),
        shown(means["value"], means["standard_error"], percent=True),
        shown(pairs["value"], pairs["standard_error"]),
    )


def start(request: Request, form: FormData) -> Response:
    """Start a job for each mechanism that was ticked."""
    situation = situation_of(request)
    if situation.agreement is None:
        return _page(request)
    names, _ = cp.planning.side_by_side(situation.agreement)
    asked = [name for name in names if name in form.getlist("mechanism")]
    runs, like, epsilon = text_of(form, "runs"), text_of(form, "like"), text_of(form, "epsilon")
    problems = []
    if not asked:
        problems.append(FormProblem("Tick at least one mechanism.", "mechanism-0"))
    if not (runs.isdecimal() and 1 <= int(runs) <= MOST_RUNS):
        problems.append(FormProblem(f"Write a number of runs from 1 to {MOST_RUNS}.", "runs"))
    table = None
    try:
        if like:
            table = chosen(situation.desk, like)
        if isinstance(table, cp.DatabaseTable):
            raise cp.SourceError("Take a file: what is in it has to be public, and a job keeps what it found.")
    except cp.SourceError as exc:
        problems.append(FormProblem(str(exc), "like"))
    value = _epsilon_from(epsilon)
    if value is None:
        problems.append(FormProblem(WRONG_EPSILON, "epsilon"))
    if like and "is_public" not in form:
        problems.append(FormProblem("Say that the table is public: nothing is charged for a plan.", "is_public"))
    if problems or value is None:
        return _page(request, *problems)
    jobs = [
        cp.runs.start_job(
            TRY,
            agreement=str(situation.desk.agreement_file),
            mechanism=name,
            like=None if table is None else str(table),
            epsilon=_plain(value),
            runs=int(runs),
        )
        for name in asked
    ]
    return RedirectResponse(f"/plan?batch={_batch_id(jobs[0])}&epsilon={_plain(value)}#table", 303)


def cancel(request: Request, form: FormData) -> Response:
    """Stop jobs; rows that are there stay."""
    batch = text_of(form, "batch")
    known = {job.id: job for job in cp.runs.list_jobs() if job.kind == TRY and job.is_alive and _batch_id(job) == batch}
    one = text_of(form, "job")
    for id_ in [one] if one in known else known if not one else []:
        cp.runs.stop(id_)
    return RedirectResponse(f"/plan?batch={batch}#table" if batch.isalnum() else "/plan", 303)


def take(request: Request, form: FormData) -> Response:
    """Write an epsilon into the draft, and nothing else, if it is still the draft that the page was made of."""
    file = desk_of(request).agreement_file
    epsilon = _epsilon_from(text_of(form, "epsilon"))
    if epsilon is None:
        return _page(request, FormProblem(WRONG_EPSILON, "epsilon"))
    try:
        draft = cp.drafts.load_draft(file)
        privacy = {**draft.content.get("privacy", {}), "epsilon": Decimal(_plain(epsilon))}
        changed = replace(draft, content={**draft.content, "privacy": privacy})
        cp.drafts.save_draft(cp.drafts.draft_text(changed), file, started_from=text_of(form, STARTED_FROM))
    except (cp.AgreementError, cp.drafts.DraftChangedError) as exc:
        return _page(request, FormProblem(str(exc)))
    return RedirectResponse("/plan", 303)


def state(situation: Situation) -> str:
    """Its state in words."""
    file = str(situation.desk.agreement_file)
    alive = sum(
        job.is_alive for job in cp.runs.list_jobs() if job.kind == TRY and job.arguments.get("agreement") == file
    )
    if alive:
        return f"{alive} running"
    return "" if situation.agreement is None else f"epsilon {_plain(situation.agreement.privacy.epsilon)}"


SECTION = StudioSection(
    name="plan",
    title="Plan",
    state=state,
    routes=(
        view("/plan", show),
        view("/plan/words", words),
        view("/plan/table", table),
        change("/plan/start", start),
        change("/plan/cancel", cancel),
        change("/plan/take", take),
    ),
)
