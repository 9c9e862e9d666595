"""Commands and their options, as `--help` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from copublish.cli import app
from website.reference.tables import table

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")

HEAD = """# Commands

Made from the code of this version: what `copublish COMMAND --help` says, on one page. Results go to stdout,
everything else to stderr. [Exit codes](exit-codes.md) says what a command returns, [messages](messages.md) what it
may say.
"""


def page_of_commands() -> str:
    """The page."""
    parts = [HEAD]
    for path, command in _commands("copublish", get_command(app)):
        parts.append(f"## `{path}`\n\n{_without_markup(command.help or '')}")
        if rows := [_row(parameter) for parameter in command.params if not parameter.hidden and parameter.help]:
            parts.append(table(["what you give", "what it is", "default"], rows))
    return "\n\n".join(parts) + "\n"


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that can be typed, with its words; groups that do nothing themselves are left out."""
    inner = getattr(command, "commands", {})
    if path != "copublish":
        yield path, command
    for name, found in inner.items():
        if not found.hidden:
            yield from _commands(f"{path} {name}", found)


def _row(parameter: Any) -> tuple[str, str, str]:
    names = [*parameter.opts, *parameter.secondary_opts]
    is_option = names[0].startswith("-")
    shown = ", ".join(f"`{name}`" for name in names) if is_option else f"`{parameter.name.upper()}`"
    default = parameter.default
    if parameter.required:
        said = "required"
    elif default is None or callable(default) or default in ((), [], False, ""):
        said = ""
    else:
        said = f"`{getattr(default, 'value', default)}`"
    return shown, " ".join(_without_markup(parameter.help).split()), said


def _without_markup(text: str) -> str:
    """Help without Rich's escapes, with examples and options as code."""
    plain = text.replace("\\[", "[").replace("`", "'").replace("<", "&lt;")
    coded = re.sub(r"^(Example: )(.*)$", lambda found: f"{found[1]}`{found[2]}`", plain, flags=re.M)
    outside = re.split(r"(`[^`]*`)", coded)
    return "".join(part if part.startswith("`") else OPTION.sub(r"`\g<0>`", part) for part in outside)
