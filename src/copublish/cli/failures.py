"""Failures as people and as machines read them: one message on stderr, with `--format json` one document on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from copublish.cli.terminal import error, note, print_json
from copublish.errors import INTERRUPTED, WHAT_TO_DO, AgreementError, CopublishError, FragmentError, visible

__all__ = ["INTERRUPTED", "WHAT_TO_DO", "asks_for_json", "failure_document", "tell_error", "tell_failure"]


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether what was typed asks for JSON: before it is parsed, since that can fail."""
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def tell_failure(message: str, code: int, *, as_json: bool, problems: Sequence[str] = (), quiet: bool = False) -> None:
    """Say why a command ends.

    Args:
        message: What is wrong, for people.
        code: The exit code.
        as_json: Whether stdout gets a document about it as well.
        problems: The single problems, where there are several.
        quiet: Whether stderr has the message already.
    """
    if not quiet:
        (note if code == INTERRUPTED else error)(message)
    if as_json:
        print_json({"error": failure_document(message, code, problems)})


def tell_error(exc: CopublishError, *, as_json: bool) -> None:
    """Say why a command ends with one of our errors."""
    problems = exc.problems if isinstance(exc, AgreementError | FragmentError) else ()
    tell_failure(str(exc), exc.exit_code, as_json=as_json, problems=problems)


def failure_document(message: str, code: int, problems: Sequence[str] = ()) -> dict[str, Any]:
    """A failure as plain JSON values: the exit code, the message, and what to do."""
    found: dict[str, Any] = {"code": code, "message": visible(message)}
    if problems:
        found["problems"] = [visible(problem) for problem in problems]
    return {**found, "what_to_do": WHAT_TO_DO.get(code, WHAT_TO_DO[1])}
