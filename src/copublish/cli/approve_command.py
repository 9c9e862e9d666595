"""`copublish approve`: a named person of a party agrees to an agreement, offline."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
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
from copublish.cli.terminal import (
    Format,
    FormatOption,
    errors_console,
    note,
    note_before_consent,
    print_json,
    results_console,
    warn_first,
)
from copublish.errors import visible
from copublish.party.keys.approving import approve as sign_and_write
from copublish.release.describe import describe


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("approve")(approve)


@with_options("party", "identity", "signer")
def approve(
    agreement: Annotated[Path, typer.Argument(help="The agreement, the same file at every party.")],
    *,
    role: Annotated[str, typer.Option("--as", help='As what you approve, like "data protection officer".')],
    name: Annotated[str, typer.Option(help="Who approves. It is published with the release.")],
    note_: Annotated[str, typer.Option("--note", help="What else you want to say. It is published, too.")] = "",
    until: Annotated[str | None, typer.Option(help="The last day on which it holds, like 2026-12-31.")] = None,
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
    """Sign that a named person of your organization approves of an agreement. Offline; nobody is called.

    The signature is by your organization's key, over this agreement to the letter: whoever changes anything in it needs
    new approvals. First it says what others would learn and what that rests on. 'copublish run' counts approvals by
    different people before it calls anybody, if the agreement asks for some ([parties.bank] approvals = 2), and shows
    them to the other parties. Name, role and note are published with the release. Read 'copublish describe' first.

    Example: copublish approve agreement.toml --party bank --as "data protection officer" --name "A. Lovelace" --note
    "ok for 2026" --until 2026-12-31
    """
    asked = resolved(agreement, given)
    agreed, party = asked.agreement, asked.party
    last = _day(until)
    passphrase, pin = passphrase_from(passphrase_file, passphrase_command), pin_from(pin_file, pin_command)
    described = describe(agreed, party=party)
    warn_first(described.warning, errors_console)
    note_before_consent(described.before_consent.lines, agreement)
    signs = signer_for(asked, passphrase=passphrase, pin=pin)
    approval, path = sign_and_write(
        agreement, party=party, name=name, role=role, note=note_, until=last, folder=out, signer=signs
    )
    if output is Format.JSON:
        print_json({"file": str(path), **approval.to_json(), "before_consent": described.before_consent.to_dict()})
        return
    results_console().print(visible(f"Approved '{agreed.name}': {approval.words}"), markup=False, soft_wrap=True)
    results_console().print(f"Agreement {agreed.hash}\nWrote {path}", markup=False, soft_wrap=True)
    needed = agreed.parties[party].approvals
    note(f"The agreement asks for {needed} approvals of '{party}'. Whoever runs 'copublish run' there needs this file.")


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"write a day like 2026-12-31, got '{text}'", param_hint="--until") from None
