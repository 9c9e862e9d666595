"""Files that somebody edited end a command with a clear error and its exit code; "This is a bug" is never said."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import copublish as cp
from copublish.cli import main
from copublish.release.measurements import StoredMeasurements
from copublish.release.metadata import METADATA_FILES
from support.any_release import any_release
from support.profiles import examples
from support.releases import small_release

pytestmark = pytest.mark.slow  # many whole releases

CASES = [
    "specialization vertical balanced-gain missing",
    "marginals vertical gaussian",
    "copula vertical use-informative 3-classes",
    "hpdp gaussian",
    "vhdp vertical use-informative",
    "idp-ir vertical",
]

AGREEMENT = """
format = 1
name = "small"
dataset = "people"
partition = "vertical"
description = "about people"
[parties.bank]
host = "bank.example:7700"
[parties.loans]
[records]
identifier = "id"
expected = 2000
missing_spellings = ["", "?"]
[class]
name = "default"
values = ["no", "yes"]
[attributes.job]
kind = "categorical"
taxonomy = { ANY = { Worker = { cook = {}, clerk = {} }, vet = {} } }
held_by = "bank"
[attributes.region]
kind = "categorical"
values = ["north", "south"]
held_by = "loans"
[attributes.age]
kind = "numerical"
bounds = [18, 99]
grid = { step = 10 }
held_by = "loans"
[privacy]
epsilon = 1
[mechanism]
name = "specialization"
specializations = 2
"""

odd_values = st.sampled_from(
    [
        *("1/0", "-1", "0", "", "x", "1e999", "9" * 5000, "nan", "inf", "\x1b[2J", "\ud800", "(missing)", "[/x]"),
        *([], {}, None, 0, -1, 1.5, 1e308, float("nan"), 10**30, True, [[]], {"a": {}}, {"": None}),
    ]
)

MANY = examples(15)


def command(*arguments: object) -> tuple[int, str]:
    """Run a command here; its exit code, and what it said."""
    said = io.StringIO()
    with patch.object(sys, "argv", ["copublish", *map(str, arguments)]), redirect_stderr(said), redirect_stdout(said):
        try:
            main()
        except SystemExit as exc:
            return int(exc.code or 0), said.getvalue()
    return 0, said.getvalue()


def ends_well(code: int, said: str, *codes: int) -> None:
    assert "This is a bug" not in said, said
    assert code in (0, *codes), (code, said)


@cache
def files_of(case: str) -> dict[str, bytes]:
    return any_release(case).files()


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places_in(item, (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@st.composite
def edited(draw: st.DrawFn, content: Any) -> Any:
    """A JSON document with one to three edits: another value, a value of elsewhere, something left out or twice."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        places = list(places_in(content))
        if not places:
            break
        place = draw(st.sampled_from(places))
        inside = at(content, place[:-1])
        match draw(st.sampled_from(["other", "other", "left out", "elsewhere", "twice"])):
            case "other":
                inside[place[-1]] = draw(odd_values)
            case "left out":
                del inside[place[-1]]
            case "elsewhere":
                inside[place[-1]] = copy.deepcopy(at(content, draw(st.sampled_from(places))))
            case "twice" if isinstance(inside, list):
                inside.append(copy.deepcopy(inside[place[-1]]))
    return content


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """A release folder whose certificate has the digests of its files, if it still lists them."""
    said = json.loads(files["certificate.json"])
    if isinstance(said, dict) and isinstance(said.get("files"), dict):
        said["files"].update({name: hashlib.sha256(files[name]).hexdigest() for name in said["files"] if name in files})
    for name, content in {**files, "certificate.json": json.dumps(said).encode()}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@MANY
def test_an_edited_release_is_refused_or_shown_and_reported(case, data, tmp_path_factory):
    files = files_of(case)
    name = data.draw(st.sampled_from([name for name in files if name.endswith(".json") and name not in METADATA_FILES]))
    content = data.draw(edited(json.loads(files[name])))
    folder = written(tmp_path_factory.mktemp("edited"), {**files, name: json.dumps(content).encode()})
    try:
        cp.load_release(folder)
    except cp.ReleaseError as exc:
        assert str(exc).isprintable()
        return
    for arguments in (
        ["show", folder],
        ["show", folder, "--format", "json"],
        ["report", folder, "--out", f"{folder}.html"],
    ):
        ends_well(*command(*arguments), 7)


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_without_disclosures_is_refused(case, tmp_path):
    files = files_of(case)
    certificate = json.loads(files["certificate.json"]) | {"disclosures": []}
    folder = written(tmp_path, {**files, "certificate.json": json.dumps(certificate).encode()})
    for options in ((), ("--format", "json")):
        code, printed = command("show", folder, *options)
        assert code == 7 and "disclosures" in printed and "This is a bug" not in printed


@pytest.mark.parametrize("said", ["1/0", "x", "-1", "nan", "1e5", "", "1/-2", "1/00"])
def test_an_epsilon_that_is_none_is_refused(tmp_path, said):
    files = files_of(CASES[0])
    certificate = json.loads(files["certificate.json"])
    certificate["epsilon"]["public"]["replace"] = said
    folder = written(tmp_path, {**files, "certificate.json": json.dumps(certificate).encode()})
    code, words = command("show", folder)
    assert code == 7 and "epsilon.public.replace" in words


@pytest.mark.parametrize("case", CASES)
def test_tables_of_another_release_are_refused_or_shown(case, tmp_path):
    """A release whose tables do not go with its measurements: digests that were made anew cannot tell."""
    files = files_of(case)
    other = small_release(80)[0].files()
    swapped = {name: other.get("records.parquet", content) if name.endswith(".parquet") else content
               for name, content in files.items()}  # fmt: skip
    folder = written(tmp_path, swapped)
    for arguments in (("show", folder), ("report", folder, "--out", tmp_path.parent / "r.html", "--force")):
        ends_well(*command(*arguments), 7)


@given(content=st.binary(max_size=60), at=st.integers(0, len(AGREEMENT)), drop=st.integers(0, 30))
@example(content=b"\x00", at=0, drop=0)
@example(content=b"[" * 100_000, at=0, drop=0)
@example(content=b"x = " + b"[" * 5000 + b"]" * 5000 + b"\n", at=0, drop=0)
@example(content=b"x = 1" + b"0" * 5000 + b"\n", at=0, drop=0)
@MANY
def test_an_edited_agreement_is_read_or_refused(content, at, drop, tmp_path_factory):
    path = tmp_path_factory.mktemp("agreement") / "agreement.toml"
    path.write_bytes(AGREEMENT[:at].encode() + content + AGREEMENT[at + drop :].encode())
    ends_well(*command("describe", path), 3)


@given(data=st.data())
@MANY
def test_an_agreement_with_odd_values_is_read_or_refused(data, tmp_path_factory):
    import tomllib

    content = data.draw(edited(tomllib.loads(AGREEMENT)))
    with suppress(cp.CopublishError):
        cp.describe(cp.agreement_from_mapping(content))


@cache
def scored() -> tuple[cp.Release, dict[str, Any]]:
    release, table = small_release(200)
    return release, cp.evaluate(release, table, raw=table, classifiers=["decision-tree"]).to_dict()


@pytest.fixture(scope="module")
def scored_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores")
    scored()[0].write(folder / "release")
    return folder


@given(data=st.data())
@examples(25)
def test_a_report_on_edited_scores_is_written_or_refused(data, scored_folder):
    (scored_folder / "scores.json").write_text(json.dumps(data.draw(edited(scored()[1]))))
    files = {"--evaluation": scored_folder / "scores.json", "--out": scored_folder / "r.html"}
    ends_well(*command("report", scored_folder / "release", "--force", *sum(files.items(), ())), 4)


def test_scores_as_they_are_written_make_a_report():
    release, scores = scored()
    assert "How useful it is" in cp.report(release, scores).html
    with pytest.raises(cp.EvaluationError, match=r"classification\.0\.CA"):
        cp.report(release, {**scores, "classification": [{**scores["classification"][0], "CA": "x"}]})


@given(data=st.data())
@examples(25)
def test_edited_measurements_are_refused_or_generalize(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measurements")
    (folder / "x.csv").write_text("job,region,age,income,default\ncook,north,30,5,no\n")
    content = data.draw(edited(json.loads(scored()[0].files()["measurements.json"])))
    described = folder / "measurements.json"
    described.write_text(json.dumps(content))
    ends_well(*command("generalize", described, "--data", folder / "x.csv", "--out", folder / "o.csv"), 4, 7)


def test_published_values_that_leave_some_out_or_take_all_memory_are_refused():
    content = json.loads(scored()[0].files()["measurements.json"])
    assert StoredMeasurements.from_json(content).generalized
    for run in ([0, 10**12], [0, 1], [1, 0], [-5, 10]):
        edited_runs = copy.deepcopy(content)
        (axis,) = [axis for own in edited_runs["measured"] for axis in own["axes"] if axis["column"] == "age"]
        axis["runs"] = [run]
        with pytest.raises(ValueError, match="do not stand for all"):
            _ = StoredMeasurements.from_json(edited_runs).generalized


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "[]", '"x"', "1", "null", '{"a": ' * 50_000, ""])
def test_deep_or_empty_json_is_refused(tmp_path, text):
    release = scored()[0].write(tmp_path / "release")
    (tmp_path / "x.json").write_text(text)
    arguments = ("report", release, "--evaluation", tmp_path / "x.json", "--out", tmp_path / "r.html")
    assert command(*arguments)[0] == 4
    arguments = ("generalize", tmp_path / "x.json", "--data", tmp_path / "x.csv", "--out", tmp_path / "o.csv")
    assert command(*arguments)[0] == 7
    (release / "certificate.json").write_text(text)
    assert command("show", release)[0] == 7
