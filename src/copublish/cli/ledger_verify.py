"""`copublish ledger verify`: whether a ledger is as copublish wrote it, and has everything that its owner signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import LedgerError, visible
from copublish.files.home import default_ledger
from copublish.kernel.ledger.ledger import Ledger
from copublish.release.ledger_evidence import receipt_problems, release_problems


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
            signed_runs = len(book.receipts())
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
