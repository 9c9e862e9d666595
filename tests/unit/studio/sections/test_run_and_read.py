"""The places Run and Read, in this process: every state says what it costs and what to do."""

from __future__ import annotations

import html
import os
import re
import shutil
import signal
import time
from dataclasses import replace

import pandas as pd
import pytest

import copublish as cp
from copublish.mechanisms.registry import plan_of
from copublish.party.detached import process
from copublish.release.evidence.signing import pem_of
from support import small_mapping
from support.node import on_loopback
from support.signed import NAMES, Signers
from support.studio import Browser, entered, own_path

pytestmark = pytest.mark.slow  # runs of releases in processes

WAIT_SECONDS = 300


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    return on_loopback(tmp_path_factory.mktemp("parties") / "two", records=60)


@pytest.fixture
def bank(parties, monkeypatch):
    home = parties.home("bank")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    return home


def words(answer) -> str:
    """What a page says, without its tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def hidden(answer, *names: str) -> dict[str, str]:
    found = {name: re.search(rf'name="{name}" value="([^"]*)"', answer.text) for name in names}
    return {name: html.unescape(match[1]) for name, match in found.items()}


def until(browser: Browser, path: str, said: str):
    deadline = time.monotonic() + WAIT_SECONDS
    while said not in words(answer := browser.get(path, follow_redirects=True)):
        assert time.monotonic() < deadline, words(answer)
        time.sleep(0.1)
    return answer


def preflight_of(browser: Browser, home):
    return browser.submit("/run/preflight", {"data": str(home / "data.parquet")})


SHOWN = ("run_id", "agreement_hash", "ledger_state", "out", "data")


def test_preflight_start_two_tabs_stop(bank):
    browser = entered(bank)
    answer = preflight_of(browser, bank)
    rows = len(pd.read_parquet(bank / "data.parquet"))
    assert f"rows {rows:,} " in words(answer) and "Start the run of credit-default" in words(answer)
    assert "epsilon 1 and delta" in words(answer), "the price is repeated where it is spent"
    shown = hidden(answer, *SHOWN)
    second = Browser(browser.app, browser.root)
    second.cookies = browser.cookies
    tabs = [tab.submit("/run/start", shown) for tab in (browser, second)]
    assert tabs[0].url == tabs[1].url and len(cp.runs.list_runs()) == 1, "two tabs start one run"
    path = own_path(tabs[0].url.path)
    waiting = until(browser, "/run", "Waiting for 'loans'")
    assert "copublish doctor agreement.toml --party bank" in words(waiting)
    assert "Run: waiting for loans" in words(browser.get("/read"))
    again = entered(bank)  # another server on the same home: the first one was killed
    assert "Waiting for 'loans'" in words(again.get("/run", follow_redirects=True))
    polled = own_path(re.search(r'hx-get="([^"]+)"', again.get(path).text)[1])
    assert polled.startswith(f"{path}/now?seen=")
    assert again.get(polled).status_code == 204, "nothing changed, so nothing is replaced"
    asked = words(again.get(f"{path}/stop"))
    assert "Nothing is spent yet: stopping now costs nothing. The others' runs end, too." in asked
    assert cp.runs.list_runs()[0].is_alive, "looking changes nothing"
    ended = words(again.submit(f"{path}/stop"))
    assert "Stopped at" in ended and "exit code 143" in ended and "Nothing was spent." in ended
    last = again.get(polled)
    assert "hx-get" not in last.text and last.headers["HX-Refresh"] == "true"
    assert again.get(f"{path}/log").headers["content-disposition"].startswith("attachment")


def test_a_killed_run_is_told_with_what_the_ledger_says(bank, monkeypatch):
    browser = entered(bank)
    run = browser.submit("/run/start", hidden(preflight_of(browser, bank), *SHOWN)).url.path
    folder = bank / "runs" / run.split("/")[-1]
    until(browser, run, "not met so far")
    os.kill(int((folder / "lock").read_text()), signal.SIGKILL)
    while process.is_alive(folder):
        time.sleep(0.02)
    said = words(browser.get(run))
    assert "This run ended without a word" in said and "The ledger was charged nothing." in said
    assert "Run: ended without a word" in said
    ledger = cp.ledger.Ledger(bank / "ledger.db")  # as it is after a kill in the middle: reserved, and never ended
    plan = plan_of(cp.load_agreement(bank / "agreement.toml"))
    agreement = plan.agreement
    monkeypatch.setattr(ledger, "_end", lambda charge, state: None)
    ledger.reserve(agreement.dataset, agreement.name, agreement.hash, plan.cost()).__enter__()
    ledger.close()
    assert "The ledger says “reserved”: epsilon 1, which counts as spent." in words(browser.get(run))


def test_data_that_are_hardly_those_agreed_are_shown_with_shares_and_start_only_if_accepted(bank):
    frame = pd.read_parquet(bank / "data.parquet").astype({"balance": str})
    frame.loc[frame.index[:30], "balance"] = "1234,5"
    frame["job"] = "cook"
    frame.to_parquet(bank / "wrecked.parquet", index=False)
    browser = entered(bank)
    page = browser.submit("/run/preflight", {"data": str(bank / "wrecked.parquet")})
    assert f"30 ({100 * 30 / len(frame):.1f} %)" in words(page)
    assert "These are hardly the data that were agreed" in words(page)
    assert "Column 'job' has only one value" in words(page)
    assert re.search(r'type="checkbox" name="accept" value="yes" required', page.text)
    assert 'name="accept"' not in preflight_of(browser, bank).text, "nothing is to be accepted"
    shown = hidden(page, *SHOWN) | {"wait": "1"}
    path = own_path(browser.submit("/run/start", shown).url.path)
    assert "exit code 4." in words(until(browser, path, "Ended without a release"))
    shown = hidden(browser.submit("/run/preflight", {"data": str(bank / "wrecked.parquet")}), *SHOWN)
    path = own_path(browser.submit("/run/start", {**shown, "accept": "yes"}).url.path)
    until(browser, path, "not met so far")
    browser.submit(f"{path}/stop")


def test_nothing_starts_from_an_older_state_and_the_form_says_so(bank):
    browser = entered(bank)
    shown = hidden(preflight_of(browser, bank), *SHOWN)
    before = len(cp.runs.list_runs())
    for field in ("agreement_hash", "ledger_state"):
        answer = browser.submit("/run/start", {**shown, field: "0" * 64})
        assert answer.status_code == 422 and "was changed after it was shown" in words(answer)
    for out in ("../elsewhere", "/tmp/elsewhere", "..", ""):
        assert browser.submit("/run/start", {**shown, "out": out}).status_code == 422
    assert len(cp.runs.list_runs()) == before


def test_every_key_has_a_field_and_what_is_typed_is_taken_to_the_letter(bank, monkeypatch):
    browser, asked_before, given = entered(bank), cp.runs.before_run, []
    fields = ("passphrase", "signer_passphrase", "pin")
    assert not any(f'name="{field}"' in preflight_of(browser, bank).text for field in fields), "none is needed here"
    needs = {f"needs_{field}": True for field in fields}
    monkeypatch.setattr(cp.runs, "before_run", lambda *said, **more: replace(asked_before(*said, **more), **needs))
    page = preflight_of(browser, bank)
    assert all(f'type="password" id="{field}" name="{field}"' in page.text for field in fields)

    def start(*said, **more):
        given.append([more[field] for field in fields])
        raise cp.CopublishError("Seen.")

    monkeypatch.setattr(cp.runs, "start", start)
    typed = {"passphrase": " spaces count ", "pin": "pin-0123"}  # which is in no address of random digits
    refused = browser.submit("/run/start", {**hidden(page, *SHOWN), **typed})
    assert refused.status_code == 422 and given == [[" spaces count ", None, "pin-0123"]]
    assert "spaces count" not in refused.text and "pin-0123" not in refused.text


def test_after_a_run_that_ended_early_the_form_asks_and_hands_on_the_answer(bank, monkeypatch):
    browser, asked_before, given = entered(bank), cp.runs.before_run, []
    assert 'name="again"' not in preflight_of(browser, bank).text
    ended = {"ended_early": "The last run with 'loans' has not completed."}
    monkeypatch.setattr(cp.runs, "before_run", lambda *said, **more: replace(asked_before(*said, **more), **ended))
    page = preflight_of(browser, bank)
    assert ended["ended_early"] in words(page) and 'name="again" id="again" required' in page.text

    def start(*said, **more):
        given.append(more["again"])
        raise cp.CopublishError("Seen.")

    monkeypatch.setattr(cp.runs, "start", start)
    for answer in ({}, {"again": "on"}):
        browser.submit("/run/start", {**hidden(page, *SHOWN), **answer})
    assert given == [False, True]


@pytest.mark.parametrize(
    "data", ["/etc/passwd", "../loans/data.parquet", "data.parquet\0", "source:none", "", "ledger.db"]
)
def test_only_data_below_the_named_folders_are_read(bank, data):
    answer = entered(bank).submit("/run/preflight", {"data": str(bank / data) if data.endswith("db") else data})
    assert answer.status_code == 422 and "Not done." in words(answer)


@pytest.fixture
def own_names(bank):
    """The bank's data under other names, and the mapping of them."""
    frame = pd.read_parquet(bank / "data.parquet")
    frame.rename(columns=str.upper).to_parquet(bank / "own.parquet")
    lines = [f'columns.{name} = {{ column = "{name.upper()}" }}' for name in frame.columns]
    (bank / "my-columns.toml").write_text("\n".join(lines))
    yield bank
    for name in ("own.parquet", "my-columns.toml", "identities/bank/party.toml"):
        (bank / name).unlink(missing_ok=True)


def test_data_with_names_of_their_own_are_read_through_a_mapping(own_names, monkeypatch):
    browser, given = entered(own_names), []
    data = {"data": str(own_names / "own.parquet")}
    assert "is agreed but not in the data" in words(browser.submit("/run/preflight", data))
    page = browser.submit("/run/preflight", {**data, "columns": str(own_names / "my-columns.toml")})
    assert "do not fit" not in words(page) and "values clamped" in words(page)

    def start(*said, **more):
        given.append(more["columns"])
        raise cp.CopublishError("Seen.")

    monkeypatch.setattr(cp.runs, "start", start)
    browser.submit("/run/start", hidden(page, *SHOWN, "columns"))
    assert given == [own_names / "my-columns.toml"]
    for other in ("/etc/passwd", str(own_names / "data.parquet"), "../my-columns.toml"):
        assert browser.submit("/run/preflight", {**data, "columns": other}).status_code == 422


def test_the_page_reads_data_through_the_mapping_of_party_toml_as_a_run_does(own_names):
    party_file = own_names / "identities" / "bank" / "party.toml"
    party_file.write_text(f'columns = "{own_names / "my-columns.toml"}"\n')
    party_file.chmod(0o600)
    page = entered(own_names).submit("/run/preflight", {"data": str(own_names / "own.parquet")})
    assert "do not fit" not in words(page) and "values clamped" in words(page)


def test_a_link_does_not_lead_out_of_a_data_folder(bank, tmp_path):
    outside = tmp_path / "other.parquet"
    shutil.copy(bank / "data.parquet", outside)
    link = bank / "linked.parquet"
    link.symlink_to(outside)
    try:
        assert entered(bank).submit("/run/preflight", {"data": str(link)}).status_code == 422
    finally:
        link.unlink()


def test_what_is_missing_is_named_and_linked(tmp_path, parties, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    assert "There is nothing to run yet" in words(entered(tmp_path).get("/run"))
    shutil.copy(parties.home("bank") / "agreement.toml", tmp_path)
    assert "Which party are you?" in words(entered(tmp_path).get("/run"))
    said = words(entered(tmp_path, party="bank").get("/run"))
    assert "There is no identity" in said and "There is no ledger" in said and "Go to Approve" in said


def test_looking_changes_no_byte(bank):
    def content():
        return {path: path.read_bytes() for path in bank.rglob("*") if path.is_file()}

    browser, before = entered(bank), content()
    runs = [
        path for run in cp.runs.list_runs() for path in (f"/run/{run.id}{end}" for end in ("", "/now", "/log", "/stop"))
    ]
    for path in ("/draft", "/plan", "/approve", "/run", "/read", *runs):
        assert browser.get(path, follow_redirects=True).status_code == 200, path
    assert content() == before and len(before) > 3


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A simulated release of made-up people, in a folder beside its agreement."""
    folder = tmp_path_factory.mktemp("published")
    from support.examples import write_specialization_demo

    write_specialization_demo(folder, 400)
    data = {"bank": folder / "bank.parquet", "loans": folder / "loans.csv"}
    cp.simulate(folder / "agreement.toml", data).write(folder / "release")
    return folder


@pytest.fixture
def reader(published, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(published))
    return entered(published)


def release_path(browser) -> str:
    return re.search(rf'href="{browser.root}(/read/\w{{16}})"', browser.get("/read").text)[1]


def test_a_release_is_judged_first_and_shown_with_its_errors(reader, published):
    path = release_path(reader)
    said = words(reader.get(path))
    assert said.index("Not verified.") < said.index("epsilon, for the public"), "simulated ones have no signatures"
    release = cp.load_release(published / "release")
    assert release.count().words in said
    assert release.reading.summaries()[0].cells[0].people.words in said


def test_tables_come_by_a_hundred_rows_and_are_filtered_here(reader, published):
    path = f"{release_path(reader)}/table/records"
    records = cp.load_release(published / "release").to_pandas()
    pages = [reader.get(path, params={"first": first}) for first in range(0, len(records), 100)]
    numbers = [answer.text.count("<tr>") - 1 for answer in pages]
    assert sum(numbers) == len(records) and max(numbers) == 100
    wanted = records["default"].astype(str).str.contains("yes").sum()
    filtered = reader.get(path, params={"column": "default", "text": "yes"})
    assert f"of {wanted:,}." in words(filtered)
    assert reader.get(f"{release_path(reader)}/table/nothing").status_code == 404


def test_files_are_attachments_and_no_other_file_can_be_had(reader, published):
    path = release_path(reader)
    got = reader.get(f"{path}/file/certificate.json")
    assert got.content == (published / "release" / "certificate.json").read_bytes()
    for kept in (got, reader.get(f"{path}/report"), reader.get(f"{path}/notebook")):
        assert kept.status_code == 200 and kept.headers["content-disposition"].startswith("attachment")
        assert kept.headers["content-security-policy"].startswith("sandbox")
        assert kept.headers["content-type"] == "application/octet-stream"
    (published / "release" / "out").symlink_to(published / "bank.parquet")
    try:
        for name in ("../bank.parquet", "..%2Fbank.parquet", "%2e%2e/bank.parquet", "/etc/passwd", "out"):
            assert reader.get(f"{path}/file/{name}").status_code == 404, name
    finally:
        (published / "release" / "out").unlink()


def test_a_changed_release_is_red_above_everything(reader, published, tmp_path, monkeypatch):
    shutil.copytree(published / "release", tmp_path / "changed")
    (tmp_path / "changed" / "model.json").write_text("changed")
    browser = entered(tmp_path)
    said = words(browser.get(release_path(browser)))
    assert "Not verified." in said and "model.json" in said


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A release that the two parties of an agreement have signed, in a folder beside it."""
    signers = Signers(tmp_path_factory.mktemp("signed"))
    content = small_mapping()
    for name, identity in signers.identities.items():
        content["parties"][name] = {"certificate": identity.fingerprint}
    (signers.folder / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.Draft(content)))
    assert cp.load_agreement(signers.folder / "agreement.toml").hash == signers.agreement.hash
    signers.publish()["bank"].write(signers.folder / "release")
    return signers


def judged(folder, monkeypatch) -> str:
    """How a page calls the only release of a folder."""
    monkeypatch.setenv("COPUBLISH_HOME", str(folder))
    browser = entered(folder)
    answer = browser.get(release_path(browser))
    # Green is for one word alone.
    assert ('class="notice good"' in answer.text) == ("Verified:" in words(answer))
    return words(answer)


def test_a_release_is_green_by_the_keys_that_the_agreement_names_alone(signed, tmp_path, monkeypatch):
    here = tmp_path / "here"
    shutil.copytree(signed.folder, here)
    assert "Verified: 2 of 2 signatures" in judged(here, monkeypatch)
    (here / "agreement.toml").unlink()
    assert "Intact, signers unknown." in judged(here, monkeypatch), "nobody says whose they should be"


def test_whoever_signs_with_keys_of_their_own_does_not_make_it_green(signed, tmp_path, monkeypatch):
    forger = Signers(tmp_path / "forger")  # the same names, other keys
    here = tmp_path / "here"
    here.mkdir()
    shutil.copy(signed.folder / "agreement.toml", here)
    forged = forger.publish()["bank"].write(here / "release")
    assert cp.verify_release(forged).is_well, "all of it holds, but for whose keys they are"
    assert "Intact, signers unknown." in judged(here, monkeypatch)
    shutil.rmtree(forged)
    release = cp.load_release(signed.folder / "release")  # of this very agreement, signed anew
    certificates = {name: tuple(map(pem_of, forger.identities[name].chain)) for name in NAMES}
    statement = replace(
        release.signatures.statement, signers={name: forger.identities[name].fingerprint for name in NAMES}
    )
    made_up = {name: forger.identities[name].sign(statement.message) for name in NAMES}
    anew = replace(release.signatures, statement=statement, signatures=made_up, certificates=certificates)
    replace(release, signatures=anew).write(here / "release")
    assert cp.verify_release(here / "release").is_well
    said = judged(here, monkeypatch)
    assert "Not verified." in said and "signature of loans: is by another certificate than you named" in said
