"""The command line. One file per command; this one gathers them and turns errors into exit codes."""

from __future__ import annotations

import os
import sys

import typer

from copublish.cli import (
    check_command,
    demo_command,
    describe_command,
    evaluate_command,
    generalize_command,
    identity_command,
    init_command,
    ledger_command,
    node_command,
    plan_command,
    report_command,
    reproduce_command,
    run_command,
    show_command,
    simulate_command,
)
from copublish.cli.terminal import error
from copublish.errors import CopublishError

DEBUG_VARIABLE = "COPUBLISH_DEBUG"

app = typer.Typer(
    name="copublish",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Organizations that hold pieces of one table publish one differentially private data set together.",
    epilog="Start with: copublish demo. Exit codes: 0 done, 2 wrong usage, 3 agreement, 4 data, 5 budget, "
    "6 computation, 7 release folder, 8 meeting the other parties, 1 anything else.",
)
for module in (
    demo_command,
    init_command,
    check_command,
    describe_command,
    plan_command,
    simulate_command,
    identity_command,
    run_command,
    node_command,
    show_command,
    generalize_command,
    evaluate_command,
    report_command,
    ledger_command,
    reproduce_command,
):
    module.register(app)


def main() -> None:
    """Run the command line; every failure is one clear message on stderr and an exit code."""
    try:
        app()
    except CopublishError as exc:
        error(str(exc))
        sys.exit(exc.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except Exception as exc:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        # A traceback can hold private values, so it is shown only to people who ask for it.
        error(
            f"copublish met something it did not expect ({type(exc).__name__}). This is a bug. Set {DEBUG_VARIABLE}=1 "
            "to see where; look before you share it, it can show private values."
        )
        sys.exit(1)
