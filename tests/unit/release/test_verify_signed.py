"""Releases that all parties sign: what is checked offline, and what tampering is found.

Two parties on the ideal engine with real keys and ledgers in files; `tests/network/test_run.py` has the same between
processes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import copublish as cp
from copublish.cli import app
from copublish.release.evidence.signatures import Signatures, digests_of
from copublish.release.evidence.signing import message_of
from copublish.release.verify import changed_files, refuse_wrong_signatures, verify_release
from support import fragment_frames, random_table, small_mapping
from support.profiles import examples
from support.signed import NAMES, Signers

SIGNED_FILES = 12


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> tuple[Signers, Path]:
    """One signed release with an approval, and its folder."""
    signers = Signers(tmp_path_factory.mktemp("signed"), needed={"bank": 1})
    signers.approve("bank", "Ada Lovelace", role="data protection officer", note="ok for 2026")
    releases = signers.publish()
    assert releases["bank"].files() == releases["loans"].files()
    return signers, releases["bank"].write(signers.folder / "release")


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def problems(folder: Path, **fingerprints: str) -> dict[str, str]:
    return {one.what: one.said for one in verify_release(folder, fingerprints).findings if not one.is_well}


def command(*arguments: object) -> Any:
    return CliRunner(env={"COLUMNS": "300", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


def test_a_signed_release_holds_and_says_whose_keys_it_cannot_know(signed) -> None:
    signers, folder = signed
    found = verify_release(folder)
    assert found.is_well and found.unknown_keys == NAMES
    assert len(names_in(folder)) == SIGNED_FILES
    known = {name: signers.identities[name].fingerprint for name in NAMES}
    found = verify_release(folder, known)
    assert found.is_well and found.unknown_keys == ()
    assert [approval.name for approval in found.approvals] == ["Ada Lovelace"]
    swapped = {"bank": known["loans"], "loans": known["bank"], "others": known["bank"]}
    assert problems(folder, **swapped).keys() == {"signature of bank", "signature of loans", "fingerprint of others"}


def test_the_command_tells_people_and_machines_and_the_shell(signed) -> None:
    signers, folder = signed
    done = command("verify", folder)
    assert done.exit_code == 11 and "ok  signature of loans" in done.stdout and "Ada Lovelace" in done.stdout
    assert "--fingerprint PARTY" in done.stderr
    statement = cp.load_release(folder).signatures.statement
    for words in (signers.agreement.hash, *(head[:16] for head in statement.ledger_heads.values())):
        assert words in done.stdout
    told = json.loads(command("verify", folder, "--format", "json").stdout)
    assert told["verdict"] == "intact, signers unknown" and told["keys_without_fingerprint"] == list(NAMES)
    assert told["approvals"][0]["note"] == "ok for 2026"
    assert command("verify", folder, "--fingerprint", "bank=abc").exit_code == 2
    done = command("verify", folder, "--fingerprint", f"bank=sha256:{'0' * 64}")
    assert done.exit_code == 7 and "NO  signature of bank: is by another certificate" in done.stdout
    assert "Ada Lovelace" in command("show", folder).stdout


def flipped(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Every byte once with one bit changed, another bit at each place."""
    changed = bytearray(content)
    for place in range(len(content)):
        changed[place] ^= 1 << place % 8
        yield place, bytes(changed)
        changed[place] = content[place]


def test_every_byte_of_every_file_is_covered(signed) -> None:
    """All of them, without the rest of the folder: `verify_release` asks `changed_files` about every file it reads.

    So it finds what is found here, or refuses the folder before; a test below samples whole folders.
    """
    _, folder = signed
    files = cp.load_release(folder).signatures.statement.files
    assert {*files, "signatures.json"} == set(names_in(folder))
    for name in files:
        content = (folder / name).read_bytes()
        signed_digest = {name: files[name]}
        assert changed_files(digests_of({name: content}), signed_digest) == []
        for place, changed in flipped(content):
            assert changed_files(digests_of({name: changed}), signed_digest) == [f"'{name}' was changed"], place


@pytest.mark.slow
def test_every_byte_of_the_signatures_is_covered(signed) -> None:
    """All of them, read back and held against the release as `verify` and the report do."""
    _, folder = signed
    release, content = cp.load_release(folder), (folder / "signatures.json").read_bytes()
    refuse_wrong_signatures(release.signed_with(Signatures.from_content(content)))
    for place, changed in flipped(content):
        with pytest.raises((ValueError, cp.ReleaseError)):
            refuse_wrong_signatures(release.signed_with(Signatures.from_content(changed)))
            pytest.fail(f"nobody noticed that byte {place} was changed")


@given(data=st.data())
@examples(100, unchecked=[HealthCheck.function_scoped_fixture])
def test_a_folder_with_any_byte_changed_does_not_hold(signed, tmp_path_factory, data: st.DataObject) -> None:
    _, folder = signed
    name = data.draw(st.sampled_from(names_in(folder)))
    content = bytearray((folder / name).read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    copy = tmp_path_factory.getbasetemp() / "flipped"
    if not copy.exists():
        shutil.copytree(folder, copy)
    try:
        (copy / name).write_bytes(content)
        assert problems(copy), (name, place)
    finally:
        shutil.copy(folder / name, copy / name)


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda f: (f / "signatures.json").unlink(), "signatures"),
        (lambda f: (f / "README.md").unlink(), "signed files"),
        (lambda f: (f / "records.parquet").unlink(), "files and certificate"),
        (lambda f: (f / "corrected.csv").write_text("job\n"), "signed files"),
        (lambda f: (f / "signatures.json").write_text("{}"), "files and certificate"),
        (lambda f: (f / "signatures.json").write_text("[" * 100_000), "files and certificate"),
    ],
)
def test_files_that_are_missing_or_too_many_are_found(signed, tmp_path, change, what) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(signed[1], copy)
    change(copy)
    assert what in problems(copy)


@pytest.fixture(scope="module")
def marginals(tmp_path_factory) -> Path:
    """A signed release with tables in a folder of their own."""
    changes = {"mechanism": {"name": "marginals", "tables": [["job", "region"]]}, "privacy.epsilon": 8}
    signers = Signers(tmp_path_factory.mktemp("marginals"), changes=changes)
    return signers.publish()["bank"].write(signers.folder / "release")


def test_tables_in_a_folder_below_are_part_of_what_was_signed(marginals) -> None:
    signed_files = cp.load_release(marginals).signatures.statement.files
    below = {str(path.relative_to(marginals)) for path in (marginals / "measured").iterdir()}
    assert below and below < signed_files.keys()
    assert problems(marginals) == {}


def _behind_a_link(folder: Path, name: str) -> None:
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda f: next((f / "measured").iterdir()).unlink(), "is missing"),
        (lambda f: (f / "measured" / "more.csv").write_text("a\n1\n"), "'measured/more.csv' was not signed"),
        (lambda f: (f / "measured" / "measured").mkdir(), "'measured/measured' was not signed"),
        (lambda f: (f / "empty").mkdir(), "'empty' was not signed"),
        (lambda f: (f / "link").symlink_to("README.md"), "'link' is a symbolic link"),
        (lambda f: _behind_a_link(f, "README.md"), "'README.md' is a symbolic link"),
        (lambda f: os.mkfifo(f / "measured" / "pipe"), "'measured/pipe' was not signed"),
    ],
    ids=["missing", "file", "folder in a folder", "folder", "link", "file behind a link", "pipe"],
)
def test_whatever_else_lies_in_a_folder_or_below_it_is_found(marginals, tmp_path, change, words) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(marginals, copy)
    change(copy)
    assert any(words in said for said in problems(copy).values()), problems(copy)


@pytest.mark.parametrize("said", ["yesterday", "2026-13-01", "", "0001-01-01"])
def test_a_day_of_publication_that_is_none_is_found(signed, tmp_path, said) -> None:
    """Its parties signed it, so digests and signatures hold: who made up a release can say anything."""
    signers, folder = signed
    release = cp.load_release(folder)
    made_up = dated(signers, release, said)
    found = problems(made_up.write(tmp_path / "made up"))
    assert found.keys() == {"day of publication"}
    with pytest.raises(cp.ReleaseError, match="day of publication"):
        refuse_wrong_signatures(made_up)


def dated(signers: Signers, release: cp.Release, day: str) -> cp.Release:
    """A release that all its parties signed under another day."""
    basic = replace(release.certificate.deployment.basic, publication_date=day)
    certificate = replace(release.certificate, deployment=replace(release.certificate.deployment, basic=basic))
    made_up = replace(release, certificate=certificate)
    statement = replace(release.signatures.statement, digest=made_up.digest(), files=made_up.file_digests)
    signatures = {name: signers.identities[name].sign(statement.message) for name in NAMES}
    return replace(made_up, signatures=replace(release.signatures, statement=statement, signatures=signatures))


def test_approvals_that_were_made_long_after_the_day_of_publication_are_found(signed, tmp_path) -> None:
    """A release that is dated back would have old approvals pass; those that were made later give it away."""
    signers, folder = signed
    found = problems(dated(signers, cp.load_release(folder), "1999-01-01").write(tmp_path / "dated back"))
    assert found.keys() == {"approvals of bank"} and "is of a later day" in found["approvals of bank"]


def test_signatures_of_another_release_of_the_same_parties_do_not_fit(signed, tmp_path) -> None:
    signers, folder = signed
    other = signers.publish()["loans"].write(tmp_path / "other")
    shutil.copy(other / "signatures.json", tmp_path / "signatures.json")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    shutil.copy(other / "signatures.json", copy / "signatures.json")
    assert {"signed files", "signed statement"} <= problems(copy).keys()


def test_whoever_signs_everything_anew_is_found_by_a_fingerprint_and_by_nothing_else(signed, tmp_path) -> None:
    signers, _ = signed
    forger = Signers(tmp_path / "forger", needed={"bank": 1})
    forger.approve("bank", "Ada Lovelace")
    forged = forger.publish()["bank"].write(tmp_path / "forged")
    assert problems(forged) == {}
    assert "signature of bank" in problems(forged, bank=signers.identities["bank"].fingerprint)


def test_a_release_without_signatures_says_what_can_be_told_and_what_not(tmp_path) -> None:
    agreement = cp.agreement_from_mapping(small_mapping())
    generator = np.random.default_rng(1)
    frames = fragment_frames(agreement, random_table(agreement, 60, generator), generator)
    folder = cp.simulate(agreement, frames).write(tmp_path / "simulated")
    found = verify_release(folder)
    assert [(one.what, one.is_well) for one in found.findings] == [
        ("files and certificate", True),
        ("measurements", True),
        ("signatures", False),
    ]
    assert "Simulated releases" in found.findings[2].said


def test_a_release_that_is_read_and_written_again_keeps_its_signatures(signed, tmp_path) -> None:
    again = cp.load_release(signed[1]).write(tmp_path / "again")
    assert problems(again) == {}


def test_a_signature_of_one_kind_of_statement_is_none_of_another(signed) -> None:
    content = {"party": "bank"}
    assert message_of("approval", content) != message_of("release", content)
