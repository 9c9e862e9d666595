"""`copublish show`: the certificate and the contents of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from copublish.cli.terminal import Format, FormatOption, print_json, results_console, warn_first
from copublish.errors import visible
from copublish.release.describe import disclosure_table, epsilon_table
from copublish.release.folder import Release, load_release, making_sense_of
from copublish.release.measurements import measurements_json
from copublish.release.render.parts import reading_if_told
from copublish.release.render.privacy_words import owners_delta_words
from copublish.release.render.sentences import number_to_print
from copublish.release.render.terminal import contents_shown
from copublish.release.verify import refuse_wrong_signatures


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)


def show(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    rows: Annotated[int, typer.Option(min=0, help="How many tables, largest cells and correlations to show.")] = 8,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show a release: what it guarantees, what was disclosed, and what is in it.

    Means, medians, shares and correlations are the report's, each with how far noise moves it at most in 95 of 100
    cases, or "too few to say".

    The files are checked against the digests in the certificate first, and signatures against their keys. 'copublish
    verify' checks all of it.

    Example: copublish show release/ --rows 20
    """
    release = load_release(folder)
    refuse_wrong_signatures(release)
    with making_sense_of(release):
        if output is Format.JSON:
            signed = {} if release.signatures is None else {"signatures": release.signatures.to_json()}
            certificate = release.certificate.to_json()
            print_json({**release.warning, "certificate": certificate, **signed, **_contents(release)})
        else:
            print_release(release, results_console(), rows)


def _contents(release: Release) -> dict[str, Any]:
    """Estimates where errors are told, what was measured, and the model. Counts of tables, and records, are files."""
    to_print = number_to_print(release)
    reading = reading_if_told(release)
    summaries = [] if reading is None else reading.summaries()
    estimates = {"estimates": {summary.name: summary.to_dict() for summary in summaries}} if summaries else {}
    measured, model = measurements_json(release.published), release.published.model.to_json()
    sentences = {"to_print": to_print} if to_print else {}
    return {**estimates, **sentences, "measurements": measured, "model": model}


def print_release(release: Release, console: Console, rows: int) -> None:
    """Print a release for people."""
    certificate = release.certificate
    basic, engine = certificate.deployment.basic, certificate.engine
    warn_first(certificate.warning, console)
    console.print(Text(certificate.release, style="bold").append(f"  {basic.description}", style="not bold"))
    made = f"{release.size_words}, made by {', '.join(certificate.parties)} on {basic.publication_date}"
    console.print(made, markup=False)
    if engine.is_simulated:
        console.print("SIMULATED. Secrecy: " + engine.secrecy, style="yellow", markup=False)
    else:
        console.print("Secrecy: " + engine.secrecy, markup=False)
    if release.signatures is not None:
        signers = ", ".join(release.signatures.parties)
        console.print(f"Signed by {signers} (to check that: copublish verify FOLDER)", markup=False)
        for approval in release.signatures.all_approvals:
            console.print(f"Approved by {visible(approval.words)}", markup=False)
    console.print()
    console.print(epsilon_table(certificate.epsilon))
    if certificate.warning is None:
        for_owner = owners_delta_words(certificate.epsilon)
        console.print(f"delta ({certificate.delta_is}) at most {certificate.delta_bound}{for_owner}\n", markup=False)
    console.print(disclosure_table(certificate.disclosures, certificate.epsilon.calibrated_to))
    if certificate.class_disagreement is not None:
        console.print(certificate.class_disagreement.words, markup=False, highlight=False)
    if certificate.audit is not None:
        console.print(certificate.audit.words, markup=False, highlight=False)
    console.print()
    for part in contents_shown(release, rows):
        console.print(part, markup=False)
