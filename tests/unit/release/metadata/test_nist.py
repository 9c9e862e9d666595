"""The levels of NIST SP 800-226: all blocks of its pyramid, each with a value and a place that exists."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from copublish.release.metadata.nist import nist_claims
from copublish.release.report.page import report_page
from support.described_releases import DESCRIBED, described, files_of
from support.recorded_releases import CASES

ROOT = Path(__file__).parents[4]

PYRAMID = {
    "top": {"privacy parameters", "unit of privacy"},
    "middle": {"algorithms and correctness", "utility", "bias"},
    "bottom": {"trust model", "access control", "side channels", "data collection exposure"},
}
"""The blocks of the publication's first figure, by level."""


def missing_places(argued: str, certificate: dict[str, Any]) -> list[str]:
    """Fields and documents that are named and not there."""
    found = []
    for place in argued.split("; "):
        name, _, fields = place.partition(": ")
        if name == "certificate.json":
            for field in fields.split(", "):
                inside: Any = certificate
                for step in field.split("."):
                    inside = inside.get(step) if isinstance(inside, dict) else None
                if inside is None:
                    found.append(field)
        elif name not in ("not argued here", "README.md") and not (ROOT / name).is_file():
            found.append(name)
    return found


@pytest.mark.parametrize("case", DESCRIBED)
def test_every_block_of_the_pyramid_has_a_value_that_is_argued_somewhere(case):
    said = json.loads(files_of(case)["nist-sp-800-226.json"])
    certificate = json.loads(files_of(case)["certificate.json"])
    for level, blocks in PYRAMID.items():
        assert blocks <= {claim["claim"] for claim in said["claims"] if claim["level"] == level}
    assert {claim["level"] for claim in said["claims"]} == PYRAMID.keys()
    for claim in said["claims"]:
        assert claim["value"] and missing_places(claim["argued"], certificate) == [], claim
    agreed = CASES[case].agreement["privacy"]
    (parameters,) = (claim["value"] for claim in said["claims"] if claim["claim"] == "privacy parameters")
    promised = "unbounded" if "warning" in certificate else str(agreed["epsilon"])
    assert parameters.startswith(f"epsilon {promised}")
    (unit,) = (claim["value"] for claim in said["claims"] if claim["claim"] == "unit of privacy")
    assert unit.startswith("none" if "warning" in certificate else "one person")
    # Whoever joined records with others knows whose they are; owners of other people do not.
    joined = CASES[case].agreement["partition"] != "horizontal" and "warning" not in certificate
    assert ("know who is in the table" in parameters) == joined
    assert next(iter(said.items())) == (
        ("warning", certificate["warning"]) if "warning" in certificate else ("publication", "NIST SP 800-226")
    )


def test_a_place_that_is_not_there_would_be_noticed():
    certificate = json.loads(files_of(DESCRIBED[0])["certificate.json"])
    argued = "certificate.json: epsilon, engine.color; docs/nowhere.md; README.md"
    assert missing_places(argued, certificate) == ["engine.color", "docs/nowhere.md"]


@pytest.mark.parametrize("case", DESCRIBED)
def test_the_report_shows_every_claim(case):
    release = described(case)
    page = unescape(re.sub(r"<[^>]*>", "\n", report_page(release)))
    lines = {line.strip() for line in page.splitlines()}
    for claim in nist_claims(release.certificate):
        assert {claim.level, claim.claim, claim.value, claim.argued} <= lines, claim
