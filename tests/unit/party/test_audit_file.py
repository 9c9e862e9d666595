"""An audit beside an agreement goes into the certificate if all parties have the same, and changes nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import copublish as cp
from copublish.engines.ideal import Room
from copublish.errors import AgreementError, MeetingError, ReleaseError
from copublish.kernel.certificate.certificate import AuditedNumber, AuditStatement, Certificate
from copublish.mechanisms.registry import plan_of
from copublish.party.audit_file import default_audit_file, read_audit, signed_message
from copublish.party.keys.identity import Identity, new_identity
from copublish.party.local.processes import throwaway_ledger
from copublish.party.local.simulation import read_fragments
from copublish.party.proposal import write_proposal
from copublish.party.publishing import publish_release
from copublish.progress import no_progress
from copublish.release.evidence.signing import pem_of
from copublish.release.folder import Release
from copublish.tools.drafting.demo import example_agreement
from support import seeded
from support.audits import audit_of
from support.broken_mechanisms import SMALL

NAMES = ("bank", "loans")


@pytest.fixture(scope="module")
def identities(tmp_path_factory) -> dict[str, Identity]:
    folder = tmp_path_factory.mktemp("identities")
    return {name: new_identity(name, folder / name, days=30) for name in (*NAMES, "stranger")}


@pytest.fixture
def agreement_file(tmp_path, identities) -> Path:
    """An agreement that names the keys of its parties."""
    text = example_agreement()
    for name in NAMES:
        heading = f"[parties.{name}]\n"
        assert heading in text
        text = text.replace(heading, f'{heading}certificate = "{identities[name].fingerprint}"\n')
    file = tmp_path / "agreement.toml"
    file.write_text(text)
    return file


@pytest.fixture
def agreement(agreement_file) -> cp.Agreement:
    return cp.load_agreement(agreement_file)


@pytest.fixture
def audit_file(agreement_file, agreement, identities) -> Path:
    return cp.approvals.keep_audit(agreement_file, audit_of(agreement), party="bank", signer=identities["bank"])


def signed(content: dict[str, Any], signer: Identity, made_by: str = "bank") -> str:
    """An audit as somebody signs it who has a key and edits what was found."""
    content = {**content, "made_by": made_by, "certificates": list(map(pem_of, signer.chain))}
    return json.dumps({**content, "signature": signer.sign(signed_message(content))})


def test_an_audit_is_read_without_what_differs_between_two_of_the_same(audit_file, agreement, identities):
    found = read_audit(audit_file, agreement)
    assert found is not None and [view.found for view in found.views] == [0.84]
    assert "seconds" not in found.to_json()
    assert "public: 0.84 of 1.00" in found.words and "never prove it" in found.words
    assert "made by 'bank' and not repeated by others" in found.words
    audit_file.write_text(signed(audit_of(agreement, seconds=99), identities["bank"]))
    again = read_audit(audit_file, agreement)
    assert again is not None and again.digest == found.digest
    assert replace(found, date="2026-01-02").digest != found.digest
    assert replace(found, made_by="loans").digest != found.digest
    assert default_audit_file(audit_file.with_name("agreement.toml")) == audit_file
    assert read_audit(audit_file.with_name("none.json"), agreement) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"views": [{"name": "public"}]}, "it is not what"),
        ({"views": []}, "it looked at no view"),
        ({"agreement_hash": "0" * 64}, "it is of another agreement"),
        ({"verdict": "refuted"}, "do not release with this software"),
        ({"format": 2}, "it has format 2, and this version reads 1"),
        ({"date": "2031-01-01"}, "its date, 2031-01-01, is in the future"),
        ({"date": "soon"}, "it is not what"),
        ({"versions": {"copublish": "99"}}, "with other versions of the software"),
        ({"relation": "replace"}, "neighbors by 'replace', and the agreement says otherwise"),
        ({"skipped": ["\x1b[2J"]}, "it is not what"),
    ],
    ids=lambda case: "-".join(case) if isinstance(case, dict) else "",
)
def test_what_no_audit_of_this_agreement_says_is_refused_whoever_signed_it(
    audit_file, agreement, identities, changes, message
):
    audit_file.write_text(signed(audit_of(agreement, **changes), identities["bank"]))
    with pytest.raises(AgreementError, match=message):
        read_audit(audit_file, agreement)


@pytest.mark.parametrize(
    ("kind", "numbers", "message"),
    [
        ("views", {"found": 7.0, "stated": {"epsilon": 0.01}}, "it found 7 of 'public', more than the 0.01"),
        ("views", {"found": 1.01}, "it found 1.01 of 'public'"),
        ("views", {"found": float("nan")}, "it is not what"),
        ("views", {"stated": {"epsilon": 1e400}}, "it is not what"),
        ("views", {"stated": {"epsilon": 2.5}}, "states epsilon 2.5 for 'public', and the plan"),
        ("disclosures", {"stated": {"epsilon": 2.5}}, "states epsilon 2.5 for 'public', and the plan"),
    ],
)
def test_numbers_that_the_plan_does_not_state_are_refused(audit_file, agreement, identities, kind, numbers, message):
    audit = audit_of(agreement)
    audit[kind] = [*audit[kind], {**audit["views"][0], **numbers}]
    audit_file.write_text(signed(audit, identities["bank"]))
    with pytest.raises(AgreementError, match=message):
        read_audit(audit_file, agreement)


def test_a_disclosure_states_what_the_plan_does(audit_file, agreement, identities):
    counts = plan_of(agreement).disclosures()[-1]
    price = {"epsilon": float(counts.epsilon("add-remove"))}
    for stated, fits in ((price, True), ({"epsilon": price["epsilon"] * 0.9}, False)):
        audit = audit_of(agreement)
        audit["disclosures"] = [{**audit["views"][0], "name": counts.label, "stated": stated, "found": 0.1}]
        audit_file.write_text(signed(audit, identities["bank"]))
        if fits:
            assert read_audit(audit_file, agreement) is not None
        else:
            with pytest.raises(AgreementError, match="and the plan of the agreement does not"):
                read_audit(audit_file, agreement)


@pytest.mark.parametrize("content", ["no json", "[]", "[" * 200_000, '{"a":' * 200_000, "{}", '"' + "a" * 2**22 + '"'])
def test_a_file_that_is_no_audit_stops_a_run(audit_file, agreement, content):
    audit_file.write_text(content)
    with pytest.raises(AgreementError, match="it is not what 'copublish audit --keep' writes"):
        read_audit(audit_file, agreement)


def test_nobody_writes_one_by_hand_or_in_another_partys_name(audit_file, agreement, identities):
    kept = json.loads(audit_file.read_text())
    for content, message in (
        (json.dumps(audit_of(agreement)), "nobody has signed it"),
        (json.dumps({**kept, "seconds": 1}), "it is forged or was changed"),
        (json.dumps({**kept, "made_by": "loans"}), "party 'loans', which made it, showed another certificate"),
        (json.dumps({**kept, "certificates": []}), "it is not signed as"),
        (signed(audit_of(agreement), identities["stranger"]), "party 'bank', which made it, showed another"),
        (signed(audit_of(agreement), identities["stranger"], "stranger"), "which is no party of the agreement"),
    ):
        audit_file.write_text(content)
        with pytest.raises(AgreementError, match=message):
            read_audit(audit_file, agreement)


def test_an_audit_is_put_beside_its_agreement_and_never_over_one_that_refutes_it(agreement_file, agreement, identities):
    file, bank = agreement_file, identities["bank"]
    other = cp.agreement_from_mapping(SMALL)
    for earlier in ("", json.dumps(audit_of(other, verdict="refuted")), json.dumps(audit_of(agreement))):
        default_audit_file(file).write_text(earlier)
        cp.approvals.keep_audit(file, audit_of(agreement, date="2026-01-02"), party="bank", signer=bank)
        assert read_audit(default_audit_file(file), agreement).date == "2026-01-02"
    with pytest.raises(AgreementError, match="of another agreement"):
        cp.approvals.keep_audit(file, audit_of(other), party="bank", signer=bank)
    with pytest.raises(MeetingError, match="Your key does not fit the agreement"):
        cp.approvals.keep_audit(file, audit_of(agreement), party="loans", signer=bank)
    cp.approvals.keep_audit(file, audit_of(agreement, verdict="refuted"), party="bank", signer=bank)
    with pytest.raises(AgreementError, match="refutes this agreement, so no other one takes its place"):
        cp.approvals.keep_audit(file, audit_of(agreement), party="bank", signer=bank)
    assert "do not release" in cp.approvals.evidence_in_words(file)
    assert len(list(file.parent.iterdir())) == 2


AGREEMENT = cp.agreement_from_mapping(SMALL)


@pytest.fixture
def audit() -> AuditStatement:
    """What a certificate says about an audit of the small agreement."""
    number = AuditedNumber(name="public", stated=1.0, found=0.84, expected=0.83, runs=5000)
    return AuditStatement(
        made_by="p0",
        date="2026-01-01",
        versions={"copublish": "1"},
        relation="add-remove",
        confidence=0.95,
        verdict="consistent",
        verdict_level=0.001,
        views=(number,),
        disclosures=(),
        whole_runs=3,
        secure_runs=0,
        skipped=(),
    )


def published(audits: dict[str, AuditStatement | None]) -> tuple[Release, list[str]]:
    rows = pd.DataFrame({"id": ["a", "b"], "age": [20.0, 60.0], "job": ["a", "b"], "y": ["no", "yes"]})
    frames = {"p0": rows, "p1": rows.assign(id=["c", "d"])}
    plan, fragments, said = plan_of(AGREEMENT), read_fragments(AGREEMENT, frames), []

    def job(engine: Any) -> Release:
        own = (plan, fragments[engine.party], engine, throwaway_ledger(plan), no_progress)
        return publish_release(*own, notice=said.append, audit=audits[engine.party])

    room = Room(AGREEMENT.party_names, seeded(AGREEMENT.party_names, 3))
    return room.run(job)["p0"], said


def test_the_certificate_has_it_if_all_parties_do_and_is_otherwise_the_same(audit):
    without, said = published({"p0": None, "p1": None})
    assert without.certificate.audit is None and not said
    with_it, said = published({"p0": audit, "p1": audit})
    assert with_it.certificate.audit == audit and not said
    assert replace(with_it.certificate, audit=None) == without.certificate
    assert with_it.data_files() == without.data_files()
    assert audit.words.encode() in with_it.files()["README.md"]
    assert audit.words in with_it.files()["nist-sp-800-226.json"].decode()
    assert Certificate.from_json(with_it.certificate.to_json()) == with_it.certificate
    assert "audit" not in without.certificate.to_json()  # so older certificates are read as before
    for other in (None, replace(audit, date="2026-01-02")):
        mixed, said = published({"p0": audit, "p1": other})
        assert mixed.certificate == without.certificate
        assert said == ["Not all parties have the same audit, so the certificate has none."] * 2


def test_a_release_with_an_audit_is_written_read_and_verified_like_any_other(audit, tmp_path):
    release, _ = published({"p0": audit, "p1": audit})
    release.write(tmp_path / "release")
    assert cp.load_release(tmp_path / "release").certificate.audit == audit


def test_what_nobody_could_read_is_not_signed(audit):
    """A control character in an audit: the release is refused by its own party before anybody signs it."""
    unreadable = replace(audit, skipped=("\x1b[2J",))
    with pytest.raises(ReleaseError, match="control character"):
        published({"p0": unreadable, "p1": unreadable})


def test_a_proposal_carries_it(audit_file, agreement_file, agreement, tmp_path):
    write_proposal(agreement_file, ["bank"], tmp_path / "proposal")
    assert read_audit(tmp_path / "proposal" / "agreement.audit.json", agreement) is not None
    assert "found of epsilon stated" in (tmp_path / "proposal" / "README.md").read_text()
