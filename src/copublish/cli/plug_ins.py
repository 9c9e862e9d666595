"""Commands that other distributions add, by entry points of the group `copublish.commands`.

An entry point loads a function that takes the typer app and adds commands to it. A plug-in that cannot be loaded costs
its own commands alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import typer

from copublish.errors import CopublishError, plain_text

GROUP = "copublish.commands"
REPRODUCE = "reproduce"
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
        A sentence about each plug-in that could not be loaded.
    """
    problems = []
    for entry_point in entry_points(group=GROUP) if found is None else found:
        commands, groups = len(app.registered_commands), len(app.registered_groups)
        try:
            entry_point.load()(app)
        except Exception as exc:  # somebody else's code: whatever it raises, our own commands have to work
            del app.registered_commands[commands:], app.registered_groups[groups:]
            problems.append(
                f"The plug-in '{entry_point.name}' ({entry_point.value}) could not be loaded, so its commands are "
                f"missing. {type(exc).__name__}: {plain_text(exc)}"
            )
    if REPRODUCE not in {command.name for command in app.registered_commands}:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(REPRODUCE, context_settings=anything)(_reproduce_is_missing)
    return problems


def _reproduce_is_missing() -> None:
    """Regenerate the figures of the papers behind copublish. Not installed: needs copublish-reproduction.

    Install it from a checkout of the repository of copublish, of the same version: pip install ./reproduction

    Example: copublish reproduce list
    """
    raise CopublishError(HOW_TO_REPRODUCE)
