"""The command line. One file per command; this one gathers them and turns errors into exit codes.

Other distributions add commands of their own (`plug_ins.py`), which are loaded when the command line runs.
"""

from __future__ import annotations

import inspect
import os
import sys
from typing import Annotated

import typer
from typer._click.exceptions import ClickException  # typer has no public name for the base of its errors
from typer.rich_utils import rich_format_error

import copublish
from copublish.cli import (
    approve_command,
    audit_command,
    check_command,
    demo_command,
    describe_command,
    doctor_command,
    evaluate_command,
    generalize_command,
    identity_command,
    init_command,
    ledger_command,
    merge_command,
    node_command,
    plan_command,
    propose_command,
    relay_command,
    report_command,
    run_command,
    show_command,
    simulate_command,
    verify_command,
)
from copublish.cli.failures import INTERRUPTED, asks_for_json, tell_error, tell_failure
from copublish.cli.plug_ins import add_plug_ins
from copublish.cli.stopping import NOTHING_CHARGED, words_when_stopped
from copublish.cli.suggestions import SuggestingGroup
from copublish.cli.terminal import note
from copublish.errors import CopublishError

DEBUG_VARIABLE = "COPUBLISH_DEBUG"

app = typer.Typer(
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
for module in (
    demo_command,
    init_command,
    merge_command,
    check_command,
    describe_command,
    plan_command,
    audit_command,
    simulate_command,
    identity_command,
    propose_command,
    approve_command,
    run_command,
    node_command,
    doctor_command,
    relay_command,
    show_command,
    verify_command,
    generalize_command,
    evaluate_command,
    report_command,
    ledger_command,
):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"copublish {copublish.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Organizations that hold pieces of one table publish one differentially private data set together."""


def _flow_paragraphs(commands: typer.Typer) -> None:
    """Let the terminal break the lines of help, and not the source as well."""
    for command in commands.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n") if command.callback else []
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _flow_paragraphs(group.typer_instance)


_flow_paragraphs(app)


def main() -> None:
    """Run the command line; every failure is one clear message on stderr and an exit code.

    With `--format json` stdout then has a document about it.
    """
    as_json = asks_for_json(sys.argv[1:])
    own_commands = _names_of_commands()
    try:
        for problem in add_plug_ins(app):
            note(problem)
        _flow_paragraphs(app)
        sys.exit(_run(as_json, own_commands))
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


def _run(as_json: bool, own_commands: list[str]) -> int:
    """Run the command that was typed and return its exit code."""
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
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


def _names_of_commands() -> list[str]:
    """The commands of this distribution, before plug-ins add theirs."""
    named = [command.name for command in app.registered_commands] + [group.name for group in app.registered_groups]
    return [name for name in named if name is not None]
