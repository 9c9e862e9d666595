"""`copublish audit`: files that it writes, what it refuses, and exit codes. Audits are played in other tests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.errors import AgreementError
from copublish.party.audit_file import default_audit_file, read_audit
from copublish.party.keys.identity import new_identity
from copublish.release.prepare import software_versions
from copublish.tools.auditing import audit as auditing
from copublish.tools.auditing.odd_records import Symbol
from copublish.tools.auditing.result import Audit, Number
from copublish.tools.auditing.statistics import Claim, Tested
from copublish.tools.auditing.tables import invalid_pairs
from copublish.tools.drafting.demo import example_agreement


@pytest.fixture
def agreement_file(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(example_agreement())
    return file


def found_by(agreement: cp.Agreement, *, differs: str | None) -> Audit:
    pair = next(iter(invalid_pairs(agreement, "add-remove")))
    symbol = Symbol(pair, "public", ("released", "released"), differs)
    return Audit(agreement.name, agreement.hash, {}, "2026-01-01", "add-remove", (), (), (symbol,), (), (), 1.0)


def consistent_audit(agreement: cp.Agreement) -> Audit:
    """An audit as the real one would be, with one view."""
    claim = Claim(float(agreement.epsilon))
    tested = Tested(0.84, 0.83, 100, 80, "law", 0.0, 0.5)
    pair = next(iter(invalid_pairs(agreement, "add-remove")))
    public = Number("public", "view", claim, tested, 5000, 1, pair, "consistent")
    none = found_by(agreement, differs=None)
    return replace(none, versions=software_versions(agreement), views=(public,))


@pytest.mark.parametrize(("differs", "code"), [(None, 0), ("what is published", 9)])
def test_the_exit_code_is_the_verdict_and_files_say_the_same(agreement_file, monkeypatch, differs, code):
    asked = {}

    def audit(agreement, **named):
        asked.update(named)
        return found_by(agreement, differs=differs)

    monkeypatch.setattr(auditing, "audit", audit)
    out, plot = default_audit_file(agreement_file), agreement_file.with_name("audit.svg")
    ran = CliRunner().invoke(
        app, ["audit", str(agreement_file), "--no-secure", "--json", str(out), "--plot", str(plot), "--minutes", "1"]
    )
    assert ran.exit_code == code, ran.output
    assert asked["secure_runs"] == 0 and asked["minutes"] == 1
    assert json.loads(out.read_text())["verdict"] == ("consistent" if code == 0 else "refuted")
    assert plot.read_text().lstrip().startswith("<?xml") and "credit-default" in plot.read_text()
    expected = "do not release with this software" if code else "nobody has signed it"
    with pytest.raises(AgreementError, match=expected):
        read_audit(out, cp.load_agreement(agreement_file))


def test_what_is_kept_is_signed_with_the_partys_key(agreement_file, monkeypatch, tmp_path):
    monkeypatch.setattr(auditing, "audit", lambda agreement, **named: consistent_audit(agreement))
    signer = new_identity("bank", tmp_path / "bank", days=30, passphrase="shibboleth")
    text = agreement_file.read_text().replace(
        "[parties.bank]\n", f'[parties.bank]\ncertificate = "{signer.fingerprint}"\n'
    )
    agreement_file.write_text(text)
    arguments = ["audit", str(agreement_file), "--keep", "--party", "bank", "--identity", str(signer.folder)]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code != 0 and not default_audit_file(agreement_file).exists()
    (tmp_path / "word").write_text("shibboleth\n")
    (tmp_path / "word").chmod(0o600)
    kept = CliRunner().invoke(app, [*arguments, "--passphrase-file", str(tmp_path / "word")])
    assert kept.exit_code == 0, kept.output
    found = read_audit(default_audit_file(agreement_file), cp.load_agreement(agreement_file))
    assert found is not None and found.made_by == "bank"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "audit.pdf"], "end the name in .png or .svg"),
        (["--json", "no/such/folder/audit.json"], "there is no folder"),
        (["--view", "nobody"], "there is no view 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_played(agreement_file, arguments, message):
    ran = CliRunner().invoke(app, ["audit", str(agreement_file), *arguments])
    said = ran.output + str(ran.exception)
    assert ran.exit_code != 0 and message in " ".join(said.split())
