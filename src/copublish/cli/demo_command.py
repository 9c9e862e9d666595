"""`copublish demo`: a two-party release on made-up data, from agreement to result."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from copublish.agreement.loading import load_agreement
from copublish.cli.simulate_command import EngineChoice
from copublish.cli.terminal import note, progress_bars, results_console
from copublish.errors import CopublishError, EngineError
from copublish.files.home import HOME_VARIABLE
from copublish.kernel.ledger.ledger import Ledger, Limit
from copublish.party.keys.identity import new_identity
from copublish.party.local.simulation import simulate
from copublish.release.describe import describe, disclosure_table
from copublish.release.folder import Release, load_release
from copublish.release.render.text_tables import add_row, text_table
from copublish.tools.drafting.demo import add_network, write_demo
from copublish.tools.drafting.demo_questions import QUESTIONS, joined_people

MARKER = ".copublish-demo"
"""What a folder that the demo made has in it: no other folder is ever replaced."""

FEW, USUAL = 5_000, 20_000
"""People below whom epsilon 1 leaves little of a mean in a part of them, and how many are made up."""

WIDEST = 100
"""Columns of what is printed."""

BUDGET, DELTA = Fraction(3), Fraction(1, 100_000)
"""What the demo's parties may spend: two releases with their numbers of common people, and enough delta for these."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for the agreement, the data and the release.")] = Path("demo"),
    records: Annotated[int, typer.Option(min=100, help="How many people to make up.")] = USUAL,
    engine: Annotated[
        EngineChoice,
        typer.Option(help="spu: two processes over mutual TLS on secret shares. ideal: in the clear, in a second."),
    ] = EngineChoice.SPU,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo in the folder.")] = False,
) -> None:
    """Make up data of a bank and a lender, release them together and show the result.

    Each of them has a folder of its own with its key, its ledger and its copy of the release, and runs in a process
    of its own that never sees the other's data. Every step is a command you can repeat on your own data.

    Example: copublish demo my-first-release
    """
    if folder.exists() and any(folder.iterdir()) and not (force and (folder / MARKER).exists()):
        raise CopublishError(f"'{folder}' is not empty. Choose another folder, or --force to replace an earlier demo.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()
    for party in ("bank", "loans"):
        shutil.rmtree(folder / party, ignore_errors=True)
    files = write_demo(folder, records)
    note(f"A bank and a lender know {records:,} people together. All of them are made up.")
    if records < FEW:
        note(f"That is few: noise hides most of what is asked of them. The usual {USUAL:,} show what a release says.")
    release = _simulate(folder, files) if engine is EngineChoice.IDEAL else _run(folder, files)
    _print_beside_truth(load_release(release), records)
    agreement = folder / "agreement.toml"
    note(f"All of it: copublish show {release}. Or change {agreement} and run it again.")
    note(f"As a page: copublish studio --agreement {agreement} --data-folder {folder}")


def _print_beside_truth(release: Release, records: int) -> None:
    """Print what the release says, and what it would say without noise and cells."""
    people = joined_people(records)
    title = f"What the release says of {release.size_words}"
    table = text_table(title, ("question", "released, with 95 % confidence", "truth", "held?"), right=(2,))
    held = []
    for question in QUESTIONS:
        answer, truth = question.answer(release), question.truth(people)
        if answer is None:
            add_row(table, question.words, "not measured: no table has these columns", f"{truth:,.0f}", "-")
            continue
        held.append(answer.low <= truth <= answer.high)
        add_row(table, question.words, answer.with_range, answer.spelled(truth), "yes" if held[-1] else "NO")
    console = _narrow_console()
    console.print(table)
    console.print(
        f"{sum(held)} of {len(held)} intervals hold the truth; each does so in at least 95 of 100 releases. The truth "
        "is printed only because nobody is behind it: of real people no party sees it, and nobody may publish it."
    )


def _narrow_console() -> Console:
    """A console whose tables fit a terminal of usual width, wherever they go."""
    console = results_console()
    console.width = min(console.width, WIDEST)
    return console


def _simulate(folder: Path, files: dict[str, Path]) -> Path:
    agreement, out = folder / "agreement.toml", folder / "release"
    _describe(agreement)
    data = " ".join(f"--data {party}={path}" for party, path in files.items())
    note(f"\n$ copublish simulate {agreement} {data} --out {out}")
    with progress_bars() as progress:
        release = simulate(load_agreement(agreement), dict(files), progress=progress)
    release.write(out, overwrite=True)
    return out


def _run(folder: Path, files: dict[str, Path]) -> Path:
    """Run both parties as two organizations would, but on this machine."""
    agreement = folder / "agreement.toml"
    identities = {party: new_identity(party, folder / party / "identities" / party, days=30) for party in files}
    hosts = add_network(agreement, {party: identity.fingerprint for party, identity in identities.items()})
    dataset = load_agreement(agreement).dataset
    processes = {}
    for party, host in hosts.items():
        note(f"{party}$ copublish identity new --name {party} --host {host}")
        note(f"{party}$ copublish ledger limit {dataset}={BUDGET},1e-5")
        ledger = Ledger(folder / party / "ledger.db")
        ledger.set_limit(dataset, Limit(BUDGET, "add-remove", DELTA))
        ledger.close()
    _describe(agreement)
    note("")
    for number, (party, data) in enumerate(files.items()):
        options = [
            "run",
            str(agreement),
            "--party",
            party,
            "--data",
            str(data),
            "--out",
            str(folder / party / "release"),
        ]
        note(f"{party}$ copublish {' '.join(options)} --yes")
        processes[party] = subprocess.Popen(  # noqa: S603  # this program with fixed options
            [sys.executable, "-m", "copublish", *options, "--yes", "--wait", "60"],
            env={**os.environ, HOME_VARIABLE: str(folder / party)},
            stdout=subprocess.DEVNULL,
            stderr=None if number == 0 else subprocess.PIPE,  # one party's progress is enough to look at
            text=True,
        )
    try:
        said = {party: process.communicate()[1] for party, process in processes.items()}
    except KeyboardInterrupt:  # they heard it as well, and tell each other before they end
        for process in processes.values():
            process.terminate()
            process.wait()
        raise
    if failed := [party for party, process in processes.items() if process.returncode]:
        words = "\n".join(filter(None, said.values()))
        raise EngineError(f"The run of {' and '.join(failed)} failed. Nothing is published.\n{words}")
    first, second = (load_release(folder / party / "release") for party in files)
    if first.files() != second.files():
        raise EngineError("The parties ended with different releases.")
    note("Both have the same release, byte for byte.")
    return folder / "bank" / "release"


def _describe(agreement: Path) -> None:
    note(f"$ copublish describe {agreement}")
    described, grid = describe(agreement), Table.grid(padding=(0, 2))
    for name, value in described.facts.items():
        add_row(grid, name, value)
    console = _narrow_console()
    console.print(grid)
    console.print(disclosure_table(described.disclosures, described.epsilon.calibrated_to))
