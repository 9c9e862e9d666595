"""A command loads itself alone, and help says of each what the command says of itself."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys

from copublish.cli import app, app_with
from copublish.cli.commands import COMMANDS, PANEL_OF, PANELS


def test_help_says_of_every_command_what_the_command_says_of_itself():
    own = {command.name: inspect.getdoc(command.callback) for command in app.registered_commands}
    own |= {group.name: group.typer_instance.info.help for group in app.registered_groups}
    callbacks = {group.name: group.typer_instance.registered_callback for group in app.registered_groups}
    for name, summary in COMMANDS.items():
        said = own[name]
        if not isinstance(said, str):  # a group that says it in its callback
            said = inspect.getdoc(callbacks[name].callback)
        assert " ".join(said.split("\n\n")[0].split()) == summary, name
    assert set(own) == set(COMMANDS)


def panels_of(text: str) -> dict[str, list[str]]:
    """The commands of each panel in the order of help."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if title := re.match(r"╭─ (.*?) ─+╮$", line):
            found[title[1]] = []
        elif command := re.match(r"│ (\w[\w-]*) ", line):
            found[next(reversed(found))].append(command[1])
    return found


def test_help_has_a_panel_for_each_part_of_the_journey():
    command = [sys.executable, "-m", "copublish", "--help"]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    text = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    panels = panels_of(text)
    assert list(panels) == ["Options", "Try", "Agree", "Decide", "Run", "Read", "Operate", "Plug-ins"]
    assert {title: panels[title] for title in PANELS} == {title: list(commands) for title, commands in PANELS.items()}
    assert panels["Plug-ins"] == ["reproduce"]


def test_loaded_commands_are_in_the_panels_of_their_summaries():
    loaded = [*app.registered_commands, *app.registered_groups]
    assert {command.name: command.rich_help_panel for command in loaded} == PANEL_OF


def test_a_typed_command_is_loaded_alone_and_an_unknown_one_loads_none():
    assert [command.name for command in app_with("check").registered_commands] == ["check"]
    assert [group.name for group in app_with("ledger").registered_groups] == ["ledger"]
    assert [command.name for command in app_with("validate").registered_commands] == list(COMMANDS)


def test_help_loads_no_command():
    code = (
        "import contextlib, io, json, sys; sys.argv = ['copublish', '--help']\n"
        "from copublish.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main()\n"
        "heavy = {'pandas', 'numpy', 'pyarrow', 'cryptography', 'sklearn', 'jax', 'spu', 'pydantic'}\n"
        "print(json.dumps(sorted(heavy & set(sys.modules))))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(ran.stdout.splitlines()[-1]) == []
