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
    from copublish.auditing.audit import audit
    from copublish.auditing.result import Audit
    from copublish.drafting.differences import differences
    from copublish.drafting.draft import Draft
    from copublish.drafting.files import draft_from_text, hash_of_file, load_draft, save_draft
    from copublish.drafting.form import DraftForm
    from copublish.drafting.headers import dictionary_from_text, draft
    from copublish.drafting.merge import compare_drafts, merge_drafts
    from copublish.drafting.problems import DraftProblem, draft_problems
    from copublish.drafting.text import draft_text
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
    from copublish.evaluation.report.page import Report, report
    from copublish.evaluation.scorecard import Evaluation, evaluate
    from copublish.fragments.database import DatabaseTable
    from copublish.local.simulation import simulate
    from copublish.mechanisms.registry import mechanism_names
    from copublish.node.approving import (
        Approvals,
        add_approvals,
        approvals_of,
        approve,
        bundle_of_approvals,
        refuse,
        take_back_refusal,
    )
    from copublish.node.identity import identities, make_identity, own_fingerprint
    from copublish.node.party import run
    from copublish.node.signing_key import SigningKey, signing_key
    from copublish.planning.advice import plan_release as plan
    from copublish.planning.links import Link, over_link, usual_links
    from copublish.planning.meaning import Meaning, epsilon_for_error, how_sure, meaning
    from copublish.planning.measured import measured_link
    from copublish.planning.release_plan import ReleasePlan
    from copublish.planning.side_by_side import MechanismTrial, cannot_be_told_apart, side_by_side, try_mechanism
    from copublish.privacy.certificate import Certificate
    from copublish.privacy.ledger import Ledger, Limit
    from copublish.privacy.prices import Budget
    from copublish.reading.estimate import Estimate
    from copublish.release.audit_file import evidence_in_words, keep_audit
    from copublish.release.check import Checked, check
    from copublish.release.describe import Description, describe
    from copublish.release.folder import Release, load_release
    from copublish.release.generalize import generalize
    from copublish.release.own_ledger import Price, price, set_limit
    from copublish.release.proposal import bundle_of_proposal
    from copublish.release.verify import Verification, verify_release
    from copublish.running.jobs import job, jobs, start_job
    from copublish.running.run import BeforeRun, before_run, follow, runs, start, stop
    from copublish.running.seen import Job, Run

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
    "copublish.auditing.audit": ("audit",),
    "copublish.auditing.result": ("Audit",),
    "copublish.drafting.differences": ("differences",),
    "copublish.drafting.draft": ("Draft",),
    "copublish.drafting.files": ("draft_from_text", "hash_of_file", "load_draft", "save_draft"),
    "copublish.drafting.form": ("DraftForm",),
    "copublish.drafting.headers": ("dictionary_from_text", "draft"),
    "copublish.drafting.merge": ("compare_drafts", "merge_drafts"),
    "copublish.drafting.problems": ("DraftProblem", "draft_problems"),
    "copublish.drafting.text": ("draft_text",),
    "copublish.evaluation.report.page": ("Report", "report"),
    "copublish.evaluation.scorecard": ("Evaluation", "evaluate"),
    "copublish.fragments.database": ("DatabaseTable",),
    "copublish.local.simulation": ("simulate",),
    "copublish.mechanisms.registry": ("mechanism_names",),
    "copublish.node.approving": (
        "Approvals",
        "add_approvals",
        "approvals_of",
        "approve",
        "bundle_of_approvals",
        "refuse",
        "take_back_refusal",
    ),
    "copublish.node.identity": ("identities", "make_identity", "own_fingerprint"),
    "copublish.node.party": ("run",),
    "copublish.node.signing_key": ("SigningKey", "signing_key"),
    "copublish.planning.advice": ("plan",),
    "copublish.planning.links": ("Link", "over_link", "usual_links"),
    "copublish.planning.measured": ("measured_link",),
    "copublish.planning.meaning": ("Meaning", "epsilon_for_error", "how_sure", "meaning"),
    "copublish.planning.release_plan": ("ReleasePlan",),
    "copublish.planning.side_by_side": ("MechanismTrial", "cannot_be_told_apart", "side_by_side", "try_mechanism"),
    "copublish.privacy.certificate": ("Certificate",),
    "copublish.privacy.ledger": ("Ledger", "Limit"),
    "copublish.privacy.prices": ("Budget",),
    "copublish.reading.estimate": ("Estimate",),
    "copublish.release.audit_file": ("evidence_in_words", "keep_audit"),
    "copublish.release.check": ("Checked", "check"),
    "copublish.release.describe": ("Description", "describe"),
    "copublish.release.folder": ("Release", "load_release"),
    "copublish.release.generalize": ("generalize",),
    "copublish.release.own_ledger": ("Price", "price", "set_limit"),
    "copublish.release.proposal": ("bundle_of_proposal",),
    "copublish.release.verify": ("Verification", "verify_release"),
    "copublish.running.jobs": ("job", "jobs", "start_job"),
    "copublish.running.run": ("BeforeRun", "before_run", "follow", "runs", "start", "stop"),
    "copublish.running.seen": ("Job", "Run"),
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
