"""The section Approve: decide, knowing what is opened, to whom, and what it costs.

An audit runs as a job, and its result can be put beside the agreement as evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import Situation, StudioSection, situation_of
from copublish.studio.pages import REFUSED, FormProblem, SameStep, attachment, command_line, fragment, page
from copublish.studio.routing import FORM_TOKEN, change, file_of, secret_of, text_of, view
from copublish.studio.words import Term, terms_in

AUDIT = "audit"
USUAL_MINUTES = "10"
FEWEST_MINUTES, MOST_MINUTES = 0.1, 24 * 60


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known of audits of the agreement as it is now.

    Attributes:
        kept: What the audit beside the agreement says, in words; none if there is none.
        job: The newest audit that was started here; none if there was none.
        found: What that one found; none before it is complete.
    """

    kept: str | None
    job: cp.runs.Job | None
    found: dict[str, Any] | None

    @property
    def why_not(self) -> str:
        """Why the audit that was started found nothing; empty if it did, or still can."""
        if self.job is None or self.job.is_alive or self.found is not None:
            return ""
        if self.job.state == "stopped":
            return "The audit was canceled. It found nothing."
        return "The audit ended without a word." if self.job.ended is None else self.job.ended.message


def evidence_of(situation: Situation) -> Evidence:
    """What is known of audits of the agreement."""
    file, agreement = situation.desk.agreement_file, situation.agreement
    of_this = (job for job in cp.runs.list_jobs() if job.kind == AUDIT and job.arguments.get("agreement") == str(file))
    job = next((job for job in of_this if agreement and job.inputs.get("agreement") == agreement.hash), None)
    kept = None if agreement is None else cp.approvals.evidence_in_words(file)
    return Evidence(kept=kept, job=job, found=None if job is None else job.result)


def show_part(request: Request) -> Response:
    """The part of the page that changes while an audit runs."""
    evidence = evidence_of(situation_of(request))
    return fragment(
        request,
        "approve_audit.html.j2",
        evidence=evidence,
        key=_key(situation_of(request)),
        is_part=True,
        minutes=USUAL_MINUTES,
        minutes_problem=False,
        form_token_name=FORM_TOKEN,
    )


def start(situation: Situation, form: FormData) -> FormProblem | None:
    """Start an audit of the agreement as it is now; what it lacks, if none could be started."""
    try:
        minutes = float(text_of(form, "minutes"))
    except ValueError:
        minutes = 0
    if not FEWEST_MINUTES <= minutes <= MOST_MINUTES:
        return FormProblem(f"Write a number of minutes from {FEWEST_MINUTES:g} to {MOST_MINUTES:,}.", "minutes")
    cp.runs.start_job(AUDIT, agreement=str(situation.desk.agreement_file), minutes=minutes)
    return None


def cancel(request: Request, form: FormData) -> Response:
    """Stop the audit that runs."""
    job = evidence_of(situation_of(request)).job
    if job is not None and job.is_alive:
        cp.runs.stop(job.id)
    return RedirectResponse("/approve#evidence", 303)


def keep(situation: Situation, form: FormData) -> None:
    """Sign what was found and put it beside the agreement.

    Raises:
        CopublishError: If that cannot be done.
    """
    found = evidence_of(situation).found
    if found is None:
        raise cp.AgreementError("The audit", ["there is none of this agreement that has ended"])
    cp.approvals.keep_audit(
        situation.desk.agreement_file,
        found,
        party=situation.party or "",
        passphrase=_typed(form, "passphrase"),
        pin=_typed(form, "pin"),
    )


WORDS_OF_SECRETS = {"passphrase": "passphrase", "pin": "PIN"}
TYPED = ("name", "role", "note", "reason", "until")


def show(request: Request) -> Response:
    """The page of the section."""
    return _page(request)


def _page(request: Request, *problems: FormProblem, form: FormData | None = None, told: Sequence[str] = ()) -> Response:
    situation = situation_of(request)
    agreement, file = situation.agreement, situation.desk.agreement_file
    if agreement is None:
        return page(
            request,
            "approve_none.html.j2",
            section="approve",
            title="Approve",
            problem=situation.problem,
            exists=file.exists(),
        )
    party = situation.party
    step = SameStep(
        command=command_line("copublish", "describe", file.name)
        + "\n"
        + command_line(
            "copublish", "approve", file.name, "--party", party or "PARTY", "--as", "ROLE", "--name", "NAME"
        ),
        python=f"cp.describe({file.name!r})\n"
        f"cp.approvals.approve({file.name!r}, party={party or 'PARTY'!r}, name=..., role=...)",
    )
    described = cp.describe(agreement, party=party)
    return page(
        request,
        "approve.html.j2",
        section="approve",
        title=f"Approve {agreement.name}",
        step=step,
        problems=problems,
        status=REFUSED if problems else 200,
        agreement=agreement,
        described=described,
        terms=_terms(described),
        sure=None if described.warning else _how_sure(agreement),
        price=cp.ledger.price(agreement),
        approvals=cp.approvals.approvals_of(file),
        evidence=evidence_of(situation),
        is_part=False,
        minutes_problem="minutes" in {problem.field for problem in problems},
        minutes=USUAL_MINUTES if form is None else text_of(form, "minutes") or USUAL_MINUTES,
        typed={key: "" if form is None else text_of(form, key) for key in TYPED},
        key=_key(situation),
        told=told,
    )


def _how_sure(agreement: cp.Agreement) -> str:
    """What epsilon means for one person."""
    return cp.planning.epsilon_in_words(format(agreement.privacy.epsilon, "f"), agreement.privacy.neighbors)


def _terms(described: cp.Description) -> list[Term]:
    """The standard terms in what the page says of the agreement."""
    texts = [f"{name}: {fact}" for name, fact in described.facts.items()]
    texts += [*described.warnings, *described.protected, *described.not_protected, *described.assumptions]
    texts += [item for _, seen in described.seen for item in seen]
    texts += [str(entry) for row in (*described.opened, *described.epsilons) for entry in row]
    return terms_in(texts + list(described.meeting))


def _key(situation: Situation) -> cp.identities.SigningKey | None:
    """The key that signs for this party; nothing if it is no party of the agreement."""
    agreement, party = situation.agreement, situation.party
    if agreement is None or party not in agreement.parties:
        return None
    return cp.identities.signing_key(agreement, party)


def approve(request: Request, form: FormData) -> Response:
    """Sign an approval of the agreement that was shown."""
    return _sign(request, form, refusing=False)


def refuse(request: Request, form: FormData) -> Response:
    """Sign a refusal of the agreement that was shown."""
    return _sign(request, form, refusing=True)


def _typed(form: FormData, field: str) -> Callable[[str], str]:
    """What opens a key, as it was typed; who asks for it when it was not gets an error."""

    def asked(what: str) -> str:
        secret = secret_of(form, field)
        if secret is None:
            raise cp.identities.PassphraseError(
                f"There is a {WORDS_OF_SECRETS[field]} to {what}. Type it beside the button."
            )
        return secret

    return asked


def _sign(request: Request, form: FormData, *, refusing: bool) -> Response:
    situation = situation_of(request)

    said = {
        "party": situation.party or "",
        "name": text_of(form, "name"),
        "role": text_of(form, "role"),
        "passphrase": _typed(form, "passphrase"),
        "pin": _typed(form, "pin"),
        "shown": text_of(form, "shown"),
    }
    try:
        if refusing:
            cp.approvals.refuse(situation.desk.agreement_file, reason=text_of(form, "reason"), **said)  # type: ignore[arg-type]
        else:
            cp.approvals.approve(
                situation.desk.agreement_file,
                note=text_of(form, "note"),
                until=_day(text_of(form, "until")),
                **said,  # type: ignore[arg-type]
            )
    except cp.CopublishError as exc:
        return _page(request, FormProblem(str(exc), _field(exc, refusing=refusing)), form=form)
    return RedirectResponse("/approve#approvals", 303)


def _day(text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise cp.approvals.ApprovalError(f"The last day is written like 2026-12-31, got '{text}'.") from None


def _field(exc: cp.CopublishError, *, refusing: bool) -> str:
    """The id of the field that a refusal is about."""
    before, sentence = "refuse-" if refusing else "", str(exc)
    if _asks_for_a_secret(exc):
        return f"{before}secret"
    known = {
        "The name": "name",
        "The role": "role",
        "The note": "note",
        "The reason": "reason",
        "The last day": "until",
    }
    found = next((field for start, field in known.items() if sentence.startswith(start)), None)
    return f"{before}{found}" if found in ("name", "role") else found or "decide"


def _asks_for_a_secret(exc: cp.CopublishError) -> bool:
    return isinstance(exc, cp.identities.PassphraseError)


def take_back(request: Request, form: FormData) -> Response:
    """Take a refusal of this party back."""
    situation = situation_of(request)
    file = text_of(form, "file")
    try:
        refused = cp.approvals.approvals_of(situation.desk.agreement_file).refused.get(file)
        if refused is None or refused.party != situation.party:
            raise cp.approvals.ApprovalError("There is no such refusal of your party.")
        cp.approvals.take_back_refusal(situation.desk.agreement_file, file)
    except cp.CopublishError as exc:
        return _page(request, FormProblem(str(exc)))
    return RedirectResponse("/approve#approvals", 303)


def limit(request: Request, form: FormData) -> Response:
    """State the most that may ever be spent on these people."""
    situation = situation_of(request)
    if situation.agreement is None:
        return _page(request)
    try:
        cp.ledger.set_limit(
            situation.agreement.dataset,
            text_of(form, "limit_epsilon"),
            delta=text_of(form, "limit_delta"),
            neighbors=situation.agreement.privacy.neighbors,
            ledger_state=text_of(form, "ledger_state"),  # a form without it was not made from a ledger
        )
    except cp.LedgerError as exc:
        return _page(request, FormProblem(str(exc), "limit_delta" if "delta" in str(exc) else "limit_epsilon"))
    return RedirectResponse("/approve#ledger", 303)


def start_audit(request: Request, form: FormData) -> Response:
    """Start an audit, as a job of its own."""
    if situation_of(request).agreement is None:
        return _page(request)
    try:
        problem = start(situation_of(request), form)
    except cp.CopublishError as exc:
        problem = FormProblem(str(exc), "minutes")
    return RedirectResponse("/approve#evidence", 303) if problem is None else _page(request, problem, form=form)


def keep_audit(request: Request, form: FormData) -> Response:
    """Sign what an audit found and put it beside the agreement."""
    try:
        keep(situation_of(request), form)
    except cp.CopublishError as exc:
        return _page(request, FormProblem(str(exc), "keep-secret" if _asks_for_a_secret(exc) else "evidence"))
    return RedirectResponse("/approve#evidence", 303)


def add(request: Request, form: FormData) -> Response:
    """Put approvals that others sent beside the agreement."""
    content = file_of(form, "approvals_file")
    if content is None:
        return _page(request, FormProblem("Choose a file that another party sent.", "approvals_file"))
    try:
        told = cp.approvals.add_approvals(situation_of(request).desk.agreement_file, content)
    except cp.CopublishError as exc:
        return _page(request, FormProblem(str(exc), "approvals_file"))
    return _page(request, told=told)


def proposal(request: Request) -> Response:
    """The bundle for the people who decide, at all parties."""
    situation = situation_of(request)
    return attachment(
        cp.approvals.bundle_of_proposal(situation.desk.agreement_file), f"{situation.agreement_name}-proposal.zip"
    )


def own_approvals(request: Request) -> Response:
    """This party's approvals with its certificate, for the others."""
    situation = situation_of(request)
    if (party := situation.party) is None:
        raise cp.approvals.ApprovalError("It is not known which party you are. Start the page with --party NAME.")
    return attachment(
        cp.approvals.bundle_of_approvals(situation.desk.agreement_file, party),
        f"{situation.agreement_name}-{party}-approvals.zip",
    )


def state(situation: Situation) -> str:
    """Its state in words."""
    if situation.agreement is None:
        return ""
    found = cp.approvals.approvals_of(situation.desk.agreement_file)
    if found.refused:
        return "refused"
    needed = sum(found.needed.values())
    there = needed - sum(found.missing.values())
    return f"{there} of {needed}" if needed else "none needed"


SECTION = StudioSection(
    name="approve",
    title="Approve",
    state=state,
    routes=(
        view("/approve", show),
        change("/approve/approve", approve),
        change("/approve/refuse", refuse),
        change("/approve/take-back", take_back),
        change("/approve/limit", limit),
        change("/approve/add", add),
        view("/approve/audit", show_part),
        change("/approve/audit", start_audit),
        change("/approve/audit/cancel", cancel),
        change("/approve/audit/keep", keep_audit),
        view("/approve/proposal.zip", proposal),
        view("/approve/own.zip", own_approvals),
    ),
)
