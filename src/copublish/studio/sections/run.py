"""The section Run: watch this party's release to its end, or stop it knowingly."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import Situation, StudioSection, situation_of
from copublish.studio.pages import REFUSED, FormProblem, SameStep, attachment, command_line, fragment, links_of, page
from copublish.studio.releases import choices, chosen, chosen_mapping, key_of
from copublish.studio.routing import change, secret_of, text_of, view

LEFT_OUT = ("null class", "doubled", "no identifier", "dropped")
"""Rules whose rows count nowhere; the others replace a value, clamp it, or leave it."""

NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,20})?")


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What the agreement's rules do to this party's rows: for its owner's eyes, kept nowhere."""

    checked: cp.Checked
    data: str
    table: str

    def rows(self, *kinds: str) -> int:
        """In how many rows rules of these kinds changed something, column by column."""
        return sum(rule.rows for rule in self.checked.rules if rule.rule in kinds)

    @property
    def clamped(self) -> int:
        """Values taken as the nearer bound."""
        return self.rows("clamped")

    @property
    def replaced(self) -> int:
        """Values taken as another one."""
        return self.rows("unlisted", "missing", "unreadable")

    @property
    def left_out(self) -> int:
        """Rows that count nowhere."""
        return self.rows(*LEFT_OUT)


def show(request: Request) -> Response:
    """The run that goes on or, if there is none, what it takes to start one."""
    situation = situation_of(request)
    run = situation.current_run
    if run is not None and run.is_alive:
        return RedirectResponse(f"/run/{run.id}", 303)
    return _start_page(request, situation)


def look(request: Request) -> Response:
    """One run."""
    return _watched(request, _run_of(request))


def look_again(request: Request) -> Response:
    """The part of a run's page that changes."""
    run = _run_of(request)
    facts = _facts(run)
    if run.is_alive and request.query_params.get("seen") == facts["version"]:
        return Response(status_code=204)  # nothing is replaced, so nothing moves and nothing is read out again
    part = fragment(request, "run_now.html.j2", is_part=True, **facts)
    if not run.is_alive:
        part.headers["HX-Refresh"] = "true"  # all of the page is another one now
    return part


def log(request: Request) -> Response:
    """The log of a run, to keep or to send: public facts alone."""
    run = _run_of(request)
    lines = "".join(json.dumps(event) + "\n" for event in run.events)
    return attachment(lines.encode(), f"{run.release}-{run.id[:8]}.jsonl")


def ask_to_stop(request: Request) -> Response:
    """What stopping costs now, before anything is stopped."""
    run = _run_of(request)
    step = SameStep(command=command_line("copublish", "runs", run.id[:8], "--stop"), python=f"cp.runs.stop({run.id!r})")
    return page(request, "run_stop.html.j2", section="run", title="Stop this run?", step=step, **_facts(run))


def stop(request: Request, form: FormData) -> Response:
    """Stop a run; who asks twice stops it once."""
    run = _run_of(request)
    cp.runs.stop(run)
    return RedirectResponse(f"/run/{run.id}", 303)


def preflight(request: Request, form: FormData) -> Response:
    """Read this party's own data and say what the rules do to them. Nobody else learns of it, and nothing is kept."""
    situation = situation_of(request)
    own = _own_data(form)
    try:
        found = _preflight(situation, own)
    except cp.CopublishError as exc:
        return _start_page(request, situation, problems=[FormProblem(str(exc), "data")], own=own)
    return _start_page(request, situation, preflight=found, own=own)


def start(request: Request, form: FormData) -> Response:
    """Start a run, if agreement and ledger are still those that were shown."""
    situation = situation_of(request)
    own = _own_data(form)
    try:
        run = _started(situation, form, own)
    except cp.CopublishError as exc:
        return _start_page(request, situation, problems=[FormProblem(str(exc))], own=own)
    return RedirectResponse(f"/run/{run.id}", 303)


def state(situation: Situation) -> str:
    """How far the newest run of the agreement is."""
    run = situation.current_run
    return "" if run is None else _state_of(run)


def _state_of(run: cp.runs.Run) -> str:
    if run.state == "waiting":
        return f"waiting for {', '.join(run.others)}"
    ended = {"failed": "ended without a release", "lost": "ended without a word"}
    return ended.get(run.state, run.state)


@dataclass(frozen=True)
class _OwnData:
    """The party's own data as a form names them."""

    data: str = ""
    table: str = ""
    columns: str = ""


def _own_data(form: FormData) -> _OwnData:
    return _OwnData(text_of(form, "data"), text_of(form, "table"), text_of(form, "columns"))


def _started(situation: Situation, form: FormData, own: _OwnData) -> cp.runs.Run:
    folder = text_of(form, "out")
    if Path(folder).name != folder or folder in ("", ".", ".."):
        raise cp.ReleaseError("Name the new folder without slashes: it will lie beside the agreement.")
    minutes = text_of(form, "wait")
    return cp.runs.start(
        situation.desk.agreement_file,
        party=situation.desk.party,
        out=situation.desk.agreement_file.parent / folder,
        data=chosen(situation.desk, own.data, own.table) if own.data else None,
        columns=chosen_mapping(situation.desk, own.columns),
        accept=text_of(form, "accept") == "yes",
        passphrase=secret_of(form, "passphrase"),
        signer_passphrase=secret_of(form, "signer_passphrase"),
        pin=secret_of(form, "pin"),
        wait_seconds=60 * int(minutes) if minutes.isdecimal() and 0 < int(minutes) < 10_000 else None,
        again=bool(text_of(form, "again")),
        run_id=text_of(form, "run_id"),
        agreement_hash=text_of(form, "agreement_hash"),
        ledger_state=text_of(form, "ledger_state") or None,
        predicted_seconds=_number_of(form, "predicted_seconds"),
    )


def _number_of(form: FormData, field: str) -> float | None:
    text = text_of(form, field)
    return float(text) if NUMBER.fullmatch(text) else None


def predicted_seconds(situation: Situation) -> float | None:
    """How long the newest plan or trial of this very agreement says that a run takes; none without one."""
    agreement = situation.agreement
    if agreement is None:
        return None
    for job in cp.runs.list_jobs():
        if job.inputs.get("agreement") != agreement.hash or (found := job.result) is None:
            continue
        if job.kind == "plan":
            return _seconds_of(found.get("secure_run"))
        if job.kind == "try_mechanism" and _is_as_agreed(found, agreement):
            cost = found.get("cost")  # as the table of Plan shows it first
            return _seconds_of(cost and cp.planning.over_link(cost, next(iter(links_of(situation).values()))))
    return None


def _is_as_agreed(trial: Mapping[str, Any], agreement: cp.Agreement) -> bool:
    """Whether what was tried is what will be run: other mechanisms, and other budgets, take other times."""
    is_mechanism = trial.get("mechanism") == agreement.mechanism.name
    return is_mechanism and Decimal(str(trial.get("epsilon"))) == agreement.privacy.epsilon


def _seconds_of(cost: Mapping[str, Any] | None) -> float | None:
    seconds = (cost or {}).get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def _preflight(situation: Situation, own: _OwnData) -> Preflight:
    file, party = situation.desk.agreement_file, situation.party
    data, columns = chosen(situation.desk, own.data, own.table), chosen_mapping(situation.desk, own.columns)
    as_run = cp.runs.data_of_run(file, data, party=party, columns=columns)
    return Preflight(checked=cp.check(file, party, as_run), data=own.data, table=own.table)


def _start_page(
    request: Request,
    situation: Situation,
    *,
    problems: Sequence[FormProblem] = (),
    preflight: Preflight | None = None,
    own: _OwnData | None = None,
) -> Response:
    own = own or _OwnData()
    agreement, party = situation.agreement, situation.party
    before, before_consent, holds_data, refused = None, None, False, None
    if agreement is not None and party is not None and party in agreement.parties:
        holds_data = agreement.parties[party].data
        try:
            before = cp.runs.before_run(situation.desk.agreement_file, party=party)
            before_consent = cp.describe(agreement, party=party).before_consent
        except cp.CopublishError as exc:
            refused = str(exc)
    return page(
        request,
        "run.html.j2",
        section="run",
        title="Run",
        step=_step(situation, own.data),
        problems=problems,
        status=REFUSED if problems else 200,
        situation=situation,
        before=before,
        before_consent=before_consent,
        refused=refused,
        holds_data=holds_data,
        choices=choices(situation.desk),
        preflight=preflight,
        chosen=own.data,
        table=own.table,
        columns=own.columns,
        out=_new_folder(situation),
        wait_minutes=None if before is None else -(-before.wait_seconds // 60),
        predicted_seconds=predicted_seconds(situation),
    )


def _step(situation: Situation, data: str) -> SameStep:
    file, party = situation.desk.agreement_file.name, situation.party or "PARTY"
    where = data or "DATA"
    out = _new_folder(situation)
    return SameStep(
        command=command_line(*("copublish", "run", file, "--party", party, "--data", where, "--out", out, "--detach")),
        python=f"before = cp.runs.before_run({file!r}, party={party!r})\n"
        f"cp.runs.start({file!r}, party={party!r}, data={where!r}, out={out!r}, run_id=before.run_id)",
    )


def _new_folder(situation: Situation) -> str:
    """A name for the release's folder that is still free."""
    agreement = situation.agreement
    name = "".join(
        letter if letter.isalnum() or letter in "-_" else "-" for letter in (agreement.name if agreement else "release")
    )
    there = situation.desk.agreement_file.parent
    numbers = (f"release-{name}{f'-{number}' if number > 1 else ''}" for number in range(1, 1000))
    return next((folder for folder in numbers if not (there / folder).exists()), "")


def _watched(request: Request, run: cp.runs.Run) -> Response:
    step = SameStep(
        command=command_line("copublish", "runs", run.id[:8], "--follow"),
        python=f"for seen in cp.runs.follow({run.id!r}):\n    print(seen.state, seen.phase)",
    )
    return page(
        request,
        "run_one.html.j2",
        section="run",
        title=f"Run of {run.release}",
        step=step,
        is_part=False,
        **_facts(run),
    )


def _facts(run: cp.runs.Run) -> dict[str, Any]:
    try:
        charge, unreadable = run.charge(), None
    except cp.LedgerError as exc:
        charge, unreadable = None, str(exc)
    phases = [(phase.name, phase.done, phase.is_over) for phase in run.phases]
    opened = None if charge is None else (charge.state, len(charge.disclosures))
    said = repr((run.state, run.waiting_for, run.met_at, phases, opened, unreadable))
    return {
        "run": run,
        "state": _state_of(run),
        "version": hashlib.sha256(said.encode()).hexdigest()[:16],
        "charge": charge,
        "ledger_problem": unreadable,
        "release_key": key_of(run.out) if run.state == "complete" else None,
        "doctor": command_line("copublish", "doctor", run.agreement_file.name, "--party", run.party),
    }


def _run_of(request: Request) -> cp.runs.Run:
    id_ = request.path_params["id"]
    found = next((run for run in situation_of(request).runs if run.id == id_), None)
    if found is None:
        raise HTTPException(404)
    return found


SECTION = StudioSection(
    name="run",
    title="Run",
    state=state,
    routes=(
        view("/run", show),
        change("/run/preflight", preflight),
        change("/run/start", start),
        view("/run/{id}", look),
        view("/run/{id}/now", look_again),
        view("/run/{id}/log", log),
        view("/run/{id}/stop", ask_to_stop),
        change("/run/{id}/stop", stop),
    ),
)
