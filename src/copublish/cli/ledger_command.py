"""`copublish ledger`: spending, comparisons, limits and locks, and whether the ledger is as copublish wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from copublish.cli import ledger_changes
from copublish.cli.ledger_text import print_ledger
from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import LedgerError, visible
from copublish.files.home import default_ledger
from copublish.kernel.ledger.ledger import Ledger
from copublish.party.own_ledger import receipt_problems, release_problems


def verify(
    file: Annotated[Path | None, typer.Argument(help="The ledger. Default: in your copublish folder.")] = None,
    release: Annotated[
        list[Path] | None,
        typer.Option(help="A release folder that you signed: the ledger has to know its head. May be repeated."),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check that nobody edited a ledger: its chain, its tables against the chain, and what you and others signed.

    Every entry has a hash that covers the one before, so one that was removed, moved or edited is found, with its
    place. An old copy that was brought back is whole in itself: it is found where others have signed its later
    head. The other parties look at the next run; you can name releases that you have signed with --release. Exit code 0
    if all is well, 5 if not.

    Example: copublish ledger verify

    Example: copublish ledger verify bank.db --release release-2026/ --release release-2025/
    """
    file = file or default_ledger()
    if not file.exists():
        raise typer.BadParameter(f"there is no ledger '{file}'")
    book = Ledger(file)
    try:
        problems, heads = book.edits(), book.heads()
        signed_runs = None
        try:
            signed_runs = len({receipt.run for receipt in book.receipts()})
            problems += receipt_problems(book)
        except LedgerError as exc:  # one that cannot be read does not hide what else was found
            problems.append(str(exc))
        for folder in release or []:
            problems += release_problems(book, folder)
        facts = {"entries": len(heads), "signed_runs": signed_runs, "head": heads[-1] if heads else None}
    finally:
        book.close()
    if output is Format.JSON:
        print_json({"ok": not problems, **facts, "problems": problems})
    else:
        for problem in problems:
            results_console().print(f"NO  {visible(problem)}", markup=False, soft_wrap=True)
        if not problems:
            runs = "1 signed run" if signed_runs == 1 else f"{signed_runs} signed runs"
            said = f"ok  {len(heads)} entries, each of which follows from the one before; {runs}. Head: {facts['head']}"
            results_console().print(said, markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(LedgerError.exit_code)


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

    A release that was reserved and failed stays spent, unless nothing was opened of it and you give the charge back:
    'copublish ledger give-back'. Also shown: when identifiers were compared, with whom, and who listed other people
    than before; and parties that are locked out because something was put in that the agreement does not allow.

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
