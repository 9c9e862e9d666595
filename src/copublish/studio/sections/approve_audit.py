"""Evidence in the place Approve: an audit as a job, what it found, and putting it beside the agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import copublish as cp
from copublish.studio.context import Situation, situation_of
from copublish.studio.pages import Problem, fragment
from copublish.studio.routing import FORM_TOKEN, text_of

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
    job: cp.Job | None
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
    of_this = (job for job in cp.jobs() if job.kind == AUDIT and job.arguments.get("agreement") == str(file))
    job = next((job for job in of_this if agreement and job.inputs.get("agreement") == agreement.hash), None)
    kept = None if agreement is None else cp.evidence_in_words(file)
    return Evidence(kept=kept, job=job, found=None if job is None else job.result)


def show_part(request: Request) -> Response:
    """The part of the page that changes while an audit runs."""
    evidence = evidence_of(situation_of(request))
    return fragment(
        request,
        "approve_audit.html.j2",
        evidence=evidence,
        is_part=True,
        minutes=USUAL_MINUTES,
        minutes_problem=False,
        form_token_name=FORM_TOKEN,
    )


def start(situation: Situation, form: FormData) -> Problem | None:
    """Start an audit of the agreement as it is now; what it lacks, if none could be started."""
    try:
        minutes = float(text_of(form, "minutes"))
    except ValueError:
        minutes = 0
    if not FEWEST_MINUTES <= minutes <= MOST_MINUTES:
        return Problem(f"Write a number of minutes from {FEWEST_MINUTES:g} to {MOST_MINUTES:,}.", "minutes")
    cp.start_job(AUDIT, agreement=str(situation.desk.agreement_file), minutes=minutes)
    return None


def cancel(request: Request, form: FormData) -> Response:
    """Stop the audit that runs."""
    job = evidence_of(situation_of(request)).job
    if job is not None and job.is_alive:
        cp.stop(job.id)
    return RedirectResponse("/approve#evidence", 303)


def keep(situation: Situation) -> None:
    """Put what was found beside the agreement.

    Raises:
        AgreementError: If that cannot be done.
    """
    found = evidence_of(situation).found
    if found is None:
        raise cp.AgreementError("The audit", ["there is none of this agreement that has ended"])
    cp.keep_audit(situation.desk.agreement_file, found)
