"""Approvals: enough different people of a party, for this agreement to the letter, by the party's key, in time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import ApprovalError, PassphraseError, ProgramMismatchError
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.evidence_exchange import SigningContext
from copublish.party.keys.identity import load_identity, new_identity
from copublish.party.session import RunSettings, ready_party
from copublish.release.evidence.approvals import Approval, approve, number_of_people, own_approvals, told_approvals
from support import small_mapping
from support.consent import certificate_of_a_run, unsaid
from support.examples import specialization_example, write_specialization_demo
from support.profiles import examples
from support.signed import NAMES, Signers, today

DAY = timedelta(days=1)

INVISIBLE = (
    "",
    *"\u00ad\u200b\u200c\u200d\u2060\ufeff",  # of Unicode's category Cf
    *"\u034f\u115f\u1160\u17b4\u180e\u3164\ufe0f\uffa0\u2065\u2800\U000e0041\U000e0100",  # of others
)
"""Characters that fonts show as nothing: by Unicode, those with the property Default_Ignorable_Code_Point."""


@pytest.fixture
def signers(tmp_path: Path) -> Signers:
    return Signers(tmp_path, needed={"bank": 2})


def ready(signers: Signers, name: str = "bank") -> Any:
    return signers.own_approvals(name, signers.identities[name])


def test_two_different_people_are_enough_and_are_listed_in_the_report_and_by_verify(signers, tmp_path) -> None:
    signers.approve("bank", "Ada Lovelace", role="data protection officer", note="ok for 2026")
    signers.approve("bank", "Bo Diddley", until=today())
    signers.approve("loans", "nobody asked for this one")
    assert [approval.name for approval in ready(signers)] == ["Ada Lovelace", "Bo Diddley"]
    release = signers.publish()["loans"]
    assert {name: len(found) for name, found in release.signatures.approvals.items()} == {"bank": 2, "loans": 1}
    page = cp.report(release).html
    statement = release.signatures.statement
    told = (*statement.signers.values(), *statement.ledger_heads.values(), signers.agreement.hash)
    for words in ("Ada Lovelace", "data protection officer", "ok for 2026", "signed by bank, loans", *told):
        assert words in page
    lost = replace(release.signatures, signatures={**release.signatures.signatures, "bank": "00"})
    with pytest.raises(cp.ReleaseError, match="signature of bank"):
        cp.report(replace(release, signatures=lost))


@pytest.mark.parametrize(
    "approve_all, words",
    [
        (lambda s: None, "and there are 0"),
        (lambda s: s.approve("bank", "Ada"), "and there are 1"),
        (lambda s: [s.approve("bank", name, note=name) for name in ("Ada L", "  ada  l", "ADA L")], "there are 1"),
        (lambda s: [s.approve("bank", f"Ada{c}") for c in INVISIBLE], "there are 1"),
        (
            lambda s: [s.approve("bank", name) for name in ("Jos\u00e9", "Jose\u034f\u0301", "JOSE\u0301")],
            "there are 1",
        ),
        (lambda s: [s.approve("loans", name) for name in ("Ada", "Bo")], "there are 0"),
        (
            lambda s: [s.approve("bank", n, today=today() - 9 * DAY, until=today() - DAY) for n in ("Ada", "Bo")],
            "expired on",
        ),
        (
            lambda s: [s.approve("bank", n, agreement=a) for a in [other(s)] for n in ("Ada", "Bo")],
            "is for another agreement",
        ),
    ],
    ids=[
        "none",
        "one",
        "one person three times",
        "invisible",
        "marks",
        "of another party",
        "expired",
        "for another agreement",
    ],
)
def test_too_few_that_count_are_refused_at_home(signers, approve_all: Callable, words: str) -> None:
    approve_all(signers)
    with pytest.raises(ApprovalError, match=words):
        ready(signers)


def other(signers: Signers) -> cp.Agreement:
    return replace(signers, folder=signers.folder / "other", changes={"privacy.epsilon": 2}, identities={}).agreement


def forged(signers: Signers) -> Approval:
    stranger = new_identity("bank", signers.folder / "stranger", days=30)
    return approve(signers.agreement, "bank", stranger, name="Mallory", role="officer", today=today())


def test_names_that_look_different_are_different_people(signers) -> None:
    for name in ("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "Jose", "Jos\u00e9"):  # a joiner belongs to the first
        signers.approve("bank", name)
    assert number_of_people(ready(signers)) == 3


@pytest.mark.parametrize("name", ["", " ", "\u200b", " \u2060 \u3164"])
def test_nobody_cannot_approve(signers, name: str) -> None:
    with pytest.raises(ApprovalError, match="The name has to be"):
        signers.approve("bank", name)
    named = approve(signers.agreement, "bank", signers.identities["bank"], name="Ada", role="r", today=today())
    nobody = replace(named, name=name)
    signed = replace(nobody, signature=signers.identities["bank"].sign(nobody.message))
    with pytest.raises(ApprovalError, match="something else than approvals"):
        told_approvals([signed.to_json()], signers.agreement, "bank", signers.identities["bank"].chain, today=today())


def test_a_forged_one_is_refused_even_if_there_are_enough_others(signers) -> None:
    for name in ("Ada", "Bo"):
        signers.approve("bank", name)
    ready(signers)
    signers.put("bank", forged(signers))
    with pytest.raises(ApprovalError, match="forged"):
        ready(signers)


SHARED: list[Signers] = []


@given(data=st.data())
@examples(60)
def test_whatever_is_changed_in_an_approval_it_does_not_count_any_more(tmp_path_factory, data: st.DataObject) -> None:
    if not SHARED:
        SHARED.append(Signers(tmp_path_factory.mktemp("changed"), needed={"bank": 1}))
    identity, agreement = SHARED[0].identities["bank"], SHARED[0].agreement
    approval = approve(agreement, "bank", identity, name="Ada", role="r", note="n", today=today(), until=today())
    content = approval.to_json()
    told_approvals([content], agreement, "bank", identity.chain, today=today())
    key = data.draw(st.sampled_from(sorted(content)))
    value = data.draw(st.one_of(st.text(max_size=8), st.integers(), st.none(), st.lists(st.text(), max_size=2)))
    changed = {**content, key: value}
    if changed != content:
        with pytest.raises(ApprovalError):
            told_approvals([changed], agreement, "bank", identity.chain, today=today())
    without = {name: said for name, said in content.items() if name != key}
    with pytest.raises(ApprovalError):
        told_approvals([without], agreement, "bank", identity.chain, today=today())


@pytest.mark.parametrize(
    "told, words",
    [
        (lambda s, good: good[:1], "and there are 1"),
        (lambda s, good: (*good, forged(s)), "forged"),
        (lambda s, good: (good[0], replace(good[1], note="changed")), "forged"),
        (lambda s, good: (*good, s.approve("bank", "C", agreement=other(s))), "another agreement"),
        (
            lambda s, good: (*good, s.approve("bank", "C", today=today() - 9 * DAY, until=today() - 2 * DAY)),
            "expired on",
        ),
        (lambda s, good: good * 17, "something else as 'who signs and who approved'"),
    ],
    ids=["too few", "forged", "changed", "for another agreement", "expired", "too many"],
)
def test_the_other_party_refuses_before_anything_is_spent(signers, told, words: str) -> None:
    """The bank's software was changed and shows whatever it likes."""
    good = tuple(signers.approve("bank", name) for name in ("Ada", "Bo"))
    witnesses = {
        "bank": SigningContext(signers.identities["bank"], told(signers, good)),
        "loans": SigningContext(signers.identities["loans"]),
    }
    with pytest.raises((ApprovalError, ProgramMismatchError), match=words):
        signers.publish(witnesses)
    for name in NAMES:
        ledger = Ledger(signers.ledger_file(name))
        assert ledger.entries() == [] and ledger.alignments() == []
        ledger.close()


def test_a_clock_that_is_a_day_ahead_is_no_reason_for_the_other_party_to_refuse(signers) -> None:
    identity = signers.identities["bank"]
    for name in ("Ada", "Bo"):
        signers.approve("bank", name, until=today())
    found = [approval.to_json() for approval in ready(signers)]
    tomorrow = today() + DAY
    assert len(told_approvals(found, signers.agreement, "bank", identity.chain, today=tomorrow)) == 2
    with pytest.raises(ApprovalError, match="expired"):
        told_approvals(found, signers.agreement, "bank", identity.chain, today=tomorrow + DAY)
    with pytest.raises(ApprovalError, match="expired"):
        own_approvals(signers.agreement, "bank", signers.approvals_folder("bank"), identity.chain, today=tomorrow)


def test_files_that_are_no_approvals_are_named(signers) -> None:
    signers.approve("bank", "Ada")
    for content in ("", "{}", "[1]", "[" * 10_000, json.dumps({"approval_format": 1})):
        (signers.approvals_folder("bank") / "notes.json").write_text(content)
        with pytest.raises(ApprovalError, match=r"notes\.json.* is no approval"):
            ready(signers)


def test_agreements_without_approvals_keep_their_hash_and_the_number_is_part_of_it(tmp_path) -> None:
    base = Signers(tmp_path / "a")
    without = base.agreement.hash
    base.needed = {"bank": 2}
    assert base.agreement.hash != without
    assert (
        cp.agreement_from_mapping({**small_mapping(), "parties": {"bank": {"approvals": 0}, "loans": {}}}).hash
        == cp.agreement_from_mapping(small_mapping()).hash
    )
    for number in (-1, 21, True, "2", 1.5):
        with pytest.raises(cp.AgreementError, match="approvals"):
            cp.agreement_from_mapping({**small_mapping(), "parties": {"bank": {"approvals": number}, "loans": {}}})


# --- the commands, offline ---


@pytest.fixture
def desk(tmp_path: Path, monkeypatch) -> Path:
    """A folder with an agreement that asks two people of the bank, and the bank's identity."""
    write_specialization_demo(tmp_path, 100)
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path / "home"))
    text = specialization_example()
    for number, name in enumerate(NAMES):
        where = tmp_path / "home" / "identities" / name if name == "bank" else tmp_path / name
        who = new_identity(name, where, days=30)
        lines = f'host = "localhost:{7700 + number}"\ncertificate = "{who.fingerprint}"\n'
        lines += "approvals = 2\n" if name == "bank" else ""
        text = text.replace(f"[parties.{name}]\n", f"[parties.{name}]\n{lines}")
    (tmp_path / "agreement.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


def test_propose_writes_a_bundle_from_which_people_can_decide_and_approve(desk: Path, monkeypatch) -> None:
    done = command("propose", "agreement.toml", "--to", "bank,loans", "--out", "proposal")
    assert done.exit_code == 0, done.output
    agreed = cp.load_agreement("agreement.toml")
    readme = (desk / "proposal" / "README.md").read_text()
    assert agreed.hash in readme and "2 different people have to approve" in readme
    assert cp.load_agreement(desk / "proposal" / "agreement.toml").hash == agreed.hash
    described = json.loads((desk / "proposal" / "description.json").read_text())
    assert described["agreement_hash"] == agreed.hash and described["approvals"] == {"bank": 2}
    text = (desk / "proposal" / "description.txt").read_text()
    assert "What each party sees" in text and "2 of bank" in text
    assert text.startswith("Before you agree") and unsaid(certificate_of_a_run(agreed), text) == []
    again = command("propose", "agreement.toml", "--out", "proposal")
    assert "there already" in str(again.exception)
    assert command("propose", "agreement.toml", "--to", "bank,nobody", "--out", "x").exit_code == 2
    monkeypatch.chdir(desk / "proposal")
    done = command("approve", "agreement.toml", "--as", "officer", "--name", "Ada", "--note", "ok for 2026")
    assert done.exit_code == 0, done.output + str(done.exception)
    assert len(list((desk / "proposal" / "agreement.approvals").glob("bank-ada-*.json"))) == 1
    before = cp.describe(agreed, party="bank").before_consent
    assert all(f"  - {line}\n" in done.stderr for line in before.lines)
    done = command("approve", "agreement.toml", "--as", "officer", "--name", "Eve", "--format", "json")
    assert json.loads(done.stdout)["before_consent"] == before.to_dict()


def test_a_proposal_brings_its_taxonomies_from_below(desk: Path) -> None:
    (desk / "trees").mkdir()
    text = (desk / "agreement.toml").read_text()
    (desk / "trees" / "jobs.json").write_text(json.dumps({"job": {"ANY": {"cook": {}, "clerk": {}}}}))
    start, end = text.index("[attributes.job.taxonomy.ANY]"), text.index("[attributes.balance]")
    text = (text[:start] + text[end:]).replace("[attributes.job]\n", '[attributes.job]\ntaxonomy = "trees/jobs.json"\n')
    (desk / "agreement.toml").write_text(text)
    assert command("propose", "agreement.toml", "--out", "proposal").exit_code == 0
    assert (desk / "proposal" / "trees" / "jobs.json").exists()


@pytest.mark.slow
def test_run_refuses_without_approvals_before_anybody_is_called_and_shows_them_when_they_are_there(desk: Path) -> None:
    ledger = Ledger(desk / "ledger.db")
    ledger.set_limit("customers-2026", cp.ledger.Limit(5, "add-remove"))
    ledger.close()
    run = ("run", "agreement.toml", "--party", "bank", "--data", "bank.parquet", "--ledger", "ledger.db")
    run = (*run, "--out", "release", "--yes", "--wait", 1)
    for number in (0, 1):
        done = command(*run)
        assert isinstance(done.exception, ApprovalError) and f"there are {number}" in str(done.exception)
        assert done.exception.exit_code == 10
        approved = command(
            *("approve", "agreement.toml", "--party", "bank", "--as", "officer", "--name", f"person {number}"),
            *("--until", (today() + DAY).isoformat(), "--format", "json"),
        )
        assert json.loads(approved.stdout)["name"] == f"person {number}"
    done = command(*run)  # now it gets as far as waiting for the other party
    assert isinstance(done.exception, cp.MeetingError) and "'loans'" in str(done.exception)
    assert "Approved by person 0 (officer)" in done.stderr
    assert Ledger(desk / "ledger.db").entries() == []
    wrong = command("approve", "agreement.toml", "--as", "x", "--name", "y", "--until", "tomorrow")
    assert wrong.exit_code == 2
    over = command("approve", "agreement.toml", "--as", "x", "--name", "y", "--until", "2020-01-01")
    assert "is over" in str(over.exception)
    line = command("approve", "agreement.toml", "--as", "x\ny", "--name", "y")
    assert "one line" in str(line.exception)


@pytest.mark.slow
def test_a_refusal_keeps_its_party_from_running_until_the_agreement_changes(desk: Path) -> None:
    ledger = Ledger(desk / "ledger.db")
    ledger.set_limit("customers-2026", cp.ledger.Limit(5, "add-remove"))
    ledger.close()
    said = ("agreement.toml", "--as", "officer", "--name", "Ada")
    for name in ("Ada", "Grace"):
        assert command("approve", *said[:-1], name).exit_code == 0
    (desk / "before.toml").write_text((desk / "agreement.toml").read_text())
    empty = command("refuse", *said, "--reason", " ")
    assert "The reason has to be one line" in str(empty.exception)
    done = command("refuse", *said, "--reason", "too much", "--format", "json")
    assert json.loads(done.stdout)["reason"] == "too much"
    run = ("run", "agreement.toml", "--party", "bank", "--data", "bank.parquet", "--ledger", "ledger.db")
    run = (*run, "--out", "release", "--yes", "--wait", 1)
    refused = command(*run)
    assert isinstance(refused.exception, ApprovalError) and "was refused by Ada (officer)" in str(refused.exception)
    file = next((desk / "agreement.approvals").glob("*.refusal"))
    changed = re.sub(r"\nepsilon = 1.0", "\nepsilon = 0.5", (desk / "agreement.toml").read_text())
    (desk / "agreement.toml").write_text(changed)
    assert "there are 0" in str(command(*run).exception), "neither approvals nor the refusal are for this one"
    told = command("check", "agreement.toml", "--since", "before.toml")
    assert "privacy: epsilon 1.0 → 0.5" in told.output and told.exit_code == 0
    (desk / "agreement.toml").write_text((desk / "before.toml").read_text())
    file.write_text(file.read_text().replace("too much", "it is fine"))
    assert isinstance(command(*run).exception, cp.MeetingError), "a forged refusal keeps nobody from running"


def _of_another_agreement(desk: Path) -> None:
    changed = re.sub(r"\nepsilon = .*", "\nepsilon = 0.5", (desk / "agreement.toml").read_text())
    (desk / "other.toml").write_text(changed)
    _approved(desk, "other.toml")


def _approved(desk: Path, agreement: str = "agreement.toml", **changes: Any) -> None:
    agreed, folder = cp.load_agreement(desk / agreement), desk / "agreement.approvals"
    signer = load_identity(desk / "home" / "identities" / "bank")
    folder.mkdir()
    for name in ("Ada", "Bo"):
        given = {"signer": signer, "today": today(), **changes}
        approval = approve(agreed, "bank", given.pop("signer"), name=name, role="officer", **given)
        (folder / f"{name}.json").write_text(json.dumps(approval.to_json()))


def _locked_away(desk: Path) -> None:
    key = desk / "home" / "identities" / "bank" / "key.pem"
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    hidden = serialization.BestAvailableEncryption(b"correct")
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden))


@pytest.mark.parametrize(
    "prepare, error, words",
    [
        (_approved, AssertionError, "called"),  # shows that the others would have been
        (_of_another_agreement, ApprovalError, "is for another agreement"),
        (
            lambda d: _approved(d, signer=new_identity("bank", d / "stranger", days=30)),
            ApprovalError,
            "is forged or was changed",
        ),
        (lambda d: _approved(d, today=today() - 9 * DAY, until=today() - DAY), ApprovalError, "expired on"),
        (lambda d: (_approved(d), _locked_away(d)), PassphraseError, "The passphrase is not that of the key"),
    ],
    ids=["good", "for another agreement", "forged", "expired", "wrong passphrase"],
)
def test_run_spends_nothing_and_calls_nobody(desk: Path, monkeypatch, prepare, error, words: str) -> None:
    ledger = Ledger(desk / "ledger.db")
    ledger.set_limit("customers-2026", cp.ledger.Limit(5, "add-remove"))
    before = ledger.heads()
    ledger.close()
    prepare(desk)

    def call(*arguments: object, **others: object) -> None:
        raise AssertionError("somebody was called")

    monkeypatch.setattr("copublish.party.session.Port", call)
    monkeypatch.setenv("COPUBLISH_PASSPHRASE", "wrong")
    done = command(
        *("run", "agreement.toml", "--party", "bank", "--data", "bank.parquet", "--ledger", "ledger.db"),
        *("--out", "release", "--yes"),
    )
    assert isinstance(done.exception, error) and words in str(done.exception)
    assert Ledger(desk / "ledger.db").heads() == before
    assert not (desk / "release").exists()


def test_another_key_than_the_agreed_one_cannot_approve(desk: Path) -> None:
    done = command(
        *("approve", "agreement.toml", "--party", "loans", "--as", "x", "--name", "y"),
        *("--identity", "home/identities/bank"),
    )
    assert isinstance(done.exception, cp.MeetingError) and "another certificate" in str(done.exception)
    assert not (desk / "agreement.approvals").exists()


def test_without_identities_an_agreement_with_approvals_does_not_run(desk: Path) -> None:
    agreement = cp.load_agreement("agreement.toml")
    ledger = Ledger(":memory:")
    ledger.set_limit("customers-2026", cp.ledger.Limit(5, "add-remove"))
    with pytest.raises(ApprovalError, match="--insecure"):
        ready_party(agreement, "bank", "bank.parquet", None, ledger, RunSettings(desk / "out"))
