"""Failures and stopped commands as people and machines read them, and suggestions for a mistyped command.

Nothing is run under another name: a command that spends or discloses is only ever what its name says. Spelling alone
is a bad guide, too: 'validate' looks like 'evaluate', which discloses scores, and means 'check', which does not.

A failure is one message on stderr; with `--format json` it is one document on stdout. When a person stops a command, it
says above all whether anything was charged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from typer.core import TyperGroup

from copublish.cli.terminal import error, note, print_json
from copublish.errors import (
    INTERRUPTED,
    TERMINATED,
    WHAT_TO_DO,
    AgreementError,
    CopublishError,
    FragmentError,
    LedgerError,
    StoppedError,
    visible,
)

if TYPE_CHECKING:
    from copublish.kernel.ledger.ledger import Entry

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
"""Least similarity, from 0 to 1, of a slip of the keyboard to a name: 'evalute' is 0.93, 'validate' 0.75."""


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
        (note if code in (INTERRUPTED, TERMINATED) else error)(message)
    if as_json:
        print_json({"error": failure_document(message, code, problems)})


def tell_error(exc: CopublishError, *, as_json: bool) -> None:
    """Say why a command ends with one of our errors."""
    problems = exc.problems if isinstance(exc, AgreementError | FragmentError) else ()
    message = " ".join([str(exc), *getattr(exc, "__notes__", [])])
    tell_failure(message, exc.exit_code, as_json=as_json, problems=problems)


def failure_document(message: str, code: int, problems: Sequence[str] = ()) -> dict[str, Any]:
    """A failure as plain JSON values: the exit code, the message, and what to do."""
    found: dict[str, Any] = {"code": code, "message": visible(message)}
    if problems:
        found["problems"] = [visible(problem) for problem in problems]
    return {**found, "what_to_do": WHAT_TO_DO.get(INTERRUPTED if code == TERMINATED else code, WHAT_TO_DO[1])}


NOTHING_CHARGED = "Stopped. Nothing was charged."
ONLY_THE_DEMO = "Stopped. Nothing of yours was charged: the demo has ledgers of its own, in its folder."
LOOK = "Stopped. What a ledger was charged stays charged: 'copublish ledger' shows it."


_ledgers_are_open = False
"""True once this process has come to the point from which on ledgers are charged."""


def words_when_stopped(command: str | None, own_commands: Sequence[str]) -> str:
    """Statements that hold for a command that was stopped, by its name.

    Args:
        command: The one that was typed.
        own_commands: Those that are known here; commands of plug-ins are not.
    """
    if command == "demo":
        return ONLY_THE_DEMO
    is_known = command is None or command in own_commands
    return NOTHING_CHARGED if is_known and not _ledgers_are_open else LOOK


@contextmanager
def telling_what_ledgers_have(entries: Callable[[], dict[str, list[Entry]]]) -> Iterator[None]:
    """End a command that is stopped or fails with what its ledgers have of it. Nothing is charged before that begins.

    Args:
        entries: Reads the charges of every ledger, under a name to call it by.

    Raises:
        StoppedError: If Ctrl-C or SIGTERM comes.
        CopublishError: Whatever else ended it, with a note.
    """
    global _ledgers_are_open
    _ledgers_are_open = True
    before = entries()
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"Stopped. {_what_ledgers_have(before, entries)}") from None
    except SystemExit:
        raise StoppedError(f"Stopped. {_what_ledgers_have(before, entries)}", TERMINATED) from None
    except CopublishError as exc:
        exc.add_note(_what_ledgers_have(before, entries))
        raise


def _what_ledgers_have(before: dict[str, list[Entry]], entries: Callable[[], dict[str, list[Entry]]]) -> str:
    try:
        now = entries()
    except LedgerError:
        return "The ledger cannot be read now. What it was charged stays charged: 'copublish ledger' shows it."
    if not now:
        return "No ledger of yours was charged."
    new = {name: found[len(before[name]) :] for name, found in now.items()}
    said = [f"{name} has {_charge(entry)}." for name, found in new.items() for entry in found]
    if not said:
        return "Nothing was charged."
    from copublish.kernel.ledger.cells import SPENT_ON_SIZE

    charged = [entry for found in new.values() for entry in found]
    of_size = [entry for entry in charged if entry.state == SPENT_ON_SIZE]
    unopened = [entry for entry in charged if not entry.disclosures]
    if len(charged) == len(of_size) == 1:
        return f"{said[0]} It stays charged. Nothing else was charged: the release had not begun."
    if len(unopened) == len(charged) - len(of_size) == 1:
        of, what = ("the release", "its charge") if of_size else ("it", "it")
        stays = "Both stay" if of_size else "It stays"
        back = f"Nothing was opened of {of}: 'copublish ledger give-back {unopened[0].number}' gives {what} back."
        return " ".join([*said, f"{stays} charged. {back}"])
    return " ".join([*said, "Both stay charged." if of_size else "It stays charged."])


def _charge(entry: Entry) -> str:
    from copublish.kernel.accounting.formatting import show_exact
    from copublish.kernel.ledger.cells import SPENT_ON_SIZE

    epsilon = entry.cost.under("add-remove")
    price = "an unbounded charge" if epsilon is None else f"a charge of epsilon {show_exact(epsilon)}"
    if entry.state == SPENT_ON_SIZE:
        return f"{price} for the number of common people of '{entry.release}' on the data set '{entry.dataset}'"
    opened = "1 disclosure" if entry.disclosures == 1 else f"{entry.disclosures} disclosures"
    return f"{price} for '{entry.release}' on the data set '{entry.dataset}' ({entry.state}, {opened} written)"
