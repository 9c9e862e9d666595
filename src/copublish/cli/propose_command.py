"""`copublish propose`: a bundle for the people who decide about an agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.loading import load_agreement
from copublish.cli.terminal import Format, FormatOption, note, print_json, refuse_unknown_party
from copublish.party.proposal import write_proposal


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("propose")(propose)


def propose(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    to: Annotated[str | None, typer.Option(help="Parties that are asked, like bank,loans. Default: all.")] = None,
    out: Annotated[Path | None, typer.Option(help="A new folder. Default: NAME-proposal.")] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Write a bundle for the people who decide: the agreement, what it would open in words, and what they are asked.

    Reads the agreement and its taxonomies alone. Send the folder over any channel; its README says how to check and
    approve. The agreement's hash, which approvals are for, can be read out on the phone.

    Example: copublish propose agreement.toml --to bank,loans
    """
    agreed = load_agreement(agreement)
    asked = list(agreed.parties) if to is None else [name.strip() for name in to.split(",")]
    for party in asked:
        refuse_unknown_party(party, agreed.parties)
    folder = out or Path(f"{agreed.name}-proposal")
    write_proposal(agreement, asked, folder)
    if output is Format.JSON:
        print_json({"folder": str(folder), "agreement_hash": agreed.hash, "to": asked})
        return
    note(f"Wrote {folder}. The agreement's hash: {agreed.hash}")
