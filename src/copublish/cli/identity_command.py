"""`copublish identity`: who you are on the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.parties import HOST_PATTERN
from copublish.cli.keys import PassphraseCommandOption, PassphraseFileOption, new_passphrase, passphrase_from
from copublish.cli.terminal import Format, FormatOption, note, print_json, results_console
from copublish.node.identity import Identity, identity_folder, new_identity
from copublish.node.signers import AnyIdentity, load_signer

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
    passphrase: Annotated[
        bool, typer.Option("--passphrase", help="Encrypt the key with a passphrase; you are asked for it.")
    ] = False,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    token: Annotated[
        str | None, typer.Option(help="Label of a PKCS#11 token: the key is made there, and signs. See below.")
    ] = None,
    module: Annotated[
        Path | None, typer.Option(help="The token's library, like /usr/lib/softhsm/libsofthsm2.so.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Make a key and a certificate, and print what to put into the agreement.

    The key stays on this machine, readable by you alone. The others need the fingerprint, over a channel that they
    trust (a phone call will do); nobody needs a common authority.

    With --passphrase the key's file is encrypted, and 'run' and 'approve' ask for it. With --token the key is made on a
    token and never leaves it: it signs releases and approvals, and the agreement names it under 'signer'. For the
    network an identity in a file is needed all the same. The token's PIN comes from where a passphrase would.

    Example: copublish identity new --name bank --host bank.example:7700

    Example: copublish identity new --name bank --token bank-2026 --module /usr/lib/softhsm/libsofthsm2.so
    """
    _check_host(host, dial_out=dial_out)
    if token is not None:
        _print(
            _on_token(name, folder, token, module, passphrase_file, passphrase_command, days),
            None,
            output,
            dial_out=dial_out,
        )
        return
    is_secret = passphrase or passphrase_file is not None or passphrase_command is not None
    secret = new_passphrase(passphrase_file, passphrase_command) if is_secret else None
    made = new_identity(name, folder or identity_folder(name), days=days, passphrase=secret)
    _print(made, host, output, dial_out=dial_out)
    if output is Format.TEXT:
        note("Put these lines into the agreement; every party does the same, and all need the same file.")


@app.command()
def show(
    name: NameOption,
    host: HostOption = None,
    dial_out: DialOutOption = False,
    folder: FolderOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Print the fingerprint of your certificate again.

    Example: copublish identity show --name bank
    """
    _check_host(host, dial_out=dial_out)
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    _print(load_signer(folder or identity_folder(name), passphrase), host, output, dial_out=dial_out)


def _on_token(
    name: str,
    folder: Path | None,
    token: str,
    module: Path | None,
    passphrase_file: Path | None,
    passphrase_command: str | None,
    days: int,
) -> AnyIdentity:
    from copublish.node.token import TokenPlace, new_token_identity

    if module is None:
        raise typer.BadParameter("say which library speaks with the token", param_hint="--module")
    pin = passphrase_from(passphrase_file, passphrase_command)(f"the token '{token}'")
    place = TokenPlace(module=str(module.absolute()), token=token, key=f"copublish {name}")
    return new_token_identity(name, folder or identity_folder(f"{name}-signer"), place, pin, days=days)


def _check_host(host: str | None, *, dial_out: bool) -> None:
    if host is not None and dial_out:
        raise typer.BadParameter("a party that only dials out has no host. Leave one of them out", param_hint="--host")
    if host is not None and not HOST_PATTERN.fullmatch(host):
        raise typer.BadParameter("write name and port, like bank.example:7700", param_hint="--host")


def _print(identity: AnyIdentity, host: str | None, output: Format, *, dial_out: bool) -> None:
    expires = identity.certificate.not_valid_after_utc.date().isoformat()
    key = "certificate" if isinstance(identity, Identity) else "signer"
    if output is Format.JSON:
        facts = {"name": identity.name, key: identity.fingerprint, "expires": expires, "folder": str(identity.folder)}
        print_json(facts | ({"host": host} if host else {}) | ({"reach": "dial-out"} if dial_out else {}))
        return
    lines = [f"[parties.{identity.name}]"]
    lines += [f'host = "{host}"'] if host else ['reach = "dial-out"'] if dial_out else []
    lines += [f'{key} = "{identity.fingerprint}"   # valid until {expires}']
    results_console().print("\n".join(lines), markup=False, soft_wrap=True)
