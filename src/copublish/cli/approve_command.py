"""`copublish approve`: a named person of a party agrees to an agreement, offline."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.keys import (
    IdentityOption,
    PassphraseCommandOption,
    PassphraseFileOption,
    PinCommandOption,
    PinFileOption,
    SignerOption,
    passphrase_from,
    pin_from,
    signer_of,
)
from copublish.cli.terminal import Format, FormatOption, note, print_json, refuse_unknown_party, results_console
from copublish.errors import visible
from copublish.node.approving import approve as sign_and_write
from copublish.node.identity import identity_folder


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("approve")(approve)


def approve(
    agreement: Annotated[Path, typer.Argument(help="The agreement, the same file at every party.")],
    role: Annotated[str, typer.Option("--as", help='As what you approve, like "data protection officer".')],
    name: Annotated[str, typer.Option(help="Who approves. It is published with the release.")],
    party: Annotated[
        str | None, typer.Option(help="Which party you approve for. Default: the one whose identity is here.")
    ] = None,
    note_: Annotated[str, typer.Option("--note", help="What else you want to say. It is published, too.")] = "",
    until: Annotated[str | None, typer.Option(help="The last day on which it holds, like 2026-12-31.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for approvals. Default: AGREEMENT.approvals, beside the agreement.")
    ] = None,
    identity: IdentityOption = None,
    signer: SignerOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Sign that a named person of your organization approves of an agreement. Offline; nobody is called.

    The signature is by your organization's key, over this agreement to the letter: whoever changes anything in it needs
    new approvals. 'copublish run' counts approvals by different people before it calls anybody, if the agreement asks
    for some ([parties.bank] approvals = 2), and shows them to the other parties. Name, role and note are published with
    the release. Read 'copublish describe' first.

    Example: copublish approve agreement.toml --party bank --as "data protection officer" --name "A. Lovelace" --note
    "ok for 2026" --until 2026-12-31
    """
    agreed = load_agreement(agreement)
    party = approving_party(agreed, party)
    last = _day(until)
    passphrase, pin = passphrase_from(passphrase_file, passphrase_command), pin_from(pin_file, pin_command)
    signs = signer_of(agreed, party, identity, signer, passphrase=passphrase, pin=pin)
    approval, path = sign_and_write(
        agreement, party=party, name=name, role=role, note=note_, until=last, folder=out, signer=signs
    )
    if output is Format.JSON:
        print_json({"file": str(path), **approval.to_json()})
        return
    results_console().print(visible(f"Approved '{agreed.name}': {approval.words}"), markup=False, soft_wrap=True)
    results_console().print(f"Agreement {agreed.hash}\nWrote {path}", markup=False, soft_wrap=True)
    needed = agreed.parties[party].approvals
    note(f"The agreement asks for {needed} approvals of '{party}'. Whoever runs 'copublish run' there needs this file.")


def approving_party(agreement: Agreement, named: str | None) -> str:
    """The party that was named, or the one whose identity is here."""
    if named is not None:
        refuse_unknown_party(named, agreement.parties)
        return named
    here = [name for name in agreement.parties if identity_folder(name).exists()]
    if len(here) != 1:
        raise typer.BadParameter("say which party you approve for", param_hint="--party")
    return here[0]


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"write a day like 2026-12-31, got '{text}'", param_hint="--until") from None
