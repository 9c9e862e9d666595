"""Commands that other distributions add, by entry points of the group `copublish.commands`.

An entry point loads a function that takes a typer app and adds commands to it. A plug-in that cannot be loaded, or has
a command whose name is taken, loses its own commands only: nothing replaces a command of copublish.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import typer
from typer.main import get_group

from copublish.cli.commands import COMMANDS, PLUG_INS, in_panel
from copublish.errors import CopublishError, plain_text

GROUP = "copublish.commands"
REPRODUCE = "reproduce"
LONGEST_MESSAGE = 1_000
"""Of an error of a plug-in, in characters: says all that is wrong with a mechanism that it registers."""

HOW_TO_REPRODUCE = (
    "'copublish reproduce' belongs to a distribution of its own, copublish-reproduction, and is not available here. "
    "Install it from a checkout of the repository of copublish, of the same version: pip install ./reproduction"
)


def add_plug_ins(app: typer.Typer, found: Iterable[EntryPoint] | None = None) -> list[str]:
    """Add the commands of all installed plug-ins, and a placeholder for `reproduce` where none brings it.

    Args:
        app: Gets the commands.
        found: The entry points; those that are installed, unless given.

    Returns:
        A message about each plug-in whose commands were not added.
    """
    problems = []
    taken = set(COMMANDS)
    for entry_point in entry_points(group=GROUP) if found is None else found:
        plug_in = f"The plug-in '{entry_point.name}' ({entry_point.value})"
        added = typer.Typer()
        try:
            with in_panel(added, PLUG_INS):
                entry_point.load()(added)
            names = list(get_group(added).commands)
        except Exception as exc:  # somebody else's code: whatever it raises, our own commands have to work
            said = f"{type(exc).__name__}: {plain_text(exc, LONGEST_MESSAGE)}"
            problems.append(f"{plug_in} could not be loaded, so its commands are missing. {said}")
            continue
        if refused := [name for name in names if name in taken]:
            problems.append(
                f"{plug_in} has commands whose names are taken: {', '.join(plain_text(name) for name in refused)}. "
                "None of its commands was added. Ask its authors for other names, or uninstall it or the other "
                "plug-in that has them."
            )
            continue
        taken.update(names)
        app.registered_commands += added.registered_commands
        app.registered_groups += added.registered_groups
    if REPRODUCE not in {command.name for command in app.registered_commands}:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(REPRODUCE, context_settings=anything, rich_help_panel=PLUG_INS)(_reproduce_is_missing)
    return problems


def _reproduce_is_missing() -> None:
    """Regenerate the figures of the papers behind copublish. Not installed: needs copublish-reproduction.

    Install it from a checkout of the repository of copublish, of the same version: pip install ./reproduction

    Example: copublish reproduce list
    """
    raise CopublishError(HOW_TO_REPRODUCE)
