"""`copublish identity`: who you are on the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.parties import HOST_PATTERN
from copublish.cli.terminal import Format, FormatOption, note, print_json, results_console
from copublish.node.identity import Identity, identity_folder, load_identity, new_identity

app = typer.Typer(no_args_is_help=True, help="Make and show the key and certificate by which other parties know you.")


def _party_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise typer.BadParameter("use up to 64 letters, digits, '.', '_' and '-', as in the agreement")
    return name


NameOption = Annotated[str, typer.Option(help="Your name in the agreement.", metavar="PARTY", callback=_party_name)]
FolderOption = Annotated[
    Path | None, typer.Option("--identity", help="Folder of the identity. Default: by name, in your copublish folder.")
]
HostOption = Annotated[str | None, typer.Option(help="Where others reach you, like bank.example:7700.")]
DialOutOption = Annotated[bool, typer.Option("--dial-out", help="Nobody can reach you: you dial the others.")]


def register(main: typer.Typer) -> None:
    """Add the commands."""
    main.add_typer(app, name="identity")


@app.command()
def new(
    name: NameOption,
    host: HostOption = None,
    dial_out: DialOutOption = False,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificate is valid.")] = 825,
    folder: FolderOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Make a key and a certificate, and print what to put into the agreement.

    The key stays on this machine, readable by you alone. The others need the fingerprint, over a channel that they
    trust (a phone call will do); nobody needs a common authority.

    Example: copublish identity new --name bank --host bank.example:7700
    """
    _check_host(host, dial_out=dial_out)
    _print(new_identity(name, folder or identity_folder(name), days=days), host, output, dial_out=dial_out)
    if output is Format.TEXT:
        note("Put these lines into the agreement; every party does the same, and all need the same file.")


@app.command()
def show(
    name: NameOption,
    host: HostOption = None,
    dial_out: DialOutOption = False,
    folder: FolderOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Print the fingerprint of your certificate again.

    Example: copublish identity show --name bank
    """
    _check_host(host, dial_out=dial_out)
    _print(load_identity(folder or identity_folder(name)), host, output, dial_out=dial_out)


def _check_host(host: str | None, *, dial_out: bool) -> None:
    if host is not None and dial_out:
        raise typer.BadParameter("a party that only dials out has no host. Leave one of them out", param_hint="--host")
    if host is not None and not HOST_PATTERN.fullmatch(host):
        raise typer.BadParameter("write name and port, like bank.example:7700", param_hint="--host")


def _print(identity: Identity, host: str | None, output: Format, *, dial_out: bool) -> None:
    expires = identity.certificate.not_valid_after_utc.date().isoformat()
    if output is Format.JSON:
        folder = str(identity.key_file.parent)
        facts = {"name": identity.name, "certificate": identity.fingerprint, "expires": expires, "folder": folder}
        print_json(facts | ({"host": host} if host else {}) | ({"reach": "dial-out"} if dial_out else {}))
        return
    lines = [f"[parties.{identity.name}]"]
    lines += [f'host = "{host}"'] if host else ['reach = "dial-out"'] if dial_out else []
    lines += [f'certificate = "{identity.fingerprint}"   # valid until {expires}']
    results_console().print("\n".join(lines), markup=False, soft_wrap=True)
