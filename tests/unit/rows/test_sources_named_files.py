"""A file is read by its very name: no character of it is a pattern, and no folder of its path is a column."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from copublish import SourceError
from copublish.rows.sources import open_source

NAMES = ["data[1]", "data*", "data?", "da**ta", "data\\[1]", "{data1,data2}", "'data'", "data; --", "[!a]"]


def values_in(path: Path) -> list[str]:
    with open_source(path) as source:
        return [value for batch in source.batches([source.table.a]) for value in batch.column(0).to_pylist()]


def write(path: Path, value: str) -> Path:
    frame = pd.DataFrame({"a": [value]})
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_the_file_that_was_named_is_read_and_no_other_one(tmp_path, name, suffix):
    for other in ("data1", "data2", "dataX", "daXta", "b"):
        write(tmp_path / f"{other}{suffix}", "another file")
    named = write(tmp_path / f"{name}{suffix}", "the named one")
    assert values_in(named) == ["the named one"]
    named.unlink()
    with pytest.raises(SourceError, match="There is no file"):
        values_in(named)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_in_the_path_is_neither_a_pattern_nor_a_column(tmp_path, suffix):
    for folder in ("year=2026", "year[1]", "year1"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / f"x{suffix}", folder)
    for folder in ("year=2026", "year[1]"):
        path = tmp_path / folder / f"x{suffix}"
        assert values_in(path) == [folder]
        with open_source(path) as source:
            assert source.table.columns == ("a",)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_pipe_or_a_device_is_refused_and_never_waited_for(tmp_path, suffix):
    pipe, link, folder = (tmp_path / f"{name}{suffix}" for name in ("pipe", "link", "folder"))
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    folder.mkdir()
    for path in (pipe, link):
        with pytest.raises(SourceError, match="no ordinary file"):
            values_in(path)
    with pytest.raises(SourceError, match="Is a directory"):
        values_in(folder)


def test_no_file_stays_open(tmp_path):
    path = write(tmp_path / "a.csv", "x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert values_in(path) == ["x"]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
