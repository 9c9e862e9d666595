"""The release as an object and as a folder. Everything here is public."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from copublish.errors import ReleaseError
from copublish.files.scratch import Scratch
from copublish.release.readme import ABOUT_RECORDS, About, about_generalized, folder_readme

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

COUNT, NOISY_COUNT = "count", "noisy_count"

Table = Literal["counts", "records"]


@dataclass(frozen=True)
class Release(ABC):
    """One published data set: records, what a mechanism tells besides, and the certificate.

    Attributes:
        certificate: What is guaranteed, to whom, under which assumptions.
    """

    certificate: dict[str, Any]

    @property
    def warning(self) -> dict[str, str]:
        """What everything about this release says first, as the first entry of a JSON object; mostly nothing."""
        return {"warning": self.certificate["warning"]} if "warning" in self.certificate else {}

    @property
    @abstractmethod
    def records(self) -> pa.Table:
        """The data set as records."""

    @abstractmethod
    def data_files(self) -> dict[str, bytes]:
        """Return the content of every file that holds released values."""

    @abstractmethod
    def digest(self) -> str:
        """Return one hash over the released values and the certificate, for the parties to compare."""

    @abstractmethod
    def about(self) -> About:
        """Return what the README of the release folder says about its files and their errors."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How much was published, of what."""

    def to_pandas(self, what: Table = "records") -> pd.DataFrame:
        """Return the records, or the counts where a release has them, as a pandas data frame.

        If the release has a warning, Python shows it, and the frame's `attrs` keep it.
        """
        self._warn()
        frame = cast("pd.DataFrame", self.table(what).to_pandas())
        frame.attrs.update(self.warning)
        return frame

    def to_polars(self, what: Table = "records") -> pl.DataFrame:
        """Return the records, or the counts where a release has them, as a Polars data frame.

        If the release has a warning, Python shows it; a Polars frame has no place to keep it.
        """
        import polars as pl

        self._warn()
        return cast(pl.DataFrame, pl.from_arrow(self.table(what)))

    def _warn(self) -> None:
        for said in self.warning.values():
            warnings.warn(said, stacklevel=3)

    def table(self, what: Table) -> pa.Table:
        """Return one of the release's tables.

        Raises:
            ReleaseError: If this kind of release does not have it.
        """
        if what == "counts":
            raise ReleaseError("This kind of release has no table of counts. Its table is 'records'.")
        return self.records

    def files(self) -> dict[str, bytes]:
        """Return the content of every file of the release folder."""
        data = self.data_files()
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
        certificate = {**self.certificate, "files": digests}
        readme = folder_readme(certificate, self.about()).encode()
        return {**data, "certificate.json": _json(certificate), "README.md": readme}

    def write(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release folder: all of it or nothing.

        Raises:
            ReleaseError: If the folder is there already, or cannot be written.
        """
        with self.staged(folder, overwrite=overwrite) as publish:
            publish()
        return Path(folder)

    @contextmanager
    def staged(self, folder: str | Path, *, overwrite: bool = False) -> Iterator[Callable[[], None]]:
        """Write everything under a temporary name, safely on disk; what is yielded gives it its own name.

        Raises:
            ReleaseError: If the folder is there already, or cannot be written.
        """
        target = Path(folder).absolute()
        refuse_existing(target, overwrite=overwrite)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with Scratch(f".{target.name}-", target.parent) as scratch:
                staged = scratch / "release"
                staged.mkdir(mode=0o755)
                for name, content in self.files().items():
                    _write_durably(staged / name, content)
                _sync_folder(staged)

                def publish() -> None:
                    refuse_existing(target, overwrite=overwrite)  # it may have come since
                    if target.exists() and overwrite:
                        # Aside, and not into the scratch folder: whatever happens now, one of the two is there.
                        old = target.with_name(f".{target.name}-old-{scratch.name[-8:]}")
                        target.rename(old)
                        staged.rename(target)
                        shutil.rmtree(old, ignore_errors=True)
                    else:
                        staged.rename(target)
                    _sync_folder(target.parent)

                yield publish
        except OSError as exc:
            raise ReleaseError(f"The release cannot be written to '{target}': {exc.strerror}.") from exc


@dataclass(frozen=True)
class GeneralizedRelease(Release):
    """A release of generalized records: how often every combination of generalized values occurs.

    Attributes:
        counts: One row per leaf and class: generalized values, the class, `count` (non-negative, adds up) and
            `noisy_count` (unbiased: use it for sums, with the certificate's error).
        cut: The generalized values of every attribute, so that other data can be generalized the same way.
    """

    counts: pa.Table
    cut: dict[str, Any]

    @cached_property
    def records(self) -> pa.Table:
        """The data set as records: every leaf and class as often as its `count` says."""
        times = self.counts.column(COUNT).to_numpy()
        rows = np.repeat(np.arange(self.counts.num_rows, dtype=np.int64), times)
        return self.counts.drop_columns([COUNT, NOISY_COUNT]).take(rows).combine_chunks()

    @property
    def sizes(self) -> dict[str, int]:
        """How much was published, of what."""
        return {"records": self.records.num_rows, "cells": self.counts.num_rows}

    def table(self, what: Table) -> pa.Table:
        """Return one of the release's tables."""
        return self.counts if what == "counts" else self.records

    def data_files(self) -> dict[str, bytes]:
        """Return the content of every file that holds released values."""
        return {
            "counts.parquet": _parquet(self.counts),
            "counts.csv": _csv(self.counts),
            "records.parquet": _parquet(self.records),
            "cut.json": _json(self.cut),
        }

    def digest(self) -> str:
        """Return one hash over the released values and the certificate, for the parties to compare."""
        digest = hashlib.sha256(json.dumps([self.certificate, self.cut]).encode())
        for column in self.counts.column_names:
            digest.update(column.encode())
        for column in (COUNT, NOISY_COUNT):
            digest.update(self.counts.column(column).to_numpy().tobytes())
        return digest.hexdigest()

    def about(self) -> About:
        """Return what the README of the release folder says about its files and their errors."""
        return about_generalized(self.certificate, self.records.num_rows)


@dataclass(frozen=True)
class RecordsRelease(Release):
    """A release of records, synthetic or perturbed, and of what the mechanism tells besides.

    Attributes:
        mechanism: What made it.
        table_of_records: One row per record.
        details: Everything else that was opened, and what was made of it; a file with the mechanism's name.
    """

    mechanism: str
    table_of_records: pa.Table
    details: dict[str, Any]

    @property
    def records(self) -> pa.Table:
        """The data set as records."""
        return self.table_of_records

    @property
    def sizes(self) -> dict[str, int]:
        """How much was published, of what."""
        return {"records": self.records.num_rows, "columns": self.records.num_columns}

    def data_files(self) -> dict[str, bytes]:
        """Return the content of every file that holds released values.

        A table in CSV cannot say what it is, so there is none where everything has to begin with a warning.
        """
        return {
            "records.parquet": _parquet(self.records),
            **({} if self.warning else {"records.csv": _csv(self.records)}),
            f"{self.mechanism}.json": _json(self.details),
        }

    def digest(self) -> str:
        """Return one hash over the released values and the certificate, for the parties to compare."""
        digest = hashlib.sha256(json.dumps([self.certificate, self.details]).encode())
        digest.update(_csv(self.records))
        return digest.hexdigest()

    def about(self) -> About:
        """Return what the README of the release folder says about its files and their errors."""
        return ABOUT_RECORDS[self.mechanism](self.certificate, self.records.num_rows)


def as_generalized(release: Release, what: str) -> GeneralizedRelease:
    """Return a release of generalized records as such.

    Raises:
        ReleaseError: If it is of another kind, saying what it cannot be used for.
    """
    if not isinstance(release, GeneralizedRelease):
        raise ReleaseError(
            f"This release has records and no generalized values, so {what}. "
            "Use its records.parquet like any table of records."
        )
    return release


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, too; some file systems do so without being asked, and cannot be."""
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def refuse_unwritable(folder: Path, *, overwrite: bool) -> None:
    """Raise before any budget is spent unless a release could be written there: tries it with an empty one.

    Raises:
        ReleaseError: If it could not.
    """
    refuse_existing(folder, overwrite=overwrite)
    target = folder.absolute()
    if target.is_symlink() or target.is_mount() or target.resolve().name != target.name:
        raise ReleaseError(f"'{folder}' is a link or a mount point and cannot be replaced. Name a new folder below it.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with Scratch(f".{target.name}-", target.parent) as scratch:
            (scratch / "release").mkdir()
            _write_durably(scratch / "release" / "try", b"try")
            (scratch / "release").rename(scratch / "renamed")
    except OSError as exc:
        raise ReleaseError(
            f"The release could not be written to '{folder}': {exc.strerror}. Nothing was spent."
        ) from exc


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Raise before any budget is spent if a release could not be written.

    Only a folder that holds a release, or nothing, is ever replaced.
    """
    if not folder.exists():
        return
    is_release = (folder / "certificate.json").exists()
    if not folder.is_dir() or (any(folder.iterdir()) and not is_release):
        raise ReleaseError(f"'{folder}' exists and is no release folder. Choose another --out.")
    if is_release and not overwrite:
        raise ReleaseError(f"'{folder}' holds a release already. Choose another --out, or add --force to replace it.")


def load_release(folder: str | Path) -> Release:
    """Read a release folder and check it against the digests in its certificate.

    Raises:
        ReleaseError: If it is not there, incomplete, or a file is not the one that was published.
    """
    folder = Path(folder)
    try:
        certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
        digests: Mapping[str, str] = certificate.pop("files")
        contents = {name: (folder / name).read_bytes() for name in digests}
    except FileNotFoundError as exc:
        raise ReleaseError(f"'{folder}' is no complete release folder: {Path(exc.filename).name} is missing.") from exc
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as exc:
        raise ReleaseError(f"'{folder}/certificate.json' cannot be read as a certificate.") from exc
    mechanism = next((name for name in ABOUT_RECORDS if {"records.parquet", f"{name}.json"} <= contents.keys()), None)
    if mechanism is None and not {"counts.parquet", "cut.json"} <= contents.keys():
        raise ReleaseError(f"'{folder}/certificate.json' does not cover the files of a release.")
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != digests[name]:
            raise ReleaseError(f"'{folder}/{name}' is not the file that was published: its digest differs.")
    if mechanism is not None:
        details = json.loads(contents[f"{mechanism}.json"])
        return RecordsRelease(certificate, mechanism, _table(contents["records.parquet"]), details)
    return GeneralizedRelease(certificate, _table(contents["counts.parquet"]), json.loads(contents["cut.json"]))


def _table(content: bytes) -> pa.Table:
    # Not pq.read_table, whose threads may still be starting when a short command ends, which aborts it.
    return pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)


def _parquet(table: pa.Table) -> bytes:
    sink = BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _csv(table: pa.Table) -> bytes:
    sink = BytesIO()
    plain = pa.table(
        {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    pa_csv.write_csv(plain, sink)
    return sink.getvalue()


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
