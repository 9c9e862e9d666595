"""`copublish demo`: a two-party release on made-up data, from agreement to result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement import load_agreement
from copublish.cli.describe_command import print_description
from copublish.cli.show_command import print_release
from copublish.cli.simulate_command import EngineChoice
from copublish.cli.terminal import note, progress_bars, results_console
from copublish.demo import write_demo
from copublish.description import describe
from copublish.errors import CopublishError
from copublish.publication import load_release
from copublish.simulation import simulate


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder for the agreement, the data and the release.")] = Path("demo"),
    records: Annotated[int, typer.Option(min=100, help="How many people to make up.")] = 20_000,
    engine: Annotated[
        EngineChoice, typer.Option(help="spu: secret shares between two processes. ideal: in the clear, in a second.")
    ] = EngineChoice.SPU,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo in the folder.")] = False,
) -> None:
    """Make up data of a bank and a lender, release them together and show the result.

    Each of them runs in a process of its own that never sees the other's data.

    Every step is a command you can repeat on your own data: init, check, describe, simulate, show.

    Example: copublish demo my-first-release
    """
    if folder.exists() and any(folder.iterdir()) and not (force and (folder / "agreement.toml").exists()):
        raise CopublishError(f"'{folder}' is not empty. Choose another folder, or --force to replace an earlier demo.")
    files = write_demo(folder, records)
    agreement_path, out = folder / "agreement.toml", folder / "release"
    agreement = load_agreement(agreement_path)
    console = results_console()
    note(f"$ copublish describe {agreement_path}")
    print_description(describe(agreement), console)
    data = " ".join(f"--data {party}={path}" for party, path in files.items())
    note(f"\n$ copublish simulate {agreement_path} {data} --engine {engine.value} --out {out}")
    with progress_bars() as progress:
        release = simulate(agreement, dict(files), engine=engine.value, progress=progress)
    release.write(out, overwrite=True)
    note(f"\n$ copublish show {out}")
    print_release(load_release(out), console, rows=8)
    note(f"\nLook around in {folder}, change agreement.toml and simulate again.")
