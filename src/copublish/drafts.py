"""Drafts of an agreement: make, read, write, compare and merge them. Nothing here spends budget."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.errors import DraftChangedError
    from copublish.mechanisms.registry import mechanism_labels, mechanism_names
    from copublish.tools.drafting.differences import differences
    from copublish.tools.drafting.draft import Draft
    from copublish.tools.drafting.fields import DraftProblem, draft_problems
    from copublish.tools.drafting.files import draft_from_text, hash_of_file, load_draft, save_draft
    from copublish.tools.drafting.form import DraftForm
    from copublish.tools.drafting.headers import dictionary_from_text, draft
    from copublish.tools.drafting.merge import compare_drafts, merge_drafts
    from copublish.tools.drafting.questions import with_questions
    from copublish.tools.drafting.text import draft_text
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.errors": ("DraftChangedError",),
            "copublish.mechanisms.registry": ("mechanism_labels", "mechanism_names"),
            "copublish.tools.drafting.differences": ("differences",),
            "copublish.tools.drafting.draft": ("Draft",),
            "copublish.tools.drafting.fields": ("DraftProblem", "draft_problems"),
            "copublish.tools.drafting.files": ("draft_from_text", "hash_of_file", "load_draft", "save_draft"),
            "copublish.tools.drafting.form": ("DraftForm",),
            "copublish.tools.drafting.headers": ("dictionary_from_text", "draft"),
            "copublish.tools.drafting.merge": ("compare_drafts", "merge_drafts"),
            "copublish.tools.drafting.questions": ("with_questions",),
            "copublish.tools.drafting.text": ("draft_text",),
        },
    )

__all__ = [
    "Draft",
    "DraftChangedError",
    "DraftForm",
    "DraftProblem",
    "compare_drafts",
    "dictionary_from_text",
    "differences",
    "draft",
    "draft_from_text",
    "draft_problems",
    "draft_text",
    "hash_of_file",
    "load_draft",
    "mechanism_labels",
    "mechanism_names",
    "merge_drafts",
    "save_draft",
    "with_questions",
]
