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

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False
"""True for type checkers only. Not taken from `typing`: the command line can be stopped without a traceback only after
this file has run, so it loads next to nothing."""

if TYPE_CHECKING:
    __version__: str
    from copublish import approvals as approvals
    from copublish import drafts as drafts
    from copublish import identities as identities
    from copublish import ledger as ledger
    from copublish import planning as planning
    from copublish import runs as runs
    from copublish.agreement.loading import agreement_from_mapping, load_agreement
    from copublish.agreement.model import Agreement
    from copublish.errors import (
        AgreementError,
        BudgetExceededError,
        CopublishError,
        EngineError,
        EvaluationError,
        FragmentError,
        LedgerError,
        MeetingError,
        ReleaseError,
        SourceError,
    )
    from copublish.kernel.certificate.certificate import Certificate
    from copublish.party.check import Checked, check
    from copublish.party.local.simulation import simulate
    from copublish.party.run import run
    from copublish.release.describe import Description, describe
    from copublish.release.folder import Release, load_release
    from copublish.release.questions.estimate import Estimate
    from copublish.release.report.page import Report, report
    from copublish.release.verify import Verification, verify_release
    from copublish.rows.database import DatabaseTable
    from copublish.tools.auditing.audit import audit
    from copublish.tools.auditing.result import Audit
    from copublish.tools.evaluation.generalize import generalize
    from copublish.tools.evaluation.scorecard import Evaluation, evaluate
    from copublish.tools.planning.advice import plan_release as plan
else:
    _TASK_MODULES = ("approvals", "drafts", "identities", "ledger", "planning", "runs")
    """Public modules for one task each, imported when they are first used."""

    _get_name, __dir__ = lazy_names(
        __name__,
        {
            "copublish.agreement.loading": ("agreement_from_mapping", "load_agreement"),
            "copublish.agreement.model": ("Agreement",),
            "copublish.errors": (
                "AgreementError",
                "BudgetExceededError",
                "CopublishError",
                "EngineError",
                "EvaluationError",
                "FragmentError",
                "LedgerError",
                "MeetingError",
                "ReleaseError",
                "SourceError",
            ),
            "copublish.kernel.certificate.certificate": ("Certificate",),
            "copublish.release.questions.estimate": ("Estimate",),
            "copublish.party.check": ("Checked", "check"),
            "copublish.party.local.simulation": ("simulate",),
            "copublish.party.run": ("run",),
            "copublish.release.describe": ("Description", "describe"),
            "copublish.release.folder": ("Release", "load_release"),
            "copublish.release.report.page": ("Report", "report"),
            "copublish.release.verify": ("Verification", "verify_release"),
            "copublish.rows.database": ("DatabaseTable",),
            "copublish.tools.auditing.audit": ("audit",),
            "copublish.tools.auditing.result": ("Audit",),
            "copublish.tools.evaluation.generalize": ("generalize",),
            "copublish.tools.evaluation.scorecard": ("Evaluation", "evaluate"),
            "copublish.tools.planning.advice": ("plan_release as plan",),
        },
        _TASK_MODULES,
    )

    def __getattr__(name):
        return _installed_version() if name == "__version__" else _get_name(name)


__all__ = [
    "Agreement",
    "AgreementError",
    "Audit",
    "BudgetExceededError",
    "Certificate",
    "Checked",
    "CopublishError",
    "DatabaseTable",
    "Description",
    "EngineError",
    "Estimate",
    "Evaluation",
    "EvaluationError",
    "FragmentError",
    "LedgerError",
    "MeetingError",
    "Release",
    "ReleaseError",
    "Report",
    "SourceError",
    "Verification",
    "__version__",
    "agreement_from_mapping",
    "audit",
    "check",
    "describe",
    "evaluate",
    "generalize",
    "load_agreement",
    "load_release",
    "plan",
    "report",
    "run",
    "simulate",
    "verify_release",
]


def _installed_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("copublish")
    except PackageNotFoundError:  # a source tree that was not installed
        return "unknown"
