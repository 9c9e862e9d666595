"""The release as an object and as a folder. Everything here is public."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from copublish.agreement.columns import formula_warning
from copublish.errors import AgreementError, ReleaseError, plain_text
from copublish.mechanisms.published import Published
from copublish.mechanisms.registry import AnyMechanism, mechanism_named, mechanisms
from copublish.release.evidence.completeness import MEASUREMENTS_FILE
from copublish.release.evidence.signatures import (
    CERTIFICATE_FILE,
    README_FILE,
    SIGNATURES_FILE,
    Signatures,
    digests_of,
    release_digest,
)
from copublish.release.generalization import Generalization
from copublish.release.measurements import (
    MODEL_FILE,
    RECORDS_FILE,
    counts_table,
    data_files,
    json_file,
    read_parquet,
    read_published,
    table_files,
)
from copublish.release.metadata import METADATA_FILES, metadata_files
from copublish.release.publication import Publication
from copublish.release.readme import definition_list, folder_readme, html_table
from copublish.release.render.privacy_words import epsilon_rows, owners_delta_words
from copublish.release.staging import refuse_existing, refuse_unwritable, staged_folder
from copublish.release.statistics import ReadableRelease, making_sense_of
from copublish.release.stored import StoredRelease, read_stored_release, stored_release

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
    """One published data set: measurements, the model, records, and the certificate.

    Made by `simulate`, `run` and `load_release`.

    Attributes:
        certificate: What is guaranteed, to whom, under which assumptions.
        published: Measurements, model and published rows.
        mechanism: What made it.
        stored_records: The file of records of a release that was read from a folder.
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
        others = (CERTIFICATE_FILE, README_FILE, *METADATA_FILES)
        return {name: content for name, content in self._unsigned_files.items() if name not in others}

    @cached_property
    def _unsigned_files(self) -> dict[str, bytes]:
        """The content of every file but the signatures, written once: they are what is compared, signed and stored."""
        data = data_files(
            self.published,
            self.record_parts(),
            holders=self.certificate.contributions.columns,
            warns=bool(self.warning),
            # Of generalized values the tables say the same, and records may be many.
            writes_records_csv=self.mechanism.words.kind != "counted",
        )
        data |= metadata_files(self, data)
        certificate = replace(self.certificate, files=digests_of(data))
        formulas = formula_warning(self.published.columns.domains)
        readme = folder_readme(self, certificate, formulas).encode()
        return {**data, CERTIFICATE_FILE: json_file(certificate.to_json()), README_FILE: readme}

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

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the measured tables, which are those of their files."""
        return tuple(name for name, _ in table_files(self.published))

    def table(self, what: str) -> pa.Table:
        """The records, or one of the measured tables with its noisy counts, as Arrow.

        Raises:
            ReleaseError: If the release does not have it.
        """
        if what == "records":
            return self.records
        for name, measured in table_files(self.published):
            if name == what:
                return counts_table(self.published, measured)
        names = ", ".join(f"'{name}'" for name in ("records", *self.tables))
        raise ReleaseError(f"This release has no table '{what}'. It has {names}.")

    def to_pandas(self, what: str = "records") -> pd.DataFrame:
        """The records, or one of the measured tables, as a pandas data frame.

        If the release has a warning, Python shows it, and the frame's `attrs` keep it.
        """
        self._warn()
        frame = cast("pd.DataFrame", self.table(what).to_pandas())
        frame.attrs.update(self.warning)
        return frame

    def to_polars(self, what: str = "records") -> pl.DataFrame:
        """The records, or one of the measured tables, as a Polars data frame.

        If the release has a warning, Python shows it; a Polars frame has no place to keep it.
        """
        import polars as pl

        self._warn()
        return cast(pl.DataFrame, pl.from_arrow(self.table(what)))

    def _warn(self) -> None:
        for said in self.warning.values():
            warnings.warn(said, stacklevel=3)

    @property
    def size_words(self) -> str:
        """How much was published, in words."""
        sizes, kind = self.sizes, self.mechanism.words.kind
        tables = sizes.get("measured tables", 0)
        also = f", and {tables:,} measured table{'s' if tables > 1 else ''}" if tables else ""
        records = "records" if kind == "counted" else f"{kind} records"
        return f"{sizes['records']:,} {records} in {sizes['columns']:,} columns{also}"

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
            "Delta": f"at most {certificate.delta_bound} ({certificate.delta_is})"
            + owners_delta_words(certificate.epsilon),
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
    return _loaded(folder, read_stored_release(folder))


def refuse_unreadable(release: Release) -> None:
    """Read a release back from the bytes that it is about to be published as.

    Raises:
        ReleaseError: If nobody could read it.
    """
    folder = Path(release.certificate.release)
    _loaded(folder, stored_release(folder, release.files()))


def _loaded(folder: Path, stored: StoredRelease) -> Release:
    mechanism, contents = _mechanism(folder, stored), stored.contents
    records = contents[RECORDS_FILE]
    try:
        published = read_published(contents, mechanism.model, lambda: read_parquet(records))
        _refuse_other_laws(stored, published)
        if (published.rows is None) == (mechanism.words.kind == "perturbed"):
            raise ValueError(f"{MEASUREMENTS_FILE} does not say as its mechanism does whether records stand for people")
    except (ValueError, LookupError, ArithmeticError, TypeError, RecursionError, OSError, pa.ArrowException) as exc:
        why = plain_text(exc if isinstance(exc, ValueError) else type(exc).__name__)
        raise ReleaseError(
            f"'{folder}' holds something else than the release its certificate is about: {why}. Do not rely on it: ask "
            "a party for its copy."
        ) from exc
    release = Release(stored.certificate, published, mechanism, records, stored.signatures)
    # The digest is that of the files that were read: another version of pyarrow would write other ones.
    vars(release)["file_digests"] = dict(stored.file_digests)
    return release


def _refuse_other_laws(stored: StoredRelease, published: Published) -> None:
    """Raise if measurements or published rows are said to have other noise than the certificate states."""
    certificate = stored.certificate
    perturbed = {made.place.column: made.noise for made in certificate.disclosures if made.kind == "perturb"}
    noise_of_rows = {} if published.rows is None else dict(published.rows.noise)
    if noise_of_rows != perturbed or any(
        certificate.noise_at(measured.place) != measured.noise for measured in published.measured
    ):
        raise ValueError(f"a law of noise in {MEASUREMENTS_FILE} is not the one that the certificate states")


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
    if not {MEASUREMENTS_FILE, MODEL_FILE, RECORDS_FILE} <= stored.contents.keys():
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
