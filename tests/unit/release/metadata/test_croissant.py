"""Croissant metadata are valid for the format's own tool, which reads the tables through them."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlcroissant
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from copublish.mechanisms.published import PerturbedRows
from support.described_releases import DESCRIBED, described, files_of

pytestmark = pytest.mark.slow  # another library

REQUIRED = ("@context", "@type", "conformsTo", "name", "description", "license", "url", "creator", "datePublished")
"""What the specification, version 1.1, requires of every data set, besides its distribution."""


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read_by_the_tool(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table as the format's own tool finds them, under the names of its fields."""
    dataset = mlcroissant.Dataset(jsonld=folder / "croissant.json")
    names = {field.id: field.name for record_set in dataset.metadata.record_sets for field in record_set.fields}
    for row in dataset.records(table):
        yield {names[key]: value.decode() if isinstance(value, bytes) else value for key, value in row.items()}


@pytest.mark.parametrize("case", DESCRIBED)
def test_the_formats_own_tool_finds_nothing_wrong_and_reads_what_the_files_hold(case, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(jsonld=written(tmp_path, files_of(case)) / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    assert dataset.metadata.ctx.is_v1_1()
    assert caplog.messages == []
    tables = {path.stem: path for path in tmp_path.rglob("*.parquet")}
    assert {record_set.id for record_set in dataset.metadata.record_sets} == tables.keys()
    for table, path in tables.items():
        assert list(read_by_the_tool(tmp_path, table)) == pq.read_table(path).to_pylist()


@pytest.mark.parametrize("case", DESCRIBED)
def test_it_says_what_the_specification_requires_and_the_digests_of_the_files(case):
    said, files = json.loads(files_of(case)["croissant.json"]), files_of(case)
    assert all(said.get(key) for key in REQUIRED)
    for file in said["distribution"]:
        content = files[file["contentUrl"]]
        assert (file["sha256"], file["contentSize"]) == (hashlib.sha256(content).hexdigest(), f"{len(content)} B")
    assert {file["@id"] for file in said["distribution"]} == set(described(case).data_files())


def test_columns_of_any_name_and_type_are_read_with_their_missing_values(tmp_path):
    release = described(DESCRIBED[4])
    table = pa.table(
        {
            "a b/ü'\"": pa.array(["x", None, "NA"]).dictionary_encode(),
            "#n?": pa.array([1, None, 3]),
            "f": pa.array([1.5, None, 2.0]),
            "%20": [True, False, True],
        }
    )
    odd = replace(release, published=replace(release.published, measured=(), rows=PerturbedRows(records=table)))
    assert list(read_by_the_tool(written(tmp_path, odd.files()), "records")) == table.to_pylist()
    fields = json.loads((tmp_path / "croissant.json").read_text())["recordSet"][0]["field"]
    assert [field["dataType"] for field in fields] == ["sc:Text", "sc:Integer", "sc:Float", "sc:Boolean"]


def test_the_tool_refuses_a_table_that_is_not_the_one_described(tmp_path):
    """So that its silence above means something."""
    folder = written(tmp_path, files_of(DESCRIBED[3]))
    other = pq.read_table(folder / "records.parquet").slice(1)
    pq.write_table(other, folder / "records.parquet")
    with pytest.raises(mlcroissant.GenerationError):
        list(read_by_the_tool(folder, "records"))


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "a file without a digest": lambda said: said["distribution"][0].pop("sha256"),
    "a field of a file that is not there": lambda said: said["recordSet"][0]["field"][0]["source"].update(
        fileObject={"@id": "other.parquet"}
    ),
    "a file without a place": lambda said: said["distribution"][0].pop("contentUrl"),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_tool_refuses_metadata_that_are_wrong(what, tmp_path):
    said = json.loads(files_of(DESCRIBED[3])["croissant.json"])
    WRONG[what](said)
    (tmp_path / "croissant.json").write_text(json.dumps(said))
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")


def test_the_tool_would_say_that_something_is_not_as_usual(tmp_path, caplog):
    said = json.loads(files_of(DESCRIBED[3])["croissant.json"])
    del said["@context"]["jsonPath"], said["license"]
    (tmp_path / "croissant.json").write_text(json.dumps(said))
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert "jsonPath" in caplog.text
    assert "license" in " ".join(dataset.metadata.ctx.issues.warnings)


def test_a_release_without_a_promise_says_so_first():
    release = described(DESCRIBED[-1])
    said = json.loads(files_of(DESCRIBED[-1])["croissant.json"])["description"]
    assert said.startswith(f"WARNING: {release.certificate.warning}")
    assert "epsilon" not in said.removeprefix(f"WARNING: {release.certificate.warning}")
