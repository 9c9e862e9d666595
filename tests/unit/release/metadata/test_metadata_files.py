"""What lies in a release folder for programs belongs to the release: listed, digested, the same bytes everywhere."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

import copublish as cp
from copublish.release.metadata import METADATA_FILES
from copublish.release.pairs import PAIRS_FILE, pairs_of_release
from support.any_release import any_release
from support.described_releases import DESCRIBED, PRIVATE, described, files_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("case", DESCRIBED)
def test_the_certificate_has_the_digest_of_every_file_and_the_readme_names_them(case):
    files = files_of(case)
    digests = json.loads(files["certificate.json"])["files"]
    others = {name: content for name, content in files.items() if name not in ("certificate.json", "README.md")}
    assert digests == {name: hashlib.sha256(content).hexdigest() for name, content in others.items()}
    made = set(METADATA_FILES) if case in PRIVATE else set(METADATA_FILES) - {"deployment.yaml"}
    assert made == files.keys() & METADATA_FILES.keys()
    readme = files["README.md"].decode()
    assert all((f"`{name}`" in readme) == (name in files) for name in METADATA_FILES)


@pytest.mark.parametrize("name", METADATA_FILES)
def test_a_file_for_programs_that_was_changed_or_removed_is_noticed(name, tmp_path):
    folder = described(PRIVATE[0]).write(tmp_path / "release")
    cp.load_release(folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content.replace(b"recorded", b"Recorded", 1))
    assert (folder / name).read_bytes() != content
    with pytest.raises(cp.ReleaseError, match=rf"{name}' is not the file that was published"):
        cp.load_release(folder)
    (folder / name).unlink()
    with pytest.raises(cp.ReleaseError, match=f"{name} is missing"):
        cp.load_release(folder)


@pytest.mark.parametrize("case", DESCRIBED)
def test_the_same_release_has_the_same_bytes_whenever_it_is_written(case, tmp_path):
    release = cp.load_release(described(case).write(tmp_path / "release"))
    for name in METADATA_FILES.keys() & files_of(case).keys():
        assert release.files()[name] == files_of(case)[name] == any_release(case).files()[name]


@pytest.mark.parametrize("case", DESCRIBED)
def test_released_values_are_in_the_same_files_whatever_the_mechanism(case):
    data = described(case).data_files().keys()
    assert files_of(case).keys() - data <= {"certificate.json", "README.md", *METADATA_FILES}
    assert {"measurements.json", "model.json", "records.parquet"} <= data
    missing = any(not pair.is_measured for pair in pairs_of_release(described(case)))
    assert (PAIRS_FILE in data) == (missing and "records.csv" in data)
    others = data - {"measurements.json", "model.json", "records.parquet", "records.csv", PAIRS_FILE}
    assert all(re.fullmatch(r"measured/\d{3}(-[A-Za-z0-9]+)*\.(parquet|csv)", name) for name in others)
