"""`copublish identity`: who you are on the network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.parties import HOST_PATTERN
from copublish.cli.keys import (
    PassphraseCommandOption,
    PassphraseFileOption,
    PinCommandOption,
    PinFileOption,
    new_passphrase,
    passphrase_from,
    pin_from,
)
from copublish.cli.terminal import Format, FormatOption, note, print_json, results_console
from copublish.party.keys.identity import Identity, identity_folder, new_identity
from copublish.party.keys.signing_key import AnyIdentity, load_signer
from copublish.party.party_file import draft_party_file
from copublish.party.request import RunRequest

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
    key_label: Annotated[
        str | None,
        typer.Option(help="Label of the new key on the token. Default: 'copublish NAME'; a renewed one needs another."),
    ] = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Make a key and a certificate, and print what to put into the agreement.

    The key stays on this machine, readable by you alone. The others need the fingerprint, over a channel that they
    trust (a phone call will do); nobody needs a common authority. Beside the key, the draft of party.toml is for what
    is the same for every run of yours: ledger, address, proxy, time limits.

    With --passphrase the key's file is encrypted, and 'run' and 'approve' ask for it. With --token the key is made on a
    token and never leaves it: it signs releases and approvals, and the agreement names it under 'signer'. For the
    network an identity in a file is needed all the same. A key on a token is renewed by another one beside it, under
    another --key-label and in another --identity; the next agreement names it.

    Example: copublish identity new --name bank --host bank.example:7700

    Example: copublish identity new --name bank --token bank-2026 --module /usr/lib/softhsm/libsofthsm2.so
    """
    _check_host(host, dial_out=dial_out)
    is_secret = passphrase or passphrase_file is not None or passphrase_command is not None
    if token is not None:
        if is_secret:
            raise typer.BadParameter("a token has a PIN and no passphrase. Give --pin-file", param_hint="--token")
        if module is None:
            raise typer.BadParameter("say which library speaks with the token", param_hint="--module")
        pin = pin_from(pin_file, pin_command)(f"the token '{token}'")
        made_there = _on_token(name, folder, token, module, key_label or f"copublish {name}", pin, days)
        _print(made_there, None, output, dial_out=dial_out)
        return
    if any(given is not None for given in (module, key_label, pin_file, pin_command)):
        raise typer.BadParameter(
            "--module, --key-label, --pin-file and --pin-command are for a key on a token. Name it",
            param_hint="--token",
        )
    secret = new_passphrase(passphrase_file, passphrase_command) if is_secret else None
    made = new_identity(name, folder or identity_folder(name), days=days, passphrase=secret)
    drafted = draft_party_file(RunRequest, made.folder, name)
    _print(made, host, output, dial_out=dial_out)
    if output is Format.TEXT:
        note("Put these lines into the agreement; every party does the same, and all need the same file.")
        if drafted is not None:
            note(f"Write what is the same for every run of yours into {drafted}")


@app.command()
def show(
    name: NameOption,
    host: HostOption = None,
    dial_out: DialOutOption = False,
    folder: FolderOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    pin_file: PinFileOption = None,
    pin_command: PinCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Print the fingerprint of your certificate again.

    Example: copublish identity show --name bank
    """
    _check_host(host, dial_out=dial_out)
    passphrase, pin = passphrase_from(passphrase_file, passphrase_command), pin_from(pin_file, pin_command)
    shown = load_signer(folder or identity_folder(name), passphrase=passphrase, pin=pin)
    _print(shown, host, output, dial_out=dial_out)


def _on_token(
    name: str,
    folder: Path | None,
    token: str,
    module: Path,
    key_label: str,
    pin: str,
    days: int,
) -> AnyIdentity:
    from copublish.party.keys.token import TokenPlace, new_token_identity

    place = TokenPlace(module=str(module.absolute()), token=token, key=key_label)
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
