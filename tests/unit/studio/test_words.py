"""Standard terms on Approve: whatever an agreement's page uses of them is explained there."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import copublish as cp
from copublish.studio.words import TERMS, terms_in
from support.described_releases import DESCRIBED
from support.recorded_releases import CASES
from support.studio import entered

JARGON = (
    "leaf", "leaves", "coins", "keyed commitment", "balanced-gain", "masks", "semi-honest", "rho", "pseudonyms",
    "P-256", "oblivious transfer", "lattice", "normal scores", "coordinates", "sampler", "fragment", "perturbed",
)  # fmt: skip
"""Words that somebody who signs for an organization need not know."""


def page_of(case: str, folder: Path) -> str:
    """Approve for the agreement of a case, as text."""
    draft = cp.drafts.Draft(CASES[case].agreement)
    (folder / "agreement.toml").write_text(cp.drafts.draft_text(draft))
    text = entered(folder).get("/approve").text
    assert "What is opened, and to whom" in text
    return html.unescape(text)


@pytest.mark.parametrize("case", DESCRIBED)
def test_every_word_that_needs_it_is_explained_on_the_page(case, tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    page = page_of(case, tmp_path)
    terms, rest = page[page.index('<dl class="terms">') :].split("</dl>", 1)
    explained = [re.sub(r"<[^>]+>", "", term) for term in re.findall(r"<div>(.*?)</div>", terms)]
    used = [word for word in JARGON if re.search(rf"\b{word}\b", rest)]
    assert used, "the page has some of them"
    for word in used:
        assert [term for term in terms_in([word]) if any(one.startswith(term.name) for one in explained)], word
    assert "leaves" not in page.partition("<h2>")[0], "the first facts need no explanation"


def test_a_word_that_nobody_explained_is_found():
    assert terms_in(["a zebra"]) == []
    assert [term.name for term in terms_in(["its own coins", "nothing"])] == ["coins"]
    assert len({term.name for term in TERMS}) == len(TERMS) and all(term.meaning for term in TERMS)
