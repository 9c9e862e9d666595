"""Results on stdout, everything else on stderr; text for people or JSON for machines.

What is printed can come from an agreement or a release of somebody else: the consoles here know no markup and no names
of emoji, and notes and errors spell out control characters.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from copublish.errors import CopublishError, ReleaseError, visible
from copublish.progress import Progress as ProgressCallback

errors_console = Console(stderr=True, markup=False, emoji=False)


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="text for people, json for machines.")]

TableOption = Annotated[
    str | None, typer.Option(help="Which table, if the data are in a database: TABLE or SCHEMA.TABLE.")
]


def results_console() -> Console:
    """The console of results; a table is not squeezed when it goes into a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False, emoji=False)


def print_json(content: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def note(message: str) -> None:
    """Say something on stderr that is not the result."""
    errors_console.print(visible(message), markup=False, highlight=False, soft_wrap=True)


def note_rules(whose: str, rules: Sequence[object]) -> None:
    """Say on stderr what rules changed in data, by column, rule and number of rows: for their owner."""
    if rules:
        note(f"{whose} have values that are not as agreed. They were changed as a run changes them:")
    for rule in rules:
        note(f"  - {rule}")


def note_before_consent(lines: Iterable[str], file: Path) -> None:
    """Say on stderr what a party has to know before it agrees, and where the rest of it is."""
    note("\nBefore you agree:")
    for line in lines:
        note(f"  - {line}")
    note(f"All of it: {shlex.join(['copublish', 'describe', str(file)])}")


def warn_first(warning: str | None, console: Console) -> None:
    """Say what has to be said before anything else, if there is something."""
    if warning is not None:
        console.print(f"WARNING: {visible(warning)}\n", style="bold red", markup=False, highlight=False, soft_wrap=True)


def error(message: str) -> None:
    """Say on stderr why a command ends."""
    errors_console.print(f"Error: {visible(message)}", style="bold red", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bars() -> Iterator[ProgressCallback]:
    """Show a bar for every phase, on stderr."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # In a file or a pipe bars would leave nothing but empty lines.
    with Progress(*columns, console=errors_console, disable=not errors_console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def tell(phase: str, done: int, of: int) -> None:
            if phase not in tasks:
                for task in tasks.values():  # a new phase: the one before is over, even if it ended early
                    bars.update(task, completed=bars.tasks[task].total)
                tasks[phase] = bars.add_task(phase, total=of)
            bars.update(tasks[phase], completed=done, total=of)

        yield tell


def parse_pairs(pairs: list[str], option: str) -> dict[str, str]:
    """Read repeated NAME=VALUE options."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name or not value or "://" in name:
            # What was written is not repeated: it can be the address of a database, with a password.
            raise typer.BadParameter(f"write {option} NAME=VALUE", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint=option)
        found[name] = value
    return found


def refuse_inside_release(out: Path, folder: Path) -> None:
    """Raise if a file would be written into a release folder: what was published stays as it is."""
    target = out.resolve()
    if folder.resolve() in target.parents or (target.parent / "certificate.json").exists():
        raise ReleaseError(f"'{out}' lies in a release folder, which stays as it was published. Choose another --out.")
    if not target.parent.is_dir():
        raise CopublishError(f"There is no folder '{out.parent}'. Make it first, or choose another --out.")


def refuse_own_input(out: Path, *inputs: str | Path | None) -> None:
    """Raise if a result would be written over the data it is made from."""
    if any(given is not None and out.exists() and Path(given).exists() and out.samefile(given) for given in inputs):
        raise CopublishError(f"'{out}' is what is read: it would be lost. Choose another --out.")


def refuse_unknown_party(party: str, parties: Iterable[str]) -> None:
    """Raise if the agreement does not name the party that somebody says to be."""
    known = list(parties)
    if party not in known:
        raise typer.BadParameter(
            f"there is no party '{party}' in the agreement. Its parties: {', '.join(known)}", param_hint="--party"
        )
