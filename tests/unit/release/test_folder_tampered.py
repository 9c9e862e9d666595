"""A signed release folder in which anything was changed, removed, added, exchanged or replayed does not verify.

`verify` does all of it from JSON and bytes. That it loads no mechanism: `tests/docs/test_verify_loads_little.py`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import copublish as cp
from copublish.release import measurements
from copublish.release.evidence.signatures import Signatures
from copublish.release.verify import refuse_wrong_signatures, verify_release
from support.any_release import any_release
from support.signed import NAMES, Signers

IN_ONE_FOLDER = {"mechanism": {"name": "marginals", "tables": [["job", "region"]]}, "privacy.epsilon": 8}
"""An agreement whose release has tables in a folder below."""


@pytest.fixture(scope="module")
def signers(tmp_path_factory) -> Signers:
    return Signers(tmp_path_factory.mktemp("tampered"), changes=IN_ONE_FOLDER)


@pytest.fixture(scope="module")
def whole(signers) -> Path:
    return signers.publish()["bank"].write(signers.folder / "release")


@pytest.fixture
def copy(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def undetected(whole: Path, copy: Path, change: Callable[[Path, str], object]) -> list[str]:
    """Files for which a change is not found; each is put back before the next one is changed."""
    missed = []
    for name in names_in(whole):
        change(copy, name)
        if verify_release(copy).is_well:
            missed.append(name)
        shutil.rmtree(copy)
        shutil.copytree(whole, copy)
    return missed


def with_a_byte_changed(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)


def with_more_at_the_end(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")


def emptied(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"")


def removed(folder: Path, name: str) -> None:
    (folder / name).unlink()


def renamed(folder: Path, name: str) -> None:
    (folder / name).rename(folder / f"{name}.old")


def copied(folder: Path, name: str) -> None:
    shutil.copy(folder / name, folder / f"{name}.copy")


CHANGES = [with_a_byte_changed, with_more_at_the_end, emptied, removed, renamed, copied]


def test_a_folder_that_nobody_touched_holds(whole, copy) -> None:
    """So that what is found below is found for what was changed."""
    assert undetected(whole, copy, lambda folder, name: None) == names_in(whole)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_whatever_is_done_to_one_file_is_found(whole, copy, change) -> None:
    assert undetected(whole, copy, change) == []


def test_any_two_files_that_are_exchanged_are_found(whole, copy) -> None:
    assert len(names_in(whole)) > 10
    for one, other in combinations(names_in(whole), 2):
        first, second = (whole / one).read_bytes(), (whole / other).read_bytes()
        (copy / one).write_bytes(second)
        (copy / other).write_bytes(first)
        assert not verify_release(copy).is_well, (one, other)
        (copy / one).write_bytes(first)
        (copy / other).write_bytes(second)
    assert verify_release(copy).is_well


def certificate_that_names(folder: Path, name: str, content: bytes) -> None:
    """Write a file and its digest into the certificate, as somebody does who knows how digests go together."""
    (folder / name).write_bytes(content)
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(certificate, indent=2, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", ["records.csv", "measured/more.csv", "more.csv"])
def test_a_file_whose_digest_was_put_into_the_certificate_as_well_is_found(copy, name) -> None:
    certificate_that_names(copy, name, b"job,region\n")
    cp.load_release(copy)  # the certificate fits
    found = {finding.what: finding.said for finding in verify_release(copy).findings if not finding.is_well}
    assert "'certificate.json' was changed" in found["signed files"]
    assert "the digest of the release, the files" in found["signed statement"]
    with pytest.raises(cp.ReleaseError, match="the digest of the release"):
        refuse_wrong_signatures(cp.load_release(copy))


def with_statement(folder: Path, **changes: object) -> None:
    """Change what was signed, and leave the signatures as they are."""
    path = folder / "signatures.json"
    signed = Signatures.from_content(path.read_bytes())
    path.write_bytes(replace(signed, statement=replace(signed.statement, **changes)).content())


def test_a_statement_that_was_changed_to_fit_the_folder_has_no_signature(copy) -> None:
    (copy / "more.csv").write_text("job\n")
    certificate_that_names(copy, "more.csv", b"job\n")
    digests = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names_in(copy)}
    del digests["signatures.json"]
    with_statement(copy, files=digests, digest=digest_by_hand(copy))
    problems = {finding.what for finding in verify_release(copy).findings if not finding.is_well}
    assert problems == {f"signature of {name}" for name in NAMES}


def test_the_other_spelling_of_a_signature_is_found(whole, copy) -> None:
    """Of a valid ECDSA signature (r, s) anybody can compute another valid one: (r, n - s)."""
    signed = Signatures.from_content((whole / "signatures.json").read_bytes())
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256, SEC 2 version 2.0, 2.4.2
    r, s = signed.signatures["bank"][:64], int(signed.signatures["bank"][64:], 16)
    other = replace(signed, signatures={**signed.signatures, "bank": f"{r}{order - s:064x}"})
    (copy / "signatures.json").write_bytes(other.content())
    problems = {finding.what: finding.said for finding in verify_release(copy).findings if not finding.is_well}
    assert problems == {"signature of bank": "is not spelled as copublish spells it"}


def test_a_page_that_names_who_signed_refuses_a_folder_whose_readme_was_changed(copy) -> None:
    with_more_at_the_end(copy, "README.md")
    with pytest.raises(cp.ReleaseError, match="signed statement"):
        refuse_wrong_signatures(cp.load_release(copy))


def test_signatures_of_another_run_of_the_same_agreement_do_not_fit(signers, whole, copy, tmp_path) -> None:
    other = signers.publish()["bank"].write(tmp_path / "other")
    shutil.copy(other / "signatures.json", copy / "signatures.json")
    problems = {finding.what for finding in verify_release(copy).findings if not finding.is_well}
    assert problems == {"signed files", "signed statement"}
    assert verify_release(other).is_well and verify_release(whole).is_well


def test_a_release_that_nobody_signed_does_not_hold_because_nobody_had_to(whole, copy) -> None:
    """No parties, no signatures, and digests that fit: nothing else would be missing."""
    certificate = json.loads((copy / "certificate.json").read_text())
    certificate["views"] = {}
    (copy / "certificate.json").write_text(json.dumps(certificate, indent=2, ensure_ascii=False) + "\n")
    digests = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names_in(copy)}
    del digests["signatures.json"]
    nobody = {"signers": {}, "issuers": {}, "ledger_heads": {}, "approvals_needed": {}, "approvals": {}}
    with_statement(copy, files=digests, digest=digest_by_hand(copy), **nobody)
    signed = Signatures.from_content((copy / "signatures.json").read_bytes())
    bare = replace(signed, signatures={}, certificates={}, approvals={})
    (copy / "signatures.json").write_bytes(bare.content())
    (problem,) = (finding.said for finding in verify_release(copy).findings if not finding.is_well)
    assert "it names fewer than two parties that made the release" in problem


# --- the digest ---


def digest_by_hand(folder: Path) -> str:
    """The digest as the reference defines it, without copublish's functions."""
    entries = ",".join(
        f'"{name}":"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}"'
        for name in names_in(folder)
        if name != "signatures.json"
    )
    return hashlib.sha256(f"copublish files of a release, format 1\n{{{entries}}}".encode("ascii")).hexdigest()


def test_the_digest_of_a_release_is_what_the_reference_says(whole) -> None:
    release = cp.load_release(whole)
    assert release.digest() == release.signatures.statement.digest == digest_by_hand(whole)


def test_a_release_has_one_digest_before_and_after_it_is_written_and_signed(whole, tmp_path) -> None:
    release = any_release("specialization vertical balanced-gain missing")
    written = release.write(tmp_path / "release")
    assert release.digest() == cp.load_release(written).digest() == digest_by_hand(written)
    loaded = cp.load_release(whole)
    assert replace(loaded, signatures=None).digest() == loaded.digest()


def test_the_digest_of_a_loaded_release_is_that_of_its_files_and_not_of_what_would_be_written(copy) -> None:
    """Another version of pyarrow writes other bytes of the same table."""
    before = cp.load_release(copy)
    pq.write_table(before.table("records"), copy / "records.parquet", compression="none")
    certificate_that_names(copy, "records.parquet", (copy / "records.parquet").read_bytes())
    after = cp.load_release(copy)
    assert after.table("records").equals(before.table("records"))
    assert after.digest() == digest_by_hand(copy) != before.digest()


def test_another_certificate_is_another_digest_though_the_first_one_was_asked_for(whole) -> None:
    release = cp.load_release(whole)
    other = replace(release, certificate=replace(release.certificate, release="another"))
    assert other.digest() != release.digest()
    assert other.files()["certificate.json"] != release.files()["certificate.json"]


def test_every_file_is_written_once_in_a_run(signers, monkeypatch) -> None:
    written = []
    write = measurements.parquet_file
    monkeypatch.setattr(measurements, "parquet_file", lambda parts: written.append("parquet") or write(parts))
    releases = signers.publish()
    tables = ["records", *releases["bank"].tables]
    assert len(written) == len(releases) * len(tables) > 2 * len(releases)
    for release in releases.values():
        assert release.files().keys() == {*release.file_digests, "signatures.json"}
        release.files().clear()  # what is handed out is a copy
        assert release.files()
    assert len(written) == len(releases) * len(tables)


# --- without a mechanism ---


def test_a_folder_of_a_mechanism_that_nobody_here_knows_is_checked_all_the_same(signers, whole, tmp_path) -> None:
    """Parties with a mechanism of their own sign a release; whoever has only copublish can check it."""
    copy = Path(shutil.copytree(whole, tmp_path / "copy"))
    content = json.loads((copy / "certificate.json").read_text())
    content["mechanism"] = "of-another-package"
    (copy / "certificate.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    with pytest.raises(cp.ReleaseError, match="does not know"):
        cp.load_release(copy)
    digests = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names_in(copy)}
    del digests["signatures.json"]
    with_statement(copy, files=digests, digest=digest_by_hand(copy))
    path = copy / "signatures.json"
    signed = Signatures.from_content(path.read_bytes())
    signatures = {name: signers.identities[name].sign(signed.statement.message) for name in signers.names}
    path.write_bytes(replace(signed, signatures=signatures).content())
    assert verify_release(copy).is_well
