"""The texts for an impact assessment and for a contract quote what descriptions and certificates say, word for word."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import copublish as cp
from copublish.engines.spu.input_parties import assumptions_of, secrecy_of
from support import mapping_by_default

DOCS = Path(__file__).parents[2] / "docs"
TEXTS = ("impact-assessment", "joint-controllers")


def said_of_a_joined_release() -> str:
    """What is said of a vertical release by `marginals` on the secure engine, without a class, in both memberships."""
    changes = {"class": None, "mechanism": {"name": "marginals"}}
    mapping = mapping_by_default(**changes)
    sentences = []
    for hidden in (False, True):
        if hidden:
            mapping["records"] |= {"membership": "hidden", "at_most": dict.fromkeys(mapping["parties"], 1000)}
            mapping["privacy"]["membership_epsilon"] = "0.05"
        described = cp.describe(cp.agreement_from_mapping(mapping))
        sentences += [*described.protected, *described.not_protected, *described.assumptions]
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


def test_what_lawyers_read_of_a_hidden_list_is_said_of_it():
    (quote,) = quotes("for-lawyers")
    assert quote == "One person added or removed: epsilon 1.05"
    mapping = mapping_by_default(**{"privacy.membership_epsilon": "0.05", "privacy.epsilon": 1})
    mapping["records"] |= {"membership": "hidden", "at_most": dict.fromkeys(mapping["parties"], 1000)}
    assert quote in str(cp.describe(cp.agreement_from_mapping(mapping)).protected)
    assert "at most 75 % sure that a person is a patient" in " ".join((DOCS / "for-lawyers.md").read_text().split())
    assert math.ceil(100 / (1 + math.exp(-1.05))) == 75


@pytest.mark.parametrize("page", TEXTS)
def test_a_text_says_that_it_is_no_advice_and_marks_what_is_to_be_filled_in(page):
    text = (DOCS / f"{page}.md").read_text()
    assert "no legal advice" in text and text.count("[FILL IN") >= 20
    assert text.count("FILL IN") == text.count("[FILL IN")
