"""`copublish node`: what is wrong when the parties do not connect."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.model import Agreement
from copublish.agreement.parties import way_between
from copublish.cli.keys import PassphraseCommandOption, PassphraseFileOption, passphrase_from
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.errors import MeetingError
from copublish.party.keys.identity import Identity, Passphrase, load_identity
from copublish.party.network.channel import UnreachableError
from copublish.party.network.dialing import dial, listen_at, own_run_listens, refuse_unfit_hosts
from copublish.party.network.proxy import Proxy, WayOut

WORDS = {True: "ok", False: "NO", None: "?"}

app = typer.Typer(no_args_is_help=True, help="Look at your own node and at those of the other parties.")

Finding = tuple[str, bool | None, str]
"""What was looked at, whether it is well or cannot be known now, and what was found."""


def register(main: typer.Typer) -> None:
    """Add the commands."""
    main.add_typer(app, name="node")


@app.callback()
def node() -> None:
    """Look at your own node and at those of the other parties."""


@app.command()
@with_options("party", "identity", "insecure", "proxy", "proxy_credentials")
def status(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    given: Mapping[str, Any],
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check step by step whether you could meet every other party. Touches no data and costs nothing.

    Exit code 0 if nothing is in the way as far as can be seen, 8 if something is. Another party is reached only while
    its own 'copublish run' is waiting; one that dials in is not seen, which '?' marks.

    Example: copublish node status agreement.toml
    """
    asked = resolved(agreement, given)
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    found = list(_look(asked.agreement, asked.party, asked.identity, passphrase, asked.proxy()))
    if output is Format.JSON:
        print_json([{"what": what, "ok": is_well, "found": said} for what, is_well, said in found])
    else:
        for what, is_well, said in found:
            results_console().print(f"{WORDS[is_well]:3} {what}: {said}", markup=False, soft_wrap=True)
    if any(is_well is False for _, is_well, _ in found):
        raise typer.Exit(MeetingError.exit_code)


def _look(
    agreement: Agreement, party: str, folder: Path | None, passphrase: Passphrase, proxy: Proxy | None
) -> Iterator[Finding]:
    who: Identity | None = None
    try:
        if folder is not None:
            who = load_identity(folder, passphrase)
            yield "identity", True, f"{who.fingerprint}, valid until {who.certificate.not_valid_after_utc.date()}"
        refuse_unfit_hosts(agreement, party, who)
    except MeetingError as exc:
        yield "agreement" if who or folder is None else "identity", False, str(exc)
        return
    yield "agreement", True, "names hosts and certificates" if who else "all hosts are on loopback"
    if agreement.parties[party].dials_out:
        yield "own port", True, "none: by the agreement you only dial out"
    else:
        yield _own_port(agreement, party, who)
    for peer in agreement.parties:
        if peer != party:
            yield from _peer(agreement, party, who, peer, proxy)


def _own_port(agreement: Agreement, party: str, who: Identity | None) -> Finding:
    own = agreement.parties[party].address
    try:
        listen_at(None, own, secure=who is not None).close()
    except MeetingError as exc:
        if who is None:  # without certificates they look the same
            return "own port", None, f"{own[1]} is in use, by your own run or by another program"
        if own_run_listens(agreement, party, who):
            return "own port", True, f"your own run listens at {own[1]}"
        return "own port", False, str(exc)
    return "own port", True, f"{own[1]} is free; others reach you there while 'copublish run' waits"


def _peer(agreement: Agreement, party: str, who: Identity | None, peer: str, proxy: Proxy | None) -> Iterator[Finding]:
    way = way_between(agreement, party, peer)
    if way == "call back":
        yield f"node of {peer}", None, "dials you while your own 'copublish run' waits; 'copublish doctor' waits for it"
        return
    relay = agreement.network
    host, port = relay.relay_address if way == "relay" else agreement.parties[peer].address
    whose, asked = (f"relay to {peer}", "who runs the relay") if way == "relay" else (f"name of {peer}", peer)
    if proxy is not None and proxy.is_for(host, port):
        yield whose, True, f"'{host}' is looked up by the proxy {proxy.name}"
        yield from _node_of(agreement, party, who, peer, proxy)
        return
    try:
        addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None)})
    except (OSError, UnicodeError):
        yield whose, False, f"'{host}' is not known. Ask {asked} for the right name"
        return
    yield whose, True, f"'{host}' is {', '.join(addresses)}"
    yield from _node_of(agreement, party, who, peer, proxy)


def _node_of(
    agreement: Agreement, party: str, who: Identity | None, peer: str, proxy: Proxy | None
) -> Iterator[Finding]:
    try:
        dial(agreement, party, who, peer, "status", way_out=WayOut(proxy=proxy)).close()
    except UnreachableError as exc:
        yield f"node of {peer}", False, f"{exc}. Is 'copublish run' waiting there, and does a firewall let you through?"
    except MeetingError as exc:
        yield f"node of {peer}", False, str(exc)
    else:
        yield f"node of {peer}", True, "answers, with the agreed certificate" if who else "answers"
