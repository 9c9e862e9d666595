"""Failures as people and as machines read them: one message on stderr, with `--format json` one document on stdout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from copublish.cli.terminal import error, note, print_json
from copublish.errors import AgreementError, CopublishError, FragmentError, visible

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it."""

USAGE = 2

WHAT_TO_DO = {
    1: "Read the message. If it speaks of a bug, set COPUBLISH_DEBUG=1 to see where; look before you share it.",
    USAGE: "Look at the command's options: copublish COMMAND --help",
    3: "Change the agreement at every place that the message names, together with the other parties.",
    4: "Fix the data at their owner, or change the agreement together. See: copublish check",
    5: "Look at what is left, and at locks: copublish ledger. Nothing was measured.",
    6: "Ask the other parties what they saw. What was reserved stays reserved: copublish ledger",
    7: "Choose another folder, or ask a party for its copy of what was changed.",
    8: "Look for what is in the way: copublish doctor AGREEMENT --party YOU. Nothing was measured.",
    9: "Do not release with this software. See: copublish audit --json FILE",
    10: "Ask people of your party to approve: copublish approve. Nothing was spent.",
    INTERRUPTED: "Nothing has to be done. What a ledger was charged stays charged: copublish ledger",
}
"""For every exit code what to do; docs/reference/exit-codes.md has more about each."""


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
