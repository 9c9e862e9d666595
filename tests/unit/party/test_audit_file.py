"""An audit beside an agreement goes into the certificate if all parties have the same, and changes nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.errors import AgreementError
from copublish.kernel.certificate.certificate import AuditStatement, Certificate
from copublish.mechanisms.registry import plan_of
from copublish.party.audit_file import default_audit_file, read_audit
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.proposal import write_proposal
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.release.folder import Release
from copublish.tools.drafting.demo import example_agreement
from support import seeded
from support.audits import audit_of
from support.broken_mechanisms import SMALL

AGREEMENT = cp.agreement_from_mapping(SMALL)


@pytest.fixture
def audit_file(tmp_path):
    file = tmp_path / "agreement.audit.json"
    file.write_text(json.dumps(audit_of(AGREEMENT)))
    return file


def test_an_audit_is_read_without_what_differs_between_two_of_the_same(audit_file):
    found = read_audit(audit_file, AGREEMENT)
    assert found is not None and [view.found for view in found.views] == [0.84]
    assert "seconds" not in found.to_json()
    assert "public: 0.84 of 1.00" in found.words and "never prove it" in found.words
    audit_file.write_text(json.dumps(audit_of(AGREEMENT, seconds=99)))
    again = read_audit(audit_file, AGREEMENT)
    assert again is not None and again.digest == found.digest
    assert replace(found, date="2026-01-02").digest != found.digest
    assert default_audit_file(audit_file.with_name("agreement.toml")) == audit_file
    assert read_audit(audit_file.with_name("none.json"), AGREEMENT) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "it is not what 'copublish audit --json' writes"),
        ("[]", "it is not what"),
        (json.dumps(audit_of(AGREEMENT) | {"views": [{"name": "public"}]}), "it is not what"),
        (json.dumps(audit_of(AGREEMENT, agreement_hash="0" * 64)), "it is of another agreement"),
        (json.dumps(audit_of(AGREEMENT, verdict="refuted")), "do not release with this software"),
        (json.dumps(audit_of(AGREEMENT, format=2)), "it has format 2, and this version reads 1"),
    ],
)
def test_a_file_that_is_no_audit_of_this_agreement_or_refutes_it_stops_a_run(audit_file, content, message):
    audit_file.write_text(content)
    with pytest.raises(AgreementError, match=message):
        read_audit(audit_file, AGREEMENT)


def test_an_audit_is_put_beside_its_agreement_and_never_over_one_that_refutes_it(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(example_agreement())
    agreement = cp.load_agreement(file)
    for earlier in ("", json.dumps(audit_of(AGREEMENT, verdict="refuted")), json.dumps(audit_of(agreement))):
        default_audit_file(file).write_text(earlier)
        cp.approvals.keep_audit(file, audit_of(agreement, date="2026-01-02"))
        assert read_audit(default_audit_file(file), agreement).date == "2026-01-02"
    with pytest.raises(AgreementError, match="of another agreement"):
        cp.approvals.keep_audit(file, audit_of(AGREEMENT))
    cp.approvals.keep_audit(file, audit_of(agreement, verdict="refuted"))
    with pytest.raises(AgreementError, match="refutes this agreement, so no other one takes its place"):
        cp.approvals.keep_audit(file, audit_of(agreement))
    assert "do not release" in cp.approvals.evidence_in_words(file)
    assert len(list(tmp_path.iterdir())) == 2


def published(audits: dict[str, AuditStatement | None]) -> tuple[Release, list[str]]:
    rows = pd.DataFrame({"id": ["a", "b"], "age": [20.0, 60.0], "job": ["a", "b"], "y": ["no", "yes"]})
    frames = {"p0": rows, "p1": rows.assign(id=["c", "d"])}
    plan, fragments, said = plan_of(AGREEMENT), read_fragments(AGREEMENT, frames), []

    def job(engine: Any) -> Release:
        own = (plan, fragments[engine.party], engine, throwaway_ledger(plan), no_progress)
        return publish_release(*own, notice=said.append, audit=audits[engine.party])

    room = Room(AGREEMENT.party_names, seeded(AGREEMENT.party_names, 3))
    return room.run(job)["p0"], said


def test_the_certificate_has_it_if_all_parties_do_and_is_otherwise_the_same(audit_file):
    audit = read_audit(audit_file, AGREEMENT)
    assert audit is not None
    without, said = published({"p0": None, "p1": None})
    assert without.certificate.audit is None and not said
    with_it, said = published({"p0": audit, "p1": audit})
    assert with_it.certificate.audit == audit and not said
    assert replace(with_it.certificate, audit=None) == without.certificate
    others = with_it.data_files().keys()
    assert others and all(with_it.files()[name] == without.files()[name] for name in others)
    assert audit.words.encode() in with_it.files()["README.md"]
    assert audit.words in with_it.files()["nist-sp-800-226.json"].decode()
    assert Certificate.from_json(with_it.certificate.to_json()) == with_it.certificate
    assert "audit" not in without.certificate.to_json()  # so older certificates are read as before
    for other in (None, replace(audit, date="2026-01-02")):
        mixed, said = published({"p0": audit, "p1": other})
        assert mixed.certificate == without.certificate
        assert said == ["Not all parties have the same audit, so the certificate has none."] * 2


def test_a_release_with_an_audit_is_written_read_and_verified_like_any_other(audit_file, tmp_path):
    audit = read_audit(audit_file, AGREEMENT)
    release, _ = published({"p0": audit, "p1": audit})
    release.write(tmp_path / "release")
    assert cp.load_release(tmp_path / "release").certificate.audit == audit


def test_a_proposal_carries_it(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(example_agreement())
    agreement = cp.load_agreement(file)
    default_audit_file(file).write_text(json.dumps(audit_of(agreement)))
    write_proposal(file, ["bank"], tmp_path / "proposal")
    assert read_audit(tmp_path / "proposal" / "agreement.audit.json", agreement) is not None
    assert "found of epsilon stated" in (tmp_path / "proposal" / "README.md").read_text()
