"""Signed releases without a class are verified offline like any other."""

from __future__ import annotations

import json

import pytest

import copublish as cp
from support.signed import Signers

WITHOUT_CLASS = {"class": None, "mechanism": {"name": "marginals", "rounds": 1}}


@pytest.mark.slow
def test_a_signed_release_without_a_class_holds_and_one_that_claims_a_class_does_not(tmp_path) -> None:
    signers = Signers(tmp_path, changes=WITHOUT_CLASS)
    releases = signers.publish()
    folder = releases["bank"].write(tmp_path / "release")
    known = {name: signers.identities[name].fingerprint for name in signers.names}
    found = cp.verify_release(folder, known)
    assert found.is_well and found.unknown_keys == ()
    assert cp.load_release(folder).published.columns.class_name is None
    described = json.loads((folder / "measurements.json").read_text())
    assert described.pop("has_class") is False
    (folder / "measurements.json").write_text(json.dumps(described, indent=2))
    assert not cp.verify_release(folder, known).is_well
