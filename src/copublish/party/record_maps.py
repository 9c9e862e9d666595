"""A party's record maps as files beside its ledger, which this user alone can read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from copublish.errors import EvaluationError, ReleaseError
from copublish.files.home import make_private_folder
from copublish.kernel.records.record_map import RecordMap
from copublish.release.folder import Release
from copublish.types import IntArray

FOLDER = "record-maps"
"""Beside the ledger."""

FORMAT = 1

_KEY = b"copublish-record-map"

Keep = Callable[[Release, RecordMap | None], AbstractContextManager[None]]
"""Keeps a map while a release is published, and takes it away again if it is not."""


def _not_kept(release: Release, own: RecordMap | None) -> AbstractContextManager[None]:
    return nullcontext()


NOWHERE: Keep = _not_kept
"""Keeps no map."""


def kept_beside(ledger: str | Path | None) -> Keep:
    """How a party with this ledger keeps its maps; without a ledger there is no place for one."""
    if ledger is None:
        return NOWHERE
    return lambda release, own: (
        nullcontext() if own is None else _kept(map_file(ledger, release, own.party), release, own)
    )


def map_file(ledger: str | Path, release: Release, party: str) -> Path:
    """The place of a party's map of a release."""
    return (
        Path(ledger).absolute().parent
        / FOLDER
        / f"{release.certificate.release}-{party}-{release.digest()[:12]}.parquet"
    )


@contextmanager
def _kept(file: Path, release: Release, own: RecordMap) -> Iterator[None]:
    """Write a map, safely on disk; it goes again if the release is not published.

    Raises:
        ReleaseError: If it cannot be written.
    """
    try:
        make_private_folder(file.parent)
        _write_privately(file, _content(release, own))
    except OSError as exc:
        raise ReleaseError(f"The record map cannot be written to '{file.parent}': {exc.strerror}.") from exc
    try:
        yield
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise


def _write_privately(file: Path, content: bytes) -> None:
    """Write a file that this user alone can read, under a temporary name first."""
    new = file.with_name(f".{file.name}-{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        new.replace(file)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def _content(release: Release, own: RecordMap) -> bytes:
    about = {
        "record_map_format": FORMAT,
        "private": "This file names the record of every row of one party. It is for that party alone.",
        "release": release.certificate.release,
        "release_digest": release.digest(),
        "party": own.party,
        "columns": list(own.columns),
        "decimals": dict(own.decimals),
        "rows_digest": own.rows_digest,
    }
    table = pa.table({"row": own.rows, "record": own.records})
    buffer = BytesIO()
    pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(about)}), buffer)
    return buffer.getvalue()


def read_record_map(file: str | Path, release: Release) -> RecordMap:
    """The map of one party to a release.

    Raises:
        EvaluationError: If the file is no such map, or one of another release.
    """
    try:
        table = pq.read_table(Path(file))
        about = json.loads((table.schema.metadata or {})[_KEY])
        rows, records = (_whole_numbers(table, name) for name in ("row", "record"))
        decimals = {str(name): int(places) for name, places in about["decimals"].items()}
        columns = tuple(map(str, about["columns"]))
        own = RecordMap(str(about["party"]), columns, decimals, rows, records, str(about["rows_digest"]))
        is_known = about["record_map_format"] == FORMAT
        digest = about["release_digest"]
    except (OSError, pa.ArrowException, AttributeError, KeyError, TypeError, ValueError) as exc:
        raise EvaluationError(f"'{file}' is no record map that can be read ({type(exc).__name__}).") from None
    if not is_known or not _is_map(own, release.records.num_rows):
        raise EvaluationError(f"'{file}' is no record map of this version.")
    if digest != release.digest():
        raise EvaluationError(
            f"'{file}' is the record map of another release: '{about['release']}'. The one of this release ends in "
            f"-{release.digest()[:12]}.parquet."
        )
    return own


def _whole_numbers(table: pa.Table, name: str) -> IntArray:
    values: IntArray = table.column(name).to_numpy().astype(np.int64)
    return values


def _is_map(own: RecordMap, n_records: int) -> bool:
    """Whether rows ascend and every row has a record of its own that is there."""
    ascends = bool((np.diff(own.rows, prepend=-1) > 0).all())
    is_there = bool(((own.records >= 0) & (own.records < n_records)).all())
    return ascends and is_there and len(np.unique(own.records)) == len(own.records)
