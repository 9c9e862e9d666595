"""Paths in files of others stay in their folder, and lead to ordinary files of bounded size; nothing ever waits."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import copublish as cp
from copublish.files.regular import MIB, open_regular, read_inside, read_regular
from support import small_mapping
from support.commands import run
from support.releases import small_release

TREE = json.dumps({"job": {"ANY": {"cook": {}, "clerk": {}}}})

TOML = """
format = 1
name = "small"
dataset = "people"
partition = "vertical"
[parties.bank]
[parties.loans]
[records]
identifier = "id"
expected = 2000
[class]
name = "default"
values = ["no", "yes"]
[attributes.job]
kind = "categorical"
taxonomy = "%s"
held_by = "bank"
[attributes.region]
kind = "categorical"
values = ["north", "south"]
held_by = "loans"
[privacy]
epsilon = 1
[mechanism]
name = "specialization"
specializations = 2
"""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    outside = path.parents[2] / f"outside-{path.name}"  # of a release, too, where the file is in a folder below
    outside.write_text(TREE)
    path.symlink_to(outside)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5000 * MIB)


def circle(path: Path) -> None:
    path.symlink_to(path)


HOSTILE = [pipe, device, link_out, sparse, circle, Path.mkdir]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    return inner


def test_a_taxonomy_file_lies_beside_the_agreement_or_below(folder):
    (folder / "below").mkdir()
    for name in ("tree.json", "below/tree.json"):
        (folder / name).write_text(TREE)
        (folder / "a.toml").write_text(TOML % name)
        assert cp.load_agreement(folder / "a.toml").domains["job"].values[:2] == ("cook", "clerk")
    (folder / "link.json").symlink_to(folder / "below" / "tree.json")
    (folder / "a.toml").write_text(TOML % "link.json")
    assert cp.load_agreement(folder / "a.toml").domains["job"].values[:2] == ("cook", "clerk")


def test_a_taxonomy_path_does_not_lead_out(folder):
    (folder.parent / "tree.json").write_text(TREE)
    for name in ("../tree.json", str(folder.parent / "tree.json"), "../inner/../tree.json", "/dev/zero", "/dev/tty"):
        (folder / "a.toml").write_text(TOML % name)
        with pytest.raises(cp.AgreementError, match="outside of the folder"):
            cp.load_agreement(folder / "a.toml")


@pytest.mark.parametrize("make", HOSTILE)
def test_a_hostile_taxonomy_file_is_refused(folder, make: Callable[[Path], None]):
    make(folder / "tree.json")
    (folder / "a.toml").write_text(TOML % "tree.json")
    with pytest.raises(cp.AgreementError, match=r"attributes\.job\.taxonomy: 'tree.json' cannot be read"):
        cp.load_agreement(folder / "a.toml")


@pytest.mark.slow
@pytest.mark.parametrize("make", [pipe, device, sparse, circle, Path.mkdir])
def test_a_hostile_agreement_release_cut_or_scores_is_refused(folder, make: Callable[[Path], None]):
    make(folder / "x")
    assert "cannot be read" in run("describe", folder / "x", code=3).stderr
    release = small_release(50)[0].write(folder / "release")
    arguments = ("report", release, "--evaluation", folder / "x", "--out", folder / "r.html")
    assert "cannot be read" in run(*arguments, code=4).stderr
    if make is not Path.mkdir:
        arguments = ("generalize", folder / "x", "--data", folder / "d.csv", "--out", folder / "o.csv")
        assert "cannot be read" in run(*arguments, code=7).stderr


@pytest.mark.parametrize("make", HOSTILE)
@pytest.mark.parametrize(
    "name", ["certificate.json", "measurements.json", "model.json", "records.parquet", "measured/{table}.csv"]
)
def test_a_hostile_file_in_a_release_folder_is_refused(folder, make: Callable[[Path], None], name):
    made = small_release(50)[0]
    release, name = made.write(folder / "release"), name.format(table=made.tables[0])
    (release / name).unlink()
    make(release / name)
    with pytest.raises(cp.ReleaseError, match="cannot be read"):
        cp.load_release(release)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/hostname", "..", "", "a/../../secret", "x\0", "\x1b[2J", "model.json/"]
)
def test_a_certificate_names_no_file_elsewhere(folder, name):
    (folder / "secret").write_text("secret")
    release = small_release(50)[0].write(folder / "release")
    said = json.loads((release / "certificate.json").read_text())
    said["files"][name] = hashlib.sha256(b"secret").hexdigest()
    (release / "certificate.json").write_text(json.dumps(said))
    with pytest.raises(cp.ReleaseError, match=r"no file of a release|holds the control character") as refused:
        cp.load_release(release)
    assert str(refused.value).isprintable()


def test_a_name_with_a_nul_is_no_file(folder):
    with pytest.raises(FileNotFoundError), open_regular(folder / "a\0b"):
        pass
    with pytest.raises(FileNotFoundError):
        read_inside(folder, "a\0b", MIB)
    with pytest.raises(cp.AgreementError):
        cp.agreement_from_mapping(small_mapping(**{"attributes.job.taxonomy": "a\0b"}), folder=folder)


def test_the_limit_is_exact(folder):
    (folder / "x").write_bytes(b"x" * 10)
    assert len(read_regular(folder / "x", 10)) == 10
    with pytest.raises(OSError, match="larger"):
        read_regular(folder / "x", 9)
    with pytest.raises(OSError, match="larger"):  # of no size until it is read
        read_regular(Path("/proc/self/maps"), 9)
