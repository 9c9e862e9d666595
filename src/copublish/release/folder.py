"""The release as an object and as a folder. Everything here is public."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from copublish.agreement.columns import formula_warning
from copublish.errors import AgreementError, ReleaseError, plain_text, unsafe_texts
from copublish.evidence.signatures import SIGNATURES_FILE, Signatures
from copublish.files.regular import MIB, read_inside
from copublish.mechanisms.base import Contents, Publication
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanisms
from copublish.mechanisms.shared.generalization import Generalization
from copublish.privacy.certificate import CERTIFICATE_FORMAT, Certificate
from copublish.privacy.words import epsilon_rows
from copublish.release.html import definition_list, html_table
from copublish.release.metadata import metadata_files
from copublish.release.readme import folder_readme
from copublish.release.sense import making_sense_of
from copublish.release.staging import refuse_existing, refuse_unwritable, staged_folder, where_it_is
from copublish.release.statistics import ReadableRelease

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "Release",
    "generalization_of",
    "load_release",
    "making_sense_of",
    "refuse_existing",
    "refuse_unwritable",
]

LARGEST_JSON = 256 * MIB
"""Of a certificate, and of details."""

LARGEST_TABLE = 4096 * MIB
"""Of a file with a table."""


@dataclass(frozen=True, repr=False)
class Release(ReadableRelease):
    """One published data set: tables, what a mechanism tells besides, and the certificate.

    Made by `simulate`, `run` and `load_release`.

    Attributes:
        certificate: What is guaranteed, to whom, under which assumptions.
        contents: Tables and details.
        mechanism: What made it.
        signatures: Of all parties, with the approvals; none of a release that nobody signed, like a simulated one.
            `verify_release` checks them.
    """

    signatures: Signatures | None = None

    @property
    def warning(self) -> dict[str, str]:
        """What everything about this release says first, as the first entry of a JSON object; mostly nothing."""
        return {} if self.certificate.warning is None else {"warning": self.certificate.warning}

    def data_files(self) -> dict[str, bytes]:
        """The content of every file that holds released values."""
        found = {}
        for name, kinds in self.mechanism.tables.items():
            for kind in kinds:
                if kind == "csv" and self.warning:
                    continue  # a table in CSV cannot say what it is
                if (name, kind) == ("records", "parquet"):
                    found[f"{name}.{kind}"] = _parquet(self.mechanism.record_parts(self.contents))
                else:
                    table = self.table(name)
                    found[f"{name}.{kind}"] = _parquet(iter([table])) if kind == "parquet" else _csv(table)
        if not self.warning:
            single = self.mechanism.single_tables(self.contents)
            found |= {f"{name}.csv": _csv(table) for name, table in single.items()}
        return {**found, self.mechanism.details_file: _json(self.details.to_json())}

    def digest(self) -> str:
        """One hash over the released values and the certificate, for the parties to compare."""
        digest = hashlib.sha256(json.dumps([self.certificate.to_json(), self.details.to_json()]).encode())
        for table in self.contents.tables.values():
            digest.update(_csv(table))
        return digest.hexdigest()

    def to_pandas(self, what: str = "records") -> pd.DataFrame:
        """The records, or another of the release's tables, as a pandas data frame.

        If the release has a warning, Python shows it, and the frame's `attrs` keep it.
        """
        self._warn()
        frame = cast("pd.DataFrame", self.table(what).to_pandas())
        frame.attrs.update(self.warning)
        return frame

    def to_polars(self, what: str = "records") -> pl.DataFrame:
        """The records, or another of the release's tables, as a Polars data frame.

        If the release has a warning, Python shows it; a Polars frame has no place to keep it.
        """
        import polars as pl

        self._warn()
        return cast(pl.DataFrame, pl.from_arrow(self.table(what)))

    def _warn(self) -> None:
        for said in self.warning.values():
            warnings.warn(said, stacklevel=3)

    def table(self, what: str) -> pa.Table:
        """One of the release's tables, as Arrow.

        Raises:
            ReleaseError: If this kind of release does not have it.
        """
        if what == "records":
            return self.records
        if what not in self.contents.tables:
            names = " and ".join(f"'{name}'" for name in self.mechanism.tables)
            raise ReleaseError(f"This kind of release has no table '{what}'. It has {names}.")
        return self.contents.tables[what]

    @property
    def size_words(self) -> str:
        """How much was published, in words."""
        what, number = list(self.sizes.items())[-1]
        kind = self.mechanism.kind_of_records
        return f"{self.sizes['records']:,} {kind + ' ' if kind else ''}records in {number:,} {what}"

    def __repr__(self) -> str:
        certificate = self.certificate
        promise = "NOT DIFFERENTIALLY PRIVATE" if self.warning else f"epsilon {certificate.epsilon.agreed}"
        return f"Release({certificate.release!r}, {certificate.mechanism}, {self.size_words}, {promise})"

    def _repr_html_(self) -> str:
        certificate = self.certificate
        facts = {
            **({"Warning": certificate.warning} if certificate.warning else {}),
            "Release": certificate.release,
            "Mechanism": certificate.mechanism,
            "Published": self.size_words,
            "Made by": ", ".join(certificate.parties),
            "Engine": f"{certificate.engine.name} (simulated)"
            if certificate.engine.is_simulated
            else certificate.engine.name,
            "Delta": f"at most {certificate.delta_bound} ({certificate.delta_is})",
        }
        headings = ("epsilon for", "one person added or removed", "one person's values replaced")
        return definition_list(facts) + html_table(headings, epsilon_rows(certificate.epsilon))

    def files(self) -> dict[str, bytes]:
        """The content of every file of the release folder."""
        data = self.data_files()
        data |= metadata_files(self, data)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
        certificate = replace(self.certificate, files=digests)
        formulas = formula_warning(self.details.public_columns.domains)
        readme = folder_readme(certificate, self.mechanism.about(self), formulas).encode()
        signed = {} if self.signatures is None else {SIGNATURES_FILE: self.signatures.content()}
        return {**data, "certificate.json": _json(certificate.to_json()), "README.md": readme, **signed}

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
        with staged_folder(self.files(), folder, overwrite=overwrite) as publish:
            yield publish


def load_release(folder: str | Path) -> Release:
    """Read a release folder and check it against the digests in its certificate.

    Raises:
        ReleaseError: If it is not there, incomplete, or a file is not the one that was published.
    """
    folder = Path(folder)
    try:
        said = json.loads(_content(folder, "certificate.json"))
        digests: dict[str, str] = dict(said["files"].items())
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as exc:
        raise ReleaseError(f"'{folder}/certificate.json' cannot be read as a certificate.") from exc
    contents = {name: _content(folder, name) for name in digests}
    mechanism = _mechanism(folder, said, contents)
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != digests[name]:
            raise ReleaseError(f"'{folder}/{name}' is not the file that was published: its digest differs.")
    _refuse_unsafe(folder, "certificate.json", said)
    certificate = _certificate(folder, said, mechanism)
    stored = [name for name in mechanism.tables if f"{name}.parquet" in contents]
    try:
        told = json.loads(contents[mechanism.details_file])
        _refuse_unsafe(folder, mechanism.details_file, told)
        details = mechanism.details.from_json(told)
        _ = details.public_columns  # so that domains which are none are noticed here
        tables = {name: _table(contents[f"{name}.parquet"]) for name in stored if not mechanism.derives(name)}
    except (ValueError, LookupError, ArithmeticError, TypeError, RecursionError, OSError, pa.ArrowException) as exc:
        why = plain_text(exc if isinstance(exc, ValueError) else type(exc).__name__)
        raise ReleaseError(f"'{folder}' holds something else than the release its certificate is about: {why}") from exc
    return Release(certificate, Contents(tables, details), mechanism, _signatures(folder))


def _signatures(folder: Path) -> Signatures | None:
    """The signatures beside a release, as they are written there; whether they hold is for `verify_release`."""
    if not (folder / SIGNATURES_FILE).exists():
        return None
    try:
        return Signatures.from_content(_content(folder, SIGNATURES_FILE))
    except ValueError as exc:
        raise ReleaseError(f"'{folder}/{SIGNATURES_FILE}' cannot be read as signatures: {plain_text(exc)}.") from exc


def _content(folder: Path, name: str) -> bytes:
    """The content of a file of a release folder, of which others may have written both."""
    parts = name.split("/")  # at most one folder below
    if len(parts) > 2 or any(part in ("", ".", "..") for part in parts) or not name.isprintable():
        raise ReleaseError(f"'{folder}/certificate.json' names '{plain_text(name)}', which is no file of a release.")
    try:
        return read_inside(folder, name, LARGEST_JSON if name.endswith(".json") else LARGEST_TABLE)
    except FileNotFoundError as exc:
        aside = "" if folder.exists() else where_it_is(folder)
        raise ReleaseError(f"'{folder}' is no complete release folder: {name} is missing.{aside}") from exc
    except OSError as exc:
        raise ReleaseError(f"'{folder}/{name}' cannot be read: {exc.strerror}.") from exc


def _refuse_unsafe(folder: Path, name: str, content: object) -> None:
    """Raise if a text of a file could steer the terminal that shows it."""
    problem = next(unsafe_texts(content), None)
    if problem is not None:
        raise ReleaseError(f"'{folder}/{name}' is not as copublish writes it. {problem}.")


def _mechanism(folder: Path, said: Mapping[str, Any], contents: Mapping[str, bytes]) -> AnyMechanism:
    """The mechanism that a certificate names.

    Raises:
        ReleaseError: If there is none of that name, or the certificate lacks a digest of one of its files.
    """
    try:
        mechanism = mechanism_named(str(said.get("mechanism")))
    except AgreementError as exc:
        names = ", ".join(f"'{known.name}'" for known in mechanisms())
        raise ReleaseError(
            f"'{folder}' was made by a mechanism that this version does not know. It knows {names}."
        ) from exc
    tables = {f"{name}.parquet" for name in mechanism.tables}
    if not {mechanism.details_file, *tables} <= contents.keys():
        raise ReleaseError(f"'{folder}/certificate.json' does not cover the files of a release.")
    return mechanism


def _certificate(folder: Path, said: dict[str, Any], mechanism: AnyMechanism) -> Certificate:
    number = said.get("certificate_format")
    if type(number) is not int or number != CERTIFICATE_FORMAT:
        raise ReleaseError(
            f"'{folder}/certificate.json' has the format {plain_text(repr(number))}; this version reads "
            f"{CERTIFICATE_FORMAT}."
        )
    try:
        certificate = replace(Certificate.from_json(said), files=None)
        if bool(certificate.warning) == mechanism.promises:
            raise ValueError("it does not say whether the release is differentially private as its mechanism does")
        return certificate
    except (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError) as exc:
        why = str(exc) if isinstance(exc, ValueError) else type(exc).__name__
        raise ReleaseError(f"'{folder}/certificate.json' cannot be read as a certificate: {plain_text(why)}.") from exc


def generalization_of(release: Publication, what: str) -> Generalization:
    """How a release generalized values.

    Raises:
        ReleaseError: If it did not, saying what it cannot be used for.
    """
    if release.generalization is None:
        raise ReleaseError(
            f"This release has records and no generalized values, so {what}. "
            "Use its records.parquet like any table of records."
        )
    return release.generalization


def _table(content: bytes) -> pa.Table:
    # Not pq.read_table, whose threads may still be starting when a short command ends, which aborts it.
    return pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)


def _parquet(parts: Iterator[pa.Table]) -> bytes:
    """The file of a table that comes in parts; the same bytes as of the whole if a part fills a row group."""
    first, sink = next(parts), BytesIO()
    with pq.ParquetWriter(sink, first.schema) as writer:
        for part in chain([first], parts):
            writer.write_table(part)
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
