"""A release folder read without its mechanism: certificate, signatures and the digest of every file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from copublish.errors import ReleaseError, plain_text, unsafe_texts
from copublish.files.regular import MIB, read_inside
from copublish.kernel.accounting.statements import UNBOUNDED, Law
from copublish.kernel.certificate.certificate import CERTIFICATE_FORMAT, Certificate
from copublish.release.evidence.signatures import CERTIFICATE_FILE, README_FILE, SIGNATURES_FILE, Signatures, digests_of
from copublish.release.staging import where_it_is

LARGEST_JSON = 256 * MIB
"""Of a certificate, of measurements, and of a model."""

LARGEST_TABLE = 4096 * MIB
"""Of a file with a table."""


@dataclass(frozen=True)
class StoredRelease:
    """A release folder as it was read, in which every file has the digest that the certificate names.

    Attributes:
        certificate: Its certificate, without the digests.
        contents: The bytes of every file that the certificate names, of the certificate itself, and of the README if
            there is one.
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
    stored = stored_release(folder, partial(content_of, folder))
    return replace(stored, signatures=_signatures(folder))


def stored_release(folder: Path, read: Callable[[str], bytes]) -> StoredRelease:
    """A release without its signatures, its files compared with the digests in its certificate.

    Args:
        folder: Its folder, for messages.
        read: The content of a file by its name.

    Raises:
        ReleaseError: If it is incomplete, or a file is not the one that was published.
    """
    contents = {CERTIFICATE_FILE: read(CERTIFICATE_FILE)}
    certificate = _certificate(folder, contents[CERTIFICATE_FILE])
    named = certificate.files or {}
    contents |= {name: read(name) for name in named}
    with suppress(ReleaseError):  # the certificate does not name it, and tables can be read without it
        contents[README_FILE] = read(README_FILE)
    digests = digests_of(contents)
    for name, digest in named.items():
        if digests.get(name) != digest:
            raise ReleaseError(f"'{folder}/{name}' is not the file that was published: its digest differs.")
    for name in named:
        if name.endswith(".json"):
            _refuse_unsafe(folder, name, contents[name])
    return StoredRelease(replace(certificate, files=None), contents, digests)


def content_of(folder: Path, name: str) -> bytes:
    """Read a file of a release folder. Somebody else may have written its name and its content.

    Raises:
        ReleaseError: If it is not there, or is no file that is read.
    """
    parts = name.split("/")  # at most one folder below
    if len(parts) > 2 or any(part in ("", ".", "..") for part in parts) or not name.isprintable():
        raise ReleaseError(f"'{folder}/{CERTIFICATE_FILE}' names '{plain_text(name)}', which is no file of a release.")
    try:
        return read_inside(folder, name, LARGEST_JSON if name.endswith(".json") else LARGEST_TABLE)
    except FileNotFoundError as exc:
        aside = "" if folder.exists() else where_it_is(folder)
        raise ReleaseError(f"'{folder}' is no complete release folder: {name} is missing.{aside}") from exc
    except OSError as exc:
        raise ReleaseError(f"'{folder}/{name}' cannot be read: {exc.strerror}.") from exc


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
        return Signatures.from_content(content_of(folder, SIGNATURES_FILE))
    except ValueError as exc:
        raise ReleaseError(f"'{path}' cannot be read as signatures: {plain_text(exc)}.") from exc
