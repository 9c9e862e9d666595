"""Release folders of certificate format 1, kept as they were written: they load, show and report."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import copublish as cp
from copublish.cli.show_command import print_release
from copublish.privacy.statements import UNBOUNDED, Law

FOLDERS = sorted((Path(__file__).parents[2] / "support" / "format_1").iterdir())


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request) -> Path:
    return request.param


def test_there_is_one_of_every_mechanism():
    assert {cp.load_release(folder).certificate.mechanism for folder in FOLDERS} == {
        *("specialization", "copula", "hpdp", "vhdp", "idp-ir")
    }


def test_it_loads_with_what_it_said(folder):
    said, release = json.loads((folder / "certificate.json").read_text()), cp.load_release(folder)
    certificate = release.certificate
    assert said["certificate_format"] == 1
    assert certificate.epsilon.agreed == said["epsilon"]["agreed"]
    assert certificate.epsilon.public == said["epsilon"]["public"]
    assert [d.what for d in certificate.disclosures] == [d["what"] for d in said["disclosures"]]
    assert [d.epsilon for d in certificate.disclosures] == [d["epsilon"] for d in said["disclosures"]]
    assert certificate.views == {party: tuple(seen) for party, seen in said["views"].items()}
    assert all(d.place.step != "unnamed" for d in certificate.disclosures)
    is_unbounded = certificate.epsilon.agreed == UNBOUNDED
    assert all((d.noise.law == Law.NO_GUARANTEE) == is_unbounded for d in certificate.disclosures)
    assert (certificate.warning is not None) == is_unbounded
    data = [name for name in said["files"] if name not in ("certificate.json", "README.md")]
    assert {name: release.files()[name] for name in data} == {name: (folder / name).read_bytes() for name in data}


def test_it_shows_and_reports(folder):
    release, out = cp.load_release(folder), io.StringIO()
    print_release(release, Console(file=out, width=200), rows=5)
    page = cp.report(release).html
    for sentence in release.certificate.protected:
        assert sentence[:40] in page.replace("&#39;", "'")
    assert "Everything that is opened" in out.getvalue()
    assert release._repr_html_().count("<table>") == 2


def test_written_anew_it_has_the_new_format_and_reads_back_the_same(folder, tmp_path):
    release = cp.load_release(folder)
    again = cp.load_release(release.write(tmp_path / "again"))
    assert json.loads((tmp_path / "again" / "certificate.json").read_text())["certificate_format"] == 2
    assert (again.certificate, again.details) == (release.certificate, release.details)
