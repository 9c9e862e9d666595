"""Who has to have signed a release: every party that any part of its certificate names, at least two.

The folders are those of real releases, signed anew by keys that the forger has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.release.evidence.signatures import Signatures, digests_of, release_digest
from copublish.release.verify import verify_release
from support.signed import NAMES, Signers


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> tuple[Signers, cp.Release]:
    signers = Signers(tmp_path_factory.mktemp("signed"))
    return signers, signers.publish()["bank"]


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


Forgery = Callable[[dict[str, Any]], object]


def forged(signers: Signers, release: cp.Release, forgery: Forgery, by: Collection[str], folder: Path) -> Path:
    """Write a release with another certificate, which these parties alone have signed."""
    release.write(folder)
    file = folder / "certificate.json"
    certificate = json.loads(file.read_text())
    forgery(certificate)
    file.write_text(json.dumps(certificate))
    digests = digests_of({path: (folder / path).read_bytes() for path in release.files()})

    def only(named: dict[str, Any]) -> dict[str, Any]:
        return {name: said for name, said in named.items() if name in by}

    assert release.signatures is not None
    old = release.signatures
    statement = replace(
        old.statement,
        digest=release_digest(digests),
        files=digests,
        signers=only(old.statement.signers),
        issuers=only(old.statement.issuers),
        ledger_heads=only(old.statement.ledger_heads),
        approvals_needed=only(old.statement.approvals_needed),
        approvals=only(old.statement.approvals),
    )
    signatures = Signatures(
        statement=statement,
        signatures={name: signers.identities[name].sign(statement.message) for name in by},
        certificates=only(old.certificates),
        approvals=only(old.approvals),
    )
    (folder / "signatures.json").write_bytes(signatures.content())
    return folder


def no_views(certificate: dict[str, Any]) -> None:
    certificate["views"] = {}


def views_of_bank(certificate: dict[str, Any]) -> None:
    del certificate["views"]["loans"]


def bank_alone(certificate: dict[str, Any]) -> None:
    """Leave the other party out of every part."""
    views_of_bank(certificate)
    del certificate["contributions"]["columns"]["loans"]
    basic = certificate["deployment"]["basic"]
    basic["data_curators"] = [one for one in basic["data_curators"] if one["data_curator_name"] == "bank"]


def others_engine(certificate: dict[str, Any]) -> None:
    certificate["engine"] |= {"name": "spu", "compute_nodes": ["bank", "shop"]}


@pytest.mark.parametrize(
    "forgery, by, words",
    [
        (no_views, (), "fewer than two parties"),
        (no_views, NAMES, "fewer than two parties"),
        (bank_alone, ("bank",), "fewer than two parties"),
        (views_of_bank, ("bank",), "fewer than two parties"),
        (others_engine, NAMES, "its views and its engine do not name the same parties"),
    ],
    ids=["nobody", "no views", "bank alone", "bank without the views of the other one", "another engine"],
)
def test_a_release_is_signed_by_every_party_that_it_names(signed, tmp_path, forgery, by, words) -> None:
    folder = forged(*signed, forgery, by, tmp_path / "forged")
    assert any(words in one.said for one in verify_release(folder).findings if not one.is_well)
    done = command("verify", folder, "--allow-unknown-keys")
    assert done.exit_code == 7 and "Verdict: not intact" in done.stdout
    with pytest.raises(cp.ReleaseError, match="parties"):
        cp.load_release(folder)


def test_a_signature_that_is_missing_is_found_though_the_certificate_names_all(signed, tmp_path) -> None:
    folder = forged(*signed, lambda certificate: None, ("bank",), tmp_path / "forged")
    found = verify_release(folder)
    assert [one.what for one in found.findings if not one.is_well] == ["signed statement"]


def test_all_that_holds_by_keys_that_nobody_vouched_for_is_told_apart(signed, tmp_path) -> None:
    signers, release = signed
    folder = release.write(tmp_path / "release")
    known = [word for name in NAMES for word in ("--fingerprint", f"{name}={signers.identities[name].fingerprint}")]
    for arguments, code, verdict in (
        (known, 0, "verified"),
        (known[:2], 11, "intact, signers unknown"),
        ([], 11, "intact, signers unknown"),
        (["--allow-unknown-keys"], 0, "intact, signers unknown"),
    ):
        done = command("verify", folder, *arguments)
        assert (done.exit_code, f"Verdict: {verdict}\n" in done.stdout) == (code, True), arguments
        told = json.loads(command("verify", folder, *arguments, "--format", "json").stdout)
        assert (told["verdict"], told["ok"]) == (verdict, verdict == "verified")
