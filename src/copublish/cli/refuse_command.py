"""`copublish refuse`: a named person of a party says no to an agreement, offline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

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
from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import visible
from copublish.party.keys.approving import refuse as sign_refusal


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("refuse")(refuse)


@with_options("party", "identity", "signer")
def refuse(
    agreement: Annotated[Path, typer.Argument(help="The agreement, the same file at every party.")],
    *,
    role: Annotated[str, typer.Option("--as", help='As what you refuse, like "data protection officer".')],
    name: Annotated[str, typer.Option(help="Who refuses. The other parties read it.")],
    reason: Annotated[str, typer.Option(help="Why. The other parties read it.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for approvals. Default: AGREEMENT.approvals, beside the agreement.")
    ] = None,
    given: Mapping[str, Any],
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Sign that a named person of your organization refuses an agreement. Offline; nobody is called.

    While the file is beside the agreement, 'copublish run' does not run it here, whoever has approved. A changed
    agreement is another one, and is not refused by it.

    Example: copublish refuse agreement.toml --party bank --as "data protection officer" --name "A. Lovelace" --reason
    "epsilon 1 is too much for these people"
    """
    asked = resolved(agreement, given)
    agreed, party = asked.agreement, asked.party
    passphrase, pin = passphrase_from(passphrase_file, passphrase_command), pin_from(pin_file, pin_command)
    signs = signer_for(asked, passphrase=passphrase, pin=pin)
    refusal, path = sign_refusal(agreement, party=party, name=name, role=role, reason=reason, folder=out, signer=signs)
    if output is Format.JSON:
        print_json({"file": str(path), **refusal.to_json()})
        return
    results_console().print(visible(f"Refused '{agreed.name}': {refusal.words}"), markup=False, soft_wrap=True)
    results_console().print(f"Agreement {agreed.hash}\nWrote {path}", markup=False, soft_wrap=True)
