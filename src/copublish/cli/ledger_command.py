"""`copublish ledger`: what was spent and compared, the limits, and who is locked out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from copublish.cli import ledger_changes
from copublish.cli.ledger_text import print_ledger
from copublish.cli.ledger_verify import verify
from copublish.cli.terminal import Format, FormatOption
from copublish.files.home import default_ledger
from copublish.kernel.ledger.ledger import Ledger


class LedgerCommands(TyperGroup):
    """`copublish ledger` alone or with a file shows the ledger; only the name of a command is one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # typer has its own kind of context
        """Pass arguments that begin with no command's name to the command that shows."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else [SHOW, *args])


SHOW = "show"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(cls=LedgerCommands, help="Show what was spent; set limits; check that nobody edited it.")
    commands.command(SHOW)(show)
    commands.command("verify")(verify)
    ledger_changes.register(commands)
    app.add_typer(commands, name="ledger")


def show(
    file: Annotated[
        Path | None, typer.Argument(help="The ledger, an SQLite file. Default: in your copublish folder.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show what was spent on which data set, in which release, and how much is left. Changes nothing.

    A charge is never given back: a release that was reserved and failed stays spent. Also shown: when identifiers were
    compared, with whom, and who listed other people than before; and parties that are locked out because something
    was put in that the agreement does not allow.

    'copublish ledger' alone shows it, too. A file that is called like a command is written ./verify.

    Example: copublish ledger

    Example: copublish ledger show bank.db --format json
    """
    file = file or default_ledger()
    if not file.exists():
        raise typer.BadParameter(f"there is no ledger '{file}'; 'copublish ledger limit DATASET=EPSILON' creates one")
    book = Ledger(file)
    try:
        print_ledger(book, output)
    finally:
        book.close()
