"""One release at one party: the main path, the release folder with its signatures, and record maps as own files.

Record maps lie beside the party's ledger, where this user alone can read them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from copublish.errors import EvaluationError, ReleaseError
from copublish.files.home import make_private_folder
from copublish.kernel.accounting.disclosures import Disclosure
from copublish.kernel.certificate.certificate import AuditStatement, Certificate, ClassDisagreement
from copublish.kernel.ledger.ledger import Ledger
from copublish.kernel.main_path import RunContext, run_release
from copublish.kernel.records.fragment import Fragment
from copublish.kernel.records.joint_table import JointTable
from copublish.kernel.records.record_map import RecordMap, own_record_map
from copublish.kernel.secrets.engine import Engine
from copublish.mechanisms.base import Plan
from copublish.mechanisms.registry import AnyMechanism, mechanism_of
from copublish.mechanisms.shared.class_disagreement import measured_disagreement
from copublish.party.evidence_exchange import EvidenceExchange, SigningContext
from copublish.progress import Notice, Progress, no_notice
from copublish.release.folder import Release, refuse_unreadable
from copublish.release.prepare import software_versions
from copublish.release.publication import published_contents
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


Stage = Callable[[Release], AbstractContextManager[Callable[[], None]]]


def _keep_in_memory(release: Release) -> AbstractContextManager[Callable[[], None]]:
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class MechanismOutlet:
    """The way from a mechanism's result to a release.

    Attributes:
        plan: What runs.
        stage: Puts a release on disk under a temporary name; what it yields gives it its own name.
        keep: Keeps this party's own map of rows to records, where there is one.
    """

    plan: Plan[Any]
    stage: Stage
    keep: Keep

    @property
    def mechanism(self) -> str:
        """The mechanism's name."""
        return self._mechanism.name

    def disagreement(self, opened: Sequence[tuple[Disclosure, IntArray]]) -> ClassDisagreement | None:
        """The measured disagreement of class columns, if one was measured."""
        return measured_disagreement(self.plan.agreement, opened)

    def publish(self, certificate: Certificate, result: Any) -> Release:
        """The release, which was read back from its own bytes: what nobody could read is not signed."""
        contents = self._mechanism.publish(result, certificate.noise_at)
        release = Release(certificate, published_contents(self.plan.agreement, contents), self._mechanism)
        refuse_unreadable(release)
        return release

    def keep_own_map(
        self, release: Release, table: JointTable, opened: Sequence[tuple[Disclosure, IntArray]]
    ) -> AbstractContextManager[None]:
        """Keep a map of this party's rows to records, where there is one; it goes if the run fails."""
        places = self.plan.places_of_records([values for _, values in opened])
        return self.keep(release, own_record_map(table, places))

    @cached_property
    def _mechanism(self) -> AnyMechanism:
        return mechanism_of(self.plan.agreement)


def publish_release(
    plan: Plan[Any],
    fragment: Fragment,
    engine: Engine,
    ledger: Ledger,
    progress: Progress,
    stage: Stage = _keep_in_memory,
    notice: Notice = no_notice,
    witness: SigningContext | None = None,
    run: str | None = None,
    audit: AuditStatement | None = None,
    keep: Keep = NOWHERE,
    key_exchange: tuple[str, ...] = (),
) -> Release:
    """Run one agreed release at this party and return what may be published.

    Args:
        plan: What is opened, at which price; it was described to people before.
        fragment: This party's rows.
        engine: Its end of the engine.
        ledger: Its ledger.
        progress: Is called at every step.
        stage: Puts a release on disk under a temporary name; what it yields gives it its own name.
        notice: Is called with a sentence about a party whose list of people changed, or about few common records.
        witness: Who signs for this party; None in a simulation and without identities, where nobody signs.
        run: Id of this run, which all parties drew together when they met after comparing their agreements and
            versions. What is signed names it, so whoever signs needs one.
        audit: The audit that this party has; it goes into the certificate if all parties have the same.
        keep: Keeps this party's own map of rows to records, where there is one; nowhere unless given.
        key_exchange: The groups with which this party's connections agreed on keys; none without TLS.

    Privacy:
        See `run_release`.
    """
    context = RunContext(
        progress=progress,
        notice=notice,
        software=software_versions(plan.agreement),
        audit=audit,
        key_exchange=key_exchange,
    )
    outlet, signing = MechanismOutlet(plan, stage, keep), EvidenceExchange(witness, run)
    return run_release(plan, outlet, signing, fragment, engine, ledger, context)
