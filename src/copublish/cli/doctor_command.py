"""`copublish doctor`: could a run begin, and if not, what is in the way and whom to ask?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from copublish.agreement.loading import load_agreement
from copublish.agreement.model import Agreement
from copublish.cli.keys import IdentityOption, PassphraseCommandOption, PassphraseFileOption, passphrase_from
from copublish.cli.node_command import WORDS
from copublish.cli.run_command import CredentialsOption, ListenOption, ProxyOption, address_from
from copublish.cli.terminal import Format, FormatOption, note, print_json, refuse_unknown_party, results_console
from copublish.errors import MeetingError
from copublish.node.doctor import Doctor, Finding
from copublish.node.identity import identity_folder
from copublish.node.measuring import Link
from copublish.node.proxy import proxy_from


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    party: Annotated[str, typer.Option(help="Which party of the agreement you are.")],
    identity: IdentityOption = None,
    proxy: ProxyOption = None,
    proxy_credentials: CredentialsOption = None,
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    listen: ListenOption = None,
    wait: Annotated[int, typer.Option(min=1, help="Seconds to wait for the other parties to come.")] = 10,
    output: FormatOption = Format.TEXT,
) -> None:
    """Find out whether you could meet every other party, and what to ask your network team for if not.

    Looks at names, ports, proxy, TLS, certificates, clocks, agreements and versions, the way there and the way back,
    round trip and bandwidth, and says what a run would take over that link; the place Plan of 'copublish studio' takes
    the link over. Touches no data and costs nothing. Other parties answer while their own 'copublish run' or 'copublish
    doctor' waits. Exit code 0 if a run could begin.

    Example: copublish doctor agreement.toml --party bank
    """
    agreed = load_agreement(agreement)
    refuse_unknown_party(party, agreed.parties)
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    looks = Doctor(
        agreed,
        party,
        identity or identity_folder(party),
        proxy_from(proxy, proxy_credentials),
        wait,
        passphrase,
        None if listen is None else address_from(listen),
    )
    found: list[Finding] = []
    for finding in looks.look():
        found.append(finding)
        if output is Format.TEXT:
            _print(finding)
    links = {finding.peer: finding.link for finding in found if finding.link is not None}
    _keep(agreed, party, links)
    predicted = _predict(agreed, links)
    could_begin = all(finding.ok is not False for finding in found) and len(links) == len(agreed.parties) - 1
    if output is Format.JSON:
        print_json(
            {
                "could_begin": could_begin,
                "findings": [asdict(finding) for finding in found],
                "secure_run": predicted,
            }
        )
    else:
        _print_end(predicted, could_begin=could_begin)
    if not could_begin:
        raise typer.Exit(MeetingError.exit_code)


def _keep(agreement: Agreement, party: str, links: dict[str | None, Link]) -> None:
    """Keep links for predictions, which can do without them: a folder that cannot be written is no finding."""
    if not links:
        return
    from copublish.planning.measured import keep_link

    with suppress(OSError):
        for peer, link in links.items():
            keep_link(
                agreement,
                party,
                str(peer),
                round_trip_seconds=link.round_trip_seconds,
                bytes_per_second=min(link.bytes_per_second),
            )


def _predict(agreement: Agreement, links: dict[str | None, Link]) -> dict[str, Any] | None:
    """What a run would take over the slowest link, by the cost model."""
    if not links:
        return None
    from copublish.planning.links import predict_over_link

    return predict_over_link(
        agreement,
        round_trip_seconds=max(link.round_trip_seconds for link in links.values()),
        bytes_per_second=min(min(link.bytes_per_second) for link in links.values()),
    )


def _print(finding: Finding) -> None:
    console = results_console()
    console.print(f"{WORDS[finding.ok]:3} {finding.what}: {finding.found}", markup=False, soft_wrap=True)
    if finding.ask is not None and finding.ok is not True:
        console.print(f"    -> {finding.ask}", markup=False, soft_wrap=True)


def _print_end(predicted: dict[str, Any] | None, *, could_begin: bool) -> None:
    if predicted is not None:
        seconds = predicted["seconds"]
        said = (
            ""
            if seconds is None
            else f"About {seconds:g} s and {predicted['mib_sent']:g} MiB for a run over this link: "
        )
        results_console().print(f"\n{said}{predicted['why']}", markup=False, soft_wrap=True)
    note("A run could begin." if could_begin else "A run could not begin now.")
