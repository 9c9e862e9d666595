"""Failures as people and machines read them, and suggestions to somebody who types a command that is not there.

Nothing is run under another name: a command that spends or discloses is only ever what its name says. Spelling alone
is a bad guide, too: 'validate' looks like 'evaluate', which discloses scores, and means 'check', which does not.

A failure is one message on stderr; with `--format json` it is one document on stdout.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from typer.core import TyperGroup

from copublish.cli.terminal import error, note, print_json
from copublish.errors import INTERRUPTED, WHAT_TO_DO, AgreementError, CopublishError, FragmentError, visible

OTHER_WORDS = {
    "check": ("validate", "lint", "test", "check-data", "dry-run"),
    "describe": ("preview", "explain", "cost", "price", "summary"),
    "run": ("start", "publish", "release", "execute", "go", "join"),
    "init": ("new", "create", "draft", "template", "setup"),
    "merge": ("combine", "unite"),
    "show": ("view", "display", "print", "inspect", "open", "cat"),
    "simulate": ("local", "try", "sandbox"),
    "ledger": ("budget", "spent", "account", "limits"),
    "doctor": ("diagnose", "ping", "connect", "debug"),
    "node": ("status",),
    "identity": ("key", "keygen", "keys", "cert", "certificate", "fingerprint"),
    "approve": ("sign", "accept", "consent"),
    "refuse": ("reject", "decline", "veto"),
    "evaluate": ("score", "metrics", "accuracy"),
    "report": ("html", "page"),
    "plan": ("tune", "advise", "recommend", "optimize"),
    "demo": ("example", "tutorial", "quickstart"),
    "generalize": ("transform", "apply", "encode"),
}
"""For every command words that people try for it."""

SPEND_OR_DISCLOSE = ("run", "evaluate")
"""Commands that are suggested for another word or an obvious slip, and for nothing that merely looks like them."""

SLIP = 0.87
"""How alike, from 0 to 1, a slip of the keyboard is to what was meant: 'evalute' is 0.93, 'validate' 0.75."""


def suggested_commands(typed: str, known: list[str]) -> list[str]:
    """Commands that somebody may have meant."""
    word = typed.lower()
    meant = [command for command, words in OTHER_WORDS.items() if word in words and command in known]
    if meant:
        return meant
    close = get_close_matches(word, known)
    slips = get_close_matches(word, known, cutoff=SLIP)
    return [command for command in close if command in slips or command not in SPEND_OR_DISCLOSE]


class SuggestingGroup(TyperGroup):
    """The group of all commands; it suggests by meaning before it suggests by spelling."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was typed, or an error with what may have been meant."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            meant = " or ".join(
                f"'copublish {command}'" for command in suggested_commands(args[0], list(self.commands))
            )
            hint = f"Did you mean {meant}?" if meant else "'copublish --help' lists all commands."
            ctx.fail(f"No such command '{args[0]}'. {hint}")
        return super().resolve_command(ctx, args)


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
