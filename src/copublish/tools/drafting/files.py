"""Reading drafts that `copublish init` wrote and people have edited, and saving them over nobody's work."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from copublish.agreement.loading import LARGEST_FILE, content_from_text, read_content, refuse_unsafe
from copublish.errors import AgreementError, DraftChangedError
from copublish.files.regular import read_regular
from copublish.tools.drafting.comments import Comment, comments_in
from copublish.tools.drafting.draft import Content, Draft
from copublish.tools.drafting.text import is_generated, toml_key, toml_value

SECTIONS = ("parties", "records", "class", "attributes", "privacy", "mechanism", "budget", "engine", "network")


def load_draft(path: str | Path) -> Draft:
    """Read a draft; it may lack anything, but what is there has the shape of an agreement.

    Raises:
        AgreementError: If it cannot be read, or a section is none.
    """
    path = Path(path)
    content = read_content(path)
    refuse_unsafe(content, str(path))
    return _draft(content, read_regular(path, LARGEST_FILE).decode("utf-8-sig"), str(path))


def draft_from_text(text: str, source: str = "The draft") -> Draft:
    """A draft from its text; it may lack anything, but what is there has the shape of an agreement.

    Raises:
        AgreementError: If it is no TOML, naming the line, or a section is none.
    """
    content = content_from_text(text, source)
    refuse_unsafe(content, source)
    return _draft(content, text, source)


def hash_of_file(path: str | Path) -> str:
    """What `save_draft` knows a file by; empty if there is none."""
    try:
        return hashlib.sha256(read_regular(Path(path), LARGEST_FILE)).hexdigest()
    except FileNotFoundError:
        return ""


def save_draft(text: str, path: str | Path, *, started_from: str) -> str:
    """Write a draft, unless its file is not any more what it was when the work on it began.

    Args:
        text: The draft.
        path: Its file.
        started_from: What `hash_of_file` said when the work began.

    Returns:
        The hash of the file as it is now.

    Raises:
        DraftChangedError: If somebody else has written the file since. Nothing was written.
        AgreementError: If it cannot be written.
    """
    path, content = Path(path), text.encode()
    try:
        with _folder_locked(path.parent):
            if hash_of_file(path) != started_from:
                raise DraftChangedError(
                    f"'{path.name}' was changed by somebody else, another window or an editor since you began. "
                    "Nothing was saved."
                )
            new = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
            new.write_bytes(content)
            new.replace(path)
    except OSError as exc:
        raise AgreementError(str(path), [f"cannot be written: {exc.strerror}"]) from exc
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Two that save at once come one after the other, so that the second one sees the first."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _draft(content: Content, text: str, source: str) -> Draft:
    problems = [
        f"{section}: write a section, like [{section}]"
        for section in SECTIONS
        if section in content and not isinstance(content[section], Mapping)
    ]
    for section in ("parties", "attributes"):
        entries = content.get(section)
        if isinstance(entries, Mapping):
            problems += [
                f"{section}.{name}: write a section, like [{section}.{toml_key(name)}]"
                for name, entry in entries.items()
                if not isinstance(entry, Mapping)
            ]
    if content.get("format") != 1:
        problems.append("format: drafts are merged in format 1. Write format = 1 at the top")
    try:
        toml_value(content)
    except TypeError as exc:
        problems.append(str(exc))
    if problems:
        raise AgreementError(source, problems)
    words, others = _split(comments_in(text), content)
    return Draft(content, words, comments=others)


def _split(comments: Iterable[Comment], content: Content) -> tuple[dict[str, tuple[str, ...]], tuple[Comment, ...]]:
    """Sentences about columns, which stand right below their headers; and what else people have written."""
    words: dict[str, list[str]] = {}
    others = []
    for comment in comments:
        column = comment.path[1] if comment.path[:1] == ("attributes",) and len(comment.path) == 2 else None
        if comment.path == ("class",):
            column = content["class"].get("name")
        if comment.side == "below" and isinstance(column, str) and comment.text.startswith("# "):
            words.setdefault(column, []).append(comment.text[2:].strip())
        elif not is_generated(comment):
            others.append(comment)
    return {name: tuple(said) for name, said in words.items()}, tuple(others)
