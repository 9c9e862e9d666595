"""What keeps a draft from being an agreement: the sentences of `check`, each with the place that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copublish.agreement.loading import agreement_from_mapping
from copublish.errors import AgreementError
from copublish.tools.drafting.draft import Draft

MISSING = re.compile(r"(?P<owner>.+): '(?P<key>[^']+)' is missing", re.S)
WHOLE = "the agreement"
"""How sentences name what is about no key in particular."""


@dataclass(frozen=True)
class DraftProblem:
    """One thing that has to change, or to be filled in.

    Attributes:
        place: The key that it is about, like `attributes.income.bounds`; empty for the whole.
        sentence: What is wrong and what to write, as `check` says it.
    """

    place: str
    sentence: str


def draft_problems(draft: Draft, *, folder: str | Path = ".") -> tuple[DraftProblem, ...]:
    """Everything that keeps a draft from being an agreement; nothing if it is one.

    Args:
        draft: The draft.
        folder: Where taxonomy files are looked up.
    """
    try:
        agreement_from_mapping(draft.content, folder=folder, source="The draft")
    except AgreementError as exc:
        return problems_with_places(exc, draft)
    return ()


def problems_with_places(refusal: AgreementError, draft: Draft) -> tuple[DraftProblem, ...]:
    """The sentences of a refused draft, with their places."""
    places = sorted(_places(draft.content), key=len, reverse=True)  # a name may begin with another one
    return tuple(DraftProblem(_place(sentence, places), sentence) for sentence in refusal.problems)


def _place(sentence: str, places: list[str]) -> str:
    if missing := MISSING.match(sentence):
        owner = "" if missing["owner"] == WHOLE else missing["owner"]
        return f"{owner}.{missing['key']}".removeprefix(".")
    return next((place for place in places if sentence.startswith((f"{place}:", f"{place}."))), "")


def _places(content: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in content.items():
        place = f"{above}.{key}".removeprefix(".")
        yield place
        if isinstance(value, Mapping):
            yield from _places(value, place)
