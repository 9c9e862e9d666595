"""Organizations that hold pieces of one table publish one differentially private data set together.

Everything that the command line does, for notebooks and scripts:

>>> import copublish as cp
>>> agreement = cp.load_agreement("agreement.toml")  # doctest: +SKIP
>>> cp.check(agreement, "bank", frame)  # is my data what we agreed?  # doctest: +SKIP
>>> cp.describe(agreement)  # every disclosure, its price, its noise, who learns what  # doctest: +SKIP
>>> cp.plan(agreement, like=public_frame).plot()  # what to expect, before anything is spent  # doctest: +SKIP
>>> release = cp.simulate(agreement, {"bank": bank, "loans": loans})  # all parties here  # doctest: +SKIP
>>> release = cp.run(agreement, party="bank", data=bank, out="release/")  # between machines  # doctest: +SKIP
>>> cp.evaluate(release, test); cp.report(release); cp.generalize(release, frame)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
"""True for type checkers alone. Not taken from `typing`: the command line can be stopped without a traceback only after
this file has run, so it loads next to nothing."""

if TYPE_CHECKING:
    __version__: str
    from copublish.agreement.loading import agreement_from_mapping, load_agreement
    from copublish.agreement.model import Agreement
    from copublish.errors import (
        AgreementError,
        ApprovalError,
        BudgetExceededError,
        CopublishError,
        DraftChangedError,
        EngineError,
        EvaluationError,
        FragmentError,
        InvalidInputsError,
        LedgerError,
        LockedError,
        MeetingError,
        PassphraseError,
        ReleaseError,
        SourceError,
    )
    from copublish.kernel.certificate.certificate import Certificate
    from copublish.kernel.ledger.budget import Budget
    from copublish.kernel.ledger.ledger import Ledger, Limit
    from copublish.mechanisms.reading.estimate import Estimate
    from copublish.mechanisms.registry import mechanism_names
    from copublish.party.audit_file import evidence_in_words, keep_audit
    from copublish.party.check import Checked, check
    from copublish.party.detached.jobs import job, jobs, start_job
    from copublish.party.detached.runs import BeforeRun, before_run, follow, runs, start, stop
    from copublish.party.detached.status import Job, Run
    from copublish.party.keys.approving import (
        Approvals,
        add_approvals,
        approvals_of,
        approve,
        bundle_of_approvals,
        refuse,
        take_back_refusal,
    )
    from copublish.party.keys.identity import identities, make_identity, own_fingerprint
    from copublish.party.keys.signing_key import SigningKey, signing_key
    from copublish.party.local.simulation import simulate
    from copublish.party.own_ledger import Price, price, set_limit
    from copublish.party.proposal import bundle_of_proposal
    from copublish.party.run import run
    from copublish.release.describe import Description, describe
    from copublish.release.folder import Release, load_release
    from copublish.release.report.page import Report, report
    from copublish.release.verify import Verification, verify_release
    from copublish.rows.database import DatabaseTable
    from copublish.tools.auditing.audit import audit
    from copublish.tools.auditing.result import Audit
    from copublish.tools.drafting.differences import differences
    from copublish.tools.drafting.draft import Draft
    from copublish.tools.drafting.fields import DraftProblem, draft_problems
    from copublish.tools.drafting.files import draft_from_text, hash_of_file, load_draft, save_draft
    from copublish.tools.drafting.form import DraftForm
    from copublish.tools.drafting.headers import dictionary_from_text, draft
    from copublish.tools.drafting.merge import compare_drafts, merge_drafts
    from copublish.tools.drafting.text import draft_text
    from copublish.tools.evaluation.generalize import generalize
    from copublish.tools.evaluation.scorecard import Evaluation, evaluate
    from copublish.tools.planning.advice import plan_release as plan
    from copublish.tools.planning.links import Link, measured_link, over_link, usual_links
    from copublish.tools.planning.meaning import Meaning, epsilon_for_error, how_sure, meaning
    from copublish.tools.planning.release_plan import ReleasePlan
    from copublish.tools.planning.side_by_side import MechanismTrial, cannot_be_told_apart, side_by_side, try_mechanism

__all__ = [
    "Agreement",
    "AgreementError",
    "ApprovalError",
    "Approvals",
    "Audit",
    "BeforeRun",
    "Budget",
    "BudgetExceededError",
    "Certificate",
    "Checked",
    "CopublishError",
    "DatabaseTable",
    "Description",
    "Draft",
    "DraftChangedError",
    "DraftForm",
    "DraftProblem",
    "EngineError",
    "Estimate",
    "Evaluation",
    "EvaluationError",
    "FragmentError",
    "InvalidInputsError",
    "Job",
    "Ledger",
    "LedgerError",
    "Limit",
    "Link",
    "LockedError",
    "Meaning",
    "MechanismTrial",
    "MeetingError",
    "PassphraseError",
    "Price",
    "Release",
    "ReleaseError",
    "ReleasePlan",
    "Report",
    "Run",
    "SigningKey",
    "SourceError",
    "Verification",
    "__version__",
    "add_approvals",
    "agreement_from_mapping",
    "approvals_of",
    "approve",
    "audit",
    "before_run",
    "bundle_of_approvals",
    "bundle_of_proposal",
    "cannot_be_told_apart",
    "check",
    "compare_drafts",
    "describe",
    "dictionary_from_text",
    "differences",
    "draft",
    "draft_from_text",
    "draft_problems",
    "draft_text",
    "epsilon_for_error",
    "evaluate",
    "evidence_in_words",
    "follow",
    "generalize",
    "hash_of_file",
    "how_sure",
    "identities",
    "job",
    "jobs",
    "keep_audit",
    "load_agreement",
    "load_draft",
    "load_release",
    "make_identity",
    "meaning",
    "measured_link",
    "mechanism_names",
    "merge_drafts",
    "over_link",
    "own_fingerprint",
    "plan",
    "price",
    "refuse",
    "report",
    "run",
    "runs",
    "save_draft",
    "set_limit",
    "side_by_side",
    "signing_key",
    "simulate",
    "start",
    "start_job",
    "stop",
    "take_back_refusal",
    "try_mechanism",
    "usual_links",
    "verify_release",
]

_HOMES = {
    "copublish.agreement.loading": ("agreement_from_mapping", "load_agreement"),
    "copublish.agreement.model": ("Agreement",),
    "copublish.tools.auditing.audit": ("audit",),
    "copublish.tools.auditing.result": ("Audit",),
    "copublish.tools.drafting.differences": ("differences",),
    "copublish.tools.drafting.draft": ("Draft",),
    "copublish.tools.drafting.files": ("draft_from_text", "hash_of_file", "load_draft", "save_draft"),
    "copublish.tools.drafting.form": ("DraftForm",),
    "copublish.tools.drafting.headers": ("dictionary_from_text", "draft"),
    "copublish.tools.drafting.merge": ("compare_drafts", "merge_drafts"),
    "copublish.tools.drafting.fields": ("DraftProblem", "draft_problems"),
    "copublish.tools.drafting.text": ("draft_text",),
    "copublish.release.report.page": ("Report", "report"),
    "copublish.tools.evaluation.scorecard": ("Evaluation", "evaluate"),
    "copublish.rows.database": ("DatabaseTable",),
    "copublish.party.local.simulation": ("simulate",),
    "copublish.mechanisms.registry": ("mechanism_names",),
    "copublish.party.keys.approving": (
        "Approvals",
        "add_approvals",
        "approvals_of",
        "approve",
        "bundle_of_approvals",
        "refuse",
        "take_back_refusal",
    ),
    "copublish.party.keys.identity": ("identities", "make_identity", "own_fingerprint"),
    "copublish.party.run": ("run",),
    "copublish.party.keys.signing_key": ("SigningKey", "signing_key"),
    "copublish.tools.planning.advice": ("plan",),
    "copublish.tools.planning.links": ("Link", "measured_link", "over_link", "usual_links"),
    "copublish.tools.planning.meaning": ("Meaning", "epsilon_for_error", "how_sure", "meaning"),
    "copublish.tools.planning.release_plan": ("ReleasePlan",),
    "copublish.tools.planning.side_by_side": (
        "MechanismTrial",
        "cannot_be_told_apart",
        "side_by_side",
        "try_mechanism",
    ),
    "copublish.kernel.certificate.certificate": ("Certificate",),
    "copublish.kernel.ledger.ledger": ("Ledger", "Limit"),
    "copublish.kernel.ledger.budget": ("Budget",),
    "copublish.mechanisms.reading.estimate": ("Estimate",),
    "copublish.party.audit_file": ("evidence_in_words", "keep_audit"),
    "copublish.party.check": ("Checked", "check"),
    "copublish.release.describe": ("Description", "describe"),
    "copublish.release.folder": ("Release", "load_release"),
    "copublish.tools.evaluation.generalize": ("generalize",),
    "copublish.party.own_ledger": ("Price", "price", "set_limit"),
    "copublish.party.proposal": ("bundle_of_proposal",),
    "copublish.release.verify": ("Verification", "verify_release"),
    "copublish.party.detached.jobs": ("job", "jobs", "start_job"),
    "copublish.party.detached.runs": ("BeforeRun", "before_run", "follow", "runs", "start", "stop"),
    "copublish.party.detached.status": ("Job", "Run"),
}
"""Where public names live; errors live in `errors`."""

_OTHER_NAMES = {"plan": "plan_release"}
"""What a public name is called at home, where that is not its own name."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: helpers and `--help` need not load the data libraries."""
    if name not in __all__:
        raise AttributeError(f"module 'copublish' has no attribute '{name}'")
    if name == "__version__":
        return _version()
    home = next((module for module, names in _HOMES.items() if name in names), "copublish.errors")
    value = getattr(importlib.import_module(home), _OTHER_NAMES.get(name, name))
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("copublish")
    except PackageNotFoundError:  # a source tree that was not installed
        return "unknown"


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
