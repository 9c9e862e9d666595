"""`copublish relay`: a meeting point for parties that cannot be dialed."""

from __future__ import annotations

import asyncio
import resource
import signal
import ssl
import sys
from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import note
from copublish.files.scratch import Scratch
from copublish.party.keys.identity import CERTIFICATE_FILE, KEY_FILE, load_identity, new_identity
from copublish.party.log import EventLog, log_to, log_to_stream
from copublish.party.network.dialing import listen_at
from copublish.party.network.relay import Limits, Relay
from copublish.party.options import address_of

DAYS = 3650
"""How long a certificate of a relay is valid that nobody checks."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("relay")(relay)


def relay(
    listen: Annotated[str, typer.Option(help="ADDRESS:PORT to listen at, like 0.0.0.0:443.")],
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="Folder with key.pem and certificate.pem, for proxies that check them. Default: made for this run."
        ),
    ] = None,
    timeout: Annotated[int, typer.Option(min=5, help="Seconds that a connection may be dead.")] = 600,
    waiting: Annotated[
        int,
        typer.Option(min=2, help="Most connections that may wait, a quarter of one address; a party has two for each."),
    ] = Limits.waiting,
    pairs: Annotated[int, typer.Option(min=1, help="Most connections that may be joined at once.")] = Limits.pairs,
    log: Annotated[Path | None, typer.Option(help="File for the log, or stderr or syslog. Default: stdout.")] = None,
) -> None:
    """Let parties that cannot be dialed meet here: join two outgoing connections and pass bytes that nobody can read.

    Needs no data, no key of a party and no agreement. Parties name it in the agreement (network.relay) and speak mutual
    TLS through it, end to end. It sees from which addresses, when and how much; one line of JSON for each connection
    says so, or their number if there are very many, and nothing about content. Joined connections end that are silent
    for three minutes, which no party is, or last for a week. Ends with Ctrl-C.

    Example: copublish relay --listen 0.0.0.0:443
    """
    try:
        host, port = address_of(listen)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint="--listen") from None
    limits = Limits.of(waiting=waiting, pairs=pairs)
    _make_room(limits.files)
    tell = EventLog("copublish.relay", log_to_stream(sys.stdout) if log is None else log_to(log))
    listener = listen_at((host, port), (host, port), secure=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    note(f'Relaying at {listen}. Parties name it as relay = "HOST:{port}" in [network]. Ctrl-C ends it.')
    tell("listening", address=f"{host}:{port}")
    context = _context(certificate)

    async def serve() -> None:
        await Relay(context, tell, limits=limits, timeout_seconds=timeout).serve(listener)

    asyncio.run(serve())


def _make_room(files: int) -> None:
    """Let this process open as many files as its connections may need, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < files:
        note(f"The system lets this relay open {hard} files, and {files} would be needed if it were full.")


def _context(folder: Path | None) -> ssl.SSLContext:
    """TLS of the outer connection. Its certificate proves nothing: whoever matters is checked inside."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    with Scratch("copublish-relay-") as temporary:
        identity = load_identity(folder) if folder else new_identity("relay", temporary / "relay", days=DAYS)
        where = identity.key_file.parent
        context.load_cert_chain(where / CERTIFICATE_FILE, where / KEY_FILE)
    return context
