"""The place Approve by plain forms: what is decided, what it costs, and whose word counts."""

from __future__ import annotations

import html
import io
import json
import os
import re
import zipfile
from dataclasses import replace

import pytest

import copublish as cp
from copublish.party.detached import process
from copublish.party.keys.identity import new_identity
from support.audits import audit_of
from support.studio import entered

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Two parties, each with a home, a key and the same agreement that asks for an approval of each."""
    form = cp.drafts.DraftForm.of(cp.drafts.draft())
    folders = {}
    for row in form.parties:
        folders[row.name] = tmp_path / row.name
        folders[row.name].mkdir()
        monkeypatch.setenv("COPUBLISH_HOME", str(folders[row.name]))
        row.certificate = cp.identities.make_identity(
            row.name, passphrase="open sesame" if row.name == "loans" else None
        )
        row.host, row.approvals = f"{row.name}.example:7700", "1"
    for folder in folders.values():
        (folder / "agreement.toml").write_text(cp.drafts.draft_text(form.read()[0]))

    def at(party: str):
        monkeypatch.setenv("COPUBLISH_HOME", str(folders[party]))
        return entered(folders[party], party=party)

    return folders, at


def hash_in(page: str) -> str:
    return re.search(r'name="shown" value="(\w+)"', page)[1]


def ledger_in(page: str) -> dict[str, str]:
    return {"ledger_state": re.search(r'name="ledger_state" value="(\w+)"', page)[1]}


def person(page: str, **more) -> dict[str, str]:
    return {"name": "A. Lovelace", "role": "privacy officer", "shown": hash_in(page), **more}


def test_the_page_says_what_describe_says_and_what_the_ledger_has(homes):
    folders, at = homes
    bank = at("bank")
    page = html.unescape(bank.get("/approve").text)
    described = cp.describe(folders["bank"] / "agreement.toml", party="bank")
    for sentence in described.before_consent.learned:
        assert page.count(f"<li>{sentence}</li>") >= 2  # at the top, and where one decides
    assert "will not learn which of its people are in your data" in page
    assert all(f"<li>{item}</li>" in page for seen in described.views.values() for item in seen)
    for sentence in (
        described.secrecy,
        *described.before_consent.rests_on,
        *described.protected,
        *described.not_protected,
        *described.assumptions,
        *described.warnings,
    ):
        assert sentence in page
    assert all(row[0] in page and row[3] in page for row in described.opened)
    assert "Set a limit: without one nothing may be spent" in page
    assert "must be a number above 0" in bank.submit("/approve/limit", {"limit_epsilon": "-1"}).text
    page = bank.submit("/approve/limit", {**ledger_in(page), "limit_epsilon": "3", "limit_delta": "1e-5"}).text
    row = re.findall(r'data-label="(?:spent before|this release|left after|limit)">([^<]*)<', page)
    assert row == ["0", "1.05", "1.95", "3"]  # with the number of common people
    assert str(cp.ledger.Ledger(folders["bank"] / "ledger.db").limit("customers-2026").epsilon) == "3"


@pytest.mark.parametrize("rule", ["use-informative", "protect-informative"])
def test_the_page_says_how_epsilon_is_divided_between_columns(rule, homes):
    folders, at = homes
    file = folders["bank"] / "agreement.toml"
    before, _, _ = file.read_text().partition("[mechanism]")
    before = (
        re.sub(r"^(delta|membership|at_most|membership_epsilon) = .*\n", "", before, flags=re.M)
        .replace("public = false", "public = true")
        .replace('neighbors = "add-remove"', 'neighbors = "replace"')
    )
    file.write_text(f'{before}[mechanism]\nname = "vhdp"\n[budget]\nallocation = "{rule}"\n')
    page = html.unescape(at("bank").get("/approve").text)
    words, rows = cp.describe(file).division
    assert words.startswith(rule) and words in page and {row[0] for row in rows} >= {"age", "job", "default"}
    assert all(f'<td data-label="share">{share}</td>' in page and epsilon in page for _, share, epsilon, _ in rows)
    assert ("groups from those that tell most have weights 1/4, 1/2, 1" in page) == (rule == "protect-informative")


def test_a_limit_that_somebody_lowered_is_not_raised_from_an_older_page(homes):
    folders, at = homes
    bank = at("bank")
    first = bank.get("/approve").text  # without a ledger
    older = bank.submit("/approve/limit", {**ledger_in(first), "limit_epsilon": "3"}).text
    assert cp.ledger.Ledger(folders["bank"] / "ledger.db").limit("customers-2026").epsilon == 3
    cp.ledger.set_limit("customers-2026", "1")  # in another window, or by the command
    for shown in (ledger_in(first), ledger_in(older), {}):
        answer = bank.submit("/approve/limit", {**shown, "limit_epsilon": "5"})
        assert (
            answer.status_code == 422 and "The ledger was changed after it was shown. No limit was set." in answer.text
        )
        assert cp.ledger.Ledger(folders["bank"] / "ledger.db").limit("customers-2026").epsilon == 1
    assert bank.submit("/approve/limit", {**ledger_in(answer.text), "limit_epsilon": "5"}).status_code == 200
    assert cp.ledger.Ledger(folders["bank"] / "ledger.db").limit("customers-2026").epsilon == 5


def test_approvals_go_by_files_and_count_on_the_other_side(homes):
    folders, at = homes
    bank = at("bank")
    page = bank.get("/approve").text
    assert "Approve epsilon 1 for customers-2026" in html.unescape(page) and "checked" not in page
    assert "Missing: 1 person of bank" in page and "Missing: 1 person of loans" in page
    done = bank.submit("/approve/approve", person(page, note="ok for 2026")).text
    assert "A. Lovelace, privacy officer" in done and "Missing: 1 person of bank" not in done
    assert "1 of 2" in done
    bundle = bank.get("/approve/own.zip")
    assert bundle.headers["content-disposition"].startswith("attachment")
    assert "bank.pem" in zipfile.ZipFile(io.BytesIO(bundle.content)).namelist()

    loans = at("loans")
    approval = next((folders["bank"] / "agreement.approvals").glob("*.json")).read_bytes()
    alone = loans.submit("/approve/add", files={"approvals_file": ("a.json", approval)}).text
    assert "the certificate of 'bank' is not here" in html.unescape(alone)
    assert "Missing: 1 person of bank" in alone
    both = loans.submit("/approve/add", files={"approvals_file": ("b.zip", bundle.content)}).text
    assert "Missing: 1 person of bank" not in both and "A. Lovelace" in both
    page = loans.get("/approve").text
    refused = loans.submit("/approve/approve", person(page, passphrase="shibboleth"))
    assert refused.status_code == 422 and 'href="#secret"' in refused.text and "shibboleth" not in refused.text
    assert "2 of 2" in loans.submit("/approve/approve", person(page, passphrase="open sesame")).text

    file = folders["loans"] / "agreement.toml"
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    lapsed = html.unescape(loans.get("/approve").text)
    assert lapsed.count("is for another agreement, or this one was changed since") == 2 and "0 of 2" in lapsed
    stale = loans.submit("/approve/approve", person(page, passphrase="open sesame"))
    assert stale.status_code == 422 and "changed after it was shown" in stale.text


def test_who_is_no_party_gets_a_sentence_and_no_bundle(homes, monkeypatch, tmp_path):
    folders, at = homes
    at("bank")
    file = folders["bank"] / "agreement.toml"
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))  # neither party's key is here
    answers = [entered(folders["bank"], party=party).get("/approve/own.zip") for party in (None, "mallory")]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert "It is not known which party you are. Start the page with --party NAME." in answers[0].text
    assert "is no party of this agreement: bank, loans." in answers[1].text
    with pytest.raises(cp.approvals.ApprovalError, match="'mallory' is no party"):
        cp.approvals.bundle_of_approvals(file, "mallory")


def test_forged_approvals_are_not_added_and_not_counted(homes):
    folders, at = homes
    bank = at("bank")
    bank.submit("/approve/approve", person(bank.get("/approve").text))
    file = next((folders["bank"] / "agreement.approvals").glob("*.json"))
    forged = file.read_bytes().replace(b"Lovelace", b"Turing")
    refused = bank.submit("/approve/add", files={"approvals_file": ("f.json", forged)})
    assert refused.status_code == 422 and "is forged or was changed" in refused.text
    file.with_name("other.json").write_bytes(forged)
    page = bank.get("/approve").text
    assert "is forged or was changed" in page and "1 of 2" in page
    assert bank.submit("/approve/add", files={"approvals_file": ("x", b"nothing")}).status_code == 422


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bundle_that_fills_the_memory_is_refused_before_it_is_unpacked(homes, monkeypatch, packing):
    """6 MB of zeros, more than the largest bundle, in some hundred bytes."""
    folders, at = homes
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", packing) as bundle:
        bundle.writestr("a.json", bytes(6_000_000))
    assert len(bomb.getvalue()) < 20_000
    opened = []
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *said: opened.append(said))
    refused = at("bank").submit("/approve/add", files={"approvals_file": ("b.zip", bomb.getvalue())})
    assert refused.status_code == 422 and "packed in another way" in refused.text and not opened
    assert not (folders["bank"] / "agreement.approvals").exists()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"agreement_hash": "/../../x"}, id="path"),
        pytest.param({"agreement_hash": "A" * 64}, id="capitals"),
        pytest.param({"agreement_hash": "a" * 63}, id="short"),
        pytest.param({"agreement_hash": "a" * 64, "signature": "0" * 2049}, id="long signature"),
        pytest.param({"agreement_hash": "a" * 64, "signature": "0" * 2**20}, id="longest signature"),
        pytest.param({"agreement_hash": "a" * 64, "name": "0" * 501, "signature": "0" * 501}, id="long name"),
    ],
)
def test_what_no_key_ever_signed_is_not_written_down(homes, change):
    """Names of files come from the hash, and a file that is too long would stop every later run of its party."""
    folders, at = homes
    file = folders["bank"] / "agreement.toml"
    at("bank")
    refusal, written = cp.approvals.refuse(file, party="bank", name="Ada", role="lead", reason="too much")
    written.unlink()
    approval, _ = cp.approvals.approve(file, party="bank", name="Ada", role="lead")
    before = sorted(folders["bank"].rglob("*"))
    for said in (refusal, approval):
        content = json.dumps(replace(said, **change).to_json()).encode()
        with pytest.raises(cp.approvals.ApprovalError, match="neither an approval nor a refusal"):
            cp.approvals.add_approvals(file, content)
    assert sorted(folders["bank"].rglob("*")) == before
    assert cp.approvals.add_approvals(file, json.dumps(refusal.to_json()).encode()) == [refusal.words], (
        "as it was it is added"
    )


def test_a_refusal_is_signed_has_a_reason_and_keeps_its_party_from_running(homes):
    folders, at = homes
    bank = at("bank")
    page = bank.get("/approve").text
    assert bank.submit("/approve/refuse", person(page, reason=" ")).status_code == 422
    done = bank.submit("/approve/refuse", person(page, reason=f"too much {SCRIPT}")).text
    assert SCRIPT not in done
    assert "Refused" in done and 'id="state-approve">refused' in done
    missing = cp.runs.before_run(folders["bank"] / "agreement.toml", party="bank").missing
    assert any("was refused by A. Lovelace" in one.sentence for one in missing if one.what == "approvals")
    assert "has refused this agreement" in html.unescape(bank.submit("/approve/approve", person(page)).text)
    file = next((folders["bank"] / "agreement.approvals").glob("*.refusal")).name
    assert bank.submit("/approve/take-back", {"file": "../agreement.toml"}).status_code == 422
    assert "Take this refusal back" not in bank.submit("/approve/take-back", {"file": file}).text
    assert "A. Lovelace" in bank.submit("/approve/approve", person(page)).text


def test_what_signs_is_the_signer_that_the_agreement_names(homes):
    folders, at = homes
    bank, file = at("bank"), folders["bank"] / "agreement.toml"
    signer = new_identity("bank", folders["bank"] / "identities" / "bank-signer", days=30, passphrase="other words")
    file.write_text(file.read_text().replace("[parties.bank]\n", f'[parties.bank]\nsigner = "{signer.fingerprint}"\n'))
    page = bank.get("/approve").text
    assert "Passphrase of the key that signs" in page, "though the bank's own key has none"
    for typed in ({}, {"passphrase": "shibboleth"}):
        refused = bank.submit("/approve/refuse", person(page, reason="no", **typed))
        assert refused.status_code == 422 and 'href="#refuse-secret"' in refused.text
        assert "shibboleth" not in refused.text
    done = bank.submit("/approve/approve", person(page, passphrase="other words")).text
    assert "A. Lovelace, privacy officer" in done and "1 of 2" in done


@pytest.mark.parametrize(("party", "secret"), [("bank", {}), ("loans", {"passphrase": "open sesame"})])
def test_an_audit_is_started_followed_canceled_and_kept(homes, monkeypatch, party, secret):
    """Its process is not started here: its files are made up, as it would write them."""
    folders, at = homes
    person, file = at(party), folders[party] / "agreement.toml"
    agreement = cp.load_agreement(file)
    assert "Without evidence so far" in person.get("/approve").text
    for minutes in ("0", "nan", "", SCRIPT):
        refused = person.submit("/approve/audit", {"minutes": minutes})
        assert refused.status_code == 422 and 'href="#minutes"' in refused.text and SCRIPT not in refused.text
    assert person.submit("/approve/audit/keep").status_code == 422, "there is none"
    stopped, locks = [], []

    def spawn(folder, lock, secrets):
        locks.append(os.dup(lock))  # as if a process had it

    monkeypatch.setattr(process, "_spawn", spawn)
    monkeypatch.setattr(cp.runs, "stop", stopped.append)
    page = person.submit("/approve/audit", {"minutes": "0.5"}).text
    (job,) = cp.runs.list_jobs()
    assert (job.kind, job.arguments, job.is_alive) == ("audit", {"agreement": str(file), "minutes": 0.5}, True)
    assert "An audit runs" in page and "Start the audit" not in page and "Approve epsilon 1" in page
    phase = {"phase": "views of public", "began": 0.0, "done": 1200, "of": 5000}
    (job.folder / "status.json").write_text(json.dumps({"phases": [phase]}))
    part = person.get("/approve/audit").text
    assert "views of public, 1,200 of 5,000" in part and "hx-trigger" in part
    person.submit("/approve/audit/cancel")
    assert stopped == [job.id]
    os.close(locks.pop())
    assert "The audit ended without a word." in person.get("/approve/audit").text
    (job.folder / "end.json").write_text('{"state": "complete"}')
    (job.folder / "result.json").write_text(json.dumps(audit_of(agreement)))
    page = person.get("/approve").text
    assert "Consistent with what is stated." in page and "hx-get" not in page
    assert re.findall(r'data-label="(?:stated|found|runs)">([^<]*)<', page) == ["1.00", "0.84", "5,000"]
    assert "Without evidence so far" in page, "before it lies beside the agreement"
    if secret:
        refused = person.submit("/approve/audit/keep", {"passphrase": "shibboleth"})
        assert refused.status_code == 422 and 'href="#keep-secret"' in refused.text
        assert "shibboleth" not in refused.text and 'id="keep-secret"' in page
    kept = html.unescape(person.submit("/approve/audit/keep", secret).text)
    assert "public: 0.84 of 1.00" in kept and f"made by '{party}'" in kept
    assert "agreement.audit.json" in zipfile.ZipFile(io.BytesIO(person.get("/approve/proposal.zip").content)).namelist()
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    assert "it is of another agreement" in person.get("/approve").text, "what was found is of the agreement as it was"


def test_scripts_in_names_roles_and_notes_stay_text(homes):
    _, at = homes
    bank = at("bank")
    page = bank.get("/approve").text
    said = {"name": SCRIPT, "role": SCRIPT, "note": SCRIPT, "until": SCRIPT, "shown": hash_in(page)}
    assert SCRIPT not in bank.submit("/approve/approve", said).text
    done = bank.submit("/approve/approve", {**said, "until": ""}).text
    assert SCRIPT not in done and html.escape(SCRIPT) in done
    assert SCRIPT not in bank.submit("/approve/limit", {"limit_epsilon": SCRIPT, "limit_delta": SCRIPT}).text


def test_open_points_leave_no_form_and_a_link(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    browser = entered(tmp_path)
    assert f'href="{browser.root}/draft"' in browser.get("/approve").text
    (tmp_path / "agreement.toml").write_text(
        cp.drafts.draft_text(cp.drafts.draft()).replace("epsilon = 1.0", 'epsilon = "FILL IN"')
    )
    page = browser.get("/approve").text
    assert "open points" in page and "/approve/approve" not in page and "privacy.epsilon: still to be filled in" in page
