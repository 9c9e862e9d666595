"""Folders whose JSON is not what a release has: always a ReleaseError, whatever is missing or of another type."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copublish import ReleaseError, load_release
from copublish.release.metadata import METADATA_FILES
from support.any_release import any_release
from support.profiles import examples

pytestmark = pytest.mark.slow  # many whole releases

CASES = [
    "specialization vertical balanced-gain missing",
    "copula vertical use-informative 3-classes",
    "copula horizontal masked-sum",
    "hpdp laplace missing 3-classes",
    "hpdp gaussian",
    "vhdp vertical use-informative",
    "idp-ir vertical",
]
"""Releases of every mechanism, with everything that any of them may say."""

MANY = examples(60)

Step = str | int
Where = tuple[Step, ...]

OPTIONAL = {
    # of certificates: what is not so everywhere is not said where it is not
    "warning",
    *(f"disclosures/*/{key}" for key in ("delta_bound", "rho", "candidates", "values_opened", "values_of_padding")),
    *(f"engine/{key}" for key in ("noise_shares", "protocol", "compute_nodes", "guests")),
    # of measurements
    *("measurements_format", "measured/*/steered", "measured/*/axes/*/power"),
    # of models
    *("key", "notes", "score", "score/class_weights", "score/class_shares"),
    *("division", "division/label", "division/tables", "division/group_weights", "division/columns/*/gain_ratio"),
}
"""Keys that may be missing."""

REPEATED = {
    *(f"disclosures/*/place/{key}" for key in ("column", "number", "common")),
    *(
        f"disclosures/*/noise/{key}"
        for key in (
            *("known_to", "scale_in_people", "scale_in_own_unit", "kept", "within_95_percent", "missing_or_not_kept"),
            *("times_less_where_weighted", "note"),
        )
    ),
}
"""Keys of disclosures that may be missing where no measurement has the same place and law."""

NAMED = {
    *("views", "software", "files", "contributions/columns"),
    *("columns", "noise_of_rows", "noise_scaled_with", "counts", "spreads", "division/columns"),
}
"""Mappings by name, of which nobody can tell whether a name is missing."""


@cache
def files_of(case: str) -> dict[str, bytes]:
    return any_release(case).files()


def json_files(case: str) -> list[str]:
    """Those that a release is read from; the others are for other programs, which `load_release` only compares."""
    names = (name for name in files_of(case) if name.endswith(".json"))
    return sorted(name for name in names if name not in METADATA_FILES)


def written(case: str, name: str, content: bytes, folder: Path) -> Path:
    """The release with another content of one file, and the digest that goes with it."""
    files = {**files_of(case), name: content}
    if name != "certificate.json":
        certificate = json.loads(files["certificate.json"])
        certificate["files"][name] = hashlib.sha256(content).hexdigest()
        files["certificate.json"] = json.dumps(certificate).encode()
    for other, bytes_ in files.items():
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_bytes(bytes_)
    return folder


def steps_in(value: Any, path: Where = ()) -> Iterator[Where]:
    """The places of all values of a nested mapping."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from steps_in(item, (*path, key))


def at(value: Any, path: Where) -> Any:
    for step in path:
        value = value[step]
    return value


def is_one_of(path: Where, patterns: set[str]) -> bool:
    """Whether a place is listed; '*' stands for any one step."""
    return any(
        len(steps := pattern.split("/")) == len(path)
        and all(step in ("*", said) for step, said in zip(steps, path, strict=True))
        for pattern in patterns
    )


def may_be_missing(path: Where) -> bool:
    return (
        is_one_of(path, OPTIONAL | REPEATED)
        or is_one_of(path[:-1], NAMED)
        or "taxonomy" in path[:-1]
        or (path[-1] == "missing_spellings" and len(path) > 1)  # of a column that has its own
        or path[-1] == "runs"  # a test below tells where
    )


def test_the_releases_are_read_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    """So that what is refused below is refused for what was changed."""
    for case in CASES:
        for name in json_files(case):
            content = json.dumps(json.loads(files_of(case)[name])).encode()
            load_release(written(case, name, content, tmp_path_factory.mktemp("same")))


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@MANY
def test_a_missing_key_is_refused(case: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    name = data.draw(st.sampled_from(json_files(case)))
    content = json.loads(files_of(case)[name])
    places = [path for path in steps_in(content) if isinstance(path[-1], str) and not may_be_missing(path)]
    path = data.draw(st.sampled_from(places))
    del at(content, path[:-1])[path[-1]]
    folder = written(case, name, json.dumps(content).encode(), tmp_path_factory.mktemp("missing"))
    with pytest.raises(ReleaseError):
        load_release(folder)


@pytest.mark.parametrize("case", CASES)
def test_keys_that_may_be_missing_are_missed_by_nobody_or_refused(
    case: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in json_files(case):
        whole = json.loads(files_of(case)[name])
        for path in steps_in(whole):
            if not is_one_of(path, OPTIONAL | REPEATED) or (len(path) > 1 and path[1] in range(1, 50)):
                continue  # of a list the first one
            if path == ("warning",) and name == "certificate.json":
                continue  # its mechanism says that there has to be one
            content = copy.deepcopy(whole)
            del at(content, path[:-1])[path[-1]]
            folder = written(case, name, json.dumps(content).encode(), tmp_path_factory.mktemp("optional"))
            if is_one_of(path, REPEATED) and whole["disclosures"][0]["kind"] in ("measure", "perturb"):
                with pytest.raises(ReleaseError, match=r"a law of noise in measurements|at one place"):
                    load_release(folder)
            else:
                load_release(folder)


def test_runs_of_values_may_be_missing_only_where_each_value_has_its_own(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    whole, refused = json.loads(files_of(CASES[0])["measurements.json"]), []
    for path in steps_in(whole):
        if path[-1] != "runs":
            continue
        content = copy.deepcopy(whole)
        del at(content, path[:-1])["runs"]
        folder = written(CASES[0], "measurements.json", json.dumps(content).encode(), tmp_path_factory.mktemp("runs"))
        refused.append(any(stop - start > 1 for start, stop in at(whole, path)))
        if refused[-1]:
            with pytest.raises(ReleaseError):
                load_release(folder)
        else:
            load_release(folder)
    assert any(refused) and not all(refused)


@pytest.mark.parametrize("case", [CASES[0], CASES[-1]])
def test_whether_records_stand_for_people_is_said_as_the_mechanism_says_it(case: str, tmp_path: Path) -> None:
    content = json.loads(files_of(case)["measurements.json"])
    if content.pop("rows_are_people", None) is None:
        content["rows_are_people"] = True
    with pytest.raises(ReleaseError, match="whether records stand for people"):
        load_release(written(case, "measurements.json", json.dumps(content).encode(), tmp_path))


def others_than(value: Any) -> list[Any]:
    """Values of other types, which cannot be taken for one of this type; null may stand for a number."""
    return [
        other
        for other in ({"x": 1}, [{"x": 1}], "neither", 7.5)
        if not isinstance(other, type(value)) and not (isinstance(value, int | None) and isinstance(other, float))
    ]


@pytest.mark.parametrize("case", CASES)
@given(data=st.data())
@MANY
def test_a_value_of_another_type_is_refused(
    case: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = data.draw(st.sampled_from(json_files(case)))
    content = json.loads(files_of(case)[name])
    path = data.draw(st.sampled_from(list(steps_in(content))))
    at(content, path[:-1])[path[-1]] = data.draw(st.sampled_from(others_than(at(content, path))))
    folder = written(case, name, json.dumps(content).encode(), tmp_path_factory.mktemp("type"))
    with pytest.raises(ReleaseError):
        load_release(folder)


@pytest.mark.parametrize("case", CASES)
@given(data=st.data(), depth=st.sampled_from([60, 500, 5000, 200_000]), is_list=st.booleans())
@examples(15)
def test_a_value_that_is_nested_deeply_is_refused(
    case: str, data: st.DataObject, depth: int, is_list: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = data.draw(st.sampled_from(json_files(case)))
    content = json.loads(files_of(case)[name])
    path = data.draw(st.sampled_from(list(steps_in(content))))
    at(content, path[:-1])[path[-1]] = "DEEP"
    deep = "[" * depth + "]" * depth if is_list else '{"a": ' * depth + "{}" + "}" * depth
    text = json.dumps(content).replace('"DEEP"', deep)
    folder = written(case, name, text.encode(), tmp_path_factory.mktemp("deep"))
    with pytest.raises(ReleaseError):
        load_release(folder)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("number", [0, 2, 99, -1, "1", None, [1]])
def test_an_unknown_format_is_refused(case: str, number: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    formats = {"certificate.json": "certificate_format", "measurements.json": "measurements_format"}
    for name, key in formats.items():  # a model has none of its own
        content = json.loads(files_of(case)[name])
        assert key in content
        content[key] = number
        with pytest.raises(ReleaseError) as caught:
            load_release(written(case, name, json.dumps(content).encode(), tmp_path_factory.mktemp("format")))
        assert "format" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"7", b"null", b'"files"', b"\xff\xfe{}", b"NaN", b"[" * 10**5])
@pytest.mark.parametrize("case", [CASES[0], CASES[-1]])
def test_a_file_that_is_no_json_object_is_refused(
    case: str, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in json_files(case):
        with pytest.raises(ReleaseError):
            load_release(written(case, name, content, tmp_path_factory.mktemp("bytes")))


@pytest.mark.parametrize("case", CASES)
def test_a_list_of_files_in_the_place_of_their_digests_is_refused(case: str, tmp_path: Path) -> None:
    certificate = json.loads(files_of(case)["certificate.json"])
    certificate["files"] = list(certificate["files"])
    with pytest.raises(ReleaseError):
        load_release(written(case, "certificate.json", json.dumps(certificate).encode(), tmp_path))


@pytest.mark.parametrize("mechanism", ["k-anonymity", "", "Copula"])
def test_a_mechanism_that_nobody_knows_is_refused_with_the_known_ones(mechanism: str, tmp_path: Path) -> None:
    certificate = json.loads(files_of(CASES[0])["certificate.json"])
    certificate["mechanism"] = mechanism
    with pytest.raises(ReleaseError, match=r"(?s)does not know.*'specialization'.*'idp-ir'") as caught:
        load_release(written(CASES[0], "certificate.json", json.dumps(certificate).encode(), tmp_path))
    assert "made by a mechanism" in str(caught.value)
