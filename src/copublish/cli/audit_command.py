"""`copublish audit`: how much of the stated epsilon can be found in what a release opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.cli.keys import (
    PassphraseCommandOption,
    PassphraseFileOption,
    PinCommandOption,
    PinFileOption,
    passphrase_from,
    pin_from,
    signer_for,
)
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import Format, FormatOption, note, print_json, progress_bars, results_console
from copublish.party.keys.keeping_audits import keep_audit

REFUTED = 9
"""The exit code if what was found contradicts what is stated."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


@with_options("party", "identity", "signer")
def audit(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long it may take, about.")] = 10,
    runs: Annotated[
        int | None, typer.Option(min=100, help="Runs of every view. Default: as many as the time allows.")
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(help="'public', or a party whose view is audited; may be repeated. Default: all."),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the result into this file.")] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Also sign the result with your party's key and put it beside the agreement."),
    ] = False,
    given: Mapping[str, Any],
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: .png or .svg.")] = None,
    secure: Annotated[
        bool, typer.Option(help="Also compare a few whole runs on the agreed engine, between processes.")
    ] = True,
    secure_runs: Annotated[int, typer.Option(min=2, help="How many of them, two for each pair of tables.")] = 4,
    output: FormatOption = Format.TEXT,
) -> None:
    """Play the agreed mechanism on made-up neighboring tables and try to tell them apart. Costs nothing.

    For the public, for every party and for every disclosure it tells the largest epsilon that its runs prove with 95 %
    confidence, beside the stated one and beside what a mechanism exactly as stated would show. Records that are not as
    agreed are among the tables: whole runs with and without them have to end alike and tell the same. No data are read
    and no ledger is charged.

    With --keep the result is signed with your party's key and written to AGREEMENT.audit.json, beside the agreement. It
    goes into the certificate of a release, with the name of your party, if all parties run with the same file.

    An audit can refute a promise, and never prove it. Exit code 0: consistent with what is stated. 9: refuted.

    Example: copublish audit agreement.toml --minutes 3 --json found.json --plot audit.svg

    Example: copublish audit agreement.toml --keep --party bank
    """
    from copublish.tools.auditing.audit import audit as audit_agreement

    for file in (json_file, plot):
        if file is not None and not file.resolve().parent.is_dir():
            raise typer.BadParameter(f"there is no folder '{file.parent}'")
    if plot is not None and plot.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter("end the name in .png or .svg", param_hint="--plot")
    agreed = load_agreement(agreement)
    if keep:  # its key is asked for before anything is played
        asked = resolved(agreement, given)
        passphrase, pin = passphrase_from(passphrase_file, passphrase_command), pin_from(pin_file, pin_command)
        signer = signer_for(asked, passphrase=passphrase, pin=pin)
    with progress_bars() as progress:
        found = audit_agreement(
            agreed,
            minutes=minutes,
            runs=runs,
            views=view or None,
            secure_runs=secure_runs if secure else 0,
            progress=progress,
        )
    if json_file is not None:
        json_file.write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")
    if keep:
        kept = keep_audit(agreement, found.to_dict(), party=asked.party, signer=signer)
        note(f"Signed for '{asked.party}': {kept}. It goes into the certificate if all parties run with this file.")
    if plot is not None:
        found.draw(plot)
    if output is Format.JSON:
        print_json(found.to_dict())
    else:
        results_console().print(found)
    if found.verdict == "refuted":
        raise typer.Exit(REFUTED)
