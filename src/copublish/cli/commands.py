"""Which command is in which file, and what help says about it, so that a command loads nothing but itself.

Loading all of them takes most of a second; help needs their names and one sentence each.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import typer

PANELS = {
    "Try": {
        "demo": "Make up data of a bank and a lender, release them together and show the result.",
        "simulate": "Simulate a release with all parties on this machine.",
        "studio": "Open a page on this machine to draft, plan, approve, run and read.",
    },
    "Agree": {
        "init": "Write a commented agreement to start from.",
        "merge": "Merge the drafts of several parties into one agreement.",
        "check": "Check an agreement and, with --data, your own data against it. Costs nothing.",
        "identity": "Make and show the key and certificate by which other parties know you.",
    },
    "Decide": {
        "describe": "Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.",
        "plan": "Try a release out on public or made-up data: what it predicts and keeps, what to choose, what a "
        "secure run costs.",
        "audit": "Play the agreed mechanism on made-up neighboring tables and try to tell them apart. Costs nothing.",
        "propose": "Write a bundle for the people who decide: the agreement, what it would open in words, and what "
        "they are asked.",
        "approve": "Sign that a named person of your organization approves of an agreement. Offline; nobody is called.",
        "refuse": "Sign that a named person of your organization refuses an agreement. Offline; nobody is called.",
    },
    "Run": {
        "run": "Run a release together with the other parties, each on its own machine.",
        "runs": "Show the runs that were started with 'run --detach' or on the page, follow one, or stop it.",
    },
    "Read": {
        "show": "Show a release: what it guarantees, what was disclosed, and what is in it.",
        "verify": "Check a release: its files, its certificate, the signatures of all parties, and who approved. Calls "
        "nobody.",
        "generalize": "Generalize other data the way a release did, for example a test set. Costs nothing.",
        "evaluate": "Score a release on real records. THE SCORES ARE A DISCLOSURE: no ledger is charged for them.",
        "report": "Write a report on a release for privacy officers and analysts: one HTML page that opens offline.",
    },
    "Operate": {
        "ledger": "Show what was spent; set limits; check that nobody edited it.",
        "doctor": "Find out whether you could meet every other party, and what to ask your network team for if not.",
        "node": "Look at your own node and at those of the other parties.",
        "relay": "Let parties that cannot be dialed meet here: join two outgoing connections and pass bytes that "
        "nobody can read.",
    },
}
"""Every command by its panel in help, along the journey of a release, with the first sentences of its own help."""

COMMANDS = {name: summary for commands in PANELS.values() for name, summary in commands.items()}
"""Every command with its summary, in the order of help."""

PANEL_OF = {name: panel for panel, commands in PANELS.items() for name in commands}

PLUG_INS = "Plug-ins"
"""The panel of commands that other distributions add."""


def add_command(app: typer.Typer, name: str) -> None:
    """Load a command's file and add the command, in its panel of help."""
    with in_panel(app, PANEL_OF[name]):
        importlib.import_module(f"copublish.cli.{name}_command").register(app)


def add_summary(app: typer.Typer, name: str) -> None:
    """Add what help says about a command, without the command."""

    def summary() -> None:
        raise AssertionError("what was typed is loaded")

    app.command(name, help=COMMANDS[name], rich_help_panel=PANEL_OF[name])(summary)


@contextmanager
def in_panel(app: typer.Typer, panel: str) -> Iterator[None]:
    """Put commands that are added meanwhile into a panel of help."""
    commands, groups = len(app.registered_commands), len(app.registered_groups)
    yield
    for command in app.registered_commands[commands:]:
        command.rich_help_panel = panel
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = panel
