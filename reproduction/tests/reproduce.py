"""Running `copublish reproduce` in the test's own process: a new one takes seconds to load the libraries."""

from __future__ import annotations

from typing import Any

import typer
from typer.testing import CliRunner

from copublish_reproduction.command import register


def reproduce(*arguments: object) -> Any:
    """Run the command with what a user types after `copublish reproduce`."""
    app = typer.Typer()
    register(app)
    return CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"}).invoke(app, [*map(str, arguments)])


def command(*arguments: object) -> Any:
    """Run the command, which has to succeed."""
    done = reproduce(*arguments)
    assert done.exit_code == 0, done.stderr
    return done
