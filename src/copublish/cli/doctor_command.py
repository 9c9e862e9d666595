"""`copublish doctor`: could a run begin, and if not, what is in the way and whom to ask?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copublish.agreement.model import Agreement
from copublish.cli.keys import PassphraseCommandOption, PassphraseFileOption, passphrase_from
from copublish.cli.node_command import WORDS
from copublish.cli.options import resolved, with_options
from copublish.cli.terminal import Format, FormatOption, note, print_json, results_console
from copublish.errors import MeetingError, PartyFileError
from copublish.files.home import PARTY_FILE
from copublish.party.detached.runs import ledger_problem
from copublish.party.doctor import Diagnosis, Doctor
from copublish.party.keys.identity import Passphrase, identity_folder
from copublish.party.network.measuring import MeasuredLink
from copublish.party.request import ResolvedRun

if TYPE_CHECKING:
    from copublish.tools.planning.costs import PredictedCost


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


@with_options("party", "ledger", "identity", "listen", "proxy", "proxy_credentials")
def doctor(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    *,
    given: Mapping[str, Any],
    passphrase_file: PassphraseFileOption = None,
    passphrase_command: PassphraseCommandOption = None,
    wait: Annotated[int, typer.Option(min=1, help="Seconds to wait for the other parties to come.")] = 10,
    output: FormatOption = Format.TEXT,
) -> None:
    """Find out whether you could meet every other party, and what to ask your network team for if not.

    Checks party.toml beside your keys, and that your ledger lets the run begin. Looks at names, ports, proxy, TLS,
    certificates, clocks, agreements and versions, the way there and the way back, round trip and bandwidth, and says
    what a run would take over that link; the place Plan of 'copublish studio' takes the link over. Touches no data and
    costs nothing. Other parties answer while their own 'copublish run' or 'copublish doctor' waits. Exit code 0 if a
    run could begin.

    Example: copublish doctor agreement.toml
    """
    passphrase = passphrase_from(passphrase_file, passphrase_command)
    found: list[Diagnosis] = []
    links: dict[str | None, MeasuredLink] = {}
    predicted, is_complete = None, False
    try:
        asked = resolved(agreement, given)
    except PartyFileError as exc:
        _tell([Diagnosis("party.toml", False, str(exc), "Nobody: it is your own file.")], found, output)
    else:
        _tell(_look(asked, passphrase, wait), found, output)
        links = {finding.peer: finding.link for finding in found if finding.link is not None}
        _keep(asked.agreement, asked.party, links)
        predicted = _predict(asked.agreement, links)
        is_complete = len(links) == len(asked.agreement.parties) - 1
    could_begin = is_complete and all(finding.ok is not False for finding in found)
    if output is Format.JSON:
        print_json(
            {
                "could_begin": could_begin,
                "findings": [asdict(finding) for finding in found],
                "secure_run": None if predicted is None else predicted.to_json(),
            }
        )
    else:
        _print_end(predicted, could_begin=could_begin)
    if not could_begin:
        raise typer.Exit(MeetingError.exit_code)


def _look(asked: ResolvedRun, passphrase: Passphrase, wait: int) -> Iterator[Diagnosis]:
    """Findings at this party and on the way to the others."""
    keys = asked.request.keys.identity
    file = None if keys is None else keys / PARTY_FILE
    if file is not None and file.exists():
        yield Diagnosis("party.toml", True, f"'{file}' can be used")
    if asked.ledger is not None:
        problem = ledger_problem(asked)
        yield Diagnosis("ledger", problem is None, problem or f"'{asked.ledger}' lets this release be made")
    try:
        proxy = asked.proxy()
    except MeetingError as exc:
        yield Diagnosis("proxy", False, str(exc))
        return
    agreement, listen = asked.agreement, asked.request.network.listen
    folder = asked.identity or identity_folder(asked.party)
    yield from Doctor(agreement, asked.party, folder, proxy, wait, passphrase, listen).look()


def _tell(findings: Iterable[Diagnosis], found: list[Diagnosis], output: Format) -> None:
    """Print findings as they come, and keep them."""
    for finding in findings:
        found.append(finding)
        if output is Format.TEXT:
            _print(finding)


def _keep(agreement: Agreement, party: str, links: dict[str | None, MeasuredLink]) -> None:
    """Keep links for predictions, which can do without them: a folder that cannot be written is no finding."""
    if not links:
        return
    from copublish.tools.planning.links import keep_link

    with suppress(OSError):
        for peer, link in links.items():
            keep_link(
                agreement,
                party,
                str(peer),
                round_trip_seconds=link.round_trip_seconds,
                bytes_per_second=min(link.bytes_per_second),
            )


def _predict(agreement: Agreement, links: dict[str | None, MeasuredLink]) -> PredictedCost | None:
    """What a run would take over the slowest link, by the cost model."""
    if not links:
        return None
    from copublish.tools.planning.links import predict_over_link

    return predict_over_link(
        agreement,
        round_trip_seconds=max(link.round_trip_seconds for link in links.values()),
        bytes_per_second=min(min(link.bytes_per_second) for link in links.values()),
    )


def _print(finding: Diagnosis) -> None:
    console = results_console()
    console.print(f"{WORDS[finding.ok]:3} {finding.what}: {finding.found}", markup=False, soft_wrap=True)
    if finding.ask is not None and finding.ok is not True:
        console.print(f"    -> {finding.ask}", markup=False, soft_wrap=True)


def _print_end(predicted: PredictedCost | None, *, could_begin: bool) -> None:
    if predicted is not None:
        seconds, mib = predicted.seconds, predicted.mib_sent
        said = "" if seconds is None else f"About {seconds:g} s and {mib:g} MiB for a run over this link: "
        results_console().print(f"\n{said}{predicted.why}", markup=False, soft_wrap=True)
    note("A run could begin." if could_begin else "A run could not begin now.")
