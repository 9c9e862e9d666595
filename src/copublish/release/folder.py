"""The release as an object and as a folder. Everything here is public."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from copublish.agreement.columns import formula_warning
from copublish.errors import AgreementError, ReleaseError, plain_text
from copublish.mechanisms.base import FILES_OF_EVERY_RELEASE, Contents, Publication
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanisms
from copublish.mechanisms.shared.generalization import Generalization
from copublish.mechanisms.shared.privacy_words import epsilon_rows
from copublish.release.evidence.signatures import (
    CERTIFICATE_FILE,
    README_FILE,
    SIGNATURES_FILE,
    Signatures,
    digests_of,
    release_digest,
)
from copublish.release.metadata import metadata_files
from copublish.release.readme import definition_list, folder_readme, html_table
from copublish.release.staging import refuse_existing, refuse_unwritable, staged_folder
from copublish.release.statistics import ReadableRelease, making_sense_of
from copublish.release.stored import StoredRelease, read_stored_release

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
        files = self._unsigned_files.items()
        return {name: content for name, content in files if name not in FILES_OF_EVERY_RELEASE}

    def _written_data(self) -> dict[str, bytes]:
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

    @cached_property
    def _unsigned_files(self) -> dict[str, bytes]:
        """The content of every file but the signatures, written once: they are what is compared, signed and stored."""
        data = self._written_data()
        data |= metadata_files(self, data)
        certificate = replace(self.certificate, files=digests_of(data))
        formulas = formula_warning(self.details.public_columns.domains)
        readme = folder_readme(certificate, self.mechanism.about(self), formulas).encode()
        return {**data, CERTIFICATE_FILE: _json(certificate.to_json()), README_FILE: readme}

    @cached_property
    def file_digests(self) -> dict[str, str]:
        """SHA-256 of every file but the signatures; of a loaded release, of the files that were read."""
        return digests_of(self._unsigned_files)

    def digest(self) -> str:
        """One hash over all files but the signatures: by it the parties compare what they are about to publish."""
        return release_digest(self.file_digests)

    def signed_with(self, signatures: Signatures) -> Release:
        """The same release with signatures; its other files are not written again."""
        signed = replace(self, signatures=signatures)
        vars(signed).update(_unsigned_files=self._unsigned_files, file_digests=self.file_digests)
        return signed

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
        signed = {} if self.signatures is None else {SIGNATURES_FILE: self.signatures.content()}
        return {**self._unsigned_files, **signed}

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
    stored = read_stored_release(folder)
    mechanism, contents = _mechanism(folder, stored), stored.contents
    tables = [name for name in mechanism.tables if not mechanism.derives(name)]
    try:
        details = mechanism.details.from_json(json.loads(contents[mechanism.details_file]))
        _ = details.public_columns  # so that domains which are none are noticed here
        released = Contents({name: _table(contents[f"{name}.parquet"]) for name in tables}, details)
    except (ValueError, LookupError, ArithmeticError, TypeError, RecursionError, OSError, pa.ArrowException) as exc:
        why = plain_text(exc if isinstance(exc, ValueError) else type(exc).__name__)
        raise ReleaseError(f"'{folder}' holds something else than the release its certificate is about: {why}") from exc
    release = Release(stored.certificate, released, mechanism, stored.signatures)
    # The digest is that of the files that were read: another version of pyarrow would write other ones.
    vars(release)["file_digests"] = dict(stored.file_digests)
    return release


def _mechanism(folder: Path, stored: StoredRelease) -> AnyMechanism:
    """The mechanism that a certificate names.

    Raises:
        ReleaseError: If there is none of that name, its files are not all there, or it promises something else.
    """
    try:
        mechanism = mechanism_named(stored.certificate.mechanism)
    except AgreementError as exc:
        names = ", ".join(f"'{known.name}'" for known in mechanisms())
        raise ReleaseError(
            f"'{folder}' was made by a mechanism that this version does not know. It knows {names}."
        ) from exc
    tables = {f"{name}.parquet" for name in mechanism.tables}
    if not {mechanism.details_file, *tables} <= stored.contents.keys():
        raise ReleaseError(f"'{folder}/{CERTIFICATE_FILE}' does not cover the files of a release.")
    if bool(stored.certificate.warning) == mechanism.promises:
        raise ReleaseError(
            f"'{folder}/{CERTIFICATE_FILE}' cannot be read as a certificate: it does not say whether the release is "
            "differentially private as its mechanism does."
        )
    return mechanism


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
