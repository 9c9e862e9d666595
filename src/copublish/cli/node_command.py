"""`copublish node`: what is wrong when the parties do not connect."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.keys import IdentityOption, PassphraseCommandOption, PassphraseFileOption, passphrase_from
from copublish.cli.run_command import InsecureOption
from copublish.cli.terminal import Format, FormatOption, print_json, refuse_unknown_party, results_console
from copublish.errors import MeetingError
from copublish.node.dialing import UnreachableError, dial, refuse_unfit_hosts
from copublish.node.identity import Identity, Passphrase, identity_folder, load_identity

app = typer.Typer(no_args_is_help=True, help="Look at your own node and at those of the other parties.")

Finding = tuple[str, bool, str]
"""What was looked at, whether it is well, and what was found."""


def register(main: typer.Typer) -> None:
    """Add the commands."""
    main.add_typer(app, name="node")


@app.callback()
def node() -> None:
    """Look at your own node and at those of the other parties."""


@app.command()
def status(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    party: Annotated[str, typer.Option(help="Which party of the agreement you are.")],
    identity: IdentityOption = None,
    insecure: InsecureOption = False,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check step by step whether you could meet every other party. Touches no data and costs nothing.

    Exit code 0 if all is well, 8 if something is in the way. Another party is reached only while its own
    'copublish run' is waiting.

    Example: copublish node status agreement.toml --party bank
    """
    agreed = load_agreement(agreement)
    refuse_unknown_party(party, agreed.parties)
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    found = list(_look(agreed, party, identity or identity_folder(party), passphrase, insecure=insecure))
    if output is Format.JSON:
        print_json([{"what": what, "ok": is_well, "found": said} for what, is_well, said in found])
    else:
        for what, is_well, said in found:
            results_console().print(f"{'ok' if is_well else 'NO':3} {what}: {said}", markup=False, soft_wrap=True)
    if not all(is_well for _, is_well, _ in found):
        raise typer.Exit(MeetingError.exit_code)


def _look(
    agreement: Agreement, party: str, folder: Path, passphrase: Passphrase, *, insecure: bool
) -> Iterator[Finding]:
    who: Identity | None = None
    try:
        if not insecure:
            who = load_identity(folder, passphrase)
            yield "identity", True, f"{who.fingerprint}, valid until {who.certificate.not_valid_after_utc.date()}"
        refuse_unfit_hosts(agreement, party, who)
    except MeetingError as exc:
        yield "agreement" if who or insecure else "identity", False, str(exc)
        return
    yield "agreement", True, "names hosts and certificates" if who else "all hosts are on loopback"
    yield _own_port(agreement.parties[party].address[1])
    for peer in agreement.parties:
        if peer != party:
            yield from _peer(agreement, party, who, peer)


def _own_port(port: int) -> Finding:
    try:
        socket.create_server(("", port)).close()
    except OSError as exc:
        return "own port", True, f"{port} is in use ({exc.strerror}): by your own run, or by another program"
    return "own port", True, f"{port} is free; others reach you there while 'copublish run' waits"


def _peer(agreement: Agreement, party: str, who: Identity | None, peer: str) -> Iterator[Finding]:
    host, _ = agreement.parties[peer].address
    try:
        addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None)})
    except OSError:
        yield f"name of {peer}", False, f"'{host}' is not known. Ask {peer} for the right name"
        return
    yield f"name of {peer}", True, f"'{host}' is {', '.join(addresses)}"
    try:
        dial(agreement, party, who, peer, "status").close()
    except UnreachableError as exc:
        yield f"node of {peer}", False, f"{exc}. Is 'copublish run' waiting there, and does a firewall let you through?"
    except MeetingError as exc:
        yield f"node of {peer}", False, str(exc)
    else:
        yield f"node of {peer}", True, "answers, with the agreed certificate" if who else "answers"
