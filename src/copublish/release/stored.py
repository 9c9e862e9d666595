"""A release folder read without its mechanism: certificate, signatures and the digest of every file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from copublish.errors import ReleaseError, plain_text, unsafe_texts
from copublish.files.regular import MIB, digest_inside, read_inside
from copublish.kernel.accounting.statements import UNBOUNDED, Law
from copublish.kernel.certificate.certificate import CERTIFICATE_FORMAT, Certificate
from copublish.release.evidence.signatures import CERTIFICATE_FILE, README_FILE, SIGNATURES_FILE, Signatures, digests_of
from copublish.release.staging import where_it_is

LARGEST_CERTIFICATE = 16 * MIB
"""Of a certificate, of signatures, and of a README: objects of Python take many times the memory of their text."""

LARGEST_JSON = 64 * MIB
"""Of all other JSON files of a release together."""

LARGEST_TABLES = 4096 * MIB
"""Of all other files of a release together. Where one file has several names, it counts for each."""

MOST_FILES = 100_000

LONGEST_NAME = 120
"""Characters of a name that a message shows."""


class FolderContents(Mapping[str, bytes]):
    """The files of a release by name. Those that hold no JSON are read when they are asked for, and checked again.

    Args:
        folder: Where they are.
        in_memory: Those that were read already.
        digests: The digest that each of the others has to have.
    """

    def __init__(self, folder: Path, in_memory: Mapping[str, bytes], digests: Mapping[str, str]) -> None:
        self._folder, self._in_memory, self._digests = folder, in_memory, digests

    def __getitem__(self, name: str) -> bytes:
        if name in self._in_memory:
            return self._in_memory[name]
        content = content_of(self._folder, name) if name in self._digests else None
        if content is None:
            raise KeyError(name)
        _refuse_other_digest(self._folder, name, hashlib.sha256(content).hexdigest(), self._digests[name])
        return content

    def __iter__(self) -> Iterator[str]:
        return iter({**self._digests, **self._in_memory})

    def __len__(self) -> int:
        return len(self._digests.keys() | self._in_memory.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._in_memory or name in self._digests


@dataclass(frozen=True)
class StoredRelease:
    """A release folder as it was read, in which every file has the digest that the certificate names.

    Attributes:
        certificate: Its certificate, without the digests.
        contents: Every file that the certificate names, the certificate itself, and the README if there is one.
        file_digests: Their SHA-256, by name.
        signatures: The signatures as they are written there. `verify_release` checks them.
    """

    certificate: Certificate
    contents: Mapping[str, bytes]
    file_digests: Mapping[str, str]
    signatures: Signatures | None = None


def read_stored_release(folder: Path) -> StoredRelease:
    """Read a release folder and compare its files with the digests in its certificate.

    Raises:
        ReleaseError: If it is not there, incomplete, or a file is not the one that was published.
    """
    in_memory = {CERTIFICATE_FILE: content_of(folder, CERTIFICATE_FILE, LARGEST_CERTIFICATE)}
    certificate = _certificate(folder, in_memory[CERTIFICATE_FILE])
    named = certificate.files or {}
    if len(named) > MOST_FILES:
        raise ReleaseError(f"'{folder}/{CERTIFICATE_FILE}' names more than {MOST_FILES:,} files.")
    left_for_json, left_for_tables = LARGEST_JSON, LARGEST_TABLES
    digests: dict[str, str] = {}
    for name in named:
        if name.endswith(".json"):
            in_memory[name] = content_of(folder, name, left_for_json)
            left_for_json -= len(in_memory[name])
        else:
            with _release_errors(folder, name):
                digests[name], length = digest_inside(folder, name, left_for_tables)
            left_for_tables -= length
    with suppress(ReleaseError):  # the certificate does not name it, and tables can be read without it
        in_memory[README_FILE] = content_of(folder, README_FILE, LARGEST_CERTIFICATE)
    digests = dict(sorted({**digests, **digests_of(in_memory)}.items()))
    stored = _stored(folder, certificate, FolderContents(folder, in_memory, named), digests)
    return replace(stored, signatures=_signatures(folder))


def stored_release(folder: Path, files: Mapping[str, bytes]) -> StoredRelease:
    """A release that is not in a folder yet, without its signatures, as it would be read from there.

    Args:
        folder: How messages call it.
        files: All of its files.

    Raises:
        ReleaseError: If nobody could read it.
    """
    json_files = [len(content) for name, content in files.items() if name.endswith(".json")]
    if sum(json_files) > LARGEST_JSON or sum(map(len, files.values())) > LARGEST_TABLES or len(files) > MOST_FILES:
        raise ReleaseError(f"The release '{folder}' is larger than one may be.")
    return _stored(folder, _certificate(folder, files[CERTIFICATE_FILE]), files, digests_of(files))


def _stored(
    folder: Path, certificate: Certificate, contents: Mapping[str, bytes], digests: Mapping[str, str]
) -> StoredRelease:
    named = certificate.files or {}
    for name, digest in named.items():
        _refuse_other_digest(folder, name, digests.get(name), digest)
    for name in named:
        if name.endswith(".json"):
            _refuse_unsafe(folder, name, contents[name])
    return StoredRelease(replace(certificate, files=None), contents, digests)


def _refuse_other_digest(folder: Path, name: str, digest: str | None, named: str) -> None:
    if digest != named:
        raise ReleaseError(
            f"'{folder}/{plain_text(name, LONGEST_NAME)}' is not the file that was published: its digest differs."
        )


def content_of(folder: Path, name: str, limit: int = LARGEST_TABLES) -> bytes:
    """Read a file of a release folder. Somebody else may have written its name and its content.

    Raises:
        ReleaseError: If it is not there, or is no file that is read.
    """
    with _release_errors(folder, name):
        return read_inside(folder, name, limit)


@contextmanager
def _release_errors(folder: Path, name: str) -> Iterator[None]:
    """Refuse a name that no file of a release has; what goes wrong inside becomes an error about the release."""
    parts = name.split("/")  # at most one folder below
    if len(parts) > 2 or any(part in ("", ".", "..") for part in parts) or not name.isprintable():
        raise ReleaseError(f"'{folder}/{CERTIFICATE_FILE}' names '{plain_text(name)}', which is no file of a release.")
    try:
        yield
    except FileNotFoundError as exc:
        aside = "" if folder.exists() else where_it_is(folder)
        missing = plain_text(name, LONGEST_NAME)
        raise ReleaseError(f"'{folder}' is no complete release folder: {missing} is missing.{aside}") from exc
    except OSError as exc:
        raise ReleaseError(f"'{folder}/{plain_text(name, LONGEST_NAME)}' cannot be read: {exc.strerror}.") from exc


def _refuse_unsafe(folder: Path, name: str, content: bytes) -> None:
    """Raise if a text of a JSON file could steer the terminal that shows it."""
    try:
        problem = next(unsafe_texts(json.loads(content)), None)
    except (ValueError, RecursionError) as exc:
        raise ReleaseError(f"'{folder}/{name}' cannot be read as JSON.") from exc
    if problem is not None:
        raise ReleaseError(f"'{folder}/{name}' is not as copublish writes it. {problem}.")


def _certificate(folder: Path, content: bytes) -> Certificate:
    path = folder / CERTIFICATE_FILE
    try:
        statements: dict[str, Any] = json.loads(content)
        number = statements.get("certificate_format")
    except (ValueError, AttributeError, RecursionError) as exc:
        raise ReleaseError(f"'{path}' cannot be read as a certificate.") from exc
    _refuse_unsafe(folder, CERTIFICATE_FILE, content)  # before any of its texts is shown
    if type(number) is not int or number != CERTIFICATE_FORMAT:
        raise ReleaseError(
            f"'{path}' has the format {plain_text(repr(number), 40)}; this version reads {CERTIFICATE_FORMAT}."
        )
    try:
        certificate = Certificate.from_json(statements)
        _refuse_contradictions(certificate)
        return certificate
    except (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError) as exc:
        why = str(exc) if isinstance(exc, ValueError) else type(exc).__name__
        raise ReleaseError(f"'{path}' cannot be read as a certificate: {plain_text(why)}.") from exc


def _refuse_contradictions(certificate: Certificate) -> None:
    """Raise if files or parties are missing, or the statements on the guarantee contradict each other."""
    if certificate.files is None:
        raise ValueError("it names no files")
    certificate.refuse_differing_parties()
    has_none = certificate.epsilon.agreed == UNBOUNDED
    laws = [disclosure.noise.law for disclosure in certificate.disclosures]
    if bool(certificate.warning) != has_none or any((law == Law.NO_GUARANTEE) != has_none for law in laws):
        raise ValueError("its warning, its epsilon and its laws of noise differ on whether there is a guarantee")


def _signatures(folder: Path) -> Signatures | None:
    path = folder / SIGNATURES_FILE
    if not path.exists():
        return None
    try:
        return Signatures.from_content(content_of(folder, SIGNATURES_FILE, LARGEST_CERTIFICATE))
    except ValueError as exc:
        raise ReleaseError(f"'{path}' cannot be read as signatures: {plain_text(exc)}.") from exc
