"""Keys on a token: made there, never in a file, and good for signatures under releases and approvals."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import LedgerError, MeetingError, PassphraseError
from copublish.party.evidence_exchange import SigningContext
from copublish.party.keys.identity import new_identity
from copublish.party.keys.signing_key import load_signer
from copublish.party.keys.token import TokenPlace, new_token_identity
from copublish.release.evidence.signing import signature_problem
from copublish.release.verify import verify_release
from support.examples import specialization_example, write_specialization_demo
from support.signed import NAMES, Signers
from support.softhsm import PIN, Token, new_token
from support.studio import entered


@pytest.fixture(scope="module")
def token(tmp_path_factory) -> Token:
    return new_token(tmp_path_factory.mktemp("softhsm"))


@pytest.fixture(scope="module")
def folder(token: Token, tmp_path_factory) -> Path:
    """An identity whose key is on the token, made by the command."""
    folder = tmp_path_factory.mktemp("token") / "bank-signer"
    (folder.parent / "pin").write_text(f"{PIN}\n")
    (folder.parent / "pin").chmod(0o600)
    made = ["identity", "new", "--name", "bank", "--identity", folder, "--token", token.label, "--module", token.module]
    done = CliRunner().invoke(app, [*map(str, made), "--pin-file", str(folder.parent / "pin")])
    assert done.exit_code == 0, done.output + str(done.exception)
    assert 'signer = "sha256:' in done.stdout
    return folder


def test_a_key_on_a_token_signs_and_no_file_holds_it(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.pem", "token.json"]
    signer = load_signer(folder, pin=lambda what: PIN)
    assert signature_problem(signer.certificate, b"message", signer.sign(b"message")) is None
    assert "not by this key" in signature_problem(signer.certificate, b"other", signer.sign(b"message"))
    assert PIN not in repr(signer)


def test_a_release_and_an_approval_are_signed_on_the_token_and_hold(folder: Path, tmp_path: Path) -> None:
    signer = load_signer(folder, pin=lambda what: PIN)
    signers = Signers(tmp_path, needed={"bank": 1}, signers={"bank": signer.fingerprint})
    signers.approve("bank", "Ada", signer=signer)
    approvals = signers.own_approvals("bank", signer)
    released = signers.publish({"bank": SigningContext(signer, approvals), "loans": signers.witness("loans")})
    written = released["bank"].write(tmp_path / "release")
    known = {"bank": signer.fingerprint, "loans": signers.identities["loans"].fingerprint}
    assert verify_release(written, known).is_well
    # The identity of the network does not sign where the agreement names another one.
    with pytest.raises(MeetingError, match="another certificate"):
        signers.publish({name: SigningContext(signers.identities[name]) for name in NAMES})


@pytest.mark.parametrize(
    "change, error, words",
    [
        ({}, PassphraseError, "The PIN is not that of the token 'bank-2026'"),
        ({"token": "nowhere"}, MeetingError, "no token with the label 'nowhere'"),
        ({"key": "nothing"}, MeetingError, "no key with the label 'nothing'"),
        ({"module": "/usr/lib/no-such-library.so"}, MeetingError, "cannot be used"),
        ({"module": "libsofthsm2.so"}, MeetingError, "whole path"),
    ],
)
def test_what_is_wrong_with_a_token_is_said_before_anybody_is_called(folder, tmp_path, change, error, words) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "certificate.pem").write_bytes((folder / "certificate.pem").read_bytes())
    (copy / "token.json").write_text(json.dumps({**json.loads((folder / "token.json").read_text()), **change}))
    with pytest.raises(error, match=words):
        load_signer(copy, pin=lambda what: PIN if change else "000000")


def test_a_certificate_of_another_key_is_found(folder: Path, tmp_path: Path) -> None:
    other = new_identity("bank", tmp_path / "other", days=30)
    (tmp_path / "other" / "token.json").write_text((folder / "token.json").read_text())
    with pytest.raises(MeetingError, match="not that of the key"):
        load_signer(other.folder, pin=lambda what: PIN)


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


def test_an_identity_on_a_token_is_renewed_under_another_label(folder: Path, token: Token, tmp_path: Path) -> None:
    new = ("identity", "new", "--name", "bank", "--identity", tmp_path / "renewed", "--token", token.label)
    new = (*new, "--module", token.module, "--pin-file", folder.parent / "pin")
    assert "has a key 'copublish bank' already. Choose another --key-label" in str(command(*new).exception)
    done = command(*new, "--key-label", "copublish bank 2027")
    assert done.exit_code == 0, done.output + str(done.exception)
    before, after = (load_signer(place, pin=lambda what: PIN) for place in (folder, tmp_path / "renewed"))
    assert before.fingerprint != after.fingerprint
    for signer in (before, after):  # the old one goes on as long as agreements name it
        assert signature_problem(signer.certificate, b"message", signer.sign(b"message")) is None
    # Options that mean nothing together are not passed over.
    assert command("identity", "new", "--name", "bank", "--key-label", "x").exit_code == 2
    assert command("identity", "new", "--name", "bank", "--pin-file", folder.parent / "pin").exit_code == 2
    assert command(*new, "--passphrase").exit_code == 2


def test_the_passphrase_of_a_key_and_the_pin_of_a_token_are_asked_for_apart(
    folder: Path, tmp_path: Path, monkeypatch
) -> None:
    """A run needs both before it looks for its ledger, and whoever has one of the secrets does not have the other."""
    write_specialization_demo(tmp_path, 20)
    key = new_identity("bank", tmp_path / "bank", days=30, passphrase="of the key")
    signer, loans = load_signer(folder, pin=lambda what: PIN), new_identity("loans", tmp_path / "loans", days=30)
    lines = f'host = "localhost:7700"\ncertificate = "{key.fingerprint}"\nsigner = "{signer.fingerprint}"\n'
    text = specialization_example().replace("[parties.bank]\n", f"[parties.bank]\n{lines}")
    lines = f'host = "localhost:7701"\ncertificate = "{loans.fingerprint}"\n'
    (tmp_path / "agreement.toml").write_text(text.replace("[parties.loans]\n", f"[parties.loans]\n{lines}"))
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path / "home"))
    run = ("run", tmp_path / "agreement.toml", "--party", "bank", "--data", tmp_path / "bank.parquet", "--yes")
    run = (*run, "--out", tmp_path / "release", "--identity", key.folder, "--signer", folder)

    def failure(passphrase: str | None, pin: str | None) -> BaseException | None:
        for name, value in (("COPUBLISH_PASSPHRASE", passphrase), ("COPUBLISH_PIN", pin)):
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        return command(*run).exception

    assert isinstance(failure("of the key", PIN), LedgerError)
    assert "--pin-file, --pin-command or the variable COPUBLISH_PIN" in str(failure("of the key", None))
    assert "The PIN is not that of the token" in str(failure("of the key", "of the key"))
    assert "--passphrase-file, --passphrase-command or the variable COPUBLISH_PASSPHRASE" in str(failure(None, PIN))
    assert "The passphrase is not that of the key" in str(failure(PIN, PIN))


def test_the_page_asks_for_the_pin_and_the_token_signs(folder: Path, tmp_path: Path, monkeypatch) -> None:
    """The bank's own key has no passphrase and does not sign: the agreement names the one on the token."""
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    (tmp_path / "identities").mkdir()
    own = new_identity("bank", tmp_path / "identities" / "bank", days=30)
    lines = f'certificate = "{own.fingerprint}"\nhost = "localhost:7700"\napprovals = 1\n'
    text = specialization_example().replace(
        "[parties.bank]\n", f'[parties.bank]\nsigner = "{own.fingerprint}"\n{lines}'
    )
    (tmp_path / "agreement.toml").write_text(text)
    browser = entered(tmp_path, party="bank")
    assert (
        "There is no identity in" in browser.get("/approve").text
        and "/approve/approve" not in browser.get("/approve").text
    )
    shutil.copytree(folder, tmp_path / "identities" / "bank-signer")
    assert "The key does not fit the agreement" in browser.get("/approve").text, "it names another one"
    signer = load_signer(folder, pin=lambda what: PIN)
    (tmp_path / "agreement.toml").write_text(text.replace(own.fingerprint, signer.fingerprint, 1))
    page = browser.get("/approve").text
    assert page.count('type="password"') == 2 and page.count('name="pin"') == 2  # to approve, and to refuse
    said = {"name": "Ada", "role": "lead", "shown": re.search(r'name="shown" value="(\w+)"', page)[1]}
    for typed in ({}, {"passphrase": PIN}, {"pin": "000000"}):
        refused = browser.submit("/approve/approve", {**said, **typed})
        assert refused.status_code == 422 and 'href="#secret"' in refused.text
        assert "000000" not in refused.text and PIN not in refused.text
    done = browser.submit("/approve/approve", {**said, "pin": PIN})
    assert "Ada, lead" in done.text and PIN not in done.text
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PIN.encode() not in kept


def test_a_key_or_an_identity_that_is_there_is_never_replaced(folder: Path, token: Token, tmp_path: Path) -> None:
    place = TokenPlace(module=token.module, token=token.label, key="copublish bank")
    with pytest.raises(MeetingError, match="has a key 'copublish bank' already"):
        new_token_identity("bank", tmp_path / "new", place, PIN, days=30)
    with pytest.raises(MeetingError, match="holds an identity already"):
        new_token_identity("bank", folder, replace(place, key="another"), PIN, days=30)
