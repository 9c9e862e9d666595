"""`copublish describe`: what would be disclosed, at which price, to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.cli.terminal import Format, FormatOption, print_json, results_console
from copublish.release.describe import describe as describe_agreement


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("describe")(describe)


def describe(
    agreement: Annotated[Path, typer.Argument(help="The agreement, a TOML file.")],
    output: FormatOption = Format.TEXT,
) -> None:
    """Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.

    Reads the agreement alone and touches no data.

    Example: copublish describe agreement.toml
    """
    described = describe_agreement(agreement)
    if output is Format.JSON:
        print_json(described.to_dict())
        return
    results_console().print(described)
