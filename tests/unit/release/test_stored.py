"""Release folders of strangers cost time and memory within bounds: small folders cannot stand for gigabytes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import copublish as cp
from copublish.files.regular import MIB, digest_inside
from copublish.release import stored
from copublish.release.verify import verify_release
from support.signed import NAMES, Signers

LARGE = 64 * MIB


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    signers = Signers(tmp_path_factory.mktemp("stored"))
    return signers.publish()[NAMES[0]].write(signers.folder / "release")


@pytest.fixture
def folder(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "release"))


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The folder, with another certificate."""
    certificate = json.loads((folder / "certificate.json").read_text())
    change(certificate)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    return folder


def with_holes(folder: Path, name: str, n_bytes: int) -> str:
    """A file that takes no room on the disk; its digest."""
    with (folder / name).open("wb") as file:
        file.truncate(n_bytes)
    digest = hashlib.sha256()
    for _ in range(n_bytes // MIB):
        digest.update(bytes(MIB))
    return digest.hexdigest()


def named(files: dict[str, str]) -> Callable[[dict[str, Any]], object]:
    return lambda certificate: certificate["files"].update(files)


def problem_of(folder: Path) -> str:
    finding = verify_release(folder).findings[0]
    assert finding.what == "files and certificate"
    assert not finding.is_well
    return finding.said


def test_a_large_table_is_not_held_in_memory_to_be_verified(folder):
    digest = with_holes(folder, "large.parquet", LARGE)
    for number in range(4):
        os.link(folder / "large.parquet", folder / f"{number}.parquet")
    rewritten(folder, named({f"{number}.parquet": digest for number in range(4)}))
    tracemalloc.start()
    try:
        assert verify_release(folder).findings[0].is_well
        assert tracemalloc.get_traced_memory()[1] < LARGE / 4
    finally:
        tracemalloc.stop()


def test_many_names_of_one_file_count_each(folder, monkeypatch):
    monkeypatch.setattr(stored, "LARGEST_TABLES", 3 * MIB)
    digest = with_holes(folder, "large.parquet", MIB)
    for number in range(4):
        os.link(folder / "large.parquet", folder / f"{number}.parquet")
    rewritten(folder, named({f"{number}.parquet": digest for number in range(4)}))
    assert "It is larger than" in problem_of(folder)


def test_json_files_together_have_a_bound(folder, monkeypatch):
    monkeypatch.setattr(stored, "LARGEST_JSON", MIB)
    content = json.dumps([" " * 600_000]).encode()
    for name in ("a.json", "b.json"):
        (folder / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    rewritten(folder, named({"a.json": digest}))
    assert verify_release(folder).findings[0].is_well
    rewritten(folder, named({"b.json": digest}))
    assert "b.json' cannot be read: It is larger than" in problem_of(folder)


@pytest.mark.parametrize("name", ["certificate.json", "signatures.json"])
def test_certificates_and_signatures_have_a_bound_of_their_own(folder, name):
    with (folder / name).open("ab") as file:
        file.truncate(stored.LARGEST_CERTIFICATE + 1)
    assert "It is larger than 16 MiB" in problem_of(folder)


def test_no_more_files_are_looked_for_than_any_release_has(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST_FILES", 20)
    rewritten(folder, named({f"{number}.csv": "0" * 64 for number in range(20)}))
    assert "names more than 20 files" in problem_of(folder)


def test_a_very_long_name_is_no_file_and_is_not_shown_whole(folder):
    rewritten(folder, named({"x" * 5000: "0" * 64}))
    said = problem_of(folder)
    assert "File name too long" in said
    assert "x" * 200 not in said


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000])
@pytest.mark.parametrize("name", ["certificate.json", "signatures.json", "measurements.json"])
def test_deep_json_is_a_finding(folder, name, text):
    (folder / name).write_text(text)
    if name == "measurements.json":
        rewritten(folder, named({name: hashlib.sha256(text.encode()).hexdigest()}))
    assert "cannot be read" in problem_of(folder)
    with pytest.raises(cp.ReleaseError):
        cp.load_release(folder)


def test_of_many_strange_files_a_few_are_named(folder):
    for number in range(500):
        (folder / f"strange {number:03}").touch()
    (finding,) = [one for one in verify_release(folder).findings if one.what == "signed files"]
    assert not finding.is_well
    assert finding.said.endswith("; and 490 more")
    assert finding.said.count("was not signed") == 10


def test_a_table_that_changes_after_it_was_checked_is_not_read(folder):
    contents = stored.read_stored_release(folder).contents
    before = contents["records.parquet"]
    (folder / "records.parquet").write_bytes(before + b" ")
    with pytest.raises(cp.ReleaseError, match="its digest differs"):
        contents["records.parquet"]
    assert "nothing.csv" not in contents
    with pytest.raises(KeyError):
        contents["nothing.csv"]


def test_the_digest_of_a_file_is_that_of_its_bytes_wherever_it_is_cut(tmp_path):
    for length in (0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB):
        content = os.urandom(length)
        (tmp_path / "file").write_bytes(content)
        assert digest_inside(tmp_path, "file", 3 * MIB) == (hashlib.sha256(content).hexdigest(), length)
    with pytest.raises(OSError, match="It is larger than"):
        digest_inside(tmp_path, "file", 3 * MIB - 1)
