"""`copublish runs`: runs that were started in processes of their own, how far they are, and how to stop one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from copublish.cli.terminal import Format, FormatOption, note, print_json, results_console
from copublish.errors import CopublishError, visible
from copublish.party.detached.runs import follow, list_runs, run_of, stop
from copublish.party.detached.status import Run
from copublish.release.render.text_tables import add_row, text_table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("runs")(runs_)


def runs_(
    run: Annotated[
        str | None, typer.Argument(help="Id of a run, or its beginning. Without it, all are listed.")
    ] = None,
    follow_it: Annotated[bool, typer.Option("--follow", help="Stay until it has ended and tell how it goes.")] = False,
    stop_it: Annotated[
        bool, typer.Option("--stop", help="End it. The others' runs end, too; what was reserved stays spent.")
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Show the runs that were started with 'run --detach' or on the page, follow one, or stop it.

    The id may also be the one that all parties drew when they met, which logs and signatures name.

    A run that was killed left no word: the ledger says what it was charged, and 'reserved' counts as spent. The exit
    code then is 1. Of one that has ended, the exit code is its own.

    Example: copublish runs 3f2a --follow
    """
    if run is None:
        if follow_it or stop_it:
            raise CopublishError("Say which run: copublish runs ID. Without an id all are listed.")
        _print_all(list_runs(), output)
        return
    found = run_of(run)
    if stop_it:
        ended = stop(found)
        note("It has ended." if ended else "It was told to end and is still telling the others.")
        found = run_of(found.id)
    elif follow_it:
        for seen in follow(found):
            note(in_words(seen))
        found = run_of(found.id)
    code = 0 if stop_it else found.exit_code
    if output is Format.JSON:
        print_json(facts_of(found))
        raise typer.Exit(code)
    results_console().print(visible(in_words(found)), soft_wrap=True)
    charge = found.charge()
    said = (
        "The ledger was charged nothing."
        if charge is None
        else (
            f"The ledger has epsilon {charge.reserved} reserved ({charge.state}), of which {charge.opened} was opened. "
            "It stays spent."
        )
    )
    results_console().print(said, soft_wrap=True)
    raise typer.Exit(code)


def in_words(run: Run) -> str:
    """How far a run is, in a sentence."""
    if run.state == "starting":
        return "Starting: its data are being read."
    if run.state == "waiting":
        return f"Waiting for {run.waiting_for}, until {run.waiting_until}."
    if run.state == "computing":
        phase = run.phase
        now = "All parties are here." if phase is None else f"{phase.name}: {phase.done} of {phase.of}."
        return f"{now} It ends at {run.ends_by} at the latest."
    if run.state == "complete":
        return f"Complete. The release is in {run.out}."
    if run.state == "lost":
        return "It ended without a word: it was killed, or the machine stopped."
    message = "" if run.ended is None else run.ended.message
    return f"{'Stopped' if run.state == 'stopped' else 'Ended without a release'}. {message}"


def facts_of(run: Run) -> dict[str, Any]:
    """A run as plain JSON values."""
    charge = run.charge()
    return {
        "id": run.id,
        "met_as": run.met_as,
        "release": run.release,
        "party": run.party,
        "state": run.state,
        "started_at": run.started_at,
        "waiting_for": run.waiting_for,
        "ends_by": run.ends_by,
        "phase": None if run.phase is None else {"name": run.phase.name, "done": run.phase.done, "of": run.phase.of},
        "out": str(run.out),
        "exit_code": None if run.ended is None else run.ended.exit_code,
        "message": None if run.ended is None else run.ended.message,
        "charged": None
        if charge is None
        else {"state": charge.state, "reserved": charge.reserved, "opened": charge.opened, "relation": charge.relation},
    }


def _print_all(found: list[Run], output: Format) -> None:
    if output is Format.JSON:
        print_json({"runs": [facts_of(run) for run in found]})
        return
    if not found:
        note("No run was started in a process of its own. Start one: copublish run --detach")
        return
    table = text_table("Runs", ["id", "started", "release", "party", "state", "release folder"])
    for run in found:
        started = run.started_at[:16].replace("T", " ")
        add_row(table, run.id[:8], started, run.release, run.party, run.state, str(run.out))
    results_console().print(table)
