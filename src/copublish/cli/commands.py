"""Which command is in which file, and what help says about it, so that a command loads nothing but itself.

Loading all of them takes most of a second; help needs their names and one sentence each.
"""

from __future__ import annotations

import importlib

import typer

COMMANDS = {
    "demo": "Make up data of a bank and a lender, release them together and show the result.",
    "init": "Write a commented agreement to start from.",
    "merge": "Merge the drafts of several parties into one agreement.",
    "check": "Check an agreement and, with --data, your own data against it. Costs nothing.",
    "describe": "Show every disclosure of a release, its epsilon, its noise, and who learns what. Costs nothing.",
    "plan": "Try a release out on public or made-up data: what it predicts and keeps, what to choose, what a secure "
    "run costs.",
    "audit": "Play the agreed mechanism on made-up neighboring tables and try to tell them apart. Costs nothing.",
    "simulate": "Simulate a release with all parties on this machine.",
    "identity": "Make and show the key and certificate by which other parties know you.",
    "propose": "Write a bundle for the people who decide: the agreement, what it would open in words, and what they "
    "are asked.",
    "approve": "Sign that a named person of your organization approves of an agreement. Offline; nobody is called.",
    "refuse": "Sign that a named person of your organization refuses an agreement. Offline; nobody is called.",
    "run": "Run a release together with the other parties, each on its own machine.",
    "runs": "Show the runs that were started with 'run --detach' or on the page, follow one, or stop it.",
    "node": "Look at your own node and at those of the other parties.",
    "doctor": "Find out whether you could meet every other party, and what to ask your network team for if not.",
    "relay": "Let parties that cannot be dialed meet here: join two outgoing connections and pass bytes that nobody "
    "can read.",
    "show": "Show a release: what it guarantees, what was disclosed, and what is in it.",
    "verify": "Check a release: its files, its certificate, the signatures of all parties, and who approved. Calls "
    "nobody.",
    "generalize": "Generalize other data the way a release did, for example a test set. Costs nothing.",
    "evaluate": "Score a release on real records. THE SCORES ARE A DISCLOSURE: no ledger is charged for them.",
    "report": "Write a report on a release for privacy officers and analysts: one HTML page that opens offline.",
    "studio": "Open a page on this machine to draft, plan, approve, run and read.",
    "ledger": "Show what was spent; set limits; check that nobody edited it.",
}
"""Every command, in the order of help, with the first sentences of its own help."""


def add_command(app: typer.Typer, name: str) -> None:
    """Load a command's file and add the command."""
    importlib.import_module(f"copublish.cli.{name}_command").register(app)


def add_summary(app: typer.Typer, name: str) -> None:
    """Add what help says about a command, without the command."""

    def summary() -> None:
        raise AssertionError("what was typed is loaded")

    app.command(name, help=COMMANDS[name])(summary)
