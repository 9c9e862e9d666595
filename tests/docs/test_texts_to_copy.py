"""The texts for an impact assessment and for a contract quote what descriptions and certificates say, word for word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import copublish as cp
from copublish.engines.spu.input_parties import assumptions_of, secrecy_of
from support import mapping_by_default

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = ("impact-assessment", "joint-controllers")


def said_of_a_joined_release() -> str:
    """What is said of a vertical release by `marginals` on the secure engine, without a class."""
    changes = {"class": None, "mechanism": {"name": "marginals"}}
    described = cp.describe(cp.agreement_from_mapping(mapping_by_default(**changes)))
    sentences = [*described.protected, *described.not_protected, *described.assumptions]
    nodes = ("bank", "loans")
    return "\n".join([*sentences, secrecy_of("CHEETAH", nodes, ()), *assumptions_of("CHEETAH", nodes, ())])


def quotes(page: str) -> list[str]:
    text = " ".join((DOCS / f"{page}.md").read_text().split())
    return [quote.removesuffix(" ...") for quote in re.findall(r"“([^”]+)”", text) if quote != "quotation marks"]


def test_what_the_impact_assessment_quotes_is_said():
    said = said_of_a_joined_release()
    assert len(quotes("impact-assessment")) >= 9
    assert [quote for quote in quotes("impact-assessment") if quote not in said] == []
    assert "Nobody can learn anything." not in said  # the check can fail


@pytest.mark.parametrize("page", TEXTS)
def test_a_text_says_that_it_is_no_advice_and_marks_what_is_to_be_filled_in(page):
    text = (DOCS / f"{page}.md").read_text()
    assert "no legal advice" in text and text.count("[FILL IN") >= 20
    assert text.count("FILL IN") == text.count("[FILL IN")
