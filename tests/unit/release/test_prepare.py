"""Slips and edits between versions, people and folders that are refused before anything is lost."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import copublish as cp
from copublish.engines.spu.engine import SpuEngine
from copublish.engines.spu.requests import ABY3
from copublish.kernel.accounting.formatting import show_exact
from copublish.kernel.accounting.statements import EpsilonStatement
from copublish.kernel.checks import differences
from copublish.release.prepare import facts_of
from support import small_mapping
from support.described_releases import described, files_of

PRIVATE, UNPROTECTED = "copula arbitrary weights missing", "idp-ir vertical fixed missing 3-parties"


def test_software_that_computes_otherwise_is_found_out_before_anything_is_spent():
    """Versions alone did not tell: with another format of certificates parties paid and ended with different ones."""
    facts = facts_of(cp.agreement_from_mapping(small_mapping()))
    earlier = {key: value for key, value in facts.items() if key not in ("protocol", "certificate format")}
    assert "certificate format (1 here, missing there)" in str(differences(facts, earlier))
    assert "protocol" in str(differences(facts, {**facts, "protocol": "2"}))
    assert differences(facts, dict(facts)) is None


def edited(case: str, tmp_path: Path, **changes: object) -> Path:
    """The folder of a case whose certificate says something else; none takes a key away."""
    for name, content in files_of(case).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    certificate = json.loads(files_of(case)["certificate.json"])
    for key, value in changes.items():
        if value is None:
            del certificate[key]
        else:
            certificate[key] = value
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    return tmp_path


@pytest.mark.parametrize(
    ("case", "changes"),
    [
        (UNPROTECTED, {"warning": None}),
        (UNPROTECTED, {"warning": ""}),
        (PRIVATE, {"warning": "None of this is private."}),
        (PRIVATE, {"revoked": True}),
        (PRIVATE, {"certificate_format": True}),
        (PRIVATE, {"certificate_format": 1.0}),
        (PRIVATE, {"certificate_format": 2}),
        (PRIVATE, {"contributions": None}),
    ],
)
def test_a_certificate_that_says_something_else_than_its_release_is_refused(case, changes, tmp_path):
    with pytest.raises(cp.ReleaseError, match="certificate"):
        cp.load_release(edited(case, tmp_path, **changes))


@pytest.mark.parametrize("said", ["banana", "-1", "1/0", ""])
def test_an_epsilon_that_is_none_is_refused(said, tmp_path):
    epsilon = json.loads(files_of(PRIVATE)["certificate.json"])["epsilon"]
    with pytest.raises(cp.ReleaseError, match="an epsilon is a number"):
        cp.load_release(edited(PRIVATE, tmp_path, epsilon={**epsilon, "agreed": said}))


def test_an_unprotected_release_says_so_in_its_name_and_has_no_csv():
    release = described(UNPROTECTED)
    assert "NOT DIFFERENTIALLY PRIVATE" in repr(release)
    assert not any(name.endswith(".csv") for name in release.data_files())
    assert hashlib.sha256(release.files()["README.md"]).hexdigest()


def test_joins_are_for_two_parties_that_both_compute():
    with pytest.raises(cp.EngineError, match="Only two parties that both compute can join"):
        SpuEngine("a", ("a", "b", "c"), ("x", "y", "z"), protocol=ABY3)


@given(epsilon=st.fractions(min_value=0, max_value=10))
@example(epsilon=Fraction(1, 10**6))
@example(epsilon=Fraction(4, 10**5))
def test_every_epsilon_that_is_stated_can_be_read(epsilon):
    """Small ones have an exponent. One that could not be stated would end a run after everything was opened."""
    said = EpsilonStatement(
        calibrated_to="replace",
        agreed=show_exact(epsilon),
        public={"add-remove": "not protected", "replace": show_exact(epsilon)},
        insiders={"add-remove": "unbounded", "replace": show_exact(epsilon)},
        insiders_know_members=False,
    )
    assert EpsilonStatement.from_json(said.to_json()).exact("public", "replace") == epsilon
