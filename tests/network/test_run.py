"""`copublish run` at two parties on loopback over mutual TLS: what both end with, and what stops them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys

import pandas as pd
import pytest

from copublish.kernel.ledger.ledger import Ledger
from copublish.party.own_ledger import receipt_problems, release_problems
from copublish.release.verify import verify_release
from support.commands import Begun
from support.node import NAMES, end_of, on_loopback
from support.postgres import READER_PASSWORD, server

MEETING = 8


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """One release, run once for several tests: the bank's rows in a file, the lender's in a real PostgreSQL."""
    parties = on_loopback(tmp_path_factory.mktemp("released"))
    frame = pd.read_parquet(parties.home("loans") / "data.parquet")
    loans = server().table({name: column.tolist() for name, column in frame.items()})
    return parties, parties.run_both(loans=("--data", loans.database, "--table", loans.table))


def test_both_end_with_the_same_release_and_a_ledger_entry_each(released):
    parties, ends = released
    for name in NAMES:
        code, output, errors = ends[name]
        assert code == 0, errors
        assert json.loads(output)["budget_left"] == "1"
        assert json.loads(output)["delta_left"] == "9.9e-10"
    assert parties.files("bank") == parties.files("loans")
    assert parties.has_whole_release("bank")
    certificate = json.loads(parties.files("bank")["certificate.json"])
    for name in NAMES:
        (entry,) = Ledger(parties.home(name) / "ledger.db").entries()
        assert (entry.state, entry.disclosures) == ("complete", len(certificate["disclosures"]))
    assert certificate["engine"]["name"] == "spu"


def test_the_certificate_says_how_connections_agreed_on_keys(released):
    parties, _ = released
    for name in NAMES:
        certificate = json.loads((parties.home(name) / "release" / "certificate.json").read_text())
        assert certificate["engine"]["key_exchange"] == ["X25519MLKEM768"]


def test_both_have_signed_it_and_keep_each_others_signature_in_ledgers_that_hold(released):
    parties, _ = released
    known = {name: parties.identities[name].fingerprint for name in NAMES}
    for name in NAMES:
        folder, ledger = parties.home(name) / "release", Ledger(parties.home(name) / "ledger.db")
        found = verify_release(folder, known)
        assert found.is_well, found
        assert ledger.edits() == receipt_problems(ledger) == release_problems(ledger, folder) == []
        assert ledger.receipts()[0].signatures is not None
        ledger.close()


def test_what_one_party_sent_the_other_received(released):
    _, ends = released
    bank, loans = (json.loads(ends[name][1]) for name in NAMES)
    for sent, received in ((bank["mib_sent"], loans["mib_received"]), (loans["mib_sent"], bank["mib_received"])):
        # The last words of the engine may be counted at one side alone, and both numbers are rounded.
        assert sent > 1 and abs(sent - received) < 0.15


def test_logs_are_structured_and_hold_no_private_value(released):
    parties, ends = released
    for name in NAMES:
        text = (parties.home(name) / "run.jsonl").read_text()
        events = [json.loads(line)["event"] for line in text.splitlines()]
        assert events[0] == "start"
        # The engine may find out, a moment after the end, that the other party's is gone.
        assert [event for event in events if event != "engine connection failed"][-1] == "complete"
        assert {"listening", "met", "phase"} <= set(events)
        frame = pd.read_parquet(parties.home(name) / "data.parquet")
        for shown in (text, ends[name][2]):
            assert not any(identifier in shown for identifier in frame["customer_id"])
            assert not re.search(rf"\b({len(frame)}|{len(frame):,})\b", shown)  # not as part of a port or a hash
        assert READER_PASSWORD not in text + ends[name][2]
        assert (parties.home(name) / "run.jsonl").stat().st_mode & 0o077 == 0


def test_nothing_temporary_is_left(released):
    parties, _ = released
    for name in NAMES:
        assert not list(parties.home(name).glob(".release*"))
        assert list((parties.home(name) / "publishing").iterdir()) == []  # where a note lay while it was published


def test_a_second_run_is_a_new_charge_and_says_so(released):
    parties, _ = released
    ends = parties.run_both(bank=("--out", "second"), loans=("--out", "second"))
    for name in NAMES:
        code, output, errors = ends[name]
        assert code == 0, errors
        assert "new charge" in errors
        assert json.loads(output)["budget_left"] == "0"
        assert parties.charges(name) == ["complete", "complete"]
    third = parties.run("bank", "--out", "third")
    assert third[0] == 5
    assert "but epsilon 0 and delta" in third[2]


def test_agreements_that_differ_in_one_character_end_the_run_before_data_is_touched(tmp_path):
    parties = on_loopback(tmp_path)
    parties.write_agreement(parties.agreement_text(("epsilon = 1.0", "epsilon = 1.1")), at=["loans"])
    for name, column in (("bank", "age"), ("loans", "months")):  # past the bounds in every row
        frame = pd.read_parquet(parties.home(name) / "data.parquet")
        frame.assign(**{column: 98_765}).to_parquet(parties.home(name) / "data.parquet", index=False)
    ends = parties.run_both(bank=["--accept"], loans=["--accept"])
    for name in NAMES:
        code, _, errors = ends[name]
        assert code == MEETING, errors
        assert "differ in: agreement: privacy." in " ".join(errors.split())
        assert "No data were touched" in " ".join(errors.split())
        assert parties.charges(name) == []


def test_other_versions_are_named(tmp_path):
    parties = on_loopback(tmp_path)
    other = (
        "import copublish.release.prepare as prepare; versions = prepare.software_versions; "
        "prepare.software_versions = lambda agreed: {**versions(agreed), 'copublish': '9.9'}\n"
    )
    loans, bank = parties.begin("loans", changed=other), parties.begin("bank")
    ends = ((end_of(loans), "9.9 here, 0.1.0 there"), (end_of(bank), "0.1.0 here, 9.9 there"))
    for (code, _, errors), words in ends:
        assert code == MEETING, errors
        assert words in " ".join(errors.split())


def test_a_file_that_cannot_be_read_ends_it_before_anybody_is_called(tmp_path):
    parties = on_loopback(tmp_path)
    path = parties.home("loans") / "data.parquet"
    path.write_bytes(path.read_bytes()[:200])
    code, _, errors = parties.run("loans")
    assert code == 4, errors
    assert "Waiting for" not in errors
    assert parties.charges("loans") == []


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """One run without TLS for two tests, of labels that differ and a value past its bounds."""
    parties = on_loopback(tmp_path_factory.mktemp("odd"))
    frames = {name: pd.read_parquet(parties.home(name) / "data.parquet") for name in NAMES}
    frames["bank"]["default"] = frames["bank"]["default"].map({"no": "yes", "yes": "no"})
    frames["loans"].loc[frames["loans"].index[0], ["months", "amount"]] = [98_765, -1]
    for name in NAMES:
        frames[name].to_parquet(parties.home(name) / "data.parquet", index=False)
    return parties, parties.run_both(bank=["--insecure"], loans=["--insecure"])


def test_labels_that_differ_and_a_value_past_the_bounds_end_no_run_and_show_to_nobody(odd):
    """Fails before encoding was total: the run ended with 4 here and 6 there, where "its data do not fit" was told.

    Of a class that both hold the last owner's column counts. Whether the other's agrees is told to nobody.
    """
    parties, ends = odd
    for name in NAMES:
        assert ends[name][0] == 0, ends
        assert not any(word in ends[name][2] for word in ("months", "98765", "default"))
        assert len(parties.charges(name)) == 1


HTTP_TO_THE_ENGINE = """
from copublish.party.network import engine_link
carry = engine_link.carry

def speak_http(channel, local, frames):
    request = b"POST /org.interconnection.link.ReceiverService/Push HTTP/1.1\\r\\n\\r\\n" + b"[" * 10_000
    channel.try_write(frames.wrap(request))
    return carry(channel, local, frames)

engine_link.carry = speak_http
"""


def test_a_party_that_speaks_http_to_the_other_one_s_engine_is_named_by_it(tmp_path):
    parties = on_loopback(tmp_path)
    loans = parties.begin("loans", changed=HTTP_TO_THE_ENGINE)
    code, _, errors = parties.run("bank")
    end_of(loans)
    assert code == 6, errors
    assert "Party 'loans' sent no frame of the secure engine" in errors
    assert parties.charges("bank") == [], "its engine never met the other one, so nothing was reserved"


def test_nobody_is_contacted_and_nothing_spent_without_consent(tmp_path):
    parties = on_loopback(tmp_path)
    command = [word for word in parties.command("bank") if word != "--yes"]
    code, _, errors = end_of(Begun(command[3:], cwd=parties.home("bank")))
    assert code == 1
    assert "--yes" in errors
    environment = {**os.environ, "COPUBLISH_HOME": str(parties.home("bank")), "PYTHONPATH": os.pathsep.join(sys.path)}
    ours, theirs = pty.openpty()  # a person at a terminal who says no
    os.write(ours, b"n\n")
    ends = {"stdin": theirs, "stdout": subprocess.DEVNULL, "stderr": theirs}
    asked = subprocess.Popen(command, cwd=parties.home("bank"), env=environment, **ends)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is closed when the command has ended
        while data := os.read(ours, 4096):
            shown += data
    assert asked.wait(120) == 1
    text = " ".join(shown.decode().split())
    assert "Everything that is opened" in text
    assert parties.identities["loans"].fingerprint in text
    assert "Spend epsilon 1 and delta " in text and "of the epsilon 2 and delta 1.0e-09 that are left" in text
    assert "nobody was contacted" in text
    assert parties.charges("bank") == []


def test_a_party_that_never_comes_is_given_up_with_advice(tmp_path):
    parties = on_loopback(tmp_path)
    code, _, errors = parties.run("bank", "--wait", "2")
    assert code == MEETING
    assert "nobody listens at" in errors
    assert "copublish doctor" in " ".join(errors.split())


def test_insecure_runs_on_loopback_and_is_refused_elsewhere(odd, tmp_path):
    parties, ends = odd
    assert [ends[name][0] for name in NAMES] == [0, 0], ends
    assert parties.files("bank") == parties.files("loans")
    far = on_loopback(tmp_path)
    far.write_agreement(far.agreement_text(("127.0.0.1:", "192.0.2.7:")))
    code, _, errors = far.run("bank", "--insecure")
    assert code == MEETING
    assert "loopback alone" in errors


def test_a_limit_and_a_ledger_are_asked_for(tmp_path):
    parties = on_loopback(tmp_path)
    (parties.home("bank") / "ledger.db").unlink()
    code, _, errors = parties.run("bank")
    assert code == 5
    assert "ledger limit customers-2026=EPSILON" in " ".join(errors.split())


def test_a_missing_file_or_column_is_told_before_anybody_is_waited_for(tmp_path):
    parties = on_loopback(tmp_path)
    code, _, errors = parties.run("bank", "--data", "nothing.parquet")
    assert code == 4
    assert "There is no file" in errors
    path = parties.home("bank") / "data.parquet"
    pd.read_parquet(path).drop(columns="age").to_parquet(path, index=False)
    code, _, errors = parties.run("bank")
    assert code == 4
    assert "'age'" in errors
    assert not (parties.home("bank") / "run.jsonl").exists()


def test_an_out_that_cannot_be_written_is_told_before_anything_is_spent(tmp_path):
    parties = on_loopback(tmp_path)
    home = parties.home("bank")
    (home / "file").write_text("")
    (home / "link").symlink_to(home / "elsewhere")
    for out in ("file/release", "link", "/proc/nowhere/release"):
        code, _, errors = parties.run("bank", "--out", out)
        assert code == 7, (out, errors)
    assert parties.charges("bank") == []
    assert not (home / "run.jsonl").exists()
