"""The commands: they parse what a person types and print what that person reads.

May hold: paths and options, and what other rooms return for display.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

import typer
from typer._click.exceptions import ClickException  # typer has no public name for the base of its errors
from typer.rich_utils import rich_format_error

import copublish
from copublish.cli.commands import COMMANDS, add_command, add_summary
from copublish.cli.failures import (
    INTERRUPTED,
    NOTHING_CHARGED,
    SuggestingGroup,
    asks_for_json,
    tell_error,
    tell_failure,
    words_when_stopped,
)
from copublish.cli.plug_ins import add_plug_ins
from copublish.cli.terminal import note
from copublish.errors import TERMINATED, CopublishError
from copublish.files.home import publishing_folder
from copublish.files.scratch import remove_abandoned

DEBUG_VARIABLE = "COPUBLISH_DEBUG"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"copublish {copublish.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Organizations that hold pieces of one table publish one differentially private data set together."""


def _flow_paragraphs(commands: typer.Typer) -> None:
    """Let the terminal break the lines of help, and not the source as well."""
    for command in commands.registered_commands:
        if command.help is not None or command.callback is None:
            continue
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _flow_paragraphs(group.typer_instance)


def app_with(typed: str | None) -> typer.Typer:
    """The commands; if one of ours was typed, that one alone, and else what help says about each of them."""
    found = typer.Typer(
        name="copublish",
        cls=SuggestingGroup,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="Organizations that hold pieces of one table publish one differentially private data set together.",
        epilog="Start with: copublish demo. Exit codes: 0 done, 2 wrong usage, 3 agreement, 4 data, 5 budget, "
        "6 computation, 7 release folder, 8 meeting the other parties, 9 an audit refutes, 10 approvals, "
        "1 anything else.",
    )
    found.callback()(_options)
    if typed in COMMANDS:
        add_command(found, typed)
    else:
        for name in COMMANDS:
            add_summary(found, name)
    return found


def __getattr__(name: str) -> typer.Typer:
    """`app`, with all commands loaded: for those who call it from Python."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = app_with(next(iter(COMMANDS)))
    for command in list(COMMANDS)[1:]:
        add_command(found, command)
    _flow_paragraphs(found)
    globals()["app"] = found
    return found


def main(*, when_loaded: Callable[[], None] | None = None) -> None:
    """Run the command line; every failure is one clear message on stderr and an exit code.

    With `--format json` stdout then has a document about it.

    Args:
        when_loaded: Called once the libraries of the command that was typed are loaded, before it runs.
    """
    as_json = asks_for_json(sys.argv[1:])
    typed = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    try:
        app = app_with(typed)
        for problem in add_plug_ins(app):
            note(problem)
        _flow_paragraphs(app)
        gc.freeze()  # what was loaded is no garbage, now and later
        gc.enable()
        if when_loaded is not None:
            when_loaded()
        if typed in COMMANDS:
            _tidy_up()
        code = _run(app, typed, as_json)
    except SystemExit as exc:
        if exc.code == TERMINATED:  # by SIGTERM, before anything was open that could be charged
            tell_failure(words_when_stopped(typed, list(COMMANDS)), TERMINATED, as_json=as_json)
        raise
    except KeyboardInterrupt:  # between two commands of ours
        tell_failure(NOTHING_CHARGED, INTERRUPTED, as_json=as_json)
        sys.exit(INTERRUPTED)
    except CopublishError as exc:
        tell_error(exc, as_json=as_json)
        sys.exit(exc.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as exc:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        why = f"'{exc.filename}': {exc.strerror}." if exc.filename else f"{exc.strerror or type(exc).__name__}."
        tell_failure(why, 1, as_json=as_json)
        sys.exit(1)
    except Exception as exc:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        # A traceback can hold private values, so it is shown only to people who ask for it.
        bug = (
            f"copublish met something it did not expect ({type(exc).__name__}). This is a bug. Set {DEBUG_VARIABLE}=1 "
            "to see where; look before you share it, it can show private values."
        )
        tell_failure(bug, 1, as_json=as_json)
        sys.exit(1)
    sys.exit(code)


def _tidy_up() -> None:
    """Do what killed runs of this user have left undone; it never fails, and never waits."""
    with suppress(OSError):
        remove_abandoned()
    if next(publishing_folder().glob("*.json"), None) is not None:
        from copublish.party.publishing_notes import (
            settle_notes,
        )  # `verify` loads little, and there is mostly nothing to do

        settle_notes(note)


def _run(app: typer.Typer, command: str | None, as_json: bool) -> int:
    """Run the command that was typed and return its exit code."""
    own_commands = list(COMMANDS)
    try:
        code = app(standalone_mode=False)
    except ClickException as exc:
        rich_format_error(exc)
        tell_failure(exc.format_message(), exc.exit_code, as_json=as_json, quiet=True)
        return int(exc.exit_code)
    except typer.Abort as exc:  # at a question
        interrupted = isinstance(exc.__context__, KeyboardInterrupt)
        words = words_when_stopped(command, own_commands) if interrupted else "Nobody answered. Nothing was charged."
        code = INTERRUPTED if interrupted else 1
        tell_failure(words, code, as_json=as_json)
        return code
    if code == INTERRUPTED:
        tell_failure(words_when_stopped(command, own_commands), INTERRUPTED, as_json=as_json)
    return code if isinstance(code, int) else 0
