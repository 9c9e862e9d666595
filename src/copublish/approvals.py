"""Approvals and refusals of an agreement: what people decide about, sign and exchange."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.errors import ApprovalError
    from copublish.party.audit_file import evidence_in_words
    from copublish.party.keys.approving import (
        Approvals,
        add_approvals,
        approvals_of,
        approve,
        bundle_of_approvals,
        refuse,
        take_back_refusal,
    )
    from copublish.party.keys.keeping_audits import keep_audit
    from copublish.party.proposal import bundle_of_proposal
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.errors": ("ApprovalError",),
            "copublish.party.audit_file": ("evidence_in_words",),
            "copublish.party.keys.approving": (
                "Approvals",
                "add_approvals",
                "approvals_of",
                "approve",
                "bundle_of_approvals",
                "refuse",
                "take_back_refusal",
            ),
            "copublish.party.keys.keeping_audits": ("keep_audit",),
            "copublish.party.proposal": ("bundle_of_proposal",),
        },
    )

__all__ = [
    "ApprovalError",
    "Approvals",
    "add_approvals",
    "approvals_of",
    "approve",
    "bundle_of_approvals",
    "bundle_of_proposal",
    "evidence_in_words",
    "keep_audit",
    "refuse",
    "take_back_refusal",
]
